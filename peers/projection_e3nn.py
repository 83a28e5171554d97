"""Projection of dense maps between SO(3) fields onto the maps that e3nn's `o3.Linear` can express.

    peers/.venv/bin/python peers/projection_e3nn.py [--row ID] [--weights in.npz --out out.npz] [--repeats N] [--threads T] [--json]

e3nn has no projection. Its `Linear` mixes the copies of one irrep, so the nearest such map has the mean of the diagonal of each block as
weight; that is written here through `Irreps.slices`, and `--check` asserts that an `o3.Linear` with these weights is the projected map.
`build_seconds` is that of the `Linear`. The irreps of a field stand in the order of ours and are its own real ones, so no basis changes.
"""

import math
import sys
import time

import projection_rows
from projection_rows import Projection

ROWS = ["dense-so3", "dense-so3-small"]
IRREPS = {"dense-so3": "64x0e + 32x1o + 16x2e", "dense-so3-small": "4x1o"}


def build(name, row, options):
    import torch
    from e3nn import o3

    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    irreps = o3.Irreps(IRREPS[name])
    linear = o3.Linear(irreps, irreps)
    built = time.perf_counter() - start
    torch.set_grad_enabled(False)
    blocks = [(mul, ir.dim, place) for (mul, ir), place in zip(irreps, irreps.slices())]

    def project(weight):
        fixed = torch.zeros_like(weight)
        for copies, size, place in blocks:
            mean = means(weight, copies, size, place)
            into = fixed[place, place].view(copies, size, copies, size).diagonal(dim1=1, dim2=3)
            into.copy_(mean[..., None].expand(-1, -1, size))
        return fixed

    return Projection(torch.from_numpy, project, lambda t: t.numpy(), built, linear.weight_numel)


def means(weight, copies, size, place):
    return weight[place, place].view(copies, size, copies, size).diagonal(dim1=1, dim2=3).mean(-1)


def check():
    """An o3.Linear whose weights are the means maps the identity to the projected map."""
    import torch
    from e3nn import o3

    torch.set_default_dtype(torch.float64)
    for name in ROWS:
        irreps = o3.Irreps(IRREPS[name])
        weight = torch.randn(irreps.dim, irreps.dim, generator=torch.Generator().manual_seed(1))
        linear = o3.Linear(irreps, irreps)
        options = type("Options", (), {"threads": 1})
        fixed = build(name, projection_rows.ROWS[name], options).project(weight)
        # Linear divides by the root of the number of copies it adds up, and takes its weights as [in, out].
        flat = [means(weight, mul, ir.dim, place).T.reshape(-1) * math.sqrt(mul) for (mul, ir), place in zip(irreps, irreps.slices())]
        linear.weight.copy_(torch.cat(flat))
        off = (linear(torch.eye(irreps.dim)).T - fixed).abs().max()
        assert off < 1e-12, f"{name}: o3.Linear is {off:.1e} off"
        print(f"{name}: o3.Linear and the projection are {off:.1e} apart")


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        projection_rows.run(__doc__, "e3nn", ["e3nn", "torch"], ROWS, build)
