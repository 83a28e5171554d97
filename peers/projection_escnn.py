"""Projection of convolution kernels onto the span of escnn's steerable basis, with its default rings and frequencies.

    peers/.venv/bin/python peers/projection_escnn.py [--row ID] [--weights in.npz --out out.npz] [--repeats N] [--threads T] [--json]

escnn has no projection. What its R2Conv or R3Conv can express is the span of its sampled basis, so P(W) = E (E^T W) with E the same basis
made orthonormal, batched over all pairs of equal fields. The span is band-limited, for finite groups too: there it lies inside that of the
exact average over the group (rows without -band, projection_torch.py) and is smaller.

`build_seconds` is the time until the convolution is ready with an empty disk cache, `warm_build_seconds` in a new process that finds it full;
neither counts the import, nor making E.
"""

import pathlib
import subprocess
import sys
import time
import warnings

import escnn_cache
import projection_rows
from projection_rows import Projection

HERE = pathlib.Path(__file__).resolve().parent
ROWS = [name for name, row in projection_rows.ROWS.items() if row.band]


def build(name, row, options):
    import torch

    torch.set_num_threads(options.threads)
    cache = escnn_cache.elsewhere()
    convolution, built = ready(row)
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import projection_escnn as p; p.escnn_cache.elsewhere({cache!r}); "
    code += f"print('seconds', p.ready(p.projection_rows.ROWS[{name!r}])[1])"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    warm = float(child.stdout.split()[-1])
    torch.set_grad_enabled(False)
    kind = torch.float32 if options.precision == "f32" else torch.float64
    pieces, rank = orthonormal(convolution, row, kind)
    shape = (row.copies, row.field, row.copies, row.field, -1)

    def project(weight):
        weight = weight.view(shape)
        fixed = torch.zeros_like(weight)
        for rows, columns, basis in pieces:
            block = weight[:, rows, :, columns].transpose(1, 2)
            flat = (block.reshape(row.copies**2, -1) @ basis) @ basis.T
            fixed[:, rows, :, columns] = flat.view(block.shape).transpose(1, 2)
        return fixed

    return Projection(torch.from_numpy, project, lambda t: t.reshape(row.shape).numpy(), built, rank, {"warm_build_seconds": warm})


def ready(row):
    """The convolution, and the seconds from the name of the group until it was there."""
    warnings.filterwarnings("ignore")
    import escnn.nn
    from escnn import gspaces

    start = time.perf_counter()
    make = {
        "C4": lambda: gspaces.rot2dOnR2(4),
        "D4": lambda: gspaces.flipRot2dOnR2(4),
        "O": gspaces.octaOnR3,
        "SO2": lambda: gspaces.rot2dOnR2(-1, maximum_frequency=2),
        "SO3": lambda: gspaces.rot3dOnR3(maximum_frequency=2),
    }
    space = make[row.group]()
    field = [space.irrep(k) for k in range(len(row.parts))] if row.group.startswith("SO") else [space.regular_repr]
    fields = escnn.nn.FieldType(space, field * row.copies)
    module = escnn.nn.R2Conv if row.dimensions == 2 else escnn.nn.R3Conv
    convolution = module(fields, fields, kernel_size=row.kernel, padding=row.kernel // 2, initialize=False)
    return convolution, time.perf_counter() - start


def orthonormal(convolution, row, kind):
    """(rows, columns, E [out * in * k^d, n]) for each pair of pieces of a field that has a basis, in our channels; and the rank."""
    import torch

    reps = convolution.in_type.representations[: len(row.parts)]
    changes = {rep.name: torch.tensor(to_ours(convolution.space, rep, row)) for rep in reps}
    starts = [sum(row.parts[:i]) for i in range(len(row.parts))]
    places = {rep.name: slice(start, start + rep.size) for rep, start in zip(reps, starts)}
    expansion, pieces, rank = convolution.basisexpansion, [], 0
    for pair in expansion._representations_pairs:
        into, out = pair
        elements = getattr(expansion, f"block_expansion_{expansion._escape_pair(pair)}").sampled_basis.double()
        elements = torch.einsum("ao,noip,bi->nabp", changes[out], elements, changes[into])
        left, singular, _ = torch.linalg.svd(elements.reshape(len(elements), -1).T, full_matrices=False)
        left = left[:, singular > 1e-5 * singular[0]]
        pieces.append((places[out], places[into], left.to(kind).contiguous()))
        rank += row.copies**2 * left.shape[1]
    return pieces, rank


def to_ours(space, rep, row):
    """Q with ours(g) Q = Q theirs(S g S): escnn samples its kernels at (x, -y) or (x, -y, -z) of our points, S = diag(1, -1, ...)."""
    sys.path.insert(0, str(HERE.parent / "golden"))
    import numpy
    from conventions import align, planar, wigner

    signs = numpy.diag([1.0, -1.0, -1.0][: row.dimensions])
    if not row.group.startswith("SO"):
        ours = {g: i for i, g in enumerate(projection_rows.elements(row.group))}
        change = numpy.zeros((rep.size, rep.size))
        for i, element in enumerate(space.fibergroup.elements):
            moved = signs @ space.basespace_action(element) @ signs
            change[ours[tuple(tuple(int(v) for v in line) for line in numpy.rint(moved))], i] = 1.0
        return change
    if row.dimensions == 2:
        frequency = rep.attributes["frequency"]
        angles = [0.7, 2.9]
        ours = [planar(a, False, frequency) if frequency else numpy.eye(1) for a in angles]
        return align(ours, [rep(space.fibergroup.element(a)) for a in angles])
    turns = [numpy.linalg.qr(m)[0] for m in numpy.random.default_rng(0).standard_normal((3, 3, 3))]
    turns = [m * numpy.linalg.det(m) for m in turns]
    theirs = [rep(space.fibergroup.element(signs @ m @ signs, "MAT")) for m in turns]
    return align([wigner((rep.size - 1) // 2, m) for m in turns], theirs)


if __name__ == "__main__":
    projection_rows.run(__doc__, "escnn", ["escnn", "torch", "numpy"], ROWS, build)
