"""escnn's steerable kernel bases, sampled in f64 and brought into our conventions. Imported by the escnn_* scripts.

escnn keeps its coefficients in f32 by naming `torch.float32` in its sources; bound to f64 before escnn is imported, the same
code computes in f64. It samples kernels at (x, -y) or (x, -y, -z) of our points, S = diag(1, -1[, -1]); so its kernels obey

    K(g x) = rho'(S g S) K(x) rho(S g S)^-1

in our coordinates, and an orthogonal Q with ours(g) Q = Q theirs(S g S) for every g brings channels to our bases. Q is found
numerically; what freedom is left in it (a sign, or a turn for complex type) does not change the span of the kernels.
"""

import warnings

import numpy
import torch

torch.float32 = torch.float = torch.float64
torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore")

import escnn.group  # noqa: E402
import escnn.gspaces  # noqa: E402
import escnn.nn  # noqa: E402
from escnn.nn.modules.conv import r2convolution, r3convolution  # noqa: E402
from escnn.nn.modules.conv.rd_convolution import get_grid_coords  # noqa: E402

from conventions import align  # noqa: E402,F401: what brings sampled bases to our channels goes with them


def sampled(space, rep_in, rep_out, size, dimension):
    """The elements R2Conv or R3Conv would expand, [n, out, in, k, ...], with escnn's default rings and frequencies."""
    module = r2convolution if dimension == 2 else r3convolution
    keep, rings, sigma, largest = module.compute_basis_params(size)
    basis = space.build_kernel_basis(rep_in, rep_out, sigma, rings, maximum_frequency=largest)
    values = basis.sample(torch.tensor(get_grid_coords(dimension, size))).permute(1, 2, 3, 0).numpy()
    values = values[[bool(keep(a)) for a in basis]]
    norms = numpy.sqrt((values.reshape(len(values), -1) ** 2).sum(1))
    values = values[norms > 1e-6] / norms[norms > 1e-6].reshape(-1, 1, 1, 1)
    return values.reshape(-1, rep_out.size, rep_in.size, *(size,) * dimension)


def project(elements, kernel):
    """The orthogonal projection of kernel onto the span of elements (any basis), and its dimension."""
    matrix = elements.reshape(len(elements), -1).T
    left, singular, _ = numpy.linalg.svd(matrix, full_matrices=False)
    left = left[:, singular > 1e-6 * singular[0]]
    return (left @ (left.T @ kernel.ravel())).reshape(kernel.shape), left.shape[1]
