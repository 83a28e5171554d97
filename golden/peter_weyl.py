"""The vector-valued Fourier projection on S_3, right and as printed; and Haar integrals on SO(3).

G = D3 (which is S_3) acts on f in L^2(G, V), V the plane, by (pi(g) f)(x) = rho(g) f(g^-1 x); T is a seeded operator. Three results:

    true      P(T) = mean over g of pi(g)^T T pi(g), by brute force on 12 x 12 matrices
    untwist   (Uf)(x) = rho(x)^-1 f(x) turns the action into tau (x) 1; mask pi != sigma, B_pi = (1/d) Tr_V_pi, twist back: equal
    printed   the paper's thm:vector_block: mask pi != sigma without untwisting, partial trace, then average over the fibre: not

The integrals on SO(3) come from SciPy's adaptive quadrature, over the turning angle and over Euler angles, and are checked by
int (tr R)^n = the number of invariants in the n-th tensor power of space.
"""

import itertools

import numpy
import scipy.integrate

from conventions import close, dihedral_elements, planar, regular, write

SEED = 19
ELEMENTS = dihedral_elements(3, True)


def plane(g):
    return planar(2 * numpy.pi * g[0] / 3, bool(g[1]))


IRREPS = [
    (1, lambda g: numpy.eye(1)),
    (1, lambda g: numpy.array([[(-1.0) ** g[1]]])),
    (2, plane),
]


def fourier():
    """The orthogonal matrix with rows (pi, i, j) = sqrt(d/|G|) pi(x)_ij; G acts on i by pi(g), j is the multiplicity."""
    rows = []
    for d, pi in IRREPS:
        for i, j in itertools.product(range(d), repeat=2):
            rows.append([numpy.sqrt(d / 6) * pi(x)[i, j] for x in ELEMENTS])
    return numpy.array(rows)


def blocks():
    """(irrep number, slice of its rows) in the Fourier basis."""
    start = 0
    for number, (d, _) in enumerate(IRREPS):
        yield number, slice(start, start + d * d)
        start += d * d


def diagonal(hat, fibre_average):
    """Keep (pi, pi), replace each by 1 (x) B_pi, B_pi the partial trace over V_pi, averaged over the fibre if asked."""
    out = numpy.zeros_like(hat)
    for number, rows in blocks():
        d, pi = IRREPS[number]
        span = slice(rows.start * 2, rows.stop * 2)
        block = hat[span, span].reshape(d, d * 2, d, d * 2)
        b = numpy.einsum("iaib->ab", block) / d
        if fibre_average:
            b = sum(numpy.kron(pi(g), plane(g)) @ b @ numpy.kron(pi(g), plane(g)).T for g in ELEMENTS) / 6
        out[span, span] = numpy.kron(numpy.eye(d), b)
    return out


def vector_valued(tensors):
    rng = numpy.random.default_rng(SEED)
    t = rng.standard_normal((12, 12))
    rho = regular(3, True)
    actions = [numpy.kron(rho[g], plane(g)) for g in ELEMENTS]
    true = sum(a.T @ t @ a for a in actions) / 6
    f = fourier()
    close(f @ f.T, numpy.eye(6), 1e-14, "Peter-Weyl is orthogonal")
    wide = numpy.kron(f, numpy.eye(2))
    untwist = numpy.zeros((12, 12))
    for n, x in enumerate(ELEMENTS):
        untwist[2 * n:2 * n + 2, 2 * n:2 * n + 2] = plane(x).T
    hat = wide @ untwist @ t @ untwist.T @ wide.T
    right = untwist.T @ wide.T @ diagonal(hat, False) @ wide @ untwist
    close(right, true, 1e-14, "untwist, mask, partial trace, twist back")
    printed = wide.T @ diagonal(wide @ t @ wide.T, True) @ wide
    error = numpy.linalg.norm(printed - true) / numpy.linalg.norm(true)
    assert error > 0.1, "the printed formula should differ"
    true_hat = wide @ true @ wide.T
    off = true_hat.copy()
    for _, rows in blocks():
        span = slice(rows.start * 2, rows.stop * 2)
        off[span, span] = 0.0
    leaked = (off**2).sum() / (true**2).sum()
    print(f"the printed formula is off by {error:.3f} of the norm; the true P keeps {leaked:.3f} of its energy in pi != sigma")
    assert leaked > 0.1
    trace = sum(numpy.trace(a) ** 2 for a in actions) / 6
    tensors.update({"S3.t": t, "S3.true": true, "S3.printed": printed, "S3.dim": [trace], "S3.off_diagonal_energy": [leaked],
                    "S3.fourier": f, "S3.plane": numpy.stack([plane(g) for g in ELEMENTS])})
    close(trace, 6 * 2 * 2, 1e-12, "dim Hom_G = |G| d_in d_out")


