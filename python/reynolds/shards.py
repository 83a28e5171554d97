"""Parameters that are cut along their first axis (FSDP2, HSDP): what this process holds of them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ._reynolds import Error


def is_sharded(value: Any) -> bool:
    """Whether it is a DTensor, as `fully_shard` makes them."""
    return type(value).__name__ == "DTensor"


class Shard:
    """The rows of a sharded parameter that this process holds, as numbers ``start`` to ``end`` of the whole."""

    def __init__(self, name: str, parameter: Any):
        mesh, placements = parameter.device_mesh, parameter.placements
        cut = [axis for axis, placement in enumerate(placements) if not placement.is_replicate()]
        kinds = {type(placements[axis]).__name__ for axis in cut}
        if kinds - {"Shard"} or len(cut) > 1 or any(placements[axis].dim != 0 for axis in cut):
            raise Error(
                f"{name}: expected a parameter that is cut along its first axis once (FSDP2, HSDP), found {placements}, as tensor parallelism "
                "makes it; leave it out with exclude"
            )
        self.name = name
        self.total = parameter.numel()
        row = self.total // max(parameter.shape[0], 1) if parameter.dim() else self.total
        parts, position = (mesh.size(cut[0]), mesh.get_coordinate()[cut[0]]) if cut else (1, 0)
        rows = math.ceil(parameter.shape[0] / parts) if cut else parameter.shape[0]
        ends = [min(part * rows * row, self.total) for part in range(parts + 1)]
        #: The processes that together hold the parameter once.
        self.group = mesh.get_group(cut[0]) if cut else None
        self.start, self.end = ends[position], ends[position + 1]
        #: Where one process's numbers end and the next one's begin.
        self.boundaries = [end for end in ends[1:-1] if end < self.total]

    @torch.no_grad()
    def local(self, tensor: Any) -> Tensor:
        """The numbers of this process, of the parameter or of its gradient; writing to them changes it."""
        found: Tensor = tensor.to_local()
        if found.numel() != self.end - self.start:
            raise Error(f"{self.name}: expected {self.end - self.start} numbers in this process, found {found.numel()}; was the model sharded anew?")
        return found

    def mine(self, whole: Tensor) -> Tensor:
        """The numbers of this process, of a whole vector."""
        return whole[self.start : self.end]


@torch.no_grad()
def gathered(parameter: Any) -> Tensor:
    """The whole of a sharded parameter, in every process."""
    whole: Tensor = parameter.detach().full_tensor()
    return whole


def refuse(name: str, value: Any, instead: str) -> None:
    """An error for a sharded parameter."""
    if is_sharded(value):
        raise Error(f"{name}: expected a whole parameter, found a sharded one (DTensor); {instead}")
