"""Figures (matplotlib), tables for notebooks and progress bars (tqdm); all three are optional."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from . import _reynolds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_T = TypeVar("_T")


def progress(items: Iterable[_T], what: str) -> Iterable[_T]:
    """The items, with a progress bar on terminals and in notebooks where tqdm is installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return items
    shown: Iterable[_T] = tqdm(items, desc=what, leave=False, disable=None)
    return shown


def table(head: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """A table in HTML, with notes below it."""

    def cells(kind: str, values: Sequence[object]) -> str:
        texts = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)
        return "<tr>" + "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table>{cells('th', head)}{body}</table>{below}"


def _subplots(*shape: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise _reynolds.Error("plot: expected matplotlib, found none; pip install matplotlib") from error

    class Shown(Figure):
        """A figure that notebooks show without pyplot, its windows and its global state."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    figure = Shown(figsize=size, layout="constrained")
    return figure, figure.subplots(*shape, squeeze=False)


def energies(names: Sequence[str], energy: Sequence[float], chance: Sequence[float]) -> Figure:
    """Energy by layer, with the energy to expect by chance."""
    figure, ((axis,),) = _subplots(1, 1, size=(7, 0.8 + 0.22 * len(names)))
    places = range(len(names))
    axis.barh(places, energy, color="#4477aa", label="energy ‖P(W)‖²/‖W‖²")
    axis.plot(chance, places, "|", color="#cc3311", markersize=9, label="by chance")
    axis.set(yticks=list(places), xlim=(0, 1))
    axis.set_yticklabels(names, fontsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=7)
    return figure


def curve(x: Sequence[float], y: Sequence[float], xlabel: str, ylabel: str, marker: str = "") -> Figure:
    """One line."""
    figure, ((axis,),) = _subplots(1, 1, size=(5, 3))
    axis.plot(x, y, marker=marker)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
    return figure


def kernels(name: str, kernels: Any, projected: Any, count: int) -> Figure:
    """The first kernels [out, in, k, k(, k)] of a layer, their projections and the differences; of volumes the middle slice."""
    import numpy

    def images(of: Any) -> Any:
        flat = of.reshape(-1, *of.shape[2:])[:count]
        return flat if flat.ndim == 3 else flat[:, flat.shape[1] // 2]

    rows = {"W": images(kernels), "P(W)": images(projected), "W − P(W)": images(kernels - projected)}
    shown = len(rows["W"])
    figure, axes = _subplots(3, shown, size=(1 + 0.9 * shown, 3.2))
    largest = float(numpy.abs(rows["W"]).max()) or 1.0
    for line, (label, pictures) in zip(axes, rows.items()):
        for axis, picture in zip(line, pictures):
            axis.imshow(picture, cmap="RdBu", vmin=-largest, vmax=largest)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(label)
    figure.suptitle(name, fontsize=9)
    return figure
