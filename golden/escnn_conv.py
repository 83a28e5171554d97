"""Weights of escnn convolutions, exported to plain PyTorch: they must have equivariant energy 1 in our conventions.

    energy(W) = ||P(W)||^2 / ||W||^2,  P the average over C4 or D4

Written are regular -> regular and trivial -> regular kernels with their biases. The script also measures what the energy
becomes under the other conventions a program could have, to show that the test can fail.
"""

import warnings

import numpy

from conventions import (average, close, dihedral_elements, fields, planar, regular, write)

warnings.filterwarnings("ignore")
import escnn.nn  # noqa: E402
import torch  # noqa: E402
from escnn import gspaces  # noqa: E402

SEED = 20261115


def exported(input_type, output_type, size):
    conv = escnn.nn.R2Conv(input_type, output_type, kernel_size=size, padding=size // 2, bias=True)
    torch.nn.init.normal_(conv.bias)
    plain = conv.export()
    return plain.weight.detach().double().numpy(), plain.bias.detach().double().numpy()


def actions(n, reflections, lift, copies_in, copies_out, turn=1, inverse=False):
    """(left, right, points) of every element. turn = -1 turns the grid the other way; inverse takes rho(g^-1)."""
    rho = regular(n, reflections)
    for k, e in dihedral_elements(n, reflections):
        matrix = rho[(k, e)].T if inverse else rho[(k, e)]
        left = fields(matrix, copies_out)
        right = numpy.eye(copies_in) if lift else fields(matrix, copies_in)
        points = numpy.rint(planar(turn * 2 * numpy.pi * k / n, bool(e)))
        yield left, right, points


def energy(w, acts):
    return (average(w, list(acts)) ** 2).sum() / (w**2).sum()


def main():
    torch.manual_seed(SEED)
    tensors = {}
    for name, space, n, reflections in [
        ("c4", gspaces.rot2dOnR2(4), 4, False),
        ("d4", gspaces.flipRot2dOnR2(4), 4, True),
    ]:
        scalar = space.trivial_repr
        full = space.regular_repr
        for size, copies_in, copies_out in [(3, 2, 3), (5, 2, 1)]:
            field_in = escnn.nn.FieldType(space, [full] * copies_in)
            field_out = escnn.nn.FieldType(space, [full] * copies_out)
            weight, bias = exported(field_in, field_out, size)
            ours = energy(weight, actions(n, reflections, False, copies_in, copies_out))
            close(ours, 1.0, 1e-6, f"energy of {name} regular {size}")
            other = [
                energy(weight, actions(n, reflections, False, copies_in, copies_out, turn=-1)),
                energy(weight, actions(n, reflections, False, copies_in, copies_out, inverse=True)),
            ]
            assert max(other) < 0.9
            print(f"{name} regular {size}x{size}: energy {ours:.8f}; turned the other way {other[0]:.3f}, rho(g^-1) {other[1]:.3f}")
            tensors[f"{name}.regular.{size}.weight"] = weight
            tensors[f"{name}.regular.{size}.bias"] = bias
            tensors[f"{name}.regular.{size}.energy_other_turn"] = numpy.array([other[0]])
            close(bias.reshape(copies_out, -1), bias.reshape(copies_out, -1)[:, :1], 1e-6, "bias is constant in a field")
        for size in (3, 5):
            field_in = escnn.nn.FieldType(space, [scalar] * 2)
            field_out = escnn.nn.FieldType(space, [full] * 2)
            weight, bias = exported(field_in, field_out, size)
            close(energy(weight, actions(n, reflections, True, 2, 2)), 1.0, 1e-6, f"energy of {name} lift {size}")
            other = energy(weight, actions(n, reflections, True, 2, 2, turn=-1))
            assert other < 0.9
            print(f"{name} lift {size}x{size}: energy 1; turned the other way {other:.3f}")
            tensors[f"{name}.lift.{size}.weight"] = weight
            tensors[f"{name}.lift.{size}.bias"] = bias
    write("escnn_conv", tensors, """
        weights [out, in, k, k] and biases [out] of exported escnn R2Conv modules, escnn works in f32; regular fields, elements
        r^0..r^3 then r^k s, r = rot90(+1) of the last two axes, s = flip of the last axis, (rho(g)f)[h] = f[g^-1 h]: energy 1
        to 1e-6; energy_other_turn is the energy with rot90(-1) and the same rho
        """, SEED, ["escnn", "torch", "numpy"])


if __name__ == "__main__":
    main()
