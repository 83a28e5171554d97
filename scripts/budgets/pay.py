"""Does the penalty pay? Rows of methods on images whose symmetry is broken by degrees, each tuned on validation and then trained with fresh seeds.

    python3 scripts/budgets/pay.py --data DIR --out DIR --minutes 7

A setting is a set, a number of images, of channels and b. Two seeds tune: rows without a penalty over all their strengths and learning rates, the
others over their strengths at the first rate, then their best strength at the second. The best mean validation accuracy at the end
chooses; the choice is trained with five fresh seeds. Appends a JSON line a network to OUT/pay.jsonl. What that file holds is not trained again; a
setting that does not fit into the time left is passed over.
"""

import argparse
import dataclasses
import json
import pathlib
import time
import traceback
from dataclasses import dataclass

import torch

from main import NETWORKS, PRECISIONS, Output, Speeds
from training import Job, Trainer

TUNING_SEEDS, SEEDS = (1, 2), (11, 12, 13, 14, 15)
BASELINES = {"none": [{}], "weight decay": [{"weight_decay": 0.1}, {"weight_decay": 1.0}],
             "augmentation": [{"augmentation": 0.5}, {"augmentation": 1.0}], "strict": [{}]}
STRENGTHS = {
    "gradient": (0.01, 0.1, 1.0, 10.0, 100.0),
    "squared": (0.3, 1.0, 3.0, 10.0, 30.0),
    "plain": (0.01, 0.03, 0.1, 0.3, 1.0),
    "target": (0.0, 0.02, 0.05, 0.1, 0.2),
    "rpp": (0.01, 0.1, 1.0, 10.0, 100.0),
    "sampled": (0.01, 0.1, 0.3, 1.0, 10.0),
    "squared and augmentation": (0.3, 1.0, 3.0, 10.0, 30.0),
}
SIX = (*BASELINES, "squared", "target")
CLIP = 1.0  # norm of the gradient at most: without it some networks diverge at the highest rate
MOST = 56  # networks side by side


@dataclass(frozen=True)
class Setting:
    data: str
    train: int
    channels: int
    upright: float
    steps: int
    rates: tuple
    rows: tuple = (*BASELINES, *STRENGTHS)
    batch: int = 128

    def job(self, row, rate, seed, **options):
        return Job(self.data, self.train, self.channels, row, self.upright, rate, self.steps, seed, batch=self.batch, clip=CLIP, **options)

    def named(self):
        return {key: getattr(self, key) for key in ("data", "train", "channels", "upright")}


def mnist(train, channels, uprights, steps, **options):
    return [Setting("mnist", train, channels, upright, steps, (1e-2, 3e-3), **options) for upright in uprights]


def modelnet(uprights):
    return [Setting("modelnet10", 400, 32, upright, 3_000, (3e-3, 1e-3), SIX, 32) for upright in uprights]


SETTINGS = [
    *mnist(5_000, 32, (0.5, 0.9), 6_000), *modelnet((0.5, 0.0, 1.0)), *mnist(500, 32, (0.0, 1.0, 0.5, 0.9), 3_000), *mnist(500, 64, (0.5, 0.9), 3_000),
    *mnist(5_000, 64, (0.5, 0.9), 6_000), *mnist(500, 64, (0.0, 1.0), 3_000), *mnist(500, 128, (0.5, 0.9), 3_000, rows=("none", "augmentation", "strict", "squared")),
    *mnist(50_000, 32, (0.5, 0.0, 1.0, 0.9), 15_000, rows=SIX), *mnist(5_000, 32, (0.0, 1.0), 6_000), *mnist(5_000, 64, (0.0, 1.0), 6_000),
]


def tuning(setting):
    """The networks that tune: those that need no earlier result."""
    grid = {row: options for row, options in BASELINES.items() if row in setting.rows}
    jobs = [setting.job(row, rate, seed, **option) for row, options in grid.items() for option in options for rate in setting.rates for seed in TUNING_SEEDS]
    return jobs + [setting.job(row, setting.rates[0], seed, strength=strength)
                   for row, strengths in STRENGTHS.items() if row in setting.rows and row != "squared and augmentation"
                   for strength in strengths for seed in TUNING_SEEDS]


def tuning_further(setting, best):
    """The second rate of the rows with a strength, at their best one; and the penalty with the augmentation and the rate that are best without it."""
    jobs = [setting.job(row, rate, seed, strength=best[row]["strength"])
            for row in STRENGTHS if row in best for rate in setting.rates[1:] for seed in TUNING_SEEDS]
    if "squared and augmentation" in setting.rows:
        turned = best["augmentation"]
        jobs += [setting.job("squared and augmentation", turned["rate"], seed, strength=strength, augmentation=turned["augmentation"])
                 for strength in STRENGTHS["squared and augmentation"] for seed in TUNING_SEEDS]
    return jobs


