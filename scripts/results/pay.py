"""docs/results/pay.md: does the penalty pay? From results/pay/networks.jsonl, one network a line."""

import json
import math
from collections import Counter
from statistics import mean, stdev

from table import markdown

MARGIN = 2.0  # points of accuracy within which two rows count as equal, stated in advance
SEEDS = 5
# Two-sided quantile of Student's t with SEEDS - 1 = 4 degrees of freedom at 0.05 / 10: up to ten rows are compared.
QUANTILE = 5.598
DIVERGED = 50.0  # % of test images; no converged network is below
USUAL = "none", "weight decay", "augmentation"  # what one does without this software
ALONE = "gradient", "squared", "plain", "target"  # the penalty, nothing beside it
MARKS = {"ahead": "▲", "behind": "▼", "level": "=", "undecided": "?"}
NAMES = {"mnist": "MNIST", "modelnet10": "ModelNet10"}


def accuracies(networks):
    return [100 * network["test_accuracy"] for network in networks]


def validation(networks):
    """Mean accuracy on validation at the end, in %."""
    return 100 * mean(network["curve"]["validation_accuracy"][-1] for network in networks)


class Setting:
    """The networks with fresh seeds of one set, number of images, width and b, by row."""

    def __init__(self, key, rows, choices):
        self.data, self.train, self.channels, self.upright = key
        self.rows, self.choices = rows, choices
        self.reference = self.best(USUAL)
        self.clipped = all(network.get("clip") for networks in rows.values() for network in networks)

    def best(self, names):
        """The row that validation would choose."""
        return max((name for name in names if name in self.rows), key=lambda name: validation(self.rows[name]))

    def against(self, row):
        """The difference to the reference over paired seeds, half of its interval, and what they say."""
        differences = [a - b for a, b in zip(accuracies(self.rows[row]), accuracies(self.rows[self.reference]))]
        middle, half = mean(differences), QUANTILE * stdev(differences) / math.sqrt(SEEDS)
        low, high = middle - half, middle + half
        says = "ahead" if low > 0 else "behind" if high < 0 else "level" if max(-low, high) <= MARGIN else "undecided"
        return middle, half, says

    def images(self):
        return f"{self.train:,} {'images' if self.data == 'mnist' else 'volumes'}, {self.channels} channels"

    def summary(self, names):
        reference = self.rows[self.reference]
        cells = []
        for name in names:
            if name == self.reference or name not in self.rows:
                cells.append("·" if name in self.rows else "")
                continue
            middle, _, says = self.against(name)
            cells.append(f"{middle:+.1f} {MARKS[says]}")
        return [NAMES[self.data], self.train, self.channels, f"{self.upright:g}", f"{self.reference} {mean(accuracies(reference)):.1f}", *cells]

    def lines(self):
        """The whole table of the setting."""
        for row, networks in self.rows.items():
            tests, first = accuracies(networks), networks[0]
            at_edge = self.choices.get(row, {}).get("strength_at_edge")
            extra = first["strength"] if row not in (*USUAL, "strict") else first["weight_decay"] or (row == "augmentation" and first["augmentation"])
            difference = ["–", "–"]
            if row != self.reference:
                middle, half, says = self.against(row)
                difference = [f"{middle:+.1f} ({middle - half:+.1f} to {middle + half:+.1f})", says]
            yield [row, f"{extra:g}{' †' if at_edge else ''}" if extra is not False and row not in ("none", "strict") else "–", f"{first['rate']:g}",
                   f"{mean(tests):.1f} ± {stdev(tests):.1f}", sum(test < DIVERGED for test in tests) or "–", *difference,
                   f"{mean(n['residual'] for n in networks):.3f}", f"{mean(min(n['agreement_by_turn']) for n in networks):.3f}"]


def settings(root):
    """The settings of which every row is trained, in the order of set, number, width and b."""
    records = [json.loads(text) for text in (root / "results/pay/networks.jsonl").read_text().splitlines()]
    key = lambda record: tuple(record[name] for name in ("data", "train", "channels", "upright"))  # noqa: E731
    choices, rows = {}, {}
    for record in records:
        if record["kind"] == "choice":
            choices.setdefault(key(record), {})[record["row"]] = record
        elif record["seed"] > 10:
            rows.setdefault(key(record), {}).setdefault(record["row"], []).append(record)
    whole = {found: by_row for found, by_row in rows.items() if found in choices and all(len(networks) == SEEDS for networks in by_row.values())}
    return [Setting(found, whole[found], choices[found]) for found in sorted(whole)]


def counted(found, names):
    """"ahead in 1, level in 2 …" of the row among `names` that validation chooses, beside the reference."""
    says = Counter(setting.against(setting.best(names))[2] for setting in found)
    return ", ".join(f"{word} in {says[word]}" for word in ("ahead", "level", "behind", "undecided") if says[word])


