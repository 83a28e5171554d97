"""Projections by hand in PyTorch: sums over the group, with rolls and turns for C4 and permutations of weights for others; blocks for SO(2) and SO(3).

    peers/.venv/bin/python peers/projection_torch.py [--row ID] [--form sum|orbits] [--weights in.npz --out out.npz] [--repeats N] [--threads T] [--json]

`--form orbits` is our own algorithm in PyTorch instead, for the finite groups: it shows what is left when only the program differs. There is no row
for SO(2) and SO(3) on a grid: the grid carries no action of theirs, so there is nothing to sum over.
"""

import itertools
import math
import sys
import time

import projection_rows
from projection_rows import Projection

ROWS = [name for name, row in projection_rows.ROWS.items() if not row.band]
FINITE = ("C4", "D4", "O", "S5", "S6")
ORBIT_ROWS = [name for name in ROWS if projection_rows.ROWS[name].group in FINITE]


def build(name, row, options):
    import torch

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    start = time.perf_counter()
    rank = None
    if options.form == "orbits":
        project, rank = orbits(torch, row, torch.float32 if options.precision == "f32" else torch.float64)
    elif row.group == "C4":
        project = quarter_turns(torch, row)
    elif row.group in FINITE:
        project = group_average(torch, row)
    else:
        project = blocks(torch, row)
    built = time.perf_counter() - start
    return Projection(torch.from_numpy, project, lambda t: t.reshape(row.shape).numpy(), built, rank, {"form": options.form})


def quarter_turns(torch, row):
    """Four rolls of the channels, with four rot90 of the grid."""
    shape = (row.copies, 4, row.copies, 4, *row.shape[2:])

    def project(weight):
        weight = weight.view(shape)
        turned = lambda r: weight.roll((r, r), (1, 3)) if r else weight  # noqa: E731
        if row.dimensions:
            return sum(torch.rot90(turned(r), r, (-2, -1)) for r in range(4)) / 4
        return sum(turned(r) for r in range(4)) / 4

    return project


def group_average(torch, row):
    """The sum over all elements, each a permutation of the weights."""
    moves = list(permutations(torch, row))

    def project(weight):
        flat = weight.view(-1)
        total = torch.zeros_like(flat)
        for move in moves:
            total += flat.index_select(0, move)
        return total / len(moves)

    return project


def orbits(torch, row, kind):
    """The mean over each orbit of weights: what reynolds does, in three operations where all orbits have one size; and the number of orbits."""
    first = torch.arange(math.prod(row.shape))
    for move in permutations(torch, row):
        first = torch.minimum(first, move)
    _, orbit, sizes = torch.unique(first, return_inverse=True, return_counts=True)
    if (sizes == sizes[0]).all():
        members = torch.argsort(orbit, stable=True).view(-1, int(sizes[0])).T.reshape(-1).to(torch.int32)
        back = orbit.to(torch.int32)
        return lambda weight: weight.view(-1).index_select(0, members).view(int(sizes[0]), -1).mean(0).index_select(0, back), len(sizes)
    sizes = sizes.to(kind)

    def project(weight):
        sums = torch.zeros_like(sizes).index_add_(0, orbit, weight.view(-1))
        return (sums / sizes)[orbit]

    return project, len(sizes)


def permutations(torch, row):
    """For each g where the weights of A(g)W come from, flat."""
    places = torch.arange(math.prod(row.shape))
    if row.group.startswith("S"):
        n = row.field
        for permutation in itertools.permutations(range(n)):
            points = torch.tensor(permutation)
            pairs = (points[:, None] * n + points).reshape(-1)
            yield places.view(row.shape)[pairs][:, pairs].reshape(-1)
        return
    places = places.view(row.copies, row.field, row.copies, row.field, *row.shape[2:])
    for g, channels in zip(projection_rows.elements(row.group), projection_rows.regular(row.group)):
        axes, flips = grid_move(g, row.dimensions)
        yield places[:, channels][:, :, :, channels].permute(axes).flip(flips).reshape(-1)


def grid_move(g, dimensions):
    """The order of all axes and those to flip, so that new(x) = old(g^-1 x); the last axis is x, the one before it y, then z."""
    if not dimensions:
        return (0, 1, 2, 3), ()
    axis = lambda coordinate: 3 + dimensions - coordinate  # noqa: E731
    order, flips = [0, 1, 2, 3] + [0] * dimensions, []
    for i, line in enumerate(g):
        source = next(j for j, entry in enumerate(line) if entry)
        order[axis(i)] = axis(source)
        if line[source] < 0:
            flips.append(axis(i))
    return tuple(order), tuple(flips)


def blocks(torch, row):
    """Irrep by irrep: the mean of the diagonal, and for a turn of the plane also the antisymmetric part."""
    if row.group == "SO3":
        counts = [(row.copies * row.parts.count(size), size) for size in sorted(set(row.parts))]
        return lambda weight: mean_diagonals(torch, weight, counts)
    shape = (row.copies, row.field, row.copies, row.field)

    def project(weight):
        weight = weight.view(shape)
        fixed, start = torch.zeros_like(weight), 0
        for size in row.parts:
            place = (slice(None), slice(start, start + size)) * 2
            fixed[place] = weight[place] if size == 1 else turn(weight[place])
            start += size
        return fixed

    def turn(block):
        same = (block[:, 0, :, 0] + block[:, 1, :, 1]) / 2
        cross = (block[:, 0, :, 1] - block[:, 1, :, 0]) / 2
        return torch.stack([torch.stack([same, cross], -1), torch.stack([-cross, same], -1)], 1)

    return project


def mean_diagonals(torch, weight, counts):
    """`counts` lists (copies, size) of irreps, one after the other."""
    fixed, start = torch.zeros_like(weight), 0
    for copies, size in counts:
        place = (slice(start, start + copies * size),) * 2
        mean = weight[place].view(copies, size, copies, size).diagonal(dim1=1, dim2=3).mean(-1)
        fixed[place].view(copies, size, copies, size).diagonal(dim1=1, dim2=3).copy_(mean[..., None].expand(-1, -1, size))
        start += copies * size
    return fixed


if __name__ == "__main__":
    form = {"--form": {"choices": ["sum", "orbits"], "default": "sum", "help": "sum over the group, or the mean over each orbit"}}
    projection_rows.run(__doc__, "PyTorch", ["torch", "numpy"], ORBIT_ROWS if "orbits" in sys.argv else ROWS, build, form)
