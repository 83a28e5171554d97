"""Data-parallel training by two processes on the CPU: replicas stay equal to the bit, and are what one process trains."""

import sys

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402

if not torch.distributed.is_available() or sys.platform != "linux":
    pytest.skip("needs gloo", allow_module_level=True)

PLAN = rn.Plan.uniform("C4", "regular")


def trained(model, parts, step, wrap=lambda model: model):
    torch.manual_seed(5)
    x, y = torch.rand(8, 4, 6, 6, dtype=torch.float64), torch.rand(8, 4, 2, 2, dtype=torch.float64)
    wrapped = wrap(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rn.Penalty(wrapped, PLAN, lambda_perp=1.0, step=step).attach(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        (wrapped(x[parts]) - y[parts]).square().mean().backward()
        optimizer.step()
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def network(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).double()


def replica(rank, file, results, step):
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    half = slice(4 * rank, 4 * rank + 4)
    # Replicas start unequal: DistributedDataParallel hands out the first one's weights.
    weights = trained(network(1 + rank), half, step, nn.parallel.DistributedDataParallel)
    torch.save(weights, f"{results}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("step", ["gradient", "decoupled"])
def test_replicas_are_equal_to_the_bit_and_train_as_one_process(tmp_path, step):
    torch.multiprocessing.spawn(replica, (str(tmp_path / "store"), str(tmp_path), step), nprocs=2)
    first, second = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    assert torch.equal(first, second)
    torch.testing.assert_close(first, trained(network(), slice(0, 8), step), rtol=0, atol=1e-12)
