"""Does the penalty pay? Rows of methods on images whose symmetry is broken by degrees, each tuned on validation and then trained with fresh seeds.

    python3 scripts/budgets/pay.py --data DIR --out DIR --minutes 7

A setting is a number of images, of channels and b. For each, every row is trained over its grid of strengths and learning rates with two
seeds; the best mean validation accuracy at the end chooses; the choice is trained with five fresh seeds. Rows without a penalty take the choice
of results/budgets/mnist.json, made in the same way. Appends a JSON line a network to OUT/pay.jsonl. What that file holds is not trained again; a
setting that does not fit into the time left is passed over.
"""

import argparse
import dataclasses
import json
import pathlib
import time
import traceback

import torch

from main import NETWORKS, PRECISIONS, Output, Speeds
from training import Job, Trainer

SETTINGS = [(500, 64, 0.5), (500, 64, 0.9), (500, 32, 0.5), (500, 32, 0.9)]
TUNING_SEEDS, SEEDS = (1, 2), (11, 12, 13, 14, 15)
RATES = (3e-3, 1e-2)
GRIDS = {
    "gradient": (0.001, 0.01, 0.1, 1.0, 10.0),
    "squared": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "plain": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "target": (0.0, 0.02, 0.05, 0.1, 0.2, 0.4),
    "rpp": (0.001, 0.01, 0.1, 1.0, 10.0),
    "sampled": (0.001, 0.01, 0.1, 1.0, 10.0),
    "squared and augmentation": (0.3, 1.0, 3.0, 10.0, 30.0),
}
BASELINES = ("none", "weight decay", "augmentation", "strict")
STEPS = 3_000
MOST = 48  # networks side by side


def baselines(train, channels, upright, budgets):
    """The settings of the rows without a penalty that were best on validation there."""
    entries = [entry for call in budgets["calls"] for entry in call["groups"]
               if (entry["train"], entry["channels"], entry["upright"], entry["steps"], entry["norm"], entry["schedule"]) == (train, channels, upright, STEPS, "none", "cosine")]
    for row in BASELINES:
        best = max((entry for entry in entries if entry["row"] == row), key=lambda entry: entry["validation_last"])
        yield {key: best[key] for key in ("row", "rate", "weight_decay", "augmentation")}


def tuning(train, channels, upright, augmentation):
    """All networks of the grids."""
    for row, strengths in GRIDS.items():
        for strength in strengths:
            for rate in RATES:
                for seed in TUNING_SEEDS:
                    turned = augmentation if row == "squared and augmentation" else 0.0
                    yield Job("mnist", train, channels, row, upright, rate, STEPS, seed, strength=strength, augmentation=turned)


def chosen(records):
    """For each row the setting whose mean validation accuracy is best, and whether it lies at an end of its grid."""
    best = {}
    for record in records:
        key = record["row"], record["strength"], record["rate"], record["augmentation"]
        best.setdefault(key, []).append(record["curve"]["validation_accuracy"][-1])
    for row, strengths in GRIDS.items():
        settings = {key: sum(values) / len(values) for key, values in best.items() if key[0] == row and len(values) == len(TUNING_SEEDS)}
        if settings:
            (_, strength, rate, augmentation), validation = max(settings.items(), key=lambda item: item[1])
            yield {"row": row, "strength": strength, "rate": rate, "augmentation": augmentation,
                   "strength_at_edge": strength in (strengths[0], strengths[-1]), "validation": validation}


class Study:
    """Networks that are trained in cohorts until the time is up."""

    def __init__(self, trainer, out, device, deadline, precision):
        self.path = out / "pay.jsonl"
        self.done = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                if record["kind"] == "network":
                    self.done[self.key(record)] = record
        self.output = Output(out, device, "pay.jsonl")
        self.trainer, self.deadline, self.precision, self.speeds = trainer, deadline, precision, Speeds()
        self.started = time.monotonic()

    @staticmethod
    def key(record):
        return tuple(record[field.name] for field in dataclasses.fields(Job))

    def say(self, line):
        print(f"{time.monotonic() - self.started:6.1f} {line}", flush=True)

    def train(self, jobs):
        """The records of the jobs, or None if time does not suffice for all."""
        missing = [job for job in jobs if dataclasses.astuple(job) not in self.done]
        parts = -(-len(missing) // MOST)
        for part in range(parts):
            cohort = missing[part::parts]
            foreseen, left = self.speeds.foresee(cohort), self.deadline - time.monotonic()
            if left < max(25, foreseen):
                self.say(f"stopped: {foreseen:.0f} s foreseen, {left:.0f} s left")
                return None
            if not self.cohort(cohort):
                return None
        return [self.done[dataclasses.astuple(job)] for job in jobs if dataclasses.astuple(job) in self.done]

    def cohort(self, jobs):
        started = time.monotonic()
        try:
            cohort = self.trainer.cohort(jobs)
            curves, seconds = cohort.run(15, self.deadline - 10)
            if curves[0]["step"][-1] < STEPS:
                return False
            tests = [model.tested() for model in cohort.models]
            cohort.close()
        except RuntimeError:
            traceback.print_exc()
            return False
        whole = time.monotonic() - started
        self.speeds.saw(jobs, STEPS, whole - 8)
        self.say(f"{jobs[0].train} images × {jobs[0].channels}, b = {jobs[0].upright}: {len(jobs)} networks in {whole:.1f} s, {seconds:.1f} of them steps")
        for job, curve, tested in zip(jobs, curves, tests):
            record = {"kind": "network", **dataclasses.asdict(job), "precision": self.precision, "models": len(jobs), "seconds": seconds, "curve": curve, **tested}
            self.output.write(record)
            self.done[dataclasses.astuple(job)] = record
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    parser.add_argument("--budgets", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "results" / "budgets" / "mnist.json")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="the first so many settings")
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    trainer = Trainer(arguments.data, NETWORKS, PRECISIONS[arguments.precision], device, 5000)
    study = Study(trainer, arguments.out, device, deadline, arguments.precision)
    budgets = json.loads(arguments.budgets.read_text(encoding="utf-8"))
    for train, channels, upright in SETTINGS[: arguments.settings]:
        plain = list(baselines(train, channels, upright, budgets))
        augmentation = next(row["augmentation"] for row in plain if row["row"] == "augmentation")
        records = study.train(list(tuning(train, channels, upright, augmentation)))
        if records is None:
            break
        choices = list(chosen(records))
        for choice in choices:
            study.output.write({"kind": "choice", "data": "mnist", "train": train, "channels": channels, "upright": upright, **choice})
        final = [Job("mnist", train, channels, one["row"], upright, one["rate"], STEPS, seed, weight_decay=one.get("weight_decay", 0.0),
                     augmentation=one["augmentation"], strength=one.get("strength", 0.0)) for one in plain + choices for seed in SEEDS]
        records = study.train(final)
        if records is None:
            break
        for one in plain + choices:
            tests = [100 * record["test_accuracy"] for record in records if record["row"] == one["row"]]
            mean = sum(tests) / len(tests)
            print(f"    {one['row']:26} {one.get('strength', 0):<6g} rate {one['rate']:<6g} test {mean:.2f}  {' '.join(f'{test:.2f}' for test in tests)}"
                  f"  residual {sum(r['residual'] for r in records if r['row'] == one['row']) / len(tests):.3f}"
                  f"  agreement {sum(min(r['agreement_by_turn']) for r in records if r['row'] == one['row']) / len(tests):.3f}", flush=True)


if __name__ == "__main__":
    main()
