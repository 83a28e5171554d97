"""How equivariant under C4 each layer of a checkpoint is, as one would write it in PyTorch: the energy |P(W)|^2 / |W|^2 by layer.

    python audit_torch.py FILE.safetensors [--sum] [--threads 2] [--json]

Kernels [out, in, k, k] between scalar channels; P is the mean over the four turns. --sum adds the weights up and does nothing else, in
single precision: what reading the file costs. The seconds are without the start of Python and the import of torch.
"""

import argparse
import json
import time

import safetensors
import torch

import report


def energy(weight):
    turned = weight + weight.rot90(1, (2, 3)) + weight.rot90(2, (2, 3)) + weight.rot90(3, (2, 3))
    return ((turned / 4).square().sum() / weight.square().sum()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--sum", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    found = {}
    with safetensors.safe_open(options.file, "pt") as checkpoint:
        for name in checkpoint.keys():
            weight = checkpoint.get_tensor(name)
            if options.sum:
                found[name] = weight.sum().item()
            elif weight.dim() == 4 and weight.shape[2] == weight.shape[3] and weight.is_floating_point():
                found[name] = energy(weight)
    seconds = time.perf_counter() - start
    if options.json:
        kind = "sums" if options.sum else "energies"
        line = {"row": "sum" if options.sum else "audit", "who": "PyTorch", "seconds": seconds, "threads": options.threads, kind: found}
        print(json.dumps(line | {"versions": report.versions("torch", "safetensors")}), flush=True)
        return
    for name, value in found.items():
        print(f"{name:<40} {value:.6f}")
    print(f"{seconds * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