def rotation(alpha, beta, gamma):
    def about_z(t):
        return numpy.array([[numpy.cos(t), -numpy.sin(t), 0], [numpy.sin(t), numpy.cos(t), 0], [0, 0, 1.0]])

    c, s = numpy.cos(beta), numpy.sin(beta)
    return about_z(alpha) @ numpy.array([[c, 0, s], [0, 1.0, 0], [-s, 0, c]]) @ about_z(gamma)


def haar(tensors):
    """Moments of the trace by the angle density (1 - cos t)/pi, and of matrix entries by Euler angles."""
    moments = [
        scipy.integrate.quad(lambda t, n=n: (1 + 2 * numpy.cos(t)) ** n * (1 - numpy.cos(t)) / numpy.pi, 0, numpy.pi,
                             epsabs=1e-13, epsrel=1e-13)[0]
        for n in range(9)
    ]
    close(moments, [1, 0, 1, 1, 3, 6, 15, 36, 91], 1e-10, "Riordan numbers")
    # Order 4 in the entries: trapezoid in alpha and gamma is exact for trigonometric degree 4, SciPy does beta.
    angles = 2 * numpy.pi * numpy.arange(9) / 9

    def integrand(beta):
        total = numpy.zeros((3, 3, 3, 3))
        for a, c in itertools.product(angles, repeat=2):
            square = rotation(a, beta, c) ** 2
            total += numpy.einsum("ij,kl->ijkl", square, square)
        return total.ravel() / 81 * numpy.sin(beta) / 2

    fourth = scipy.integrate.quad_vec(integrand, 0, numpy.pi, epsabs=1e-14, epsrel=1e-14)[0].reshape(3, 3, 3, 3)
    close(fourth[0, 0, 0, 0], 1 / 5, 1e-13, "int R_11^4")
    close(fourth[0, 0, 0, 1], 1 / 15, 1e-13, "int R_11^2 R_12^2")
    close(fourth[0, 0, 1, 1], 2 / 15, 1e-13, "int R_11^2 R_22^2")
    tensors["SO3.trace_moments"], tensors["SO3.square_products"] = moments, fourth


def main():
    tensors = {}
    vector_valued(tensors)
    haar(tensors)
    write("peter_weyl", tensors, """
        S3.t, S3.true = P(T), S3.printed = the paper's formula, all [12, 12] on L^2(D3, plane) with index 2x + v, x in the order
        r^0..r^2, r^k s, action (pi(g)f)(x) = rho(g) f(g^-1 x); S3.plane [6, 2, 2] = rho; S3.fourier [6, 6] rows (pi, i, j) =
        sqrt(d/6) pi(x)_ij for trivial, sign, plane; S3.dim = dim Hom_G; SO3.trace_moments [9] = int (tr R)^n, n = 0..8;
        SO3.square_products [3, 3, 3, 3] = int R_ij^2 R_kl^2
        """, SEED, ["scipy", "numpy"])


if __name__ == "__main__":
    main()
