"""Frames of the scaling simulations brought to 64 points a side by PyTorch: trilinear over (time, y, x), corners aligned, by 1/f in space.

f = 1 + i/10; a box of n = floor(64 f) cells has n + 1 faces a side, of which floor((n + 1)/f) points are left; velocities are divided by f.
The field is (7 x^2 + 13 x y + 5 y^2 + 3 t x) mod 17 at face (x, y) and frame t, so that only the outcome need be stored.
"""

import math

import numpy
import torch

from conventions import close, write

NUMBERS = (0, 1, 3, 7, 18, 26, 37)
ROWS = (1, 31, 63)


def field(side):
    """[frame, y, x]."""
    t, y, x = numpy.indices((2, side + 1, side + 1))
    return ((7 * x * x + 13 * x * y + 5 * y * y + 3 * t * x) % 17).astype(numpy.float64)


def main():
    tensors = {"rows": numpy.array(ROWS)}
    ends = [f for f in (1 + 0.1 * i for i in range(1, 38)) if math.floor((int(64 * f) + 1) / f) != 64]
    assert not ends, f"factors that do not lead to 64 points: {ends}"
    for i in NUMBERS:
        f = 1 + 0.1 * i
        side = int(64 * f)
        frames = field(side)
        factors = (1, 1 / f, 1 / f)
        options = dict(scale_factor=factors, mode="trilinear", align_corners=True)
        small = torch.nn.functional.interpolate(torch.from_numpy(frames)[None, None], **options)[0, 0].numpy() / f
        assert small.shape == (2, *2 * [math.floor((side + 1) / f)]), small.shape
        # Corners stay; frames are not mixed.
        close(small[:, [0, 0, -1, -1], [0, -1, 0, -1]] * f, frames[:, [0, 0, -1, -1], [0, -1, 0, -1]], 1e-12, f"corners of {i}")
        alone = torch.nn.functional.interpolate(
            torch.from_numpy(frames[1])[None, None], scale_factor=factors[1:], mode="bilinear", align_corners=True
        )
        close(small[1], alone[0, 0].numpy() / f, 1e-12, f"frame 1 of {i} alone")
        print(f"i = {i}: {side + 1} faces to {small.shape[1]}")
        tensors[f"{i}"] = small[1][ROWS, :64]
    write("smoke_shrink", tensors, """
        i: rows [3, 64] of a frame of scaling simulation i after interpolate(scale_factor = (1, 1/f, 1/f), trilinear, align_corners) and
        division by f; the field is (7 x^2 + 13 x y + 5 y^2 + 3 x) mod 17 at face (x, y); rows: which rows
        """, 0, ["torch", "numpy"])


if __name__ == "__main__":
    main()
