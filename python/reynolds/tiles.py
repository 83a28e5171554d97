"""P in torch operations: for tensors that are not plain f32 or f64 memory of the CPU, and as the test of the compiled part."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import _reynolds


class Tiles:
    """The projector of one layer as index lists; it works on tensors of any device and floating-point type, without synchronising."""

    def __init__(self, layers: _reynolds.Layers, number: int):
        self._lists, self._functions = layers.tiles(number)
        self._ready: dict[tuple[torch.device, torch.dtype], Any] = {}
        self._span: tuple[int, int] | None = None

    def cuts(self, boundaries: list[int]) -> bool:
        """Whether a boundary between the shards of the weights lies inside a tile."""
        ends = torch.tensor([self._coordinate(boundary) for boundary in boundaries])
        return any(
            bool((torch.bucketize(index.amin(1), ends, right=True) != torch.bucketize(index.amax(1), ends, right=True)).any())
            for index in (_index(places, count) for places, count, *_ in self._lists)
        )

    def keep(self, start: int, end: int) -> None:
        """From now on the weights are those from ``start`` to ``end``, of whole tiles."""
        self._span = (self._coordinate(start), self._coordinate(end))

    def _coordinate(self, place: int) -> int:
        if self._functions is None:
            return place
        values, rows = self._functions
        return place // rows * (len(values) // rows)

    def project(self, weights: Tensor) -> Tensor:
        """P(W). Half-precision weights are projected in f32 and rounded once."""
        dtype = weights.dtype if weights.dtype == torch.float64 else torch.float32
        flat = weights.detach().reshape(-1).to(dtype)
        return self.project_flat(flat).reshape(weights.shape).to(weights.dtype)

    def project_flat(self, flat: Tensor) -> Tensor:
        """P(W) of a contiguous vector in f32 or f64, or of every row of a matrix."""
        key = (flat.device, flat.dtype)
        if key not in self._ready:
            self._ready[key] = self._prepare(flat)
        kinds, functions = self._ready[key]
        if functions is not None:
            coordinates = torch.matmul(flat.unflatten(-1, (-1, functions.shape[0])), functions).flatten(-2)
            return torch.matmul(_of_kinds(kinds, coordinates).unflatten(-1, (-1, functions.shape[1])), functions.T).flatten(-2)
        return _of_kinds(kinds, flat)

    def _prepare(self, like: Tensor) -> Any:
        def numbers(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64).to(like.device, like.dtype)

        kinds = []
        for places, count, members, signs, ends, basis in self._lists:
            index = _index(places, count).to(like.device)
            if self._span is not None:
                start, end = self._span
                index = index[(index >= start).all(1) & (index < end).all(1)] - start
            if basis:
                kinds.append((index, numbers(basis).view(count, -1)))
                continue
            # Orbits of one length at a time: a gather, a mean, a scatter, always in the same order.
            by_length: dict[int, list[int]] = {}
            start = 0
            for end in ends:
                by_length.setdefault(end - start, []).append(start)
                start = end
            for length, starts in by_length.items():
                at = torch.tensor([list(range(s, s + length)) for s in starts])
                chosen = index[:, torch.tensor(members)[at].to(like.device)]
                kinds.append((chosen, numbers(signs)[at.to(like.device)]))
        functions = None
        if self._functions is not None:
            values, rows = self._functions
            functions = numbers(values).view(rows, -1)
        return kinds, functions


def _index(places: bytes, count: int) -> Tensor:
    return torch.frombuffer(bytearray(places), dtype=torch.int64).view(-1, count)


def _of_kinds(kinds: Any, flat: Tensor) -> Tensor:
    out = torch.zeros_like(flat)
    for index, matrix in kinds:
        if index.dim() == 2:
            out[..., index] = flat[..., index] @ matrix @ matrix.T
        else:
            out[..., index] = (flat[..., index] * matrix).mean(-1, keepdim=True) * matrix
    return out
