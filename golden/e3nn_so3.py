"""Spherical harmonics, Wigner matrices and real Clebsch-Gordan tensors of e3nn, brought into our axes.

e3nn names its axes so that its Y_1(a, b, c) = (a, b, c): its first axis is our y, its second our z, its third our x. With
v = (y, z, x) its harmonics of every degree are ours, in the order m = -l..l, and so are D^l and the coupling tensors:

    Y_l(R x) = D^l(R) Y_l(x),      C_abc = sum_ijk D^out_ai D^in_bj D^J_ck C_ijk,   ||C|| = 1
"""

import numpy
import torch
from e3nn import o3

from conventions import close, harmonics, quarter_turn, sphere, wigner, write

SEED = 31
MAX_DEGREE = 3
CYCLE = numpy.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # (x, y, z) -> (y, z, x)


def rotations():
    """A quarter turn about each axis, and three random ones, on (x, y, z)."""
    turns = [quarter_turn(axis) for axis in range(3)]
    rng = numpy.random.default_rng(SEED)
    for _ in range(3):
        q, upper = numpy.linalg.qr(rng.standard_normal((3, 3)))
        q = q * numpy.sign(numpy.diag(upper))
        turns.append(q if numpy.linalg.det(q) > 0 else -q)
    return numpy.stack(turns)


def main():
    torch.set_default_dtype(torch.float64)
    rng = numpy.random.default_rng(SEED + 1)
    points = sphere(rng, 12)
    matrices = rotations()
    tensors = {"points": points, "rotations": matrices}
    theirs = torch.tensor(CYCLE @ matrices @ CYCLE.T)
    degree = {}
    for l in range(MAX_DEGREE + 1):
        y = o3.spherical_harmonics(l, torch.tensor(points @ CYCLE.T), normalize=True, normalization="component").numpy()
        close(y, harmonics(l, points), 1e-13, f"harmonics of degree {l}")
        close((y**2).sum(1), 2 * l + 1, 1e-12, f"sum rule {l}")
        d = o3.Irrep(l, 1).D_from_matrix(theirs).numpy()
        for r, dr in zip(matrices, d):
            turned = o3.spherical_harmonics(l, torch.tensor(points @ r.T @ CYCLE.T), True, "component").numpy()
            close(turned, y @ dr.T, 1e-12, f"Y_{l}(Rx) = D Y_{l}(x)")
            close(dr, wigner(l, r), 1e-12, f"D^{l} by least squares")
        degree[l] = d
        tensors[f"harmonics.{l}"] = y
        tensors[f"wigner.{l}"] = d
    for a in range(MAX_DEGREE + 1):
        for b in range(MAX_DEGREE + 1):
            for j in range(abs(a - b), min(a + b, MAX_DEGREE) + 1):
                c = o3.wigner_3j(a, b, j, dtype=torch.float64).numpy()
                close((c**2).sum(), 1.0, 1e-12, "norm")
                for da, db, dj in zip(degree[a], degree[b], degree[j]):
                    close(numpy.einsum("ai,bj,ck,ijk->abc", da, db, dj, c), c, 1e-12, f"coupling {a} {b} {j}")
                gram = numpy.einsum("abm,abn->mn", c, c)
                close(gram, numpy.eye(2 * j + 1) / (2 * j + 1), 1e-12, "orthogonality")
                tensors[f"coupling.{a}.{b}.{j}"] = c
    write("e3nn_so3", tensors, """
        points [n, 3] and rotations [6, 3, 3] (quarter turns about x, y, z, then random) on (x, y, z); harmonics.l [n, 2l+1] with
        sum of squares 2l+1, m = -l..l; wigner.l [6, 2l+1, 2l+1] with Y_l(Rx) = D^l(R) Y_l(x); coupling.lout.lin.J
        [2lout+1, 2lin+1, 2J+1] of norm 1, its sign free
        """, SEED, ["e3nn", "torch", "numpy"])


if __name__ == "__main__":
    main()
