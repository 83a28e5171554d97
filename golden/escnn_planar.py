"""P_band(W) on 3x3 and 5x5 grids from escnn's steerable bases: SO(2), O(2), C4, C8, D4.

W is seeded; P_band is the orthogonal projection onto the span of escnn's sampled basis (its default rings and frequencies),
which does not depend on how that basis is chosen. One kernel holds all pairs of irreps of frequency <= 2 of SO(2) or O(2).
"""

import itertools

import numpy

import band
from conventions import close, dihedral_elements, grid_action, planar, regular, write
from escnn_basis import align, escnn, project, sampled

SEED = 11
SIGNS = numpy.diag([1.0, -1.0])


def their_element(group, theta, reflected):
    """escnn's element that moves points by S g S for our g = r(theta) s^e: it flips about the y axis too (`axis` = pi/2)."""
    angle = theta
    if isinstance(group, escnn.group.SO2):
        return group.element(angle % (2 * numpy.pi))
    if isinstance(group, escnn.group.O2):
        return group.element((int(reflected), angle % (2 * numpy.pi)))
    step = int(round(angle / (2 * numpy.pi) * group.rotation_order)) % group.rotation_order
    return group.element((int(reflected), step) if isinstance(group, escnn.group.DihedralGroup) else step)


def ours_and_theirs(space, ours, theirs, elements):
    group = space.fibergroup
    for theta, reflected in elements:
        moved = space.basespace_action(their_element(group, theta, reflected))
        close(moved, SIGNS @ planar(theta, reflected) @ SIGNS, 1e-12, "the element map")
    return align([ours(*e) for e in elements], [theirs(their_element(group, *e)) for e in elements])


def blocks(space, irreps, size, rng, elements):
    """irreps lists (our matrix function, their representation); returns W, P(W), dimensions [outs, ins] and our sum."""
    sizes = [r.size for _, r in irreps]
    starts = numpy.cumsum([0, *sizes])
    total = starts[-1]
    weight = rng.standard_normal((total, total, size, size))
    fixed = numpy.zeros_like(weight)
    dims = numpy.zeros((len(irreps), len(irreps)))
    change = [ours_and_theirs(space, o, t, elements) for o, t in irreps]
    for a, b in itertools.product(range(len(irreps)), repeat=2):
        rows, columns = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
        try:
            basis = sampled(space, irreps[b][1], irreps[a][1], size, 2)
        except Exception as error:  # escnn raises for an empty basis
            assert "mpty" in type(error).__name__, error
            continue
        if len(basis) == 0:
            continue
        basis = numpy.einsum("ao,noixy,bi->nabxy", change[a], basis, change[b])
        fixed[rows, columns], dims[a, b] = project(basis, weight[rows, columns])
        second_opinion(size, [(irreps[a][0](*e), irreps[b][0](*e), planar(*e)) for e in elements],
                       weight[rows, columns], fixed[rows, columns], dims[a, b])

    def ours(theta, reflected):
        m = numpy.zeros((total, total))
        for i, (o, _) in enumerate(irreps):
            m[starts[i]:starts[i + 1], starts[i]:starts[i + 1]] = o(theta, reflected)
        return m

    return weight, fixed, dims, ours


def second_opinion(size, generators, weight, fixed, dim):
    """The same projection from the null spaces of band.py."""
    kernels = band.span(size, 2, generators)
    again, count = project(kernels, weight)
    assert count == len(kernels) == dim, (count, len(kernels), dim)
    close(again, fixed, 1e-10, "escnn against plain NumPy")


def check_grid_turns(name, fixed, ours, reflections):
    """Quarter turns (and flips) of the grid must leave P(W) unchanged, exactly."""
    for k, e in dihedral_elements(4, reflections):
        theta = k * numpy.pi / 2
        points = numpy.rint(planar(theta, bool(e)))
        close(grid_action(fixed, ours(theta, bool(e)), ours(theta, bool(e)), points), fixed, 1e-9, f"{name}: r^{k} s^{e}")


def frequency(k):
    return lambda theta, reflected: planar(theta, reflected, k)


