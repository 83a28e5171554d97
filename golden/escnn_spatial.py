"""P_band(W) on 3x3x3 and 5x5x5 grids from escnn's steerable bases for SO(3) and O(3), and kernels of its octahedral ones.

As escnn_planar.py, in space. The octahedral group maps the grid to itself, so there our projector is the exact average: what
escnn's band-limited octahedral basis spans must lie inside, energy 1. Counts and overlaps of the scalar functions come along.
"""

import itertools

import numpy

import band
from conventions import average, close, grid_action, octahedral_rotations, quarter_turn, wigner, write
from escnn_basis import align, escnn, project, sampled

SEED = 13
SIGNS = numpy.diag([1.0, -1.0, -1.0])


def random_rotations(rng, n):
    out = []
    for _ in range(n):
        q, upper = numpy.linalg.qr(rng.standard_normal((3, 3)))
        q = q * numpy.sign(numpy.diag(upper))
        out.append(q * numpy.linalg.det(q))
    return out


def their_element(space, matrix):
    """escnn's element that moves points by S g S."""
    group, turned = space.fibergroup, SIGNS @ matrix @ SIGNS
    inverted = numpy.linalg.det(turned) < 0
    if isinstance(group, escnn.group.O3):
        element = group.element((int(inverted), -turned if inverted else turned), "MAT")
    else:
        element = group.element(turned, "MAT")
    close(space.basespace_action(element), turned, 1e-9, "the element map")
    return element


def degree(l, parity):
    """Our irrep of this degree and parity, as a function of the matrix on points."""
    def matrix(m):
        sign = numpy.rint(numpy.linalg.det(m))
        return wigner(l, m * sign) * (parity if sign < 0 else 1)

    return matrix


def blocks(space, irreps, size, rng, elements):
    """irreps lists (our matrix function, their representation); returns W, P(W), dimensions and our direct sum."""
    starts = numpy.cumsum([0, *(t.size for _, t in irreps)])
    total = starts[-1]
    weight = rng.standard_normal((total, total, size, size, size))
    fixed = numpy.zeros_like(weight)
    dims = numpy.zeros((len(irreps), len(irreps)))
    change = [align([o(m) for m in elements], [t(their_element(space, m)) for m in elements]) for o, t in irreps]
    for a, b in itertools.product(range(len(irreps)), repeat=2):
        rows, columns = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
        generators = [(irreps[a][0](m), irreps[b][0](m), m) for m in elements]
        kernels = band.span(size, 3, generators)
        try:
            basis = sampled(space, irreps[b][1], irreps[a][1], size, 3)
        except Exception as error:  # escnn raises for an empty basis
            assert "mpty" in type(error).__name__, error
            basis = []
        assert len(basis) == len(kernels), (len(basis), len(kernels))
        if len(basis) == 0:
            continue
        basis = numpy.einsum("ao,noixyz,bi->nabxyz", change[a], basis, change[b])
        fixed[rows, columns], dims[a, b] = project(basis, weight[rows, columns])
        again, count = project(kernels, weight[rows, columns])
        assert count == dims[a, b]
        close(again, fixed[rows, columns], 1e-9, f"escnn against plain NumPy, block {a} {b}")

    def ours(m):
        out = numpy.zeros((total, total))
        for i, (o, _) in enumerate(irreps):
            out[starts[i]:starts[i + 1], starts[i]:starts[i + 1]] = o(m)
        return out

    return weight, fixed, dims, ours


def check_grid_turns(name, fixed, ours, matrices):
    for m in matrices:
        close(grid_action(fixed, ours(m), ours(m), m), fixed, 1e-9, name)


def scalar_functions(tensors):
    """Counts 1, 10, 19, 35, independence on the grid, and overlaps of neighbouring rings."""
    counts, ranks = [], []
    for size in (1, 3, 5, 7):
        functions = band.scalar_functions(size, 3)
        stacked = numpy.concatenate([v for _, _, v in functions], axis=1)
        counts.append(stacked.shape[1])
        ranks.append(numpy.linalg.matrix_rank(stacked))
    assert counts == ranks == [1, 10, 19, 35], (counts, ranks)
    tensors["scalar_functions.count"] = counts
    rows = []
    for size in (3, 5, 7):
        table = {(j, r): v / numpy.linalg.norm(v) for j, r, v in band.scalar_functions(size, 3)}
        for (j, r), (i, q) in itertools.combinations(sorted(table), 2):
            if i == j:
                rows.append((size, j, r, q, abs((table[j, r] * table[i, q]).sum())))
    expected = {(3, 0, 0, 1): .0136, (5, 0, 0, 1): .0621, (5, 0, 1, 2): .4603, (5, 1, 1, 2): .4612, (7, 0, 0, 1): .0621,
                (7, 0, 1, 2): .5323, (7, 1, 1, 2): .5333, (7, 0, 2, 3): .4107, (7, 0, 1, 3): .0362, (7, 1, 1, 3): .0363}
    found = {tuple(int(v) for v in row[:4]): row[4] for row in rows}
    for key, value in expected.items():
        close(found[key], value, 6e-5, f"overlap {key}")
    tensors["scalar_functions.overlaps"] = rows


