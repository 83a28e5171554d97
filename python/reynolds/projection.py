"""Projection of whole models, for good or for a while, and what normalisation needs after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from . import models, show
from ._reynolds import Error
from .memory import is_direct, place
from .plan import Plan, checked
from .shards import Shard, gathered, is_sharded
from .tiles import Tiles


@torch.no_grad()
def project_(model: nn.Module, plan: Plan, blend: float = 1.0) -> list[str]:
    """W ← P(W) in place, or (1 − t)W + tP(W) with ``blend`` t; biases, norm scales and running statistics that the plan types, too.

    Returns the names of the tensors that were projected. The network is equivariant then if its strides, paddings and the layers without
    fields allow it: `equivariance_error` measures that. Running statistics of normalisation were those of the old weights: measure them
    anew with ``settle_(model, batches, plan)``.
    """
    checked(plan)
    if not 0.0 <= blend <= 1.0:
        raise Error(f"blend: expected a number from 0 to 1, found {blend}")
    named = models.tensors(model)
    layers = plan.resolve(named)
    projected = []
    for number, description in enumerate(layers.describe()):
        if description["rank"] == description["weights"]:
            continue
        name, weights = description["name"], named[description["name"]]
        if is_sharded(weights):
            shard, whole = Shard(name, weights), gathered(weights)
            new = torch.lerp(whole, Tiles(layers, number).project(whole), blend)
            local = shard.local(weights)
            local.copy_(shard.mine(new.reshape(-1)).view(local.shape))
        elif is_direct(weights):
            layers.project_([(number, *place(name, weights, description["weights"]))], blend)
        else:
            weights.copy_(torch.lerp(weights, Tiles(layers, number).project(weights), blend))
        projected.append(name)
    if not projected:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in layers.untyped()[:3])
        raise Error(f"plan: expected tensors on which {layers.group} acts, found none ({reasons})")
    return projected


@contextmanager
def projected(model: nn.Module, plan: Plan) -> Iterator[nn.Module]:
    """The model with projected weights inside a ``with`` block; its own come back after it."""
    named = models.tensors(model)
    kept = {name: value.detach().clone() for name, value in named.items()}
    try:
        project_(model, plan)
        yield model
    finally:
        with torch.no_grad():
            for name, value in kept.items():
                named[name].copy_(value)


@torch.no_grad()
def settle_(model: nn.Module, batches: Iterable[Any], plan: Plan | None = None) -> int:
    """Measures the running statistics of normalisation layers anew, over these batches: after a projection the old ones are stale.

    With the ``plan`` of the projection the new statistics are made equal inside fields, so that the network stays equivariant. A batch is
    what the model is called with, or a tuple whose first entry is. Returns the number of normalisation layers.
    """
    if plan is not None:
        checked(plan)
    norms = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._NormBase) and module.track_running_stats]
    momenta = [module.momentum for module in norms]
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    count = 0
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the plain average of all batches
            norm.train()
        for batch in show.progress(batches, "statistics"):
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
            count += 1
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        for module, mode in modes:
            module.training = mode
    if norms and count == 0:
        raise Error("batches: expected at least one, found none; the running statistics are reset")
    if plan is not None:
        _project_statistics(model, plan)
    return len(norms)


def _project_statistics(model: nn.Module, plan: Plan) -> None:
    """P of running means and variances alone."""
    named, buffers = models.tensors(model), dict(models.unwrapped(model).named_buffers())
    layers = plan.resolve(named)
    for number, description in enumerate(layers.describe()):
        name = description["name"]
        if name in buffers:
            buffers[name].copy_(Tiles(layers, number).project(buffers[name]))
