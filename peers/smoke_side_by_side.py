"""Training steps of the relaxed smoke networks, reynolds and plain PyTorch in turn, as ratios.

    python smoke_side_by_side.py --bench PATH [--device cpu|cuda:0] [--rounds 3] [--steps 10] [--small] [--json FILE]

PATH is the program of `cargo bench -p reynolds-paper --bench smoke_step`. Each round runs ours and PyTorch's, without and with the penalty;
a row is the median over rounds of the medians of steps. "default" is PyTorch as it comes (kernels assembled in every forward call, as
in Wang's public code); "tuned" assembles once a step and, on CUDA, has channels last and cudnn.benchmark. The scale network of
PyTorch computes all four scales as the public code does; ours leaves out those that nothing reads.
"""

import argparse
import json
import pathlib
import statistics
import sys

from sides import lines

SMALL = {  # sizes that a processor of two cores steps through in about a second
    "rsteer-rotation": ["--hidden", "16", "--batch", "4"],
    "rgroup-rotation": ["--hidden", "16", "--batch", "4"],
    "rgroup-translation": ["--hidden", "48", "--batch", "4"],
    "rsteer-scale": ["--hidden", "16", "--batch", "4"],
}


def commands(bench, model, reg, device, steps, threads, small):
    """Ours, PyTorch as it comes and PyTorch tuned."""
    common = ["--model", model, "--reg", str(reg), "--device", device, "--steps", str(steps), "--warmup", "3", "--threads", str(threads)]
    common += ["--json", *(SMALL[model] if small else [])]
    peer = [sys.executable, str(pathlib.Path(__file__).with_name("smoke.py")), *common]
    tuned = ["--assemble", "once"]
    if device != "cpu":
        tuned += ["--channels-last", "1", "--cudnn-benchmark", "1"]
    return {"ours": [bench, *common], "default": peer, "tuned": [*peer, *tuned]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", default=",".join(SMALL))
    parser.add_argument("--small", action="store_true", help="sizes for a processor; else those of the papers")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    measured = []
    print(f"{'network':20} {'+Reg':>4} {'ours':>10} {'default':>10} {'tuned':>10}   default / ours   tuned / ours")
    for model in options.models.split(","):
        for reg in (0, 1):
            kinds = commands(options.bench, model, reg, options.device, options.steps, options.threads, options.small)
            seconds = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind, command in kinds.items():
                    found = lines(command)[-1] | {"kind": kind}
                    seconds[kind].append(found["seconds"])
                    measured.append(found)
            ours, default, best = (statistics.median(seconds[kind]) for kind in kinds)
            times = " ".join(f"{value * 1e3:7.2f} ms" for value in (ours, default, best))
            print(f"{model:20} {reg:>4} {times}   {default / ours:14.2f}   {best / ours:12.2f}", flush=True)
    if options.json:
        options.json.write_text("".join(json.dumps(found) + "\n" for found in measured))


if __name__ == "__main__":
    main()
