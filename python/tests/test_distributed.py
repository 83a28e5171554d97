"""Training by several processes on the CPU: replicas stay equal to the bit; sharded models train as whole ones do."""

import sys
import warnings

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402

if not torch.distributed.is_available() or sys.platform != "linux":
    pytest.skip("needs gloo", allow_module_level=True)

PLAN = rn.Plan.uniform("C4", "regular")


SETTINGS = {"gradient": {"lambda_perp": 1.0, "step": "gradient"}, "decoupled": {"lambda_perp": 1.0}}


def trained(model, parts, settings, wrap=lambda model: model):
    torch.manual_seed(5)
    x, y = torch.rand(8, 4, 6, 6, dtype=torch.float64), torch.rand(8, 4, 2, 2, dtype=torch.float64)
    y = y.repeat(1, model[2].out_channels // 4, 1, 1)
    wrapped = wrap(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    penalty = rn.Penalty(wrapped, PLAN, **settings)
    penalty.attach(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        (wrapped(x[parts]) - y[parts]).square().mean().backward()
        optimizer.step()
    return penalty, optimizer


def flat(model):
    whole = [parameter.detach() for parameter in model.parameters()]
    return torch.cat([(value.full_tensor() if hasattr(value, "full_tensor") else value).reshape(-1) for value in whole])


def network(seed=1, last=4):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, last, 3)).double()


def replica(rank, file, results, step):
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    half = slice(4 * rank, 4 * rank + 4)
    # Replicas start unequal: DistributedDataParallel hands out the first one's weights.
    model = network(1 + rank)
    trained(model, half, SETTINGS[step], nn.parallel.DistributedDataParallel)
    torch.save(flat(model), f"{results}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("step", ["gradient", "decoupled"])
def test_replicas_are_equal_to_the_bit_and_train_as_one_process(tmp_path, step):
    torch.multiprocessing.spawn(replica, (str(tmp_path / "store"), str(tmp_path), step), nprocs=2)
    first, second = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    assert torch.equal(first, second)
    whole = network()
    trained(whole, slice(0, 8), SETTINGS[step])
    torch.testing.assert_close(first, flat(whole), rtol=0, atol=1e-12)


# Settings, and how many collectives a step with shards of whole fields makes beside the optimiser's.
SHARDED = {
    **{name: (settings, 0) for name, settings in SETTINGS.items()},
    "plain gradient": ({"lambda_perp": 1.0, "form": "plain", "step": "gradient"}, 1),
    "plain": ({"lambda_perp": 0.5, "lambda_g": 0.01, "form": "plain", "whole": True}, 1),
    "target": ({"target": 0.1}, 1),
    "network target": ({"target": 0.1, "target_scope": "network"}, 1),
    "spectral": ({"lambda_perp": 0.5, "norm": "spectral", "step": "gradient"}, 4),
}


def sharded(rank, world, file, results, last):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Shard
    from torch.distributed.tensor.debug import CommDebugMode

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    shape, names = ((2,), ("shard",)) if world == 2 else ((2, 2), ("replicate", "shard"))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    part = slice(rank * 8 // world, (rank + 1) * 8 // world)
    found = {}
    for name, (settings, collectives) in SHARDED.items():
        model = network(last=last)
        fully_shard(model, mesh=mesh)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            penalty, optimizer = trained(model, part, settings)
        cut = [str(warning.message).split(":")[0] for warning in warned if "shards cut fields" in str(warning.message)]
        assert cut == ([] if last == 8 else ["2.weight", "2.bias"])
        with CommDebugMode() as counted:
            optimizer.step()
        # A layer that is gathered costs one all-gather; several axes of a mesh, one each.
        gathered = 0 if last == 8 else 2
        assert counted.get_total_counts() == collectives + (gathered if name != "spectral" else 0), name
        found[name] = (flat(model), penalty.residual(), float(penalty.value()))
    model = network(last=last)
    fully_shard(model, mesh=mesh)
    audited = rn.audit(model, plan=PLAN).total["energy"]
    rn.project_(model, PLAN)
    found["projected"] = (flat(model), rn.audit(model, plan=PLAN).total["energy"], audited)

    with pytest.raises(rn.Error, match="attach the penalty"):
        rn.Penalty(model, PLAN, lambda_perp=1.0)()
    with pytest.raises(rn.Error, match="before fully_shard"):
        rn.constrain_(model, PLAN)
    model = network(last=8)
    model[0].weight = nn.Parameter(DTensor.from_local(model[0].weight.detach(), mesh["shard"], [Shard(1)]))
    with pytest.raises(rn.Error, match="0.weight: .*as tensor parallelism makes it"):
        rn.Penalty(model, rn.Plan.uniform("C4", "trivial"), lambda_perp=1.0)
    torch.save(found, f"{results}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(("world", "last"), [(2, 8), (2, 4), (4, 4)])
def test_sharded_models_train_as_whole_ones(tmp_path, world, last):
    if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("FSDP2 is in torch 2.6 and newer")
    torch.multiprocessing.spawn(sharded, (world, str(tmp_path / "store"), str(tmp_path), last), nprocs=world)
    found = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(world)]
    for name, (settings, _) in SHARDED.items():
        whole = network(last=last)
        penalty, optimizer = trained(whole, slice(0, 8), settings)
        optimizer.step()
        for weights, residual, value in (one[name] for one in found):
            torch.testing.assert_close(weights, flat(whole), rtol=0, atol=1e-12, msg=name)
            assert abs(residual - penalty.residual()) < 1e-12 and abs(value - float(penalty.value())) < 1e-10
    whole = network(last=last)
    before = rn.audit(whole, plan=PLAN).total["energy"]
    rn.project_(whole, PLAN)
    for weights, after, audited in (one["projected"] for one in found):
        torch.testing.assert_close(weights, flat(whole), rtol=0, atol=1e-14)
        assert after > 1 - 1e-12 and abs(audited - before) < 1e-12
