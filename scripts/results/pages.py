"""docs/results/{so2,smoke,ct,medmnist}.md: the tables behind RESULTS.md."""

import json

import targets
from table import day, markdown, over_seeds, read, table
from verdicts import ROOMS


def section(root, folder, title, columns, note):
    results = targets.open_folder(root, folder)
    if results is None:
        return []
    lines = [f"## {title}", "", targets.provenance(results)]
    lines += ["", note] if note else []
    if folder in targets.MISSING:
        lines += ["", "Missing rows: {}; {}.".format(*targets.MISSING[folder])]
    figures = sorted((root / "results" / folder).glob("**/*.svg"))
    if figures:
        links = [f"[{path.stem}](../../{path.relative_to(root).as_posix()})" for path in figures]
        lines += ["", "Figures: " + ", ".join(links) + "."]
    if columns:
        lines += ["", "Mean ± standard deviation over seeds.", "", *targets.shown(root, folder, columns)]
    if results["checks"]:
        verdict = lambda check: ": ".join(filter(None, (check["verdict"], check.get("reason"))))  # noqa: E731
        claims = [[check["claim"], verdict(check), check["found"]] for check in results["checks"]]
        lines += ["", *markdown(["claim", "verdict", "found"], claims)]
    return [*lines, ""]


def sweep(root, folder, title, command, settings, metrics, note):
    """The table of a sweep, over its seeds."""
    place = root / "results" / folder
    if not (place / "sweep.csv").is_file():
        return []
    where = json.loads((place / "environment.json").read_text())
    fields = lambda columns: [field for _, field, _ in columns]  # noqa: E731
    rows = over_seeds(read(place / "sweep.csv"), fields(settings), fields(metrics))
    return [f"## {title}", "", f"`{command}`, commit {where['commit'][:7]}, {where['device']}, {day(where['time'])}.", "", note, "",
            "Mean ± standard deviation over seeds.", "", *table(rows, settings + metrics), ""]


def pages(root):
    """The text of each room's page."""
    found = {}
    for room, title in ROOMS.items():
        lines = [f"# {title}", "", "Made from `results/` by `make results`. \"Trained\" means better than the trivial answer (linear interpolation, "
                 "persistence, the most frequent class) by three standard errors.", ""]
        for other, *rest in targets.FOLDERS:
            if other == room:
                lines += section(root, *rest)
        for other, *rest in targets.SWEEPS:
            if other == room:
                lines += sweep(root, *rest)
        found[room] = "\n".join(lines)
    return found
