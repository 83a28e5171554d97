"""Plans from the graph of a module."""

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402


class Residual(nn.Module):
    def __init__(self, channels, norm=True):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=not norm)
        self.norm = nn.BatchNorm2d(channels) if norm else nn.Identity()
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.body = nn.Sequential(Residual(8), nn.MaxPool2d(3, 2))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class Autoencoder(nn.Module):
    """Down, up and a connection past both, in the plane or in space."""

    def __init__(self, dims):
        super().__init__()
        convolution, transposed = (nn.Conv2d, nn.ConvTranspose2d) if dims == 2 else (nn.Conv3d, nn.ConvTranspose3d)
        self.first = convolution(1, 8, 3, padding=1)
        self.down = convolution(8, 16, 2, stride=2)
        self.up = transposed(16, 8, 2, stride=2)
        self.last = convolution(16, 2, 3, padding=1)

    def forward(self, x):
        first = torch.relu(self.first(x))
        return self.last(torch.cat([first, torch.relu(self.up(torch.relu(self.down(first))))], 1))


def batch(*shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_a_residual_network_is_typed_whole_and_invariant_once_projected():
    torch.manual_seed(1)
    model = Classifier().double()
    x = batch(2, 3, 19, 19)
    plan = rn.Plan.infer(model, "C4", "3 trivial", output="5 trivial", example=x)
    assert plan.warnings == [] and "input = 19" in plan.to_toml()
    typed = {row["name"]: row["codomain"] for row in plan.resolve(model.state_dict()).describe()}
    assert typed["stem.weight"] == "2 regular" and typed["head.weight"] == "5 trivial" and typed["body.0.norm.running_var"] == "2 regular"
    rn.project_(model, plan)
    found = rn.equivariance_error(model, x, "C4", plan=plan, trace=True)
    assert found.worst < 1e-12 and found.leak is None
    leak = rn.equivariance_error(model, batch(2, 3, 20, 20), "C4", plan=plan, trace=True).leak
    assert leak.module == "stem" and "stride 2 on 20 pixels" in leak.reason
    with torch.no_grad():
        model.body[0].norm.running_mean[0] += 1.0
    leak = rn.equivariance_error(model, x, "C4", plan=plan, trace=True).leak
    assert leak.module == "body.0.norm" and "statistics" in leak.reason


@pytest.mark.parametrize(("dims", "group"), [(2, "C4"), (2, "D4"), (3, "C4"), (3, "O")])
def test_transposed_convolutions_and_concatenations_are_typed(dims, group):
    if group == "O":
        fields, side = "trivial", 4
    else:
        fields, side = "regular", 6
    torch.manual_seed(1)
    model = Autoencoder(dims).double()
    x = batch(2, 1, *[side] * dims)
    plan = rn.Plan.infer(model, group, "1 trivial", fields=fields, output="2 trivial", example=x)
    assert all("even kernel" in warning for warning in plan.warnings)
    rn.project_(model, plan)
    assert rn.equivariance_error(model, x, group).worst < 1e-12


def test_what_cannot_be_typed_is_left_alone_and_said():
    flat = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 3))
    plan = rn.Plan.infer(flat, "C4", "1 trivial", example=torch.rand(1, 1, 8, 8))
    assert len(plan.warnings) == 1 and plan.warnings[0].startswith("2:")
    grouped = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3, groups=8))
    assert "in 8 groups" in rn.Plan.infer(grouped, "C4", "1 trivial").warnings[0]
    trivial = rn.Plan.infer(grouped, "C4", "1 trivial", fields="trivial")
    assert trivial.warnings == [] and len(trivial.resolve(grouped.state_dict()).describe()) == 4

    with pytest.raises(rn.Error, match="0: expected an input of 1 channels"):
        rn.Plan.infer(grouped, "C4", "4 trivial")
    with pytest.raises(rn.Error, match="input: expected text"):
        rn.Plan.infer(grouped, "C4", torch.rand(1, 1, 8, 8))
    strided = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2))
    assert "off centre" in rn.Plan.infer(strided, "C4", "1 trivial", example=torch.rand(1, 1, 8, 8)).warnings[0]
    assert rn.Plan.infer(strided, "C4", "1 trivial", example=torch.rand(1, 1, 9, 9)).warnings == []

    class Branches(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(rn.Error, match="torch.fx cannot trace"):
        rn.Plan.infer(Branches(), "C4", "1 trivial")
    with pytest.raises(rn.Error, match="none"):
        rn.Plan.infer(nn.Sequential(nn.ReLU()), "C4", "1 trivial")


def test_resnet18_leaks_where_its_strides_do():
    models = pytest.importorskip("torchvision.models")
    torch.manual_seed(1)
    model = models.resnet18(weights=None)
    plan = rn.Plan.infer(model, "C4", "3 trivial", output="1000 trivial", example=torch.rand(1, 3, 33, 33))
    assert plan.warnings == [] and plan.resolve(model.state_dict()).untyped() == []
    penalty = rn.Penalty(model, plan, lambda_perp=1.0)
    assert len(penalty.layers) == 61 and list(penalty.left_out) == ["fc.bias"]
    rn.project_(model, plan)
    exact, odd = [rn.equivariance_error(model, torch.rand(1, 3, side, side), "C4", plan=plan, trace=True) for side in (33, 32)]
    assert exact.worst < 1e-6 and exact.leak is None
    assert odd.worst > 1e-3 and odd.leak.module == "conv1" and "stride 2 on 32 pixels" in odd.leak.reason


def test_convnext_tiny_is_typed_but_for_its_depthwise_layers():
    models = pytest.importorskip("torchvision.models")
    model = models.convnext_tiny(weights=None)
    plan = rn.Plan.infer(model, "C4", "3 trivial", output="1000 trivial", example=torch.rand(1, 3, 64, 64))
    grouped = [warning for warning in plan.warnings if "groups mixes no channels" in warning]
    assert len(grouped) == 18 and all("even kernel" in warning for warning in plan.warnings if warning not in grouped)
    untyped = {name.rsplit(".", 1)[-1] for name, _ in plan.resolve(model.state_dict()).untyped()}
    assert untyped == {"weight", "bias", "layer_scale"}
