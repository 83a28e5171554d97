"""Convolutions of volumes as they come, and with the taps of the depth folded into channels: forward and backward, ms, on a GPU.

    python volume_convolutions.py [--batch 32] [--steps 6]

A row is one layer of the MedMNIST networks. "spatial" is conv3d without cudnn.benchmark, which takes seconds a shape; "folded" is conv2d over
planes whose channels are those of k neighbouring planes; one input channel is unfolded whole, and multiplied. Needs torch only.
"""

import argparse
import time

import torch
from torch.nn import functional

# Input channels, output channels, side of the kernel, side of the volume, stride, padding.
LAYERS = (
    (54, 192, 5, 27, 1, 2),
    (56, 192, 5, 27, 1, 2),
    (54, 240, 5, 27, 1, 2),
    (18, 64, 5, 27, 1, 2),
    (24, 64, 5, 27, 1, 2),
    (192, 384, 3, 13, 2, 1),
    (1, 54, 7, 29, 1, 2),
    (1, 192, 7, 29, 1, 2),
    (1, 246, 7, 29, 1, 2),
)


def spatial(volumes, kernel, stride, padding):
    return functional.conv3d(volumes, kernel, None, stride, padding)


def folded(volumes, kernel, stride, padding):
    """The same, of volumes with channels innermost in memory."""
    side, inner = kernel.shape[2], volumes.permute(0, 2, 3, 4, 1)
    if volumes.shape[1] == 1:
        taps = functional.pad(inner[..., 0], (padding,) * 6)
        for axis in (1, 2, 3):
            taps = taps.unfold(axis, side, stride)
        return (taps.flatten(4) @ kernel.flatten(1).t()).permute(0, 4, 1, 2, 3)
    padded = functional.pad(inner, (0, 0, 0, 0, 0, 0, padding, padding))
    depth = (padded.shape[1] - side) // stride + 1
    planes = torch.cat([padded[:, tap : tap + stride * (depth - 1) + 1 : stride] for tap in range(side)], dim=-1)
    planes = planes.flatten(0, 1).permute(0, 3, 1, 2)
    kernel = kernel.permute(0, 3, 4, 2, 1).flatten(3).permute(0, 3, 1, 2)
    made = functional.conv2d(planes, kernel, None, stride, padding).permute(0, 2, 3, 1)
    return made.unflatten(0, (volumes.shape[0], depth)).permute(0, 4, 1, 2, 3)


def milliseconds(convolve, layer, kind, options):
    inputs, outputs, side, size, stride, padding = layer
    volumes = torch.randn(options.batch, size, size, size, inputs, device=options.device, dtype=kind).permute(0, 4, 1, 2, 3)
    volumes.requires_grad_(inputs > 1)
    kernel = (0.01 * torch.randn(outputs, inputs, side, side, side, device=options.device)).to(kind).requires_grad_()
    slope = torch.randn_like(convolve(volumes, kernel, stride, padding))

    def steps(count):
        for _ in range(count):
            convolve(volumes, kernel, stride, padding).backward(slope)
        if volumes.is_cuda:
            torch.cuda.synchronize()

    steps(3)
    begin = time.perf_counter()
    steps(options.steps)
    return 1e3 * (time.perf_counter() - begin) / options.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    volumes, kernel = torch.randn(2, 3, 6, 7, 8, dtype=torch.float64), torch.randn(4, 3, 3, 3, 3, dtype=torch.float64)
    assert torch.allclose(spatial(volumes, kernel, 2, 1), folded(volumes, kernel, 2, 1))
    for layer in LAYERS:
        rows = [("spatial TF32", spatial, torch.float32), ("folded TF32", folded, torch.float32), ("folded bf16", folded, torch.bfloat16)]
        print(layer, "  ".join(f"{name} {milliseconds(convolve, layer, kind, options):8.2f}" for name, convolve, kind in rows), flush=True)


if __name__ == "__main__":
    main()
