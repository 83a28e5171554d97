"""P of one layer, on NumPy arrays and torch tensors."""

from __future__ import annotations

from typing import Any

from . import _reynolds
from .memory import is_array, is_direct, is_tensor, place
from .plan import Plan

_RULE = """
group = "{group}"
[[layer]]
name = "weight"
domain = "{domain}"
codomain = "{codomain}"
"""


class Projector:
    """The orthogonal projection onto the equivariant weights of one layer: ``P(W) = mean over g of π′(g)⁻¹ W π(g)``.

    ``domain`` and ``codomain`` are the fields of the input and the output channels (text, or e3nn's `Irreps`), ``kernel`` the side of the kernel of a convolution
    with ``dims`` (2 or 3) spatial axes; without it the layer is a linear map.

    >>> import numpy
    >>> projector = Projector("C4", "1 trivial", "1 regular", kernel=3)
    >>> projector.shape, projector.rank
    ((4, 1, 3, 3), 9)
    >>> weights = numpy.random.default_rng(1).normal(size=projector.shape)
    >>> projected = projector(weights)
    >>> numpy.allclose(projector(projected), projected)
    True
    """

    def __init__(self, group: str, domain: object, codomain: object, kernel: int | None = None, dims: int = 2):
        domain, codomain = str(domain), str(codomain)
        rule = _RULE.format(group=group, domain=domain, codomain=codomain)
        channels = [_reynolds.field_dimension(group, fields) for fields in (codomain, domain)]
        self.shape = tuple(channels + ([kernel] * dims if kernel else []))
        layers = Plan.from_toml(rule)._plan.resolve([("weight", list(self.shape))])
        self._layers = layers
        self._lists: Any = None
        description = layers.describe()[0]
        #: dim Hom_G, the number of free parameters of an equivariant layer.
        self.rank: int = description["rank"]
        #: Number of weights.
        self.size: int = description["weights"]

    def __call__(self, weights: Any) -> Any:
        """P(W), of the type, the shape and the device of W."""
        if is_array(weights):
            out = weights.copy(order="C")
            self._check(out)
            self._layers.project_([(0, *place("weights", out, self.size))])
            return out
        if not is_tensor(weights):
            raise _reynolds.Error(f"weights: expected a torch tensor or a NumPy array, found {type(weights).__name__}")
        self._check(weights)
        out = weights.detach().clone(memory_format=_contiguous())
        if is_direct(out):
            self._layers.project_([(0, *place("weights", out, self.size))])
            return out
        from .tiles import Tiles

        if self._lists is None:
            self._lists = Tiles(self._layers, 0)
        return self._lists.project(out)

    def energies(self, weights: Any) -> tuple[float, float]:
        """‖P(W)‖² and ‖W − P(W)‖²."""
        return self._layers.energies([(0, *place("weights", self._on_host(weights), self.size))])[0]

    def residual(self, weights: Any) -> float:
        """‖W − P(W)‖ / ‖W‖: 0 for an equivariant layer."""
        equivariant, perp = self.energies(weights)
        return 0.0 if perp == 0 else (perp / (equivariant + perp)) ** 0.5

    def norm(self, weights: Any, norm: str = "frobenius", component: str = "perp") -> float:
        """A norm of W − P(W), or of P(W) (``component="equivariant"``) or W ("whole"): "frobenius", "spectral", "max" or "(p,q)"."""
        return self._layers.norm((0, *place("weights", self._on_host(weights), self.size)), norm, component)

    def basis(self) -> Any:
        """An orthonormal basis of the equivariant weights as a NumPy array [rank, out, in, k…]; steerable kernels for continuous groups."""
        import numpy

        lists, functions = self._layers.tiles(0)
        f = None if functions is None else numpy.array(functions[0]).reshape(functions[1], -1)
        length = self.size if f is None else self.size // f.shape[0] * f.shape[1]
        vectors = []
        for places, count, members, signs, ends, basis in lists:
            if basis:
                e = numpy.array(basis).reshape(count, -1)
            else:
                e = numpy.zeros((count, len(ends)))
                for column, (start, end) in enumerate(zip([0, *ends], ends)):
                    e[members[start:end], column] = numpy.array(signs[start:end]) / (end - start) ** 0.5
            for tile in numpy.frombuffer(places, dtype="<i8").reshape(-1, count):
                one = numpy.zeros((e.shape[1], length))
                one[:, tile] = e.T
                vectors.append(one)
        coordinates = numpy.concatenate(vectors) if vectors else numpy.zeros((0, length))
        if f is not None:
            coordinates = (coordinates.reshape(-1, f.shape[1]) @ f.T).reshape(len(coordinates), -1)
        return coordinates.reshape(-1, *self.shape)

    def worst_defect(self, weights: Any) -> tuple[float, float]:
        """Bounds of the largest ‖π′(g) W − W π(g)‖ over g."""
        return self._layers.worst_defect((0, *place("weights", self._on_host(weights), self.size)))

    def _check(self, weights: Any) -> None:
        if tuple(weights.shape) != self.shape:
            raise _reynolds.Error(f"weights: expected shape {list(self.shape)}, found {list(weights.shape)}")

    def _on_host(self, weights: Any) -> Any:
        self._check(weights)
        if is_tensor(weights) and not is_direct(weights):
            return weights.detach().cpu().double().contiguous()
        return weights.detach() if is_tensor(weights) else weights


def _contiguous() -> Any:
    import torch

    return torch.contiguous_format
