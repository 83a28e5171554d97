"""Learning curves of the paper's own networks without a penalty: how many steps the tables of CT and smoke must train.

    python3 scripts/budgets/runs.py --plan ct --program carry/reynolds --out DIR --seconds 540 --jobs 6

Every run of the plan is a process `reynolds run …`, `--jobs` at a time; when the time is up the rest is interrupted, and what a run has recorded by then
counts. Leaves OUT/runs-PLAN.json: each run with its command, its validation records and whether it was finished.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PLANS = {
    # Reduced networks on 16 patches of 64 x 64; the learning rate falls by half at five milestones.
    "ct": (
        "ct",
        {
            "data.source": "slices", "data.side": 256, "data.train": 240, "data.validation": 16, "data.test": 4, "data.steps": 250, "data.batch": 16,
            "data.patch": 64, "model.stages": 3, "model.blocks": 2, "train.precision": "bf16", "train.epochs": 24, "train.schedule.shape": "multi_step",
            "train.schedule.milestones": "[10,14,17,20,22]", "train.schedule.gamma": 0.5,
        },
        [
            {"model.architecture": architecture, "train.learning_rate": rate}
            for rate in (5e-4, 2e-3)
            for architecture in ("acdnet", "oscnet", "dicdnet")
        ],
    ),
    # A quarter of the published widths, rollouts of six steps in the loss.
    "smoke": (
        "smoke",
        {
            "data.train_windows": 800, "data.evaluation_windows": 250, "data.out_length": 6, "train.epochs": 100, "train.early_stopping.patience": 0,
            "train.schedule.gamma": 0.96,
        },
        [
            {"data.kind": "rotation", "data.batch": 16, "model.architecture": "conv", "model.hidden": 92, "model.layers": 5},
            {"data.kind": "rotation", "data.batch": 16, "model.architecture": "rsteer", "model.hidden": 23, "model.layers": 5, "model.banks": 3},
            {"data.kind": "rotation", "data.batch": 16, "model.architecture": "rgroup", "model.hidden": 32, "model.layers": 5, "model.banks": 3},
            {"data.kind": "translation", "data.batch": 8, "model.architecture": "rgroup", "model.hidden": 32, "model.banks": 2},
            {"data.kind": "scaling", "data.batch": 8, "model.architecture": "rsteer", "model.hidden": 12, "model.banks": 2},
            {"data.kind": "scaling", "data.batch": 8, "model.architecture": "conv", "model.hidden": 48},
        ],
    ),
}


def records(folder):
    """What the runs below a folder have recorded, a line an evaluation."""
    files = sorted(folder.glob("*/*/metrics.jsonl"))
    lines = files[-1].read_text(encoding="utf-8").splitlines() if files else []
    return [json.loads(line) for line in lines]


class Run:
    def __init__(self, command, folder, log):
        self.command, self.folder, self.log = command, folder, log
        self.begun, self.ended, self.process = None, None, None

    def start(self):
        self.begun = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def is_over(self):
        if self.process.poll() is not None and self.ended is None:
            self.ended = time.monotonic()
        return self.ended is not None

    def result(self):
        seconds = None if self.begun is None else round((self.ended or time.monotonic()) - self.begun, 1)
        code = None if self.process is None else self.process.returncode
        result = {"command": " ".join(map(str, self.command)), "seconds": seconds, "code": code, "records": records(self.folder)}
        if code not in (0, None):
            result["said"] = self.log.read_text(encoding="utf-8", errors="replace")[-600:]
        return result


def run_all(runs, jobs, seconds):
    """Starts the runs in their order, `jobs` at a time, until all are over or the time is up; then interrupts what is left."""
    end, waiting, active = time.monotonic() + seconds, list(runs), []
    while (waiting or active) and time.monotonic() < end:
        active = [run for run in active if not run.is_over()]
        while waiting and len(active) < jobs:
            active.append(waiting.pop(0))
            active[-1].start()
        time.sleep(0.2)
    for run in active:
        run.process.send_signal(signal.SIGINT)
    for run in active:
        try:
            run.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            run.process.kill()
            run.process.wait()
        run.is_over()


def runs_of(plan, program, device, out, further):
    experiment, shared, variations = PLANS[plan]
    for number, variation in enumerate(variations):
        command = [program, "run", experiment, "--device", device, "--runs", str(out / f"run{number}"), "--set", "train.threads=2"]
        for key, value in {**shared, **variation, **further}.items():
            command += ["--set", f"{key}={value}"]
        yield Run(command, out / f"run{number}", out / f"run{number}.log")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", choices=PLANS, required=True)
    parser.add_argument("--program", default="carry/reynolds")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for the runs")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the curves")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a further setting of every run")
    arguments = parser.parse_args()
    for folder in (arguments.work, arguments.out):
        folder.mkdir(parents=True, exist_ok=True)
    further = dict(word.split("=", 1) for word in arguments.set)
    runs = list(runs_of(arguments.plan, arguments.program, arguments.device, arguments.work, further))
    run_all(runs, arguments.jobs, arguments.seconds)
    results = {
        "command": " ".join(sys.argv),
        "commit": os.environ.get("REYNOLDS_COMMIT", "unknown"),
        "device": "one NVIDIA H200" if arguments.device.startswith("cuda") else arguments.device,
        "jobs": arguments.jobs,
        "runs": [run.result() for run in runs],
    }
    (arguments.out / f"runs-{arguments.plan}.json").write_text(json.dumps(results, separators=(",", ":")), encoding="utf-8")
    for result in results["runs"]:
        last = result["records"][-1] if result["records"] else {}
        print(result["code"], result["seconds"], "s,", len(result["records"]), "records", json.dumps(last)[:300])
        if "said" in result:
            print("   ", result["command"][-200:], "\n   ", result["said"][-300:])


if __name__ == "__main__":
    main()
