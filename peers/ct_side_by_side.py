"""Training and inference of ACDNet, DICDNet and OSCNet, reynolds and plain PyTorch in turn, as ratios.

    python ct_side_by_side.py --reynolds PATH --device cuda:0 [--networks dicdnet] [--modes plain,sample,rpp,penalty] [--compile]
    python ct_side_by_side.py --reynolds PATH --device cpu --side 32 --batches 2 --rounds 1 --steps 1 --precisions f32

A round runs `reynolds bench step ct` for each mode and precision of each network, and ct.py once for each network, each with all batches. A number is the median over rounds of the medians of
steps. "default" is PyTorch as it comes, "tuned" has channels last and cudnn.benchmark; the precision is the same on both
sides (TF32 in convolutions for "f32", which is PyTorch's default and ours; bf16 by autocast there). The column "bf16 gain" is PyTorch's
default in TF32 over ours in bf16. ACDNet as published makes 256 responses; "tuned sums" is tuned, with their sums alone, as ours. Ratios of time are theirs / ours, more is better; ratios of memory ours / theirs, less is better.
"""

import argparse
import json
import pathlib
import statistics
import sys

from sides import lines, step_command

THEIRS = {"f32": "tf32", "bf16": "bf16"}
LAYOUTS = {"default": "default", "tuned": "channels-last"}
# What the settings of a run have beside the defaults in each mode, as configs/ct-*.toml.
MODES = {
    "plain": (),
    "sample": ("sample.weight=1e-8",),
    "projected": ("projected=true",),
    "rpp": ("train.parametrisation.kind=residual", "train.parametrisation.lambda_equivariant=0", "train.parametrisation.lambda_residual=1e-4"),
    "penalty": ("penalty.lambda_perp=1",),
}


def our_command(options, network, mode, precision, batches):
    settings = (f"model.architecture={network}", f"data.side={options.side}", f"data.patch={options.side}", f"train.precision={precision}")
    counts = ("--device", options.device, "--steps", options.steps, "--warmup", options.warmup)
    batches = (word for batch in batches for word in ("--batch", batch))
    return step_command(options.reynolds, "ct", settings + MODES[mode], *counts, *batches)


def ours(options, network, rows):
    found = []
    for mode, precision in dict.fromkeys((mode, precision) for mode, _, precision in rows):
        batches = [batch for row, batch, other in rows if (row, other) == (mode, precision)]
        names = {"program": "reynolds", "kind": "ours", "architecture": network, "mode": mode}
        found += [line | names for line in lines(our_command(options, network, mode, precision, batches))]
    return found


def their_command(options, network, rows, kinds, more=()):
    peer = pathlib.Path(__file__).with_name("ct.py")
    command = [sys.executable, str(peer), "--network", network, "--side", str(options.side), "--device", options.device]
    command += ["--steps", str(options.steps), "--warmup", str(options.warmup), "--threads", str(options.threads), "--json", *more]
    for mode, batch, precision in rows:
        for kind in kinds:
            command += ["--row", f"{mode}:{batch}:{THEIRS[precision]}:{LAYOUTS[kind]}"]
    return command


def theirs(options, network, rows, kinds, more=()):
    names = {layout: kind for kind, layout in LAYOUTS.items()}
    label = " sums" if "sums" in more else ""
    measured = lines(their_command(options, network, rows, kinds, more))
    return [found | {"kind": names[found["layout"]] + (" compiled" if found.get("compiled") else label)} for found in measured]


class Table:
    """Medians over rounds."""

    def __init__(self, found):
        self.numbers = {}
        for line in found:
            precision = {"tf32": "f32"}.get(line["precision"], line["precision"])
            row = line["architecture"], line["mode"], line["batch"], precision, line["kind"]
            for what in ("train_ms", "inference_ms", "peak_memory_mib"):
                if line.get(what):
                    self.numbers.setdefault((*row, what), []).append(line[what])

    def __call__(self, row, kind, what):
        found = self.numbers.get((*row, kind, what))
        return statistics.median(found) if found else None


def over(a, b):
    return f"{a / b:7.2f}" if a and b else f"{'-':>7}"


def show(table, row):
    network, mode, batch, precision = row
    value = lambda kind, what: table(row, kind, what)  # noqa: E731
    kinds = [kind for kind in ("ours", "default", "tuned", "tuned sums", "tuned compiled") if value(kind, "train_ms")]
    print(f"{network}, {mode}, batch {batch}, {precision}")
    for what, unit in (("train_ms", "ms a step"), ("inference_ms", "ms inference"), ("peak_memory_mib", "MiB at most")):
        here = value("ours", what)
        cells = "  ".join(f"{kind} {value(kind, what):9.1f}" for kind in kinds if value(kind, what))
        swap = what == "peak_memory_mib"
        ratios = "  ".join(
            f"{kind} {over(here, value(kind, what)) if swap else over(value(kind, what), here)}" for kind in kinds if kind != "ours"
        )
        if cells:
            print(f"    {unit:13} {cells:70}  {'ours / theirs' if swap else 'theirs / ours'}: {ratios}")
    if precision == "bf16":
        plain = table((network, mode, batch, "f32"), "default", "train_ms")
        print(f"    bf16 gain     {over(plain, value('ours', 'train_ms'))}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reynolds", required=True, help="the program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--networks", default="dicdnet,oscnet,acdnet")
    parser.add_argument("--modes", default="plain")
    parser.add_argument("--batches", default="4,12")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--kinds", default="default,tuned")
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="torch.compile of DICDNet too, once, at the first batch")
    parser.add_argument("--json", type=pathlib.Path, help="every measured row, one a line")
    options = parser.parse_args()
    networks, modes, kinds = (text.split(",") for text in (options.networks, options.modes, options.kinds))
    batches, precisions = [int(batch) for batch in options.batches.split(",")], options.precisions.split(",")
    rows = [(mode, batch, precision) for mode in modes for batch in batches for precision in precisions]
    found = []

    def keep(new):
        found.extend(new)
        if options.json:
            with options.json.open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in new)

    if options.json:
        options.json.write_text("")
    for network in networks:
        for _ in range(options.rounds):
            keep(ours(options, network, rows))
            keep(theirs(options, network, rows, kinds))
            if network == "acdnet" and "tuned" in kinds:
                keep(theirs(options, network, rows, ["tuned"], ["--responses", "sums"]))
        if options.compile and network == "dicdnet":
            compiled = [(mode, batch, precision) for mode, batch, precision in rows if (mode, batch) == ("plain", batches[0])]
            keep(theirs(options, network, compiled, ["tuned"], ["--compile", "--no-inference"]))
        table = Table(found)
        for mode, batch, precision in rows:
            show(table, (network, mode, batch, precision))


if __name__ == "__main__":
    main()
