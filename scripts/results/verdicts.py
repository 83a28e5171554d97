"""RESULTS.md: every claim with its verdict and number; and the five rows of README.md."""

from collections import Counter

import targets
from compare_results import Results
from table import markdown

HELD, FELL, OPEN = "held", "fell", "undecided"
ROOMS = {"so2": "SO(2), section 4.1", "smoke": "Smoke, section 4.2", "ct": "CT, section 4.3", "medmnist": "MedMNIST, section 4.4"}

def checks(root):
    """(room, folder, check) of every claim of the paper, in its order."""
    for room, folder, *_ in targets.FOLDERS:
        results = None if folder in targets.OURS else targets.open_folder(root, folder)
        for check in (results or {}).get("checks", []):
            yield room, folder, check


def short(text, most=110):
    return text if len(text) <= most else text[: text[:most].rfind(" ")] + " …"


def rows(root, room):
    """A line for each decided claim of a room, and one for the undecided ones of a folder."""
    undecided = {}
    for _, folder, check in (found for found in checks(root) if found[0] == room):
        name = folder.split("/")[1]
        if check["verdict"] == OPEN:
            undecided.setdefault((name, check["reason"]), []).append(check)
        else:
            yield [check["claim"], f"**{check['verdict']}**", short(check["found"]), f"[{name}](docs/results/{room}.md)"]
    for (name, why), found in undecided.items():
        yield [f"{name}: {len(found)} claim{'s' if len(found) > 1 else ''}", f"**{OPEN}**", why, f"[{name}](docs/results/{room}.md)"]
    for folder, (missing, why) in targets.MISSING.items():
        if folder.startswith(f"{room}/"):
            name = folder.split("/")[1]
            yield [f"{name}: rows {missing}", "**missing**", why, f"[{name}](docs/results/{room}.md)"]


def compared(root, device):
    """"faster in 151 of 151 comparisons" with programs that do the same thing."""
    results = Results.open(root / f"results/compare-{device}.json")
    peers = [peer for row in results.rows.values() for peer in row["peers"] if "ratio" in peer]
    counted = [peer for peer in peers if not peer.get("reference")]
    won = sum(peer["ratio"] >= 1 for peer in counted)
    return f"faster in {won} of {len(counted)} comparisons; {len(peers) - len(counted)} rows do less or other work and are shown for scale only"


def page(root):
    found = ["# Results", "",
             "Made from `results/` by `make results`; every number has its command, commit and machine on the page behind the",
             "link. *held*: our runs show what the paper claims; *fell*: our runs show otherwise; *undecided*: the networks are no",
             "better than a trivial answer (not trained), only one seed was run, or the spread over seeds allows both.", "",
             "| claim | verdict | number | more |", "|---|---|---|---|",
             *(f"| speed on a {name}, compared with other programs | – | {compared(root, device)} | [performance](docs/results/performance.md) |"
               for name, device in (("processor", "cpu"), ("GPU", "gpu"))), ""]
    for room, title in ROOMS.items():
        lines = list(rows(root, room))
        if lines:
            found += [f"## {title}", "", *markdown(["claim", "verdict", "number", "more"], lines), ""]
    found += ["## Budgets", "", "How long networks must train before a table says anything: [budgets](docs/results/budgets.md).", "",
              "## Does it pay?", "", "The penalty beside augmentation, weight decay, strict equivariance and others on MNIST and ModelNet10: [pay](docs/results/pay.md).", ""]
    return "\n".join(found)


def readme(root):
    """A row for each section of the paper."""
    lines = []
    for room, title in ROOMS.items():
        found = [check for other, _, check in checks(root) if other == room]
        verdicts = [check["verdict"] for check in found]
        why = Counter(check["reason"] for check in found if check["verdict"] == OPEN)
        lines.append([title, *(verdicts.count(kind) for kind in (HELD, FELL, OPEN)),
                      "; ".join(f"{name} ({number})" for name, number in why.most_common()) or "–", f"[{room}](docs/results/{room}.md)"])
    return markdown(["section", HELD, FELL, OPEN, "why undecided", "more"], lines)
