"""Projection of models, statistics after it, and why a network is not equivariant."""

import copy

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402

PLAN = """
group = "C4"
[[layer]]
name = "0.weight"
domain = "1 trivial"
codomain = "2 regular"
[[layer]]
name = "3.weight"
domain = "2 regular"
codomain = "3 trivial"
"""


def network(stride=1, side=8):
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=stride), nn.ReLU(), nn.Identity(), nn.Conv2d(8, 3, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    ).double()


def batch(side=8):
    return torch.rand(2, 1, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_a_projected_network_is_invariant_and_its_own_weights_come_back():
    model, plan = network(), rn.Plan.from_toml(PLAN)
    before = copy.deepcopy(model.state_dict())
    assert rn.equivariance_error(model, batch(), "C4").worst > 1e-3
    with rn.projected(model, plan) as inside:
        assert rn.equivariance_error(inside, batch(), "C4").worst < 1e-12
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    names = rn.project_(model, plan, blend=0.5)
    assert names == ["0.weight", "0.bias", "3.weight"]
    half = rn.equivariance_error(model, batch(), "C4").worst
    rn.project_(model, plan)
    assert rn.equivariance_error(model, batch(), "C4").worst < 1e-12 < half


def test_feature_maps_turn_with_their_fields():
    model, plan = network()[:1], rn.Plan.from_toml(PLAN.split("[[layer]]\nname = \"3")[0])
    rn.project_(model, plan)
    assert rn.equivariance_error(model, batch(), "C4", output="2 regular").worst < 1e-12
    assert rn.equivariance_error(model, batch(), "C4", output="8 trivial").worst > 1e-2
    with pytest.raises(rn.Error, match="12 channels"):
        rn.equivariance_error(model, batch(), "C4", output="3 regular")


@pytest.mark.parametrize(("side", "leaks"), [(8, True), (9, False)])
def test_a_stride_on_an_even_size_is_named(side, leaks):
    model, plan = network(stride=2), rn.Plan.from_toml(PLAN)
    rn.project_(model, plan)
    found = rn.equivariance_error(model, batch(side), "C4", plan=plan, trace=True)
    assert (found.leak is not None) == leaks == (found.worst > 1e-6)
    if found.leak is not None:
        assert found.leak.module == "0" and "stride 2 on 8 pixels" in str(found) and "9 pixels" in found.leak.remedy


def test_weights_untyped_layers_and_flattening_are_named():
    plan = rn.Plan.from_toml(PLAN)
    model = network()
    assert "weights or its bias" in str(rn.equivariance_error(model, batch(), "C4", plan=plan, trace=True).leak)
    rn.project_(model, plan)
    with torch.no_grad():
        model[0].bias[0] += 1.0
    assert rn.equivariance_error(model, batch(), "C4", plan=plan, trace=True).leak.module == "0"
    model = network()
    model[2] = nn.Conv2d(8, 8, 3, padding=1).double()
    rn.project_(model, plan)
    leak = rn.equivariance_error(model, batch(), "C4", plan=plan, trace=True).leak
    assert leak.module == "2" and "does not type it" in leak.reason
    with pytest.raises(rn.Error, match="plan"):
        rn.equivariance_error(model, batch(), "C4", trace=True)


def test_statistics_are_measured_anew():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout())
    model.train()
    for _ in range(3):
        model(torch.rand(8, 1, 8, 8))
    rn.project_(model, rn.Plan.uniform("C4", "trivial"))
    batches = [torch.rand(8, 1, 8, 8) for _ in range(2)]
    assert rn.settle_(model, [(batch, None) for batch in batches]) == 1
    assert model.training and model[1].momentum == 0.1
    maps = model[0](torch.cat(batches)).detach()
    torch.testing.assert_close(model[1].running_mean, maps.mean((0, 2, 3)), rtol=1e-5, atol=1e-6)
    assert rn.settle_(model, batches, rn.Plan.infer(model, "C4", "1 trivial")) == 1
    assert model[1].running_mean.unique().numel() == 1 == model[1].running_var.unique().numel()
    with pytest.raises(rn.Error, match="expected a Plan"):
        rn.settle_(model, batches, "C4")
    with pytest.raises(rn.Error, match="expected a Plan"):
        rn.project_(model, "C4")
    with pytest.raises(rn.Error, match="at least one"):
        rn.settle_(model, [])


def test_modules_are_audited_in_memory():
    model = network()
    found = rn.audit(model.float(), plan=rn.Plan.from_toml(PLAN))
    assert [layer["name"] for layer in found.layers] == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert 0.1 < found.total["energy"] < 0.6
    rn.project_(model, rn.Plan.from_toml(PLAN))
    assert rn.audit(model, plan=rn.Plan.from_toml(PLAN)).total["energy"] > 0.999999
    assert rn.audit(model.bfloat16().state_dict(), group="C4", fields="trivial").layers
