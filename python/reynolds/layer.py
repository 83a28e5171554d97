"""A parameter that a penalty acts on: whole, sharded over processes, or of a stack of models."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor

from . import _reynolds
from ._reynolds import Error
from .memory import is_direct, place
from .shards import Shard, gathered, is_sharded
from .tiles import Tiles

_Common = TypeVar("_Common")

#: As many weights are stacked at most, so that their copies stay small.
MOST = 1 << 24


class Layer:
    """A parameter that the plan types and on which the group acts."""

    def __init__(self, layers: _reynolds.Layers, number: int, description: _reynolds.LayerRow, parameter: Tensor, stacked: bool, shared: dict[int, Tiles]):
        self.layers, self.number, self.parameter = layers, number, parameter
        self.name = description["name"]
        self.size = description["weights"]
        self.rank = description["rank"]
        self.strength = 1.0
        self.equivariant_since: Tensor | None = None
        self._tiles: Tiles | None = None
        #: Index lists of equal layers.
        self._shared, self.projector = shared, description["projector"]
        self._direct: tuple[int, int, bool] | None = None
        self._dtype: torch.dtype | None = None
        #: The leading axis of a stack of models, or nothing.
        self.stack = parameter.shape[:1] if stacked else parameter.shape[:0]
        #: What this process holds, where the parameter is sharded.
        self.shard = Shard(self.name, parameter) if is_sharded(parameter) else None
        #: Whether all shards are needed to project any of them.
        self.gathered = False

    def bind_shard(self, whole: bool) -> bool:
        """Chooses how a sharded parameter is projected; whether its shards cut fields. ``whole``: the norm needs all of it at once."""
        if self.shard is None:
            return False
        cut = self.tiles.cuts(self.shard.boundaries)
        self.gathered = whole or cut
        if not self.gathered:
            self.tiles.keep(self.shard.start, self.shard.end)
        return cut

    def local(self, tensor: Tensor) -> Tensor:
        """The numbers of the parameter, or of its gradient, that this process holds."""
        return tensor.detach() if self.shard is None else self.shard.local(tensor.detach())

    def mine(self, values: Tensor) -> Tensor:
        """Of values that `split` or `weights` led to, those of the numbers that this process holds."""
        return self.shard.mine(values) if self.shard is not None and self.gathered else values

    def weights(self) -> Tensor:
        """What is projected: the parameter, or this process's shard, or all shards gathered."""
        if self.shard is not None and self.gathered:
            return gathered(self.parameter)
        return self.local(self.parameter)

    @property
    def address(self) -> int:
        """Where its numbers lie."""
        return self.local(self.parameter).data_ptr()

    @property
    def tiles(self) -> Tiles:
        if self._tiles is None and self.shard is not None:
            self._tiles = Tiles(self.layers, self.number)
        elif self._tiles is None:
            if self.projector not in self._shared:
                self._shared[self.projector] = Tiles(self.layers, self.number)
            self._tiles = self._shared[self.projector]
        return self._tiles

    def stacked_with(self, layers: list[Layer]) -> Layer:
        """Equal layers, this one among them, as a stack of copies; itself if it is the only one."""
        if len(layers) == 1:
            return self
        for layer in layers:
            layer.check()
        stack = copy.copy(self)
        stack.parameter = torch.stack([layer.parameter.detach().reshape(-1) for layer in layers])
        stack.stack, stack._direct = stack.parameter.shape[:1], None
        return stack

    def check(self) -> None:
        """What may have changed since the penalty was made."""
        expected = self.size * math.prod(self.stack)
        if self.parameter.numel() != expected:
            raise Error(f"{self.name}: expected {expected} weights as when the penalty was made, found {self.parameter.numel()}")

    def split(self) -> tuple[Tensor, Tensor]:
        """P(W) and W − P(W) as vectors in f32 or f64, a row for each model of a stack."""
        self.check()
        weights = self.weights()
        dtype = torch.float64 if weights.dtype == torch.float64 else torch.float32
        flat = weights.reshape(*self.stack, -1).to(dtype)
        equivariant = self.tiles.project_flat(flat)
        return equivariant, flat - equivariant

    def place(self) -> tuple[int, int, bool] | None:
        """Number, address and type for the compiled part; ``None`` where it cannot work on the weights' memory."""
        parameter, known = self.parameter, self._direct
        # What was checked once is not checked again while it is the same memory.
        if known is not None and parameter.data_ptr() == known[1] and parameter.dtype is self._dtype:
            if parameter.numel() == self.size and parameter.is_contiguous():
                return known
        direct = not self.stack and is_direct(parameter)
        self._direct = (self.number, *place(self.name, parameter, self.size)) if direct else None
        self._dtype = parameter.dtype
        return self._direct

    def places(self, grad: Tensor) -> tuple[int, int, int, bool] | None:
        """Number, address, address of the gradient, and type, if the gradient's numbers lie as the weights do."""
        at = self.place()
        if at is None or not grad.is_cpu or grad.dtype is not self._dtype or grad.numel() != self.size or not grad.is_contiguous():
            return None
        return at[0], at[1], grad.data_ptr(), at[2]


def together(layers: list[tuple[Layer, _Common]]) -> Iterator[tuple[Layer, _Common, list[Layer]]]:
    """Equal layers as stacks of copies, with what they have in common: one operation on a device is for all layers of a stack."""
    groups: dict[Any, list[tuple[Layer, _Common]]] = {}
    for layer, common in layers:
        alone = layer.shard is not None or len(layer.stack) > 0
        parameter, like = layer.parameter, id(common) if isinstance(common, Tensor) else common
        key = layer.number if alone else (layer.projector, parameter.dtype, parameter.device, layer.strength, like)
        groups.setdefault(key, []).append((layer, common))
    for pairs in groups.values():
        most = max(MOST // pairs[0][0].size, 1)
        for start in range(0, len(pairs), most):
            members = [layer for layer, _ in pairs[start : start + most]]
            yield members[0].stacked_with(members), pairs[0][1], members


def write(layer: Layer, values: Tensor, skip: Tensor | None, unchanged: Tensor) -> None:
    """Writes new weights, but none where nothing changes: the bits stay then."""
    weights = layer.local(layer.parameter)
    new = layer.mine(values).reshape(weights.shape).to(weights.dtype)
    keep = unchanged if skip is None else unchanged | (skip.to(unchanged.device) > 0)
    weights.copy_(torch.where(keep.view(keep.shape + (1,) * (weights.dim() - keep.dim())), weights, new))


def pair(equivariant: Tensor, perp: Tensor) -> Tensor:
    """Both sums of squares in f64: [2], or [2, models] of a stack."""
    return torch.stack([equivariant.double().square().sum(-1), perp.double().square().sum(-1)])


def over_shards(layers: list[Layer], pairs: list[Tensor]) -> list[Tensor]:
    """Sums over the processes that share a layer; one all-reduce for all layers that the same processes share."""
    groups: dict[Any, list[int]] = {}
    for number, layer in enumerate(layers):
        if layer.shard is not None and layer.shard.group is not None and not layer.gathered:
            groups.setdefault(layer.shard.group, []).append(number)
    for group, numbers in groups.items():
        together = torch.stack([pairs[number] for number in numbers])
        torch.distributed.all_reduce(together, group=group)
        for number, sums in zip(numbers, together):
            pairs[number] = sums
    return pairs
