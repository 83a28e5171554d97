"""What a penalty's layers are like now, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LayerReport:
    """One penalised layer as it is now."""

    name: str
    #: ‖W‖.
    norm: float
    #: ‖P(W)‖²/‖W‖²: 1 for an equivariant layer.
    energy: float
    #: The energy to expect of independent weights of equal variance: the share of the dimensions that are equivariant.
    chance: float
    #: ‖W − P(W)‖/‖W‖.
    residual: float
    #: The step since which the layer has been exactly equivariant, where the plain decoupled penalty made it so.
    equivariant_since: int | None


class Report(list[LayerReport]):
    """All penalised parameters, biases and normalisation scales among them; ``print`` shows a table, and the weights that are left alone."""

    def __init__(self, left_out: Mapping[str, str]):
        super().__init__()
        #: Parameters that are not penalised, with the reasons.
        self.left_out = dict(left_out)

    def __str__(self) -> str:
        width = max([len(row.name) for row in self] + [9])
        lines = [f"{'parameter':{width}}  {'‖W‖':>10}  {'energy':>7}  {'chance':>7}  {'residual':>8}"]
        for row in self:
            since = "" if row.equivariant_since is None else f"  exactly equivariant since step {row.equivariant_since}"
            lines.append(f"{row.name:{width}}  {row.norm:10.4f}  {row.energy:7.4f}  {row.chance:7.4f}  {row.residual:8.4f}{since}")
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            lines.append(f"not penalised: {', '.join(names[:3])}{more}: {reason}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(row.name, row.norm, row.energy, row.chance, row.residual) for row in self]
        return show.table(("parameter", "‖W‖", "energy", "chance", "residual"), rows)

    def plot(self) -> Figure:
        """Energy by parameter, beside what chance would give."""
        return show.energies([row.name for row in self], [row.energy for row in self], [row.chance for row in self])
