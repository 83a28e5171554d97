"""symm-learning's orthogonal projection of dense maps, in f64: C4 regular fields, D3 (which is S3) regular fields and irreps.

Its `GroupHomomorphismBasis.orthogonal_projection` works in isotypic blocks, on escnn's representations. escnn numbers the
elements of C_N and D_N as we do, so its regular representations need no conversion; that is asserted against our own tables, and
the projection against the plain group average. The average penalty mean_g ||rho'(g) W - W rho(g)||^2 = 2 ||W - P(W)||^2 and its
gradient come from PyTorch's autograd over the group elements, P nowhere in sight.
"""

import warnings

import numpy
import torch

torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore")

import escnn.group  # noqa: E402
from symm_learning.representation_theory import GroupHomomorphismBasis, direct_sum  # noqa: E402

from conventions import close, dihedral_elements, fields, planar, regular, write  # noqa: E402

SEED = 17


def theirs(group, k, e):
    return group.element((e, k) if isinstance(group, escnn.group.DihedralGroup) else k)


def case(tensors, name, group, n, reflections, rep_in, rep_out, ours_in, ours_out, rng):
    elements = dihedral_elements(n, reflections)
    for g in elements:
        close(rep_in(theirs(group, *g)), ours_in(g), 1e-9, f"{name}: domain")
        close(rep_out(theirs(group, *g)), ours_out(g), 1e-9, f"{name}: codomain")
    weight = rng.standard_normal((rep_out.size, rep_in.size))
    basis = GroupHomomorphismBasis(rep_in, rep_out)
    fixed = basis.orthogonal_projection(torch.tensor(weight)).numpy()
    average = sum(ours_out(g).T @ weight @ ours_in(g) for g in elements) / len(elements)
    close(fixed, average, 1e-12, f"{name}: symm-learning against the group average")
    w = torch.tensor(weight, requires_grad=True)
    defects = [torch.tensor(ours_out(g)) @ w - w @ torch.tensor(ours_in(g)) for g in elements]
    penalty = sum((d**2).sum() for d in defects) / len(elements)
    (gradient,) = torch.autograd.grad(penalty, w)
    worst = max(float((d.detach() ** 2).sum().sqrt()) for d in defects)
    close(penalty.item(), 2 * ((weight - average) ** 2).sum(), 1e-9, f"{name}: mean-square defect")
    close(gradient.numpy(), 4 * (weight - average), 1e-11, f"{name}: its gradient")
    print(f"{name}: {rep_out.size} x {rep_in.size}, dim Hom {basis.dim}")
    tensors[f"{name}.weight"], tensors[f"{name}.projected"] = weight, fixed
    tensors[f"{name}.dim"] = numpy.array([basis.dim])
    tensors[f"{name}.mean_square_defect"] = numpy.array([penalty.item()])
    tensors[f"{name}.mean_square_defect_gradient"] = gradient.numpy()
    tensors[f"{name}.worst_defect"] = numpy.array([worst])


def main():
    rng = numpy.random.default_rng(SEED)
    tensors = {}
    c4 = escnn.group.cyclic_group(4)
    rho = regular(4, False)
    eight = direct_sum([c4.regular_representation] * 8)
    case(tensors, "C4.regular8", c4, 4, False, eight, eight, lambda g: fields(rho[g], 8), lambda g: fields(rho[g], 8), rng)

    d3 = escnn.group.dihedral_group(3)
    rho3 = regular(3, True)
    two = direct_sum([d3.regular_representation] * 2)
    case(tensors, "D3.regular2", d3, 3, True, two, two, lambda g: fields(rho3[g], 2), lambda g: fields(rho3[g], 2), rng)

    # trivial + sign + two copies of the plane, from the regular representation: their plane is the mirror image of ours.
    mirror = numpy.diag([1.0, -1.0])
    def plane(g):
        return planar(2 * numpy.pi * g[0] / 3, bool(g[1]))
    # ours(g) = mirror' theirs(g) mirror'^-1 with the flip diag(1, -1) -> diag(-1, 1): a quarter turn after the mirror
    turn = numpy.array([[0.0, 1.0], [-1.0, 0.0]]) @ mirror
    for g in dihedral_elements(3, True):
        close(turn @ d3.irrep(1, 1)(theirs(d3, *g)) @ turn.T, plane(g), 1e-9, "D3: the plane")
    their_plane = escnn.group.change_basis(d3.irrep(1, 1), turn, "plane")
    mixed = direct_sum([d3.trivial_representation, d3.irrep(1, 0), their_plane, their_plane])
    def ours_mixed(g):
        m = numpy.zeros((6, 6))
        m[0, 0], m[1, 1] = 1.0, -1.0 if g[1] else 1.0
        m[2:4, 2:4] = m[4:6, 4:6] = plane(g)
        return m
    case(tensors, "D3.mixed", d3, 3, True, d3.regular_representation, mixed, lambda g: rho3[g], ours_mixed, rng)
    write("symm_learning_dense", tensors, """
        dense maps [out, in]: C4.regular8 = 8 regular -> 8 regular fields; D3.regular2 = 2 -> 2 regular fields; D3.mixed = 1 regular
        -> trivial + sign (det) + 2 planes (frequency 1), elements r^0..r^2 then r^k s; mean_square_defect = mean over g of
        ||rho'(g)W - W rho(g)||^2 = 2||W - P(W)||^2, with its gradient; worst_defect = max over g of the norm
        """, SEED, ["symm-learning", "escnn", "torch", "numpy"])


if __name__ == "__main__":
    main()
