"""Bases of the relaxed steerable networks of the smoke experiment: C4-steerable kernels on 3x3 from escnn, Hermite-Gauss functions on 5x5.

C4: fields are regular or a vector (vx, vy) with vy along the row index. escnn's vector has vy the other way, its elements are taken as
it would expand them in an R2Conv: sampled, and scaled so that the squared norm is the dimension of the irrep they map to.

Hermite-Gauss: psi_{n,s}(x, y) = h_{n_x}(x) h_{n_y}(y), h_n(x) = exp(-x^2 / 2 s^2) He_n(x / s) / s, at whole points of a window
of side 2 floor(floor(5 s / 2.5) / 2) + 1, zero outside; all scales divided by the norm at s = 1. Computed from SciPy's He_n and a
second time from its recursion in exact fractions.
"""

import fractions
import math

import numpy
from scipy.special import eval_hermitenorm

import band
from conventions import average, close, planar, regular, write
from escnn_basis import escnn, project
from escnn_planar import SIGNS, their_element

SEED = 35
SIZE, SCALES, ORDERS = 5, (1.0, 1.5, 2.0, 2.5), 7


def steerable(tensors, rng):
    space = escnn.gspaces.rot2dOnR2(4)
    group = space.fibergroup
    rho = regular(4, False)
    turns = [(k * math.pi / 2, False) for k in range(4)]
    step = lambda theta: int(round(theta / (math.pi / 2))) % 4  # noqa: E731
    fields = {
        "regular": (lambda theta, _: rho[(step(theta), 0)], space.regular_repr),
        "vector": (lambda theta, _: planar(theta, False), group.irrep(1)),
    }
    # Their regular channels are numbered by their elements, which the turns reach in order; the vector's y is turned over.
    places = [group.elements.index(their_element(group, *turn)) for turn in turns]
    change = {"regular": numpy.eye(4)[places], "vector": numpy.diag([1.0, -1.0])}
    for turn in turns:
        element = their_element(group, *turn)
        close(space.basespace_action(element), SIGNS @ planar(*turn) @ SIGNS, 1e-12, "the element map")
        for name, (ours, theirs) in fields.items():
            close(ours(*turn) @ change[name], change[name] @ theirs(element), 1e-9, f"{name}: {turn}")
    for codomain, domain, expected in [("regular", "regular", 24), ("regular", "vector", 12), ("vector", "regular", 12)]:
        field = lambda name: escnn.nn.FieldType(space, [fields[name][1]])  # noqa: E731
        conv = escnn.nn.R2Conv(field(domain), field(codomain), kernel_size=3, padding=1, bias=False)
        (expansion,) = [getattr(conv.basisexpansion, m) for m in dir(conv.basisexpansion) if m.startswith("block_expansion")]
        theirs = expansion.sampled_basis.double().numpy()
        theirs = theirs.reshape(len(theirs), *theirs.shape[1:3], 3, 3)
        elements = numpy.einsum("ao,noixy,bi->nabxy", change[codomain], theirs, change[domain])
        name = f"{codomain}.{domain}"
        actions = [(fields[codomain][0](*t), fields[domain][0](*t), numpy.rint(planar(*t))) for t in turns]
        for element in elements:
            close(average(element, actions), element, 1e-9, f"{name}: equivariant")
        weight = rng.standard_normal(elements.shape[1:])
        projected, dim = project(elements, weight)
        again, count = project(band.span(3, 2, actions[1:2]), weight)
        assert dim == count == len(elements) == expected, (dim, count, len(elements))
        close(projected, again, 1e-10, f"{name}: escnn against plain NumPy")
        exact = average(weight, actions)
        assert numpy.linalg.norm(exact - projected) > 0.1 * numpy.linalg.norm(exact), "the band is no limit"
        left, _, _ = numpy.linalg.svd(elements.reshape(dim, -1).T, full_matrices=False)
        basis = left.T.reshape(elements.shape)
        tensors[f"{name}.elements"], tensors[f"{name}.basis"] = elements, basis
        tensors[f"{name}.weight"], tensors[f"{name}.projected"] = weight, projected
        norms = (elements**2).sum((1, 2, 3, 4))
        print(f"{name}: {dim} of {weight.size} dimensions, squared norms {sorted(set(numpy.round(norms, 9)))}")


def hermite_gauss(value):
    """[n, scale, y, x] with n = 7 n_x + n_y, and the norms at the first scale before the division, from He_n(t) = value(n, t)."""
    functions = numpy.zeros((ORDERS, ORDERS, len(SCALES), SIZE, SIZE))
    for s, scale in enumerate(SCALES):
        reach = int(SIZE * scale / max(SCALES)) // 2
        for x in range(-reach, reach + 1):
            for y in range(-reach, reach + 1):
                damp = math.exp(-(x * x + y * y) / (2 * scale**2)) / scale**2
                for nx in range(ORDERS):
                    for ny in range(ORDERS):
                        place = nx, ny, s, y + SIZE // 2, x + SIZE // 2
                        functions[place] = damp * value(nx, x, scale) * value(ny, y, scale)
    norms = numpy.sqrt((functions[:, :, 0] ** 2).sum((2, 3)))
    assert norms.min() > 1e-3
    functions /= norms[:, :, None, None, None]
    return functions.reshape(ORDERS**2, len(SCALES), SIZE, SIZE), norms.reshape(-1)


def recursion(n, x, scale):
    """He_{n+1}(t) = t He_n(t) - n He_{n-1}(t), exactly."""
    t, before, value = fractions.Fraction(x) / fractions.Fraction(scale), 0, fractions.Fraction(1)
    for k in range(n):
        before, value = value, t * value - k * before
    return float(value)


def main():
    tensors = {}
    steerable(tensors, numpy.random.default_rng(SEED))
    functions, norms = hermite_gauss(lambda n, x, scale: eval_hermitenorm(n, x / scale))
    again, _ = hermite_gauss(recursion)
    close(functions, again, 1e-12, "He_n of SciPy against the recursion")
    close(norms[0], math.fsum(math.exp(-(x * x + y * y)) for x in (-1, 0, 1) for y in (-1, 0, 1)) ** 0.5, 1e-14, "norm of n = 0")
    sides = [int((numpy.abs(functions[:, s]).max(0) > 0).any(0).sum()) for s in range(4)]
    assert sides == [3, 3, 5, 5], sides
    tensors["hermite_gauss"], tensors["hermite_gauss.norms"] = functions, norms
    write("smoke_networks", tensors, """
        codomain.domain.elements, .basis [n, out, in, 3, 3]: band-limited C4-steerable kernels, as escnn expands them and orthonormal;
        .weight, .projected [out, in, 3, 3]: a random kernel and its projection onto their span; fields regular (4) or vector (vx, vy),
        r = rot90(+1), (vx, vy) -> (vy, -vx), (rho(g)f)[h] = f[g^-1 h]; hermite_gauss [7 n_x + n_y, scale 1 1.5 2 2.5, y, x] and the
        norms [49] at scale 1 that they were divided by
        """, SEED, ["escnn", "torch", "numpy", "scipy"])


if __name__ == "__main__":
    main()
