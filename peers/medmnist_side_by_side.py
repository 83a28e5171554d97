"""Training and inference of the MedMNIST networks, reynolds and plain PyTorch in turn, as ratios of samples a second.

    python medmnist_side_by_side.py --reynolds PATH --device cuda:0 [--groups so3,o3] [--precisions f32,bf16] [--rounds 3] [--json FILE]
    python medmnist_side_by_side.py --reynolds PATH --device cpu --width 1 --batches 2 --rounds 1 --steps 1 --warmup 0 --precisions f32

A round runs `reynolds bench step medmnist` for each model, group and precision, and medmnist.py once, each with all batches. A number is the median over rounds of the medians of steps.
"default" is PyTorch as it comes, "tuned" has channels last and cudnn.benchmark; the precision is the same on both sides (TF32 in convolutions
for "f32", which is PyTorch's default and ours; bf16 by autocast there; the kind "fp16" is tuned with fp16 autocast and scaled gradients, as
published, beside our bf16). What is compared:

    scnn    with plain: Conv3d with the same channels, gates included; with escnn: its own step; with escnn-lean: without its copies and checks
    ours    (with the penalty) with ours-penalty: the same dense network and the penalty layer by layer on the tape; with ours-energies
    cnn     with cnn

Ratios are ours / theirs, more is better. A bar is held if the fastest of the kinds is met. Inference of ours has batch normalisation folded into
the kernels, once; theirs is as one would write it. Neither side uses a fused Adam.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys

from sides import lines, step_command

THEIRS = {"f32": "tf32", "bf16": "bf16"}
LAYOUTS = {"default": "default", "tuned": "channels-last", "fp16": "channels-last"}
# Ours, theirs, and the ratio that training has to reach.
COMPARISONS = (
    ("scnn", "plain", 0.9),
    ("scnn", "escnn", None),
    ("scnn", "escnn-lean", None),
    ("ours", "ours-penalty", 1.2),
    ("ours", "ours-energies", 1.2),
    ("cnn", "cnn", None),
)


def shared(options):
    sizes = {"--device": options.device, "--steps": options.steps, "--warmup": options.warmup, "--width": options.width, "--classes": 2}
    return [str(text) for pair in sizes.items() for text in pair] + ["--json"]


# Nodule, which has two classes; the strengths of the penalty do not change what a step costs.
SETTINGS = ("data.set=nodule",)
PENALTY = ("penalty.lambda_g=1e-4", "penalty.lambda_perp=1e-1")


def our_command(options, model, group, precision, penalty=True):
    settings = (f"model.architecture={model}", f"model.group={group}", f"model.width={options.width}", f"train.precision={precision}")
    counts = ("--device", options.device, "--steps", options.steps, "--warmup", options.warmup)
    batches = (word for batch in options.batches for word in ("--batch", batch))
    return step_command(options.reynolds, "medmnist", SETTINGS + settings + PENALTY * (penalty and model == "ours"), *counts, *batches)


def ours(options, models):
    found = []
    for model, group, precision in itertools.product(models, options.groups, options.precisions):
        names = {"program": "reynolds", "kind": "ours", "model": model, "group": group}
        found += [line | names for line in lines(our_command(options, model, group, precision))]
    return found


def their_command(options, models):
    peer = pathlib.Path(__file__).with_name("medmnist.py")
    command = [sys.executable, str(peer), *shared(options), "--threads", str(options.threads)]
    for group in options.groups:
        for batch in options.batches:
            for precision in options.precisions:
                for kind in options.kinds:
                    if kind == "fp16" and precision != "bf16":
                        continue
                    theirs = "fp16" if kind == "fp16" else THEIRS[precision]
                    for model in models:
                        command += ["--row", f"{model}:{group}:{batch}:{theirs}:{LAYOUTS[kind]}"]
    return command


def theirs(options, models):
    return [found | {"kind": kind_of(found)} for found in lines(their_command(options, models))]


def kind_of(found):
    return "fp16" if found["precision"] == "fp16" else "default" if found["layout"] == "default" else "tuned"


class Table:
    """Medians over rounds."""

    def __init__(self, found):
        self.numbers = {}
        for line in found:
            precision = {"tf32": "f32", "fp16": "bf16"}.get(line["precision"], line["precision"])
            row = line["program"], line["model"], line["kind"], line["group"], line["batch"], precision
            for what in ("train_samples_per_s", "inference_samples_per_s", "train_ms", "peak_memory_mib", "build_ms"):
                if line.get(what):
                    self.numbers.setdefault((*row, what), []).append(line[what])

    def __call__(self, *key):
        found = self.numbers.get(key)
        return statistics.median(found) if found else None


def show(table, row, options, models):
    """One line for each comparison and each of training and inference."""
    group, batch, precision = row
    print(f"{group}, batch {batch}, {precision}: samples a second")
    for here, there, bar in COMPARISONS:
        if here not in models:
            continue
        for what in ("train", "inference"):
            mine = table("reynolds", here, "ours", *row, f"{what}_samples_per_s")
            found = {kind: table("PyTorch", there, kind, *row, f"{what}_samples_per_s") for kind in options.kinds}
            found = {kind: rate for kind, rate in found.items() if rate}
            if not mine or not found or (what == "inference" and there in ("ours-energies", "escnn-lean")):
                continue
            cells = "  ".join(f"{kind} {rate:9.1f} ({mine / rate:5.2f})" for kind, rate in found.items())
            ratio = mine / max(found.values())
            verdict = f"   bar {bar}: {'held' if ratio >= bar else 'not held'}" if bar and what == "train" else ""
            print(f"    {what:9} {here:5} {mine:9.1f}   {there:13} {cells}{verdict}")
    built = [(model, table("reynolds", model, "ours", *row, "build_ms")) for model in models]
    print("    built in " + ", ".join(f"{model} {ms:.0f} ms" for model, ms in built if ms), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--reynolds", required=True, help="the program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", type=words, default=["scnn", "ours", "cnn"])
    parser.add_argument("--groups", type=words, default=["so3"])
    parser.add_argument("--batches", type=words, default=["32"])
    parser.add_argument("--precisions", type=words, default=["f32", "bf16"])
    parser.add_argument("--kinds", type=words, default=["default", "tuned"])
    parser.add_argument("--width", type=int, default=0, help="c; 0: 2 for ours, 6 for the others")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="every measured row, one a line")
    options = parser.parse_args()
    peers = list(dict.fromkeys(there for here, there, _ in COMPARISONS if here in options.models))
    found = []
    for _ in range(options.rounds):
        found += ours(options, options.models)
        found += theirs(options, peers)
        if options.json:
            options.json.write_text("".join(json.dumps(line) + "\n" for line in found))
    table = Table(found)
    for group in options.groups:
        for batch in options.batches:
            for precision in options.precisions:
                show(table, (group, int(batch), precision), options, options.models)


if __name__ == "__main__":
    main()
