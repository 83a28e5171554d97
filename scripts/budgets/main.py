"""Learning curves without a penalty: how long the networks of fig-pay must train, at which learning rate, and what they reach.

    python3 scripts/budgets/main.py --plan first --data DIR --out DIR --minutes 9

Trains the plan's cohorts in order until the time is up and appends one JSON line a network to OUT/budgets.jsonl; a cohort that would not
fit into the time left is passed over, and so is one that an earlier process began there. `--measure` first measures training steps a second by
models side by side and precision.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import time
import traceback

import torch

from network import mnist_network, modelnet_network
from plans import PLANS
from training import Job, Trainer

NETWORKS = {"mnist": ("mnist.npz", mnist_network), "modelnet10": ("modelnet10_28.npz", modelnet_network)}
PRECISIONS = {"tf32": torch.float32, "bf16": torch.bfloat16}


class Output:
    """JSON lines in a file, each with where it comes from."""

    def __init__(self, folder, device, name="budgets.jsonl"):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        earlier = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
        self.begun = {record["cohort"] for record in earlier if record["kind"] == "begun"}
        self.file = open(path, "a", encoding="utf-8")
        name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
        self.origin = {"command": " ".join(sys.argv), "commit": os.environ.get("COMMIT", "unknown"), "device": name, "torch": torch.__version__}

    def write(self, record):
        self.file.write(json.dumps(rounded({**record, **self.origin}), separators=(",", ":")) + "\n")
        self.file.flush()


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


class Speeds:
    """Model-steps a second seen for each kind of network, to foresee how long a cohort takes."""

    def __init__(self):
        self.seconds = {}

    @staticmethod
    def kind(job):
        return job.data, job.channels

    def saw(self, jobs, steps, seconds):
        self.seconds[self.kind(jobs[0])] = seconds / (len(jobs) * steps)

    def foresee(self, jobs):
        """Seconds; an unknown width is taken as its share of the widest known one, squared."""
        data, channels = self.kind(jobs[0])
        known = {width: value for (name, width), value in self.seconds.items() if name == data}
        if not known:
            return 0.0
        nearest = min(known, key=lambda width: abs(width - channels))
        return 8 + known[nearest] * max(1.0, channels / nearest) ** 2 * len(jobs) * jobs[0].steps


def speed(trainer, jobs, rounds=30):
    """Seconds a model and step in a cohort, validation left out."""
    if jobs[0].steps < trainer.unroll * (rounds + 1):
        raise ValueError(f"expected at least {trainer.unroll * (rounds + 1)} steps to measure, got {jobs[0].steps}")
    cohort = trainer.cohort(jobs)
    cohort.train()
    if cohort.on_gpu:
        torch.cuda.synchronize()
    started = time.monotonic()
    for _ in range(rounds):
        cohort.train()
    if cohort.on_gpu:
        torch.cuda.synchronize()
    seconds = time.monotonic() - started
    cohort.close()
    return seconds / (len(jobs) * rounds * cohort.unroll)


def measure(trainers, output, speeds, say):
    """Throughput at 32 channels; returns a precision a data set (bf16 only where it is ahead by a fifth)."""

    def case(data, precision, models):
        batch = 128 if data == "mnist" else 32
        jobs = [Job(data, 400, 32, "none", 1.0, 1e-3, 1000, seed, batch=batch) for seed in range(models)]
        started = time.monotonic()
        each = speed(trainers[precision], jobs)
        speeds.saw(jobs, 1, each * models)
        output.write({"kind": "throughput", "data": data, "channels": 32, "models": models, "row": "none", "precision": precision,
                      "batch": batch, "model_steps_per_second": 1 / each})
        say(f"speed {data} 32 channels, {models:2} models, {precision}: {1 / each:8.0f} model-steps/s ({time.monotonic() - started:.1f} s)")
        return each

    for models in (1, 8):
        case("mnist", "tf32", models)
    best = {}
    for data, models in (("mnist", 32), ("modelnet10", 16)):
        bf16, tf32 = (case(data, precision, models) for precision in ("bf16", "tf32"))
        best[data] = "bf16" if 1.2 * bf16 < tf32 else "tf32"
        speeds.saw([Job(data, 400, 32, "none", 1.0, 1e-3, 1, 0)], 1, min(bf16, tf32) if best[data] == "bf16" else tf32)
    say(f"speed: {best} from here on")
    return best


def summary(job, curve, tested):
    accuracy = curve["validation_accuracy"]
    at = [accuracy[int(len(accuracy) * share) - 1] for share in (0.5, 0.8)] if len(accuracy) > 4 else []
    extra = job.weight_decay or job.augmentation or ""
    return (f"  {job.data[:5]} {job.train:5} ×{job.channels:<3} {job.row:12} {extra!s:4} b={job.upright:<3} lr={job.rate:<6g} {job.schedule[:3]} {job.norm[:1]} s{job.seed}"
            f" val {' '.join(f'{100 * value:.2f}' for value in at + accuracy[-1:])} test {100 * tested['test_accuracy']:.2f}"
            f" loss {curve['train_loss'][-1]:.4f} agree {min(tested['agreement_by_turn']):.3f} res {tested['residual']:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plan", choices=PLANS, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with mnist.npz and modelnet10_28.npz")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--precision", choices=(*PRECISIONS, "auto"), default="auto", help="auto: the faster one, measured")
    parser.add_argument("--measure", action="store_true", help="measure throughput first")
    parser.add_argument("--eager", action="store_true", help="no CUDA graphs")
    parser.add_argument("--records", type=int, default=50, help="points of a learning curve")
    parser.add_argument("--evaluated", type=int, default=5000, help="validation images of a curve's points")
    arguments = parser.parse_args()
    started = time.monotonic()
    deadline = started + 60 * arguments.minutes

    def say(line):
        print(f"{time.monotonic() - started:6.1f} {line}", flush=True)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    output = Output(arguments.out, device)
    trainers = {name: Trainer(arguments.data, NETWORKS, dtype, device, arguments.evaluated, graph=not arguments.eager) for name, dtype in PRECISIONS.items()}
    speeds = Speeds()
    precisions = dict.fromkeys(NETWORKS, "tf32")
    if arguments.measure:
        precisions = measure(trainers, output, speeds, say)
    if arguments.precision != "auto":
        precisions = dict.fromkeys(NETWORKS, arguments.precision)

    for number, jobs in enumerate(PLANS[arguments.plan]()):
        precision = precisions[jobs[0].data]
        if number in output.begun:
            continue
        foreseen, left = speeds.foresee(jobs), deadline - time.monotonic()
        title = f"{jobs[0].data} {jobs[0].train} images, {jobs[0].channels} channels, {jobs[0].steps} steps, {len(jobs)} models"
        if left < max(20, foreseen):
            say(f"passed over: {title}: {foreseen:.0f} s foreseen, {left:.0f} s left")
            continue
        output.write({"kind": "begun", "cohort": number})
        try:
            cohort = trainers[precision].cohort(jobs)
            ready = time.monotonic()
            curves, seconds = cohort.run(arguments.records, deadline - 12)
            tests = [model.tested() for model in cohort.models]
        except RuntimeError:
            traceback.print_exc()
            if device.type == "cuda":
                torch.cuda.synchronize()  # raises again if the device is lost; another process then goes on with the next cohort
            continue
        steps = curves[0]["step"][-1]
        speeds.saw(jobs, steps, seconds)
        say(f"{title}: {seconds:.1f} s of training, {len(jobs) * steps / seconds:.0f} model-steps/s, tests {time.monotonic() - ready - seconds:.1f} s")
        for job, curve, tested in zip(jobs, curves, tests):
            output.write({"kind": "curve", "cohort": number, **dataclasses.asdict(job), "precision": precision, "models": len(jobs), "seconds": seconds,
                          "finished": steps == job.steps, "curve": curve, **tested})
            print(summary(job, curve, tested), flush=True)
        cohort.close()
    say("done")


if __name__ == "__main__":
    main()
