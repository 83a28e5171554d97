"""The conventions of reynolds in plain NumPy, and the writer of golden files.

Nothing here calls reynolds: the scripts beside this file take numbers from other programs, bring them into these
conventions, and assert that they are there before writing anything.

    points       (x, y) = (column, row) or (x, y, z) = (column, row, plane), the centre of the grid at 0; y grows downwards
    action       (A(g)K)(x) = pi'(g) K(g^-1 x) pi(g)^T,   P(K) = mean over g of A(g)K
    r in C_N     the turn [[c, s], [-s, c]] of (x, y) by 2 pi / N; for N = 4 it is numpy.rot90(+1) of the last two axes
    s in D_N     diag(-1, 1): the flip of the last axis, applied before the turn
    order        r^0 ... r^(N-1), then r^0 s ... r^(N-1) s
    regular      (rho(g) f)[h] = f[g^-1 h], fields outermost, the group element fastest
    frequency k  rho(r(theta) s^e) = [[cos k theta, sin k theta], [-sin k theta, cos k theta]] diag(-1, 1)^e
    degree l     D^l(R) with Y_l(R x) = D^l(R) Y_l(x), Y_l as `harmonics` below; parity +1 or -1 under x -> -x
"""

import importlib.metadata
import json
import pathlib
import platform
import sys

import numpy
from safetensors.numpy import save

FOLDER = pathlib.Path(__file__).resolve().parent


def write(name, tensors, convention, seed, packages):
    """Writes golden/<name>.safetensors: f64, row-major, with what made it as metadata."""
    versions = {p: importlib.metadata.version(p) for p in packages}
    metadata = {
        "script": f"golden/{pathlib.Path(sys.argv[0]).name}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{p} {v}" for p, v in sorted(versions.items())),
        "seed": str(seed),
        "convention": " ".join(convention.split()),
    }
    tensors = {k: numpy.ascontiguousarray(v, dtype=numpy.float64) for k, v in tensors.items()}
    for key, value in tensors.items():
        assert numpy.isfinite(value).all(), f"{key} is not finite"
    path = FOLDER / f"{name}.safetensors"
    path.write_bytes(sorted_header(save(tensors, metadata=metadata)))
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size / 1024:.1f} KB")


def sorted_header(data):
    """The same file with its header in alphabetical order, so that equal runs write equal bytes."""
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def close(a, b, tolerance, what):
    """Asserts that two arrays agree entry by entry."""
    error = numpy.abs(numpy.asarray(a) - numpy.asarray(b)).max()
    assert error <= tolerance, f"{what}: off by {error:.2e}, allowed {tolerance:.0e}"
    return error


# --- planar groups -------------------------------------------------------------------------------------------------


def dihedral_elements(n, reflections):
    """(k, e) for r^k s^e in our order."""
    return [(k, e) for e in range(2 if reflections else 1) for k in range(n)]


def dihedral_product(n, g, h):
    """r^k s^e r^j s^f = r^(k + (-1)^e j) s^(e + f)."""
    return ((g[0] + (-1) ** g[1] * h[0]) % n, (g[1] + h[1]) % 2)


def regular(n, reflections):
    """The regular representation: element -> permutation matrix with rho(g) e_h = e_gh."""
    elements = dihedral_elements(n, reflections)
    number = {g: i for i, g in enumerate(elements)}
    matrices = {}
    for g in elements:
        m = numpy.zeros((len(elements),) * 2)
        for h in elements:
            m[number[dihedral_product(n, g, h)], number[h]] = 1.0
        matrices[g] = m
    return matrices


def planar(theta, reflected, frequency=1):
    """The matrix of r(theta) s^e on the irrep of this frequency; frequency 1 is also the action on points (x, y)."""
    c, s = numpy.cos(frequency * theta), numpy.sin(frequency * theta)
    turn = numpy.array([[c, s], [-s, c]])
    return turn @ numpy.diag([-1.0, 1.0]) if reflected else turn