TUNED = "rate", "strength", "weight_decay", "augmentation"


def chosen(records):
    """For each row the setting whose mean validation accuracy is best, and whether its strength lies at an end of the grid."""
    found = {}
    for record in records:
        key = record["row"], *(record[name] for name in TUNED)
        found.setdefault(key, []).append(record["curve"]["validation_accuracy"][-1])
    best = {}
    for (row, *tuned), values in found.items():
        validation, strengths = sum(values) / len(values), STRENGTHS.get(row, ())
        if len(values) == len(TUNING_SEEDS) and validation > best.get(row, {"validation": -1})["validation"]:
            at_edge = bool(strengths) and tuned[1] in (strengths[0], strengths[-1])
            best[row] = {"row": row, **dict(zip(TUNED, tuned)), "strength_at_edge": at_edge, "validation": validation}
    return best


def kept(curve, tested):
    """Of a network that is tested its validation accuracy over the steps, of one that tunes the last: thousands of them are committed."""
    return {name: curve[name] if tested else curve[name][-1:] for name in ("step", "validation_accuracy")}


class Study:
    """Networks that are trained in cohorts until the time is up."""

    def __init__(self, trainer, out, device, deadline, precision):
        self.path = out / "pay.jsonl"
        self.done, self.chosen = {}, set()
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                if record["kind"] == "network":
                    self.done[self.key(record)] = record
                else:
                    self.chosen.add((record["data"], record["train"], record["channels"], record["upright"], record["row"]))
        self.output = Output(out, device, "pay.jsonl")
        self.trainer, self.deadline, self.precision, self.speeds = trainer, deadline, precision, Speeds()
        self.started = time.monotonic()

    @staticmethod
    def key(record):
        return tuple(record.get(field.name, field.default) for field in dataclasses.fields(Job))

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
            if curves[0]["step"][-1] < jobs[0].steps:
                return False
            tests = [model.tested() if model.job.seed in SEEDS else {} for model in cohort.models]
            cohort.close()
        except RuntimeError:
            traceback.print_exc()
            return False
        whole = time.monotonic() - started
        self.speeds.saw(jobs, jobs[0].steps, whole - 8)
        self.say(f"{jobs[0].data}, {jobs[0].train} images × {jobs[0].channels}, b = {jobs[0].upright}: {len(jobs)} networks in {whole:.1f} s, {seconds:.1f} of them steps")
        for job, curve, tested in zip(jobs, curves, tests):
            record = {"kind": "network", **dataclasses.asdict(job), "precision": self.precision, "models": len(jobs), "seconds": seconds,
                      "curve": kept(curve, tested), **tested}
            self.output.write(record)
            self.done[dataclasses.astuple(job)] = record
        return True

    def setting(self, setting):
        """Tunes and trains all rows of a setting; False if time did not suffice."""
        first = self.train(tuning(setting))
        if first is None:
            return False
        further = self.train(tuning_further(setting, chosen(first)))
        if further is None:
            return False
        choices = [chosen(first + further)[row] for row in setting.rows]
        final = self.train([setting.job(one["row"], seed=seed, **{name: one[name] for name in TUNED}) for one in choices for seed in SEEDS])
        if final is None:
            return False
        for choice in choices:
            if (*setting.named().values(), choice["row"]) not in self.chosen:
                self.output.write({"kind": "choice", **setting.named(), **choice})
        self.say(f"{setting.data}, {setting.train} images × {setting.channels}, b = {setting.upright}: done")
        for one in choices:
            networks = [record for record in final if record["row"] == one["row"]]
            tests = [100 * record["test_accuracy"] for record in networks]
            print(f"    {one['row']:26} {one['strength']:<6g} rate {one['rate']:<6g} test {sum(tests) / len(tests):.2f}  {' '.join(f'{test:.2f}' for test in tests)}"
                  f"  residual {sum(r['residual'] for r in networks) / len(tests):.3f}"
                  f"  agreement {sum(min(r['agreement_by_turn']) for r in networks) / len(tests):.3f}", flush=True)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with mnist.npz and modelnet10_28.npz")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="the first so many settings")
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    trainer = Trainer(arguments.data, NETWORKS, PRECISIONS[arguments.precision], device, 5000)
    study = Study(trainer, arguments.out, device, deadline, arguments.precision)
    for setting in SETTINGS[: arguments.settings]:
        if not study.setting(setting):
            break


if __name__ == "__main__":
    main()
