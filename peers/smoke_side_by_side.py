"""Training steps of the relaxed smoke networks, reynolds and plain PyTorch in turn, as ratios.

    python smoke_side_by_side.py --reynolds PATH [--device cpu|cuda:0] [--rounds 3] [--steps 10] [--small] [--pairs N] [--json FILE]

Each round runs ours and PyTorch's, without and with the penalty;
a row is the median over rounds of the medians of steps. "default" is PyTorch as it comes (kernels assembled in every forward call, as
in Wang's public code); "tuned" assembles once a step and, on CUDA, has channels last and cudnn.benchmark. The scale network of
PyTorch computes all four scales as the public code does; ours leaves out those that nothing reads. With --pairs what the penalty adds to our steps
follows.
"""

import argparse
import json
import pathlib
import statistics
import sys

from sides import lines, step_command

KINDS = {"translation": "translation", "rotation": "rotation", "scale": "scaling"}
SIZES = {  # hidden, banks and batch as published, or as near to it as the cap on parameters allows
    "rsteer-rotation": (92, 1, 16),
    "rgroup-rotation": (130, 3, 16),
    "rgroup-translation": (128, 2, 8),
    "rsteer-scale": (48, 1, 8),
    "rgroup-scale": (32, 1, 8),
}
SMALL = {  # hidden and batch that a processor of two cores steps through in about a second
    "rsteer-rotation": (16, 4),
    "rgroup-rotation": (16, 4),
    "rgroup-translation": (48, 4),
    "rsteer-scale": (16, 4),
}
STRENGTH = "penalty.lambda_perp=1e-4"


def our_command(reynolds, model, settings, device, steps, small, *more):
    architecture, kind = model.split("-")
    hidden, banks, batch = SIZES[model]
    if small:
        hidden, batch = SMALL[model]
    sizes = (f"model.hidden={hidden}", f"model.banks={banks}", f"data.batch={batch}")
    network = (f"data.kind={KINDS[kind]}", f"model.architecture={architecture}", *sizes)
    return step_command(reynolds, "smoke", (*network, *settings), "--device", device, "--steps", steps, "--warmup", 3, *more)


def commands(reynolds, model, reg, device, steps, threads, small):
    """Ours, PyTorch as it comes and PyTorch tuned."""
    common = ["--model", model, "--reg", str(reg), "--device", device, "--steps", str(steps), "--warmup", "3", "--threads", str(threads), "--json"]
    if small:
        common += [word for pair in zip(("--hidden", "--batch"), map(str, SMALL[model])) for word in pair]
    settings = (f"train.threads={threads}", *([STRENGTH] if reg else []))
    peer = [sys.executable, str(pathlib.Path(__file__).with_name("smoke.py")), *common]
    tuned = ["--assemble", "once"]
    if device != "cpu":
        tuned += ["--channels-last", "1", "--cudnn-benchmark", "1"]
    return {"ours": our_command(reynolds, model, settings, device, steps, small), "default": peer, "tuned": [*peer, *tuned]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reynolds", required=True, help="the program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", default=",".join(SMALL))
    parser.add_argument("--small", action="store_true", help="sizes for a processor; else those of the papers")
    parser.add_argument("--pairs", type=int, default=0, help="interleaved pairs of our steps with and without the penalty, after the rounds")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    measured = []
    print(f"{'network':20} {'+Reg':>4} {'ours':>10} {'default':>10} {'tuned':>10}   default / ours   tuned / ours")
    for model in options.models.split(","):
        for reg in (0, 1):
            kinds = commands(options.reynolds, model, reg, options.device, options.steps, options.threads, options.small)
            seconds = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind, command in kinds.items():
                    found = lines(command)[-1] | {"kind": kind}
                    seconds[kind].append(found["seconds"] if "seconds" in found else found["train_ms"] / 1e3)
                    measured.append(found)
            ours, default, best = (statistics.median(seconds[kind]) for kind in kinds)
            times = " ".join(f"{value * 1e3:7.2f} ms" for value in (ours, default, best))
            print(f"{model:20} {reg:>4} {times}   {default / ours:14.2f}   {best / ours:12.2f}", flush=True)
    for model in SMALL if options.small else SIZES:
        if options.pairs:
            settings, more = (f"train.threads={options.threads}", STRENGTH), ("--pairs", options.pairs)
            command = our_command(options.reynolds, model, settings, options.device, options.steps, options.small, *more)
            found = lines(command)[-1]
            measured.append(found | {"kind": "pairs"})
            print(f"{model:20} penalty adds us: {found['pairs']}", flush=True)
    if options.json:
        options.json.write_text("".join(json.dumps(found) + "\n" for found in measured))


if __name__ == "__main__":
    main()
