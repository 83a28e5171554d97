"""The penalty on a model that PyTorch shards over processes (FSDP2, torch 2.6 or newer).

    pip install ./python torch && torchrun --nproc-per-node 2 examples/fsdp.py

Every process holds a part of each layer. Where the parts are whole output fields, the penalty needs no communication; a layer whose shards
cut a field is gathered for the penalty's step, and a warning names it. The loop is the one that it would be without reynolds.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import reynolds as rn


def network(channels: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in ((4, channels), (channels, channels), (channels, channels)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--lambda-perp", type=float, default=3.0)
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

    torch.manual_seed(1)
    model = network(options.channels).to(device)
    images = torch.rand(16, 4, 12, 12, device=device)
    plan = rn.Plan.infer(model, "C4", "4 trivial", output="4 trivial", example=images)
    mesh = init_device_mesh(device, (world,))
    for layer in model:
        if isinstance(layer, nn.Conv2d):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    penalty = rn.Penalty(model, plan, lambda_perp=options.lambda_perp)  # after fully_shard, which makes new parameters
    penalty.attach(optimizer)
    torch.manual_seed(1 + rank)  # each process has its own batches
    before = penalty.residual()
    for _ in range(options.steps):
        images = torch.rand(16, 4, 12, 12, device=device)
        targets = images.mean((2, 3)).argmax(1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), targets).backward()
        optimizer.step()
    after = penalty.residual()
    if rank == 0:
        print(f"{world} processes: ‖W − P(W)‖/‖W‖ was {before:.3f}, is {after:.3f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
