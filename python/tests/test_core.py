"""What the core has, from Python: bases, norms, Fourier blocks, certificates, fields of e3nn and escnn."""

import itertools
import os
import subprocess
import sys

import numpy
import pytest

import reynolds as rn

CASES = [
    ("C4", "2 trivial", "1 regular", 3),
    ("D4", "1 regular", "1 irrep(1) + 1 trivial", 5),
    ("S3", "1 regular", "2 regular", None),
    ("SO2", "2x0 + 1x1", "1x1 + 1x2", 5),
    ("O3", "2x0e+1x1o", "1x1o", None),
]


@pytest.mark.parametrize(("group", "domain", "codomain", "kernel"), CASES)
def test_a_basis_is_orthonormal_and_spans_the_equivariant_weights(group, domain, codomain, kernel):
    projector = rn.Projector(group, domain, codomain, kernel=kernel)
    basis = projector.basis()
    assert basis.shape == (projector.rank, *projector.shape)
    flat = basis.reshape(len(basis), -1)
    numpy.testing.assert_allclose(flat @ flat.T, numpy.eye(len(flat)), atol=1e-12)
    weights = numpy.random.default_rng(4).normal(size=projector.shape)
    numpy.testing.assert_allclose(flat.T @ (flat @ weights.ravel()), projector(weights).ravel(), atol=1e-12)


def test_norms_are_those_of_matrices():
    projector = rn.Projector("C4", "1 regular", "2 regular", kernel=3)
    weights = numpy.random.default_rng(5).normal(size=projector.shape)
    parts = {"whole": weights, "equivariant": projector(weights), "perp": weights - projector(weights)}
    for component, part in parts.items():
        matrix = part.reshape(8, -1)
        expected = {
            "frobenius": numpy.linalg.norm(matrix),
            "spectral": numpy.linalg.norm(matrix, 2),
            "max": numpy.abs(matrix).max(),
            "(1,1)": numpy.abs(matrix).sum(),
        }
        for norm, value in expected.items():
            assert projector.norm(weights, norm, component) == pytest.approx(value, rel=1e-9), (norm, component)
    with pytest.raises(rn.Error, match="frobenius, spectral"):
        projector.norm(weights, "l2")
    with pytest.raises(rn.Error, match="component"):
        projector.norm(weights, component="rest")


def test_fourier_blocks_of_an_equivariant_map_are_diagonal():
    projector = rn.Projector("D4", "1 regular", "1 regular")
    weights = numpy.random.default_rng(6).normal(size=(8, 8))
    found = rn.fourier_blocks("D4", weights)
    assert sorted(found.irreps.values()) == [1, 1, 1, 1, 2]
    blocks = numpy.sum([numpy.square(numpy.abs(block)).sum() for block in found.blocks.values()])
    assert blocks == pytest.approx(found.energy, rel=1e-12)
    assert found.perp == pytest.approx(projector.energies(weights)[1], rel=1e-12)
    equivariant = rn.fourier_blocks("D4", projector(weights))
    assert equivariant.perp < 1e-24
    for pi, sigma in itertools.product(equivariant.irreps, repeat=2):
        block, size = equivariant[pi, sigma], equivariant.irreps[pi]
        expected = numpy.kron(numpy.eye(size), block[:size, :size]) if pi == sigma else 0 * block
        numpy.testing.assert_allclose(block, expected, atol=1e-12)
    assert "‖T − P(T)‖²" in str(found)
    with_fields = rn.fourier_blocks("C4", numpy.eye(8), "2 trivial", "1 irrep(1)")
    assert len(with_fields.irreps) == 4 and with_fields[("0", "0")].shape == (2, 2)
    with pytest.raises(rn.Error, match="matrix"):
        rn.fourier_blocks("C4", numpy.ones(4))


