"""symm-learning's orthogonal projection of dense maps onto the equivariant ones: `GroupHomomorphismBasis.orthogonal_projection`.

    peers/.venv/bin/python peers/projection_symm_learning.py [--row ID] [--weights in.npz --out out.npz] [--repeats N] [--threads T] [--json]

Groups and representations are escnn's, which has no S_n; grids are outside what it does. `build_seconds` is from the group's name to the
projector, escnn's disk cache empty.
"""

import time
import warnings

import escnn_cache
import projection_rows
from projection_rows import Projection

ROWS = [name for name, row in projection_rows.ROWS.items() if not row.dimensions and row.power == 1]


def build(name, row, options):
    warnings.filterwarnings("ignore")
    escnn_cache.elsewhere()
    import numpy
    import torch
    from symm_learning.representation_theory import GroupHomomorphismBasis, direct_sum

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float32 if options.precision == "f32" else torch.float64)
    start = time.perf_counter()
    representation = direct_sum(fields(row) * row.copies)
    basis = GroupHomomorphismBasis(representation, representation)
    built = time.perf_counter() - start

    # Channel i of theirs is channel order[i] of ours.
    order = numpy.concatenate([copy * row.field + numbering(row) for copy in range(row.copies)])

    def load(weights):
        return torch.from_numpy(numpy.ascontiguousarray(weights[order][:, order]))

    def save(projected):
        fixed = numpy.empty(row.shape, projected.numpy().dtype)
        fixed[numpy.ix_(order, order)] = projected.numpy()
        return fixed

    return Projection(load, basis.orthogonal_projection, save, built, basis.dim)


def fields(row):
    """One field, as a list of escnn's representations."""
    from escnn import group

    if row.group == "SO2":
        frequencies = [1] if row.fields == "8x1" else range(len(row.parts))
        turns = group.so2_group(max(frequencies))
        return [turns.irrep(k) for k in frequencies]
    if row.group == "SO3":
        turns = group.so3_group(2)
        return [turns.irrep((size - 1) // 2) for size in row.parts]
    finite = {"C4": lambda: group.cyclic_group(4), "D4": lambda: group.dihedral_group(4), "O": group.octa_group}[row.group]()
    return [finite.regular_representation]


def numbering(row):
    """Our number of each channel of one of their fields. C4 and D4 are numbered alike, irreps stand as written."""
    import numpy

    if row.group != "O":
        return numpy.arange(row.field)
    from escnn import group

    ours = {g: i for i, g in enumerate(projection_rows.elements("O"))}
    matrix = lambda g: tuple(tuple(int(v) for v in line) for line in numpy.rint(g.to("MAT")))  # noqa: E731
    return numpy.array([ours[matrix(g)] for g in group.octa_group().elements])


if __name__ == "__main__":
    projection_rows.run(__doc__, "symm-learning", ["symm-learning", "escnn", "torch"], ROWS, build)