def grid_action(kernel, left, right, points_matrix):
    """A(g)K for kernel [out, in, k, ...]; points_matrix acts on (x, y) or (x, y, z) and must map the grid to itself."""
    spatial = kernel.shape[2:]
    half = (spatial[0] - 1) / 2
    axes = numpy.indices(spatial).reshape(len(spatial), -1) - half
    points = axes[::-1]  # x is the last axis
    moved = points_matrix @ points
    target = numpy.rint(moved[::-1] + half).astype(int)
    assert numpy.abs(moved[::-1] + half - target).max() < 1e-9, "the grid is not mapped to itself"
    out = numpy.empty_like(kernel)
    flat = kernel.reshape(kernel.shape[0], kernel.shape[1], -1)
    turned = numpy.einsum("ao,oip,bi->abp", left, flat, right)
    out[(slice(None), slice(None), *target)] = turned
    return out


def average(kernel, actions):
    """P(K) by brute force; actions lists (left, right, points_matrix) for every g."""
    return sum(grid_action(kernel, *a) for a in actions) / len(actions)


def fields(matrix, copies):
    """`copies` equal fields, fields outermost."""
    return numpy.kron(numpy.eye(copies), matrix)


def align(ours, theirs):
    """Orthogonal Q with ours[g] Q = Q theirs[g] for all listed g: a null vector of the stacked equations, scaled."""
    n = ours[0].shape[0]
    rows = [numpy.kron(a, numpy.eye(n)) - numpy.kron(numpy.eye(n), b.T) for a, b in zip(ours, theirs)]
    _, singular, vectors = numpy.linalg.svd(numpy.concatenate(rows))
    assert singular[-1] < 1e-9, f"the two representations are not equivalent: {singular[-1]:.1e}"
    q = vectors[-1].reshape(n, n)
    q *= numpy.sqrt(n) / numpy.linalg.norm(q)
    assert numpy.abs(q @ q.T - numpy.eye(n)).max() < 1e-9, "Q is not orthogonal"
    return q


# --- rotations of space --------------------------------------------------------------------------------------------


def harmonics(l, p):
    """Real spherical harmonics of degree l <= 3 at unit vectors p [n, 3]: [n, 2l+1], sum of squares 2l+1, m = -l..l."""
    x, y, z = p.T
    q = numpy.sqrt
    rows = {
        0: [x * 0 + 1],
        1: [q(3) * y, q(3) * z, q(3) * x],
        2: [q(15) * x * y, q(15) * y * z, q(5) / 2 * (3 * z**2 - 1), q(15) * x * z, q(15) / 2 * (x**2 - y**2)],
        3: [
            q(35 / 8) * y * (3 * x**2 - y**2), q(105) * x * y * z, q(21 / 8) * y * (5 * z**2 - 1),
            q(7) / 2 * z * (5 * z**2 - 3), q(21 / 8) * x * (5 * z**2 - 1), q(105) / 2 * z * (x**2 - y**2),
            q(35 / 8) * x * (x**2 - 3 * y**2),
        ],
    }
    return numpy.stack(rows[l], axis=1)


def sphere(rng, n):
    """n random unit vectors, [n, 3]."""
    p = rng.standard_normal((n, 3))
    return p / numpy.linalg.norm(p, axis=1, keepdims=True)


def wigner(l, rotation):
    """D^l(R) from Y_l(R x) = D^l(R) Y_l(x) at random points, by least squares."""
    p = sphere(numpy.random.default_rng(7), 60)
    solution, *_ = numpy.linalg.lstsq(harmonics(l, p), harmonics(l, p @ rotation.T), rcond=None)
    return solution.T


def octahedral_rotations():
    """The 24 rotations of the cube, as integer matrices on (x, y, z), closed from two quarter turns."""
    return close_group([quarter_turn(0), quarter_turn(2)])


def quarter_turn(axis):
    """+90 degrees about the axis 0 = x, 1 = y, 2 = z, right-handed in (x, y, z)."""
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    m = numpy.eye(3)
    m[[i, j]] = 0
    m[j, i], m[i, j] = 1, -1
    return m


def close_group(generators):
    """All products of the generators, the identity first."""
    elements = [numpy.eye(len(generators[0]))]
    for g in elements:
        for h in generators:
            new = h @ g
            if not any(numpy.abs(new - e).max() < 1e-9 for e in elements):
                elements.append(new)
                assert len(elements) <= 1000, "the generators do not close"
    return elements
