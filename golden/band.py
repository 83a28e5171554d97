"""Band-limited steerable kernels in plain NumPy, slowly: the second opinion on what escnn says. Imported by the escnn_* scripts.

    scalar functions   phi_r(|x|) Y_Jm(x/|x|),   phi_r = exp(-(|x| - r)^2 / (2 sigma_r^2)),   J up to a limit on each ring
    equivariant        coefficients in V_out (x) V_in* (x) span(Y) fixed by every generator: a null space

In the plane Y_J is (1) or (cos J phi, sin J phi).
"""

import numpy

from conventions import harmonics, planar, wigner


def rings(size, dimension):
    """(radius, sigma, largest J) of each ring."""
    outer = (size - 1) // 2
    table = []
    for r in range(outer + 1):
        sigma = 0.005 if r == 0 else 0.4 if r == outer else 0.6
        if dimension == 2:
            limit = 0 if r == 0 else min(2 * r, 2 if r == outer else 2 * r - (r + 1) % 2)
        else:
            limit = min(2 * r, outer - r + 2)
        table.append((r, sigma, limit))
    return table


def points(size, dimension):
    """Our coordinates of the grid points in storage order, [k^d, d]."""
    axes = numpy.indices((size,) * dimension).reshape(dimension, -1) - (size - 1) / 2
    return axes[::-1].T


def angular(degree, p):
    """Y_J at the points p [n, d], [n, dim]; at the origin 1 for J = 0 and 0 for others."""
    radius = numpy.linalg.norm(p, axis=1)
    unit = p / numpy.where(radius == 0, 1, radius)[:, None]
    if p.shape[1] == 3:
        values = harmonics(degree, unit)
    elif degree == 0:
        values = numpy.ones((len(p), 1))
    else:
        phi = numpy.arctan2(p[:, 1], p[:, 0])
        values = numpy.stack([numpy.cos(degree * phi), numpy.sin(degree * phi)], axis=1)
    values[radius == 0] = 1.0 if degree == 0 else 0.0
    return values


def angular_action(degree, matrix):
    """The matrix M with Y_J(g x) = M Y_J(x), for g given by its matrix on points."""
    if len(matrix) == 3:
        sign = numpy.linalg.det(matrix)
        return wigner(degree, matrix * sign) * sign**degree
    if degree == 0:
        return numpy.eye(1)
    p = numpy.random.default_rng(3).standard_normal((20, 2))
    solution, *_ = numpy.linalg.lstsq(angular(degree, p), angular(degree, p @ matrix.T), rcond=None)
    return solution.T


def scalar_functions(size, dimension):
    """(J, ring, values [k^d, dim Y_J]) for every ring and allowed degree."""
    p = points(size, dimension)
    radius = numpy.linalg.norm(p, axis=1)
    return [
        (j, r, numpy.exp(-((radius - r) ** 2) / (2 * sigma**2))[:, None] * angular(j, p))
        for r, sigma, limit in rings(size, dimension)
        for j in range(limit + 1)
    ]


def span(size, dimension, generators):
    """Equivariant kernels [n, out, in, k, ...]; generators lists (rho_out, rho_in, matrix on points)."""
    n_out, n_in = generators[0][0].shape[0], generators[0][1].shape[0]
    functions = scalar_functions(size, dimension)
    kernels = []
    for degree in sorted({j for j, _, _ in functions}):
        rows = []
        for left, right, matrix in generators:
            action = numpy.kron(numpy.kron(left, right), angular_action(degree, matrix))
            rows.append(action - numpy.eye(len(action)))
        _, singular, vectors = numpy.linalg.svd(numpy.concatenate(rows))
        fixed = vectors[singular < 1e-9].reshape(-1, n_out, n_in, angular_action(degree, generators[0][2]).shape[0])
        for j, _, values in functions:
            if j == degree:
                kernels.extend(numpy.einsum("oim,xm->oix", c, values) for c in fixed)
    if not kernels:
        return numpy.zeros((0, n_out, n_in, *(size,) * dimension))
    return numpy.stack(kernels).reshape(-1, n_out, n_in, *(size,) * dimension)
