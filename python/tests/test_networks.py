"""Networks that nobody here wrote: what of them is typed, what is not and why, and what their projections leak."""

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402


def batch(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def monai(name, **settings):
    nets = pytest.importorskip("monai.networks.nets")
    torch.manual_seed(1)
    return getattr(nets, name)(in_channels=1, out_channels=2, **settings)


def inferred(model, x, group="C4", fields="regular"):
    return rn.Plan.infer(model, group, f"{x.shape[1]} trivial", fields=fields, output="2 trivial", example=x)


def leak_after_projection(model, plan, x, group="C4"):
    rn.project_(model, plan)
    return rn.equivariance_error(model, x, group, output="2 trivial", plan=plan, trace=True)


@pytest.mark.parametrize(("dims", "group", "fields"), [(2, "C4", "regular"), (2, "D4", "regular"), (3, "C4", "regular"), (3, "O", "trivial")])
def test_monais_basic_unet_is_typed_whole_and_exactly_equivariant_once_projected(dims, group, fields):
    """Instance norms, transposed convolutions of even side, max pooling, and connections past all of them, which check types at run time."""
    model, x = monai("BasicUNet", spatial_dims=dims, features=(8, 8, 8, 8, 16, 8)).double(), batch(1, 1, *[32] * dims).double()
    plan = inferred(model, x, group, fields)
    layers = plan.resolve(model.state_dict())
    assert layers.untyped() == [] and all("even kernel of side 2" in warning for warning in plan.warnings) and len(plan.warnings) == 4
    assert len(layers.describe()) == 82
    found = leak_after_projection(model, plan, x, group)
    assert found.worst < 1e-9 and found.leak is None


@pytest.mark.parametrize("dims", [2, 3])
def test_monais_segresnet_is_typed_whole_and_leaks_at_its_first_stride(dims):
    model, x = monai("SegResNet", spatial_dims=dims, init_filters=8), batch(1, 1, *[32 if dims == 2 else 16] * dims)
    plan = inferred(model, x)
    layers = plan.resolve(model.state_dict())
    assert layers.untyped() == [] and len(layers.describe()) == 83
    assert [warning.split(".weight")[0] for warning in plan.warnings] == [f"down_layers.{level}.0.conv" for level in (1, 2, 3)]
    found = leak_after_projection(model, plan, x)
    assert found.leak.module == "down_layers.1.0.conv" and "stride 2 on" in found.leak.reason and found.worst > 1e-3


def test_the_heads_of_deep_supervision_are_outputs():
    model, x = monai("SegResNetDS", spatial_dims=2, init_filters=8, dsdepth=2), batch(1, 1, 32, 32)
    plan = inferred(model, x)
    typed = {row["name"]: row["codomain"] for row in plan.resolve(model.state_dict()).describe()}
    heads = [name for name in typed if ".head.weight" in name]
    assert heads and all(typed[name] == "2 trivial" for name in heads)


def test_segmentation_models_pytorchs_unet_is_typed_whole():
    smp = pytest.importorskip("segmentation_models_pytorch")
    torch.manual_seed(1)
    model, x = smp.Unet("resnet18", encoder_weights=None, classes=2), batch(1, 3, 64, 64)
    plan = inferred(model, x)
    layers = plan.resolve(model.state_dict())
    assert len(layers.describe()) == 152 and {reason for name, reason in layers.untyped() if not name.endswith("num_batches_tracked")} == set()
    assert all("off centre" in warning for warning in plan.warnings)
    found = leak_after_projection(model, plan, x)
    assert found.leak.module == "encoder.conv1" and "stride 2 on 64 pixels" in found.leak.reason


def test_branches_are_those_of_the_example_and_parts_of_channels_are_not_guessed():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3)
            self.third, self.rest = nn.Conv2d(4, 4, 3), nn.Conv2d(8, 4, 1)

        def forward(self, x):
            y = self.first(x)
            y = y + 1.0 if x.sum() < 0 else self.second(y)
            return self.third(y[:, :4]) + self.rest(y)[..., 1:-1, 1:-1]

    model = Branches()
    plan = rn.Plan.infer(model, "C4", "1 trivial", example=batch(1, 1, 9, 9))
    assert plan.warnings == ["third: the fields of its input are not known; left alone"]
    typed = {row["name"] for row in plan.resolve(model.state_dict()).describe()}
    assert {"first.weight", "second.weight", "rest.weight"} <= typed and "third.weight" not in typed