def test_e3nns_irreps_are_fields():
    o3 = pytest.importorskip("e3nn.o3")
    torch = pytest.importorskip("torch")
    into, out = o3.Irreps("3x0e + 2x1o + 1x2e"), o3.Irreps("1x0e + 2x1o + 1x2e")
    projector = rn.Projector("O3", into, out)
    weights = projector(torch.randn(projector.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    assert projector.rank == 3 * 1 + 2 * 2 + 1 * 1
    for _ in range(3):
        turn = -o3.rand_matrix().double()
        before, after = (irreps.D_from_matrix(turn).double() for irreps in (into, out))
        torch.testing.assert_close(after @ weights, weights @ before, rtol=0, atol=1e-6)


ESCNN = """
import sys, warnings
warnings.filterwarnings("ignore")
sys.modules["sklearn"] = sys.modules["sklearn.utils.extmath"] = None  # escnn hands it a numpy.matrix, which it refuses
import torch, reynolds as rn
from escnn import gspaces, nn
torch.manual_seed(1)
for space in (gspaces.rot2dOnR2(4), gspaces.flipRot2dOnR2(4)):
    image, hidden = nn.FieldType(space, [space.trivial_repr] * 3), nn.FieldType(space, [space.regular_repr] * 2)
    mixed = nn.FieldType(space, [space.trivial_repr] * 2 + [space.regular_repr])
    model = nn.SequentialModule(nn.R2Conv(image, hidden, 3), nn.InnerBatchNorm(hidden), nn.ReLU(hidden), nn.R2Conv(hidden, mixed, 5))
    model(nn.GeometricTensor(torch.rand(4, 3, 11, 11), image))
    plan, exported = rn.Plan.from_escnn(model.eval()), model.eval().export()
    found = rn.audit(exported, plan=plan)
    assert len(found.layers) == 8 and found.total["energy"] > 1 - 1e-10, found
    with torch.no_grad():
        exported[0].weight[0] += 0.1
    assert rn.audit(exported, plan=plan).total["energy"] < 0.999
vector = nn.FieldType(space, [space.irrep(1, 1)])
try:
    rn.Plan.from_escnn(nn.R2Conv(vector, vector, 3))
except rn.Error as error:
    assert "basis in escnn" in str(error)
    print("ok")
"""


def test_exported_escnn_networks_are_equivariant_by_their_plan():
    folder = os.environ.get("REYNOLDS_ESCNN")
    if folder is None:
        pytest.skip("escnn needs numpy < 2: make test-python has it in a folder of its own, REYNOLDS_ESCNN")
    path = os.pathsep.join([folder, *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])])
    found = subprocess.run([sys.executable, "-c", ESCNN], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert found.stdout == "ok\n", found.stderr


def chain():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    nn = torch.nn
    convolutions = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
    return nn.Sequential(
        convolutions[0], nn.BatchNorm2d(4), nn.ReLU(), convolutions[1], nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    ).double()


def test_a_certificate_bounds_every_error_and_vanishes_after_projection():
    torch = pytest.importorskip("torch")
    model, x = chain(), torch.rand(2, 1, 5, 5, dtype=torch.float64)
    plan = rn.Plan.infer(model, "C4", "1 trivial", output="3 trivial", example=x)
    found = rn.certify(model, plan, radius=2.0, example=x, search=200)
    x = 2.0 * x / x.flatten(1).norm(dim=1)[:, None, None, None]
    model.eval()
    errors = [(model(torch.rot90(x, turns, (2, 3))) - model(x)).norm(dim=1).max() for turns in (1, 2, 3)]
    assert 0 < max(errors) < found.bound and 0 < found.searched < found.bound
    assert [term.layer for term in found.terms] == ["0", "1", "2", "3", "4", "5", "7"] and "Lipschitz" in str(found)
    rn.project_(model, plan)
    assert rn.certify(model, plan, radius=2.0, example=x).bound < 1e-10


def test_what_forbids_a_certificate_is_named():
    torch = pytest.importorskip("torch")
    nn, model = torch.nn, chain()
    x = torch.rand(2, 1, 5, 5, dtype=torch.float64)
    plan = rn.Plan.infer(model, "C4", "1 trivial", output="3 trivial", example=x)
    for at, instead, what in [
        (2, nn.Softmax2d(), "2: .*Softmax2d"),
        (3, nn.Conv2d(4, 8, 3, padding=1, stride=2), "3: .*stride 1"),
        (5, nn.AdaptiveAvgPool2d(2), "5: .*AdaptiveAvgPool2d"),
    ]:
        broken = chain()
        broken[at] = instead.double()
        with pytest.raises(rn.Error, match=what):
            rn.certify(broken, plan, example=x)

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)

        def forward(self, x):
            return x + self.first(x)

    with pytest.raises(rn.Error, match="chain of modules"):
        rn.certify(Sum(), rn.Plan.infer(Sum(), "C4", "1 regular"))
    with pytest.raises(rn.Error, match="radius"):
        rn.certify(model, plan, radius=-1.0, example=x)
