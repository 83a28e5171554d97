"""Operators on signals over a group, in frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _reynolds


@dataclass(frozen=True)
class FourierBlocks:
    """The blocks T̂(π, σ) of an operator; an equivariant one has I ⊗ B_π on the diagonal and 0 elsewhere."""

    group: str
    #: Labels of the irreps π, and their dimensions.
    irreps: dict[str, int]
    #: T̂(π, σ) as a complex array, for every pair of labels.
    blocks: dict[tuple[str, str], Any]
    #: ‖T‖² and ‖T − P(T)‖².
    energy: float
    perp: float

    def __getitem__(self, pair: tuple[str, str]) -> Any:
        return self.blocks[pair]

    def __str__(self) -> str:
        import numpy

        lines = [f"{self.group}: ‖T‖² = {self.energy:.4g}, ‖T − P(T)‖² = {self.perp:.4g}; ‖T̂(π, σ)‖² for columns σ:"]
        lines.append(" " * 10 + "".join(f"{label:>10}" for label in self.irreps))
        for row in self.irreps:
            squares = (numpy.square(numpy.abs(self.blocks[row, column])).sum() for column in self.irreps)
            lines.append(f"{row:10}" + "".join(f"{square:10.3g}" for square in squares))
        return "\n".join(lines)


def fourier_blocks(group: str, operator: Any, domain: str = "1 trivial", codomain: str = "1 trivial", max_degree: int = 0) -> FourierBlocks:
    """The Fourier blocks of an operator [|G|·channels, |G|·channels] from signals over a group to signals, as a NumPy array.

    A regular field is a signal over its group: the weight of a dense layer from one regular field to another is such an operator. Signals
    may have fields as values (``domain``, ``codomain``). For a continuous group they are sampled on its Haar rule, up to ``max_degree``.

    >>> import numpy
    >>> turn = numpy.roll(numpy.eye(4), 1, axis=0)
    >>> found = fourier_blocks("C4", turn)
    >>> sorted(found.irreps.values()), round(found.perp, 12)
    ([1, 1, 1, 1], 0.0)
    """
    import numpy

    t = numpy.asarray(operator, dtype=numpy.complex128)
    if t.ndim != 2:
        raise _reynolds.Error(f"operator: expected a matrix, found shape {list(t.shape)}")
    entries = [(float(value.real), float(value.imag)) for value in t.reshape(-1)]
    dual, rows, perp = _reynolds.fourier_blocks(group, domain, codomain, max_degree, entries, t.shape[1])
    labels = [label for label, _ in dual]
    blocks = {(labels[pi], labels[sigma]): numpy.array([complex(*one) for one in values]).reshape(height, -1) for pi, sigma, height, values in rows}
    return FourierBlocks(group, dict(dual), blocks, float(numpy.square(numpy.abs(t)).sum()), perp)
