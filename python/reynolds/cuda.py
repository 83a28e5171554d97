"""The penalty on a GPU by the kernels of the compiled part, launched on torch's current stream; torch operations where there are none.

P averages short orbits there, as it does for regular, trivial and many other fields, and weights are contiguous f32 or f64. The kernels need
the driver and NVRTC, which torch brings; they are compiled when a penalty first meets its tensors, not while a CUDA graph is captured.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import torch
from torch import Tensor

from . import _reynolds

if TYPE_CHECKING:
    from .layer import Layer

_More = TypeVar("_More")

#: Layers of one launch.
MOST = 128


class Strengths(NamedTuple):
    """λ_G, on P(W) or on the whole W, and λ_⊥."""

    on_equivariant: float | Tensor
    on_perp: float | Tensor
    whole: bool


class Kernels:
    """Kernels for some layers of one type on one device."""

    def __init__(self, made: _reynolds.Kernels, layers: list[Layer]):
        self._made, self._device = made, layers[0].parameter.device
        self._tables = [torch.frombuffer(bytearray(table), dtype=torch.int32).to(self._device) for table in made.tables()]
        self._strengths: tuple[list[float], Tensor] = ([], torch.empty(0))
        self._numbers: dict[float, Tensor] = {}
        self._captured: list[Tensor] = []
        double = layers[0].parameter.dtype == torch.float64
        self.works = made.prepare(self._device.index, double, *(table.data_ptr() for table in self._tables))

    def slopes(self, layers: list[Layer], strengths: Strengths, scale: float | Tensor) -> Tensor:
        """2λ of both parts for each layer, [2, layers] in f64."""
        return torch.outer(self._both(strengths, scale), self._doubled(layers))

    def factors(self, layers: list[Layer], strengths: Strengths, rate: float | Tensor, skip: Tensor | None) -> Tensor:
        """1 / (1 + 2ηλ) of both parts for each layer, [2, layers] in f64; 1 where ``skip``."""
        found = torch.addcmul(self._number(1.0), self._both(strengths, rate)[:, None], self._doubled(layers)[None]).reciprocal_()
        return found if skip is None else torch.where(skip.to(self._device) > 0, torch.ones_like(found), found)

    def _both(self, strengths: Strengths, scale: float | Tensor) -> Tensor:
        """λ of P(W) and of W − P(W), which is part of the whole, too, times ``scale``: [2] in f64."""
        on_equivariant, on_perp = self._number(strengths.on_equivariant), self._number(strengths.on_perp)
        both = torch.stack([on_equivariant, on_perp + on_equivariant if strengths.whole else on_perp])
        return both * self._number(scale) if isinstance(scale, Tensor) or scale != 1.0 else both

    def _doubled(self, layers: list[Layer]) -> Tensor:
        """Twice the factor of each layer's strengths, [layers] in f64."""
        strengths = [layer.strength for layer in layers]
        if strengths != self._strengths[0]:
            self._strengths = (strengths, 2 * torch.tensor(strengths, dtype=torch.float64).to(self._device))
        return self._strengths[1]

    def _number(self, value: float | Tensor) -> Tensor:
        """A number in f64 on the device, made there: a copy from the host would wait."""
        if isinstance(value, Tensor):
            return value.to(self._device, torch.float64)
        capturing, known = torch.cuda.is_current_stream_capturing(), self._numbers.get(value)
        if known is None:
            known = torch.full((), value, dtype=torch.float64, device=self._device)
            if capturing:
                return known
            if len(self._numbers) > 64:
                self._numbers.clear()
            self._numbers[value] = known
        if capturing:
            # Replays read it for as long as there is a graph.
            self._captured.append(known)
        return known

    def add_gradient(self, layers: list[Layer], slopes: Tensor) -> None:
        """Adds a P(W) + b (W − P(W)) to the gradients, a and b [2, layers] in f64."""
        places = [(layer.parameter.data_ptr(), _grad(layer).data_ptr()) for layer in layers]
        with torch.cuda.device(self._device):
            self._made.add_gradient(torch.cuda.current_stream().cuda_stream, places, slopes.data_ptr())

    def rescale(self, layers: list[Layer], factors: Tensor) -> None:
        """W ← a P(W) + b (W − P(W)), a and b [2, layers] in f64."""
        with torch.cuda.device(self._device):
            self._made.rescale(torch.cuda.current_stream().cuda_stream, [layer.parameter.data_ptr() for layer in layers], factors.data_ptr())
        for layer in layers:
            torch.autograd.graph.increment_version(layer.parameter)