def octahedral(tensors, rng):
    """Random combinations of escnn's octahedral kernels for trivial + vector, and for the regular field to and from them."""
    space = escnn.gspaces.octaOnR3()
    group = space.fibergroup
    ours = [SIGNS @ space.basespace_action(g) @ SIGNS for g in group.elements]  # the matrix of each of their elements
    ours = [numpy.rint(m) + 0.0 for m in ours]
    assert {m.tobytes() for m in ours} == {(m + 0.0).tobytes() for m in octahedral_rotations()}
    standard = next(r for r in group.irreps() if r.size == 3
                    and all(abs(numpy.trace(r(g)) - numpy.trace(m)) < 1e-9 for g, m in zip(group.elements, ours)))
    trivial, regular = group.trivial_representation, group.regular_representation
    q = align(ours[1:4] + ours[9:12], [standard(g) for g in group.elements[1:4] + group.elements[9:12]])
    reps = {
        "trivial": (trivial, numpy.eye(1), [numpy.eye(1)] * 24),
        "vector": (standard, q, ours),
        "regular": (regular, numpy.eye(24), [numpy.rint(regular(g)) for g in group.elements]),
    }
    index = {m.tobytes(): i for i, m in enumerate(ours)}
    for m, rho in zip(ours, reps["regular"][2]):
        for h, column in zip(ours, rho.T):
            assert column[index[(m @ h + 0.0).tobytes()]] == 1.0, "(rho(g) f)[h] = f[g^-1 h]"
    tensors["O.elements"] = numpy.stack(ours)
    for domain, codomain, size in [("trivial", "vector", 3), ("vector", "trivial", 5), ("vector", "vector", 3),
                                   ("vector", "vector", 5), ("trivial", "regular", 3), ("regular", "vector", 3)]:
        basis = sampled(space, reps[domain][0], reps[codomain][0], size, 3)
        basis = numpy.einsum("ao,noixyz,bi->nabxyz", reps[codomain][1], basis, reps[domain][1])
        kernel = numpy.einsum("n,n...->...", rng.standard_normal(len(basis)), basis)
        acts = list(zip(reps[codomain][2], reps[domain][2], ours))
        close(average(kernel, acts), kernel, 1e-9, f"octahedral {domain} -> {codomain}")
        wrong = [(a, b, m.T) for a, b, m in acts]
        other = (average(kernel, wrong) ** 2).sum() / (kernel**2).sum()
        print(f"O {domain} -> {codomain} {size}: {len(basis)} elements, energy 1; with the grid turned by g^-1 {other:.3f}")
        tensors[f"O.{codomain}.{domain}.{size}"] = kernel


def main():
    rng = numpy.random.default_rng(SEED)
    tensors = {}
    scalar_functions(tensors)
    proper = random_rotations(rng, 3)
    quarter = [quarter_turn(axis) for axis in range(3)]
    space = escnn.gspaces.rot3dOnR3(maximum_frequency=4)
    for size, degrees in [(3, (0, 1, 2)), (5, (0, 1, 2))]:
        irreps = [(degree(l, 1), space.irrep(l)) for l in degrees]
        weight, fixed, dims, ours = blocks(space, irreps, size, rng, proper)
        check_grid_turns(f"SO3 {size}", fixed, ours, quarter)
        store(tensors, f"SO3.{size}", weight, fixed, dims)
    space = escnn.gspaces.flipRot3dOnR3(maximum_frequency=4)
    improper = [*proper, -numpy.eye(3)]
    for size, labels in [(3, "0e 0o 1o 1e 2e"), (5, "0e 1o")]:
        irreps = []
        for label in labels.split():
            l, parity = int(label[0]), 1 if label[1] == "e" else -1
            irreps.append((degree(l, parity), space.irrep(0 if parity == 1 else 1, l)))
        weight, fixed, dims, ours = blocks(space, irreps, size, rng, improper)
        check_grid_turns(f"O3 {size}", fixed, ours, [*quarter, -numpy.eye(3)])
        store(tensors, f"O3.{size}", weight, fixed, dims)
    octahedral(tensors, rng)
    write("escnn_spatial", tensors, """
        G.k.weight and G.k.projected [out, in, k, k, k], G.k.dims = dimension of the span per pair [irreps out, irreps in]; axes
        (z, y, x); SO3: irreps 0, 1, 2 (dims 1, 3, 5); O3.3: 0e 0o 1o 1e 2e; O3.5: 0e 1o; D^l with Y_l(Rx) = D^l(R) Y_l(x); rings
        r = 0..(k-1)/2, sigma .005, .6 inside, .4 outermost, degrees <= min(2r, k/2 - r + 2); scalar_functions.count for k = 1, 3,
        5, 7; scalar_functions.overlaps rows (k, J, ring, ring, |cosine|); O.codomain.domain.k = kernels fixed by the octahedral
        group, vector on (x, y, z), regular channels in the order of O.elements [24, 3, 3]
        """, SEED, ["escnn", "torch", "numpy"])


def store(tensors, name, weight, fixed, dims):
    print(f"{name}: dimensions {dims.astype(int).tolist()}, energy {(fixed**2).sum() / (weight**2).sum():.4f}")
    tensors[f"{name}.weight"], tensors[f"{name}.projected"], tensors[f"{name}.dims"] = weight, fixed, dims


if __name__ == "__main__":
    main()