def main():
    rng = numpy.random.default_rng(SEED)
    tensors = {}
    turns = [(0.7, False), (2.9, False)]
    flips = [*turns, (0.0, True), (1.1, True)]
    scalar = lambda theta, reflected: numpy.eye(1)  # noqa: E731
    sign = lambda theta, reflected: numpy.array([[-1.0 if reflected else 1.0]])  # noqa: E731
    for size in (3, 5):
        space = escnn.gspaces.rot2dOnR2(-1, maximum_frequency=4)
        so2 = space.fibergroup
        irreps = [(scalar, so2.irrep(0)), *((frequency(k), so2.irrep(k)) for k in (1, 2))]
        weight, fixed, dims, ours = blocks(space, irreps, size, rng, turns)
        check_grid_turns(f"SO2 {size}", fixed, ours, False)
        store(tensors, f"SO2.{size}", weight, fixed, dims)

        space = escnn.gspaces.flipRot2dOnR2(-1, maximum_frequency=4)
        o2 = space.fibergroup
        irreps = [(scalar, o2.irrep(0, 0)), (sign, o2.irrep(1, 0)), *((frequency(k), o2.irrep(1, k)) for k in (1, 2))]
        weight, fixed, dims, ours = blocks(space, irreps, size, rng, flips)
        check_grid_turns(f"O2 {size}", fixed, ours, True)
        store(tensors, f"O2.{size}", weight, fixed, dims)

        for name, space, n, reflections in [
            ("C4", escnn.gspaces.rot2dOnR2(4), 4, False),
            ("C8", escnn.gspaces.rot2dOnR2(8), 8, False),
            ("D4", escnn.gspaces.flipRot2dOnR2(4), 4, True),
        ]:
            group = space.fibergroup
            rho = regular(n, reflections)

            def ours(theta, reflected, rho=rho, n=n):
                return rho[(int(round(theta / (2 * numpy.pi) * n)) % n, int(reflected))]

            # Their channels are numbered by their elements, ours by ours: a permutation between the two.
            q = numpy.zeros((len(rho), len(rho)))
            for i, (k, e) in enumerate(dihedral_elements(n, reflections)):
                q[i, group.elements.index(their_element(group, 2 * numpy.pi * k / n, bool(e)))] = 1.0
            for k, e in rho:
                theirs = group.regular_representation(their_element(group, 2 * numpy.pi * k / n, bool(e)))
                close(rho[(k, e)] @ q, q @ theirs, 1e-9, f"{name}: regular representation")
            weight = rng.standard_normal((len(rho), len(rho), size, size))
            basis = sampled(space, space.regular_repr, space.regular_repr, size, 2)
            basis = numpy.einsum("ao,noixy,bi->nabxy", q, basis, q)
            fixed, dim = project(basis, weight)
            check_grid_turns(f"{name} {size}", fixed, ours, reflections)
            steps = [(2 * numpy.pi / n, False), (0.0, True)][: 2 if reflections else 1]
            second_opinion(size, [(ours(*e), ours(*e), planar(*e)) for e in steps], weight, fixed, dim)
            store(tensors, f"{name}.{size}", weight, fixed, [[dim]])
            if (name, size) == ("C4", 3):
                assert dim == 24, dim
    write("escnn_planar", tensors, """
        G.k.weight and G.k.projected [out, in, k, k], G.k.dims = dimension of the span per pair [irreps out, irreps in]; SO2:
        irreps 0, 1, 2 (dims 1, 2, 2); O2: trivial, sign (det), 1, 2; C4, C8, D4: one regular field; frequency k is
        R(k theta) diag(-1, 1)^e; rings r = 0..(k-1)/2, sigma .005, .6 inside, .4 outermost, frequencies <= 0 at r = 0, else
        min(2r, 2 if outermost else 2r - (r+1) mod 2)
        """, SEED, ["escnn", "torch", "numpy"])


def store(tensors, name, weight, fixed, dims):
    again = numpy.asarray(dims, dtype=float)
    print(f"{name}: dimensions {again.astype(int).tolist()}, energy {(fixed**2).sum() / (weight**2).sum():.4f}")
    tensors[f"{name}.weight"], tensors[f"{name}.projected"], tensors[f"{name}.dims"] = weight, fixed, again


if __name__ == "__main__":
    main()
