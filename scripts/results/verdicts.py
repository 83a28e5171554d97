"""RESULTS.md: every claim with its verdict and number; and the five rows of README.md."""

import re

import compare_table
import targets
from compare_results import Results
from table import markdown

HELD, FELL, OPEN = "held", "fell", "undecided"
ROOMS = {"so2": "SO(2), section 4.1", "smoke": "Smoke, section 4.2", "ct": "CT, section 4.3", "medmnist": "MedMNIST, section 4.4"}
# Of a claim that cannot be decided: networks that do not beat the trivial answer, or one seed.
REASONS = {"; undecided:": "spread wider than the margin", "not trained": "networks not trained", "fewer than two seeds": "one seed", "at least two seeds": "one seed"}


# Of a difference between two means, which decides nothing within two standard errors of none.
DIFFERENCE = re.compile(r"difference ([+-][\d.]+) with standard error ([\d.]+)")
ERRORS = 2


def reason(check):
    """Why a claim cannot be decided, or None."""
    found = DIFFERENCE.search(check["found"])
    if found and abs(float(found[1])) <= ERRORS * float(found[2]):
        return "difference within two standard errors"
    if check.get("seeds") == 1:
        return "one seed"
    return next((why for words, why in REASONS.items() if words in check["found"]), None)


def verdict(check):
    why = reason(check)
    if check["held"] and why != "one seed":
        return HELD
    return OPEN if why else FELL


def checks(root):
    """(room, folder, check) of every claim, in the order of the paper."""
    for room, folder, *_ in targets.FOLDERS:
        results = targets.open_folder(root, folder)
        for check in (results or {}).get("checks", []):
            yield room, folder, check


def short(text, most=110):
    return text if len(text) <= most else text[: text[:most].rfind(" ")] + " …"


def rows(root, room):
    """A line for each decided claim of a room, and one for the undecided ones of a folder."""
    undecided = {}
    for _, folder, check in (found for found in checks(root) if found[0] == room):
        name = folder.split("/")[1]
        if verdict(check) == OPEN:
            undecided.setdefault((name, reason(check)), []).append(check)
        else:
            yield [check["claim"], f"**{verdict(check)}**", short(check["found"]), f"[{name}](docs/results/{room}.md)"]
    for (name, why), found in undecided.items():
        yield [f"{name}: {len(found)} claims", f"**{OPEN}**", why, f"[{name}](docs/results/{room}.md)"]
    for folder, (missing, why) in targets.MISSING.items():
        if folder.startswith(f"{room}/"):
            name = folder.split("/")[1]
            yield [f"{name}: rows {missing}", "**missing**", why, f"[{name}](docs/results/{room}.md)"]


def compared(root, device):
    """"151 comparisons, 151 won" of peers that do the same thing."""
    results = Results.open(root / f"results/compare-{device}.json")
    peers = [peer for row in results.rows.values() for peer in row["peers"] if "ratio" in peer]
    counted = [peer for peer in peers if not peer.get("reference")]
    won = sum(peer["ratio"] >= 1 for peer in counted)
    return f"{won} of {len(counted)} comparisons won; {len(peers) - len(counted)} rows that do less or other work are shown for scale only"


def page(root):
    found = ["# Results", "",
             "Made from `results/` by `make results`; every number has its command, commit and machine on the page behind the",
             "link. A claim is *undecided* where its networks do not beat a trivial answer, only one seed was run, or the spread",
             "reaches over the margin of a claim of no difference.", "",
             "| claim | verdict | number | more |", "|---|---|---|---|",
             *(f"| {name} beside its peers | – | {compared(root, device)} | [performance](docs/results/performance.md) |"
               for name, device in (("processor", "cpu"), ("GPU", "gpu"))), ""]
    for room, title in ROOMS.items():
        lines = list(rows(root, room))
        if lines:
            found += [f"## {title}", "", *markdown(["claim", "verdict", "number", "more"], lines), ""]
    found += ["## Budgets", "", "How long networks must train before a table says anything: [budgets](docs/results/budgets.md).", ""]
    return "\n".join(found)


def readme(root):
    """A row for each section of the paper."""
    lines = []
    for room, title in ROOMS.items():
        found = [verdict(check) for other, _, check in checks(root) if other == room]
        counts = [f"{found.count(kind)} {kind}" for kind in (HELD, FELL, OPEN) if kind in found]
        lines.append([title, ", ".join(counts) or "not run", f"[{room}](docs/results/{room}.md)"])
    cost = [peer["ratio"] for name, row in Results.open(root / "results/compare-gpu.json").rows.items()
            for peer in row["peers"] if name == "ct-dicdnet-penalty" and peer["who"] == "reynolds without a penalty"]
    if cost:
        lines.append(["the penalty is free, section 4.3", f"a step of DICDNet with it takes {1 / cost[0]:.3f} × the step without it (H200)",
                      "[performance](docs/results/performance.md)"])
    return markdown(["section", "claims", "more"], lines)
