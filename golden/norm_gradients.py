"""Matrix norms of a kernel and of its C4 parts, and their gradients through P by PyTorch's autograd.

The kernel [8, 4, 3, 3] maps one regular field to two. Norms see the matrix A = [out, in*k*k]:

    fro = sqrt(sum a^2),  spectral = largest singular value,  nuclear = their sum,  max = max |a|
    (p,q) = (sum_i (sum_j |a_ij|^p)^(q/p))^(1/q),  i over rows, j over columns

P is written as one would in PyTorch (rot90 and roll), so autograd goes through it. P(W) has repeated entries and singular
values: there a norm has many subgradients, and the tape returns one of them after the adjoint of P, which is P itself. For
max and spectral that projected subgradient does not depend on the choice (the ties are one orbit, or one irrep), so it is the
derivative along every direction; finite differences confirm it below.
"""

import numpy
import scipy.linalg
import torch

from conventions import average, close, fields, planar, regular, write

SEED = 2
FIELDS_OUT, FIELDS_IN = 2, 1


def project(w):
    """The C4 average of w [8, 4, 3, 3]: turn by rot90(+1), roll both orientation axes by +1."""
    v = w.reshape(FIELDS_OUT, 4, FIELDS_IN, 4, 3, 3)
    return sum(torch.rot90(v, r, (4, 5)).roll((r, r), (1, 3)) for r in range(4)).reshape(w.shape) / 4


def norms():
    def pq(p, q):
        return lambda a: (a.abs() ** p).sum(1).pow(q / p).sum() ** (1 / q)

    table = {
        "fro": lambda a: (a**2).sum().sqrt(),
        "spectral": lambda a: torch.linalg.svdvals(a)[0],
        "max": lambda a: a.abs().amax(),
    }
    table.update({f"p{p}q{q}": pq(p, q) for p in (1, 2, 3) for q in (1, 2, 3)})
    return table


def main():
    torch.set_default_dtype(torch.float64)
    rng = numpy.random.default_rng(SEED)
    weight = rng.standard_normal((8, 4, 3, 3))
    rho = regular(4, False)
    acts = [(fields(rho[(k, 0)], 2), rho[(k, 0)]) + (numpy.rint(planar(k * numpy.pi / 2, False)),) for k in range(4)]
    fixed = project(torch.tensor(weight)).numpy()
    close(fixed, average(weight, acts), 1e-14, "PyTorch's P against the brute-force average")
    tensors = {"weight": weight, "projected": fixed}
    parts = {
        "whole": lambda w: w,
        "project": project,
        "perp": lambda w: w - project(w),
    }
    a = weight.reshape(8, -1)
    singular = scipy.linalg.svdvals(a)
    tensors["singular_values.whole"] = singular
    tensors["singular_values.project"] = scipy.linalg.svdvals(fixed.reshape(8, -1))
    tensors["singular_values.perp"] = scipy.linalg.svdvals((weight - fixed).reshape(8, -1))
    tied = tensors["singular_values.project"]
    close(tied[0], tied[1], 1e-12, "the seed is one for which the largest singular value of P(W) is double")
    for name, norm in norms().items():
        values = []
        for part, map_ in parts.items():
            w = torch.tensor(weight, requires_grad=True)
            value = norm(map_(w).reshape(8, -1))
            (gradient,) = torch.autograd.grad(value, w)
            if part == "project":
                # The tape's ties are broken by rounding; one more P does not change a gradient that already has its symmetry.
                gradient = project(gradient)
            values.append(value.item())
            finite_differences(norm, map_, weight, gradient.numpy(), f"{name} of {part}")
            tensors[f"gradient.{name}.{part}"] = gradient.numpy()
        tensors[f"value.{name}"] = numpy.array(values)
    close(tensors["value.spectral"][0], singular[0], 1e-12, "SciPy's spectral norm")
    close(tensors["value.fro"], tensors["value.p2q2"], 1e-12, "(2,2) is Frobenius")
    close(tensors["value.p1q1"][0], numpy.abs(a).sum(), 1e-10, "(1,1) is the sum")
    write("norm_gradients", tensors, """
        weight [8, 4, 3, 3] = 1 -> 2 regular fields of C4; value.N [3] of (W, P(W), W - P(W)) and gradient.N.whole|project|perp
        [8, 4, 3, 3] with respect to W; the matrix is [out, in*k*k]; p<p>q<q> = (sum over rows i of (sum over columns j of
        |a_ij|^p)^(q/p))^(1/q); singular_values.* [8] by SciPy, descending
        """, SEED, ["torch", "scipy", "numpy"])


def finite_differences(norm, map_, weight, gradient, what):
    """Central differences along eight directions: the gradient must be the derivative, ties or not."""
    rng = numpy.random.default_rng(SEED + 1)
    for _ in range(8):
        d = rng.standard_normal(weight.shape)
        step = 1e-6
        up, down = (norm(map_(torch.tensor(weight + s * step * d)).reshape(8, -1)).item() for s in (1, -1))
        slope = (up - down) / (2 * step)
        close((gradient * d).sum(), slope, 1e-5 * max(1, abs(slope)), what)


if __name__ == "__main__":
    main()
