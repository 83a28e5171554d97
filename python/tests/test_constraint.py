"""Layers that are equivariant by construction."""

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).double()


@pytest.fixture
def plan():
    return rn.Plan.infer(network(), "C4", "1 trivial", output="4 trivial")


X = torch.rand(3, 1, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_strict_layers_are_equivariant_while_they_are_trained(plan):
    model = network()
    assert rn.constrain_(model, plan) == ["0.weight", "0.bias", "2.weight"]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(5):
        optimizer.zero_grad()
        model(X).square().mean().backward()
        optimizer.step()
        assert rn.equivariance_error(model, X, "C4").worst < 1e-12
    before = model(X)
    rn.bake_(model)
    assert sorted(model.state_dict()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    torch.testing.assert_close(model(X), before, rtol=0, atol=1e-13)
    assert rn.Penalty(model, plan, lambda_perp=1.0).residual() < 1e-12


def test_a_residual_starts_at_the_weights_and_is_a_parameter_of_its_own(plan):
    model, other = network(), network()
    rn.constrain_(model, plan, kind="residual")
    torch.testing.assert_close(model(X), other(X), rtol=0, atol=1e-13)
    residuals = [parameter for name, parameter in model.named_parameters() if name.endswith("original1")]
    assert len(residuals) == 3
    with torch.no_grad():
        for residual in residuals:
            residual.zero_()
    assert rn.equivariance_error(model, X, "C4").worst < 1e-12
    with pytest.raises(rn.Error, match="strict"):
        rn.constrain_(network(), plan, kind="soft")