class AllKernels:
    """The kernels of a penalty, made when layers are first met."""

    def __init__(self, layers: _reynolds.Layers):
        self._layers = layers
        self._known: dict[tuple[torch.device, torch.dtype, tuple[int, ...]], Kernels | None] = {}
        self._without: set[int] = set()

    def split(
        self, pairs: list[tuple[Layer, _More]], graded: bool
    ) -> tuple[list[tuple[Kernels, list[tuple[Layer, _More]]]], list[tuple[Layer, _More]]]:
        """Layers with kernels for what they have in common, and the others; ``graded``: gradients are written."""
        groups: dict[object, list[tuple[Layer, _More]]] = {}
        rest = []
        for layer, more in pairs:
            if layer.number in self._without or not _suits(layer, graded):
                rest.append((layer, more))
            else:
                like = id(more) if isinstance(more, Tensor) else more
                groups.setdefault((layer.parameter.device, layer.parameter.dtype, like), []).append((layer, more))
        found = []
        for group in groups.values():
            for start in range(0, len(group), MOST):
                part = group[start : start + MOST]
                kernels = self._of([layer for layer, _ in part])
                if kernels is None:
                    rest.extend(part)
                else:
                    found.append((kernels, part))
        return found, rest

    def _of(self, layers: list[Layer]) -> Kernels | None:
        parameter = layers[0].parameter
        key = (parameter.device, parameter.dtype, tuple(layer.number for layer in layers))
        if key not in self._known:
            if torch.cuda.is_current_stream_capturing():
                return None
            _open_compiler()
            made = _reynolds.Kernels.of(self._layers, list(key[2]))
            if made is None:
                # One by one, so that a layer without does not keep the others from theirs.
                self._without.update(layer.number for layer in layers if _reynolds.Kernels.of(self._layers, [layer.number]) is None)
            kernels = None if made is None else Kernels(made, layers)
            self._known[key] = kernels if kernels is not None and kernels.works else None
        return self._known[key]


def _grad(layer: Layer) -> Tensor:
    grad = layer.parameter.grad
    assert grad is not None
    return grad


def _plain(tensor: Tensor) -> bool:
    of_torch = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
    return of_torch and tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()


def _suits(layer: Layer, graded: bool) -> bool:
    """Whether the kernels take these tensors: by their device, type, layout and size."""
    parameter = layer.parameter
    if layer.shard is not None or len(layer.stack) > 0 or not parameter.is_cuda or parameter.numel() != layer.size:
        return False
    if parameter.dtype not in (torch.float32, torch.float64) or not _plain(parameter):
        return False
    if not graded:
        return True
    grad = _grad(layer)
    return grad.device == parameter.device and grad.dtype == parameter.dtype and grad.numel() == layer.size and _plain(grad)


@functools.cache
def _open_compiler() -> None:
    """Opens NVRTC where torch and its packages have it, so that it is found by its name."""
    root = os.path.dirname(torch.__file__)
    for folder in (os.path.join(root, "lib"), *glob.glob(os.path.join(os.path.dirname(root), "nvidia", "*", "lib"))):
        # The compiler opens its other library by name, too.
        for name in ("libnvrtc-builtins*.so*", "libnvrtc*.so*"):
            for path in sorted(glob.glob(os.path.join(folder, name))):
                try:
                    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                except OSError:
                    continue