def regret(found, names):
    """By how many points the row lies below the best of all rows in the same setting, at most and on average."""
    below = [max(mean(accuracies(networks)) for networks in setting.rows.values()) - mean(accuracies(setting.rows[setting.best(names)])) for setting in found]
    return f"{max(below):.1f}", f"{mean(below):.1f}"


def page(root):
    found = settings(root)
    every = [setting for setting in found if "sampled" in setting.rows]
    names = [name for name in max((setting.rows for setting in found), key=len) if name not in USUAL]
    unclipped = [setting for setting in found if not setting.clipped]
    lines = [
        "# Does the penalty pay?", "",
        "![Test accuracy by the probability of an upright image](../../results/pay/fig-pay.svg)", "",
        f"Made from `results/pay/networks.jsonl` by `make results`; trained by `scripts/budgets/pay.py` on one H200: {len(found)} settings, each "
        f"with all its rows tuned on validation and then trained with {SEEDS} fresh seeds. Not trained yet: the settings of `scripts/budgets/pay.py` that "
        "the table lacks (50,000 images, 128 channels, and others), and time a step.", "",
        "## The answer so far", "",
        "Compared with what one would do without this software: the best, by validation, of no measure, weight decay and augmentation by quarter turns.", "",
        f"- The penalty alone, in the form that validation chooses (gradient, squared, plain or target): {counted(found, ALONE)} "
        f"of {len(found)} settings.",
        f"- With a target alone: {counted(found, ('target',))}. Strictly equivariant weights: {counted(found, ('strict',))}.",
        f"- The sampled penalty, which needs a second forward pass a step: {counted(every, ('sampled',))} of the {len(every)} settings that have it. "
        f"The squared penalty with augmentation: {counted(every, ('squared and augmentation',))}.", "",
        "How far each lies below the best row of its setting, in points (its strength chosen on validation, b not known to it):", "",
        *markdown(["row", "at most", "on average"], [[name, *regret(found, (name,))] for name in (*USUAL, "strict", "squared", "target")]
                  + [["best of the three without penalty, by validation", *regret(found, USUAL)], ["best form of the penalty, by validation", *regret(found, ALONE)]]), "",
        "So: if the data can be turned exactly, use that first, and from few images the sampled penalty, at the cost of a second forward pass. Where they "
        "cannot, or no layer may break the symmetry by more than a stated amount, use a target: it follows the data from no symmetry to the whole of it. "
        "No form of the penalty on weights by itself is shown to be better than augmentation.", "",
        "## All settings", "",
        f"Points beside the best usual row: ▲ ahead, ▼ behind (95 % interval over paired seeds, corrected for ten comparisons), = level (the interval lies within "
        f"±{MARGIN:g} points, stated in advance), ? undecided. A dot: the row is the reference.", "",
        *markdown(["data", "images", "channels", "b", "best usual row, test in %", *names], [setting.summary(names) for setting in found]), "",
        "## How it was done", "",
        "Five convolutions with regular fields of C4, no normalisation, AdamW with warm-up and cosine, bf16. MNIST: batch 128, 3,000 steps from 500 images, "
        "6,000 from 5,000; ModelNet10, 28³ voxels, turned about one axis: batch 32, 3,000 steps. These suffice: [budgets](budgets.md). Every row has two "
        "learning rates; rows with a strength choose from five, weight decay from 0.1 and 1, augmentation from probability 0.5 and 1. An image is "
        "upright with probability b, else turned by a random quarter, alike in training, validation and test. *gradient*: squared "
        "penalty added to the gradient; *squared*, *plain*, *target*: the step after the optimiser's; *sampled*: squared difference of "
        "the outputs at an image and at a turned copy; *strict*: weights projected after every step; *rpp*: residual pathway. The gradient's norm is "
        "clipped at 1" + (f", but not in {len(unclipped)} settings, marked below, that were trained before: there some networks diverged at the rate of 0.01"
                          if unclipped else "") + ".", "",
        "In the tables: † strength at an end of its grid; *diverged*: networks below "
        f"{DIVERGED:g} %, counted, not left out; residual ‖W − P(W)‖/‖W‖; agreement: share of test images whose prediction stays the same under a "
        "quarter turn, the worst of three.", ""]
    for setting in found:
        lines += [f"## {NAMES[setting.data]}, {setting.images()}, b = {setting.upright:g}{'' if setting.clipped else ', gradient not clipped'}", "",
                  *markdown(["row", "strength", "learning rate", "test", "diverged", f"beside {setting.reference}", "verdict", "residual", "agreement"],
                            list(setting.lines())), ""]
    return "\n".join(lines)
