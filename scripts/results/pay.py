"""docs/results/pay.md: does the penalty pay? From results/pay/mnist.jsonl, one network a line."""

import json
import math
from statistics import mean, stdev

from table import markdown

MARGIN = 2.0  # points of accuracy within which two rows count as equal, stated in advance
SEEDS = 5
# Two-sided quantile of Student's t with SEEDS - 1 = 4 degrees of freedom at 0.05 / 10: ten rows are compared with augmentation.
QUANTILE = 5.598
DIVERGED = 50.0  # % of test images; no converged network is below


def settings(records):
    """Test accuracy and the rest of the networks with fresh seeds, by setting and row; the choice of each row."""
    choices = {(r["train"], r["channels"], r["upright"], r["row"]): r for r in records if r["kind"] == "choice"}
    found = {}
    for record in records:
        if record["kind"] == "network" and record["seed"] > 10:
            rows = found.setdefault((record["train"], record["channels"], record["upright"]), {})
            rows.setdefault(record["row"], []).append(record)
    return {key: rows for key, rows in found.items() if all(len(seeds) == SEEDS for seeds in rows.values())}, choices


def compared(row, reference):
    """The difference of two rows with the same seeds, its interval, and what it says."""
    differences = [100 * (a["test_accuracy"] - b["test_accuracy"]) for a, b in zip(row, reference)]
    half = QUANTILE * stdev(differences) / math.sqrt(SEEDS)
    low, high = mean(differences) - half, mean(differences) + half
    says = "ahead" if low > 0 else "behind" if high < 0 else "level" if max(-low, high) <= MARGIN else "undecided"
    return f"{mean(differences):+.1f} ({low:+.1f} to {high:+.1f})", says


def line(row, networks, reference, choice):
    tests = [100 * network["test_accuracy"] for network in networks]
    first = networks[0]
    strength = f"{first['strength']:g}{' †' if choice and choice['strength_at_edge'] else ''}" if choice else "–"
    failed = sum(test < DIVERGED for test in tests)
    difference, says = ("–", "–") if networks is reference else compared(networks, reference)
    return [row, strength, f"{first['rate']:g}", f"{mean(tests):.1f} ± {stdev(tests):.1f}", failed or "–", difference, says,
            f"{mean(n['residual'] for n in networks):.3f}", f"{mean(min(n['agreement_by_turn']) for n in networks):.3f}"]


def page(root):
    records = [json.loads(text) for text in (root / "results/pay/mnist.jsonl").read_text().splitlines()]
    found, choices = settings(records)
    lines = [
        "# Does the penalty pay? MNIST", "",
        "Made from `results/pay/mnist.jsonl` by `make results`; trained by `scripts/budgets/pay.py` on one H200. Unfinished: "
        f"{len(found)} of the settings of the study have all rows; 5,000 and 50,000 images, ModelNet10 and time a step are missing.", "",
        "Five convolutions with regular fields of C4, no normalisation, AdamW with warm-up and cosine, 3,000 steps, batch 128, bf16. An image is "
        "upright with probability b, else turned by a random quarter, alike in training, validation and test. Each row chose its strength "
        "and learning rate on validation (two seeds; † at an end of its grid) and was trained with five fresh seeds. *gradient*: squared "
        "penalty added to the gradient; *squared*, *plain*, *target*: the step after the optimiser's; *sampled*: squared difference of "
        "the outputs at an image and at a turned copy, a second forward pass a step; *strict*: weights projected after every step; *rpp*: "
        "residual pathway.", "",
        f"Test accuracy in %, mean ± standard deviation over {SEEDS} seeds; the difference to augmentation with its 95 % interval over "
        f"paired seeds, corrected for ten comparisons; *level* if it lies within ±{MARGIN:g} points, which was stated in advance; "
        "residual ‖W − P(W)‖/‖W‖; agreement: share of test images whose prediction stays the same under a quarter turn, the worst of "
        f"three. A network below {DIVERGED:g} % has diverged and is counted, not left out: the rows that have such networks say that their "
        "learning rate was chosen too high by two seeds, not that the method fails.", ""]
    for (train, channels, upright), rows in found.items():
        lines += [f"## {train:,} images, {channels} channels, b = {upright:g}", "",
                  *markdown(["row", "strength", "learning rate", "test", "diverged", "beside augmentation", "verdict", "residual", "agreement"],
                            [line(row, networks, rows["augmentation"], choices.get((train, channels, upright, row)))
                             for row, networks in rows.items()]), ""]
    return "\n".join(lines)
