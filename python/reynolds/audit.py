"""How equivariant every layer is, and how much of that is chance."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _reynolds, models, show
from .plan import Plan, checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Audit:
    """What an audit found. ``print`` shows the table, a notebook the page.

    ``layers`` has a dictionary for every layer with ``name``, ``energy`` (‖P(W)‖²/‖W‖²), ``chance_random_signs`` (the energy to expect of the
    same magnitudes with random signs), ``excess`` (0 at chance, 1 for an equivariant layer), ``distance`` (‖W − P(W)‖), ``worst_defect``
    (bounds of the largest change of the kernel under an element of the group) and ``isotypic`` (how ‖W − P(W)‖² divides over the irreducible
    representations); ``total`` has the same of all weights together.
    """

    def __init__(self, found: _reynolds.Audit):
        self._found = found
        self._data: dict[str, Any] = json.loads(found.json)

    @property
    def audits(self) -> list[dict[str, Any]]:
        """One audit for every typing of the channels."""
        return list(self._data["audits"])

    @property
    def layers(self) -> list[dict[str, Any]]:
        """The layers of the first typing."""
        return list(self._first()["layers"])

    @property
    def total(self) -> dict[str, Any]:
        """All weights together, of the first typing."""
        return dict(self._first()["total"])

    @property
    def untyped(self) -> dict[str, str]:
        """Tensors that were not measured, with the reasons."""
        return {tensor["name"]: tensor["reason"] for tensor in self._first()["untyped"]}

    @property
    def ranking(self) -> list[dict[str, Any]]:
        """One entry for every kind of tensor: ``group`` (its name, or None if nothing is beyond chance), ``z``, corrected ``p``,
        ``indistinguishable_from``, a ``verdict``, all candidates under ``groups`` and every tensor under ``layers``."""
        return list(self._data["ranking"])

    def _first(self) -> dict[str, Any]:
        if not self.audits:
            raise _reynolds.Error("audit: expected a group or a plan; this one only compared groups")
        return self.audits[0]

    def to_json(self) -> str:
        """The audit for programs, as `reynolds audit --json` writes it."""
        return self._found.json

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as one self-contained page, written to ``path`` if one is given."""
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._found.html)
        return self._found.html

    def _repr_html_(self) -> str:
        return self._found.html

    def plot(self) -> Figure:
        """Energy by layer of the first typing, beside the energy of random signs."""
        layers = self.layers
        return show.energies(*([layer[key] for layer in layers] for key in ("name", "energy", "chance_random_signs")))

    def __str__(self) -> str:
        return self._found.text

    def __repr__(self) -> str:
        return self._found.text


def audit(
    model: Any,
    group: str | None = None,
    fields: str | None = None,
    plan: Plan | None = None,
    rank: bool = False,
) -> Audit:
    """Audits a module, a state_dict, a mapping of names to arrays, or a checkpoint file (.safetensors, .npz, .pt, .pth, .onnx, .h5, or the
    index of several; no code in it is run).

    ``fields`` says what every channel is taken for, "trivial" or "regular", or "auto" for what `reynolds plan` guesses; without it both are
    shown. ``plan`` types layers one by one
    instead. ``rank`` compares groups: which symmetry do the weights have? It is what happens without a group and a plan.

    >>> import numpy
    >>> found = audit({"conv.weight": numpy.ones((2, 1, 3, 3), numpy.float32)}, group="C4", fields="trivial")
    >>> found.layers[0]["energy"]
    1.0
    """
    if plan is not None and (group is not None or fields is not None):
        raise _reynolds.Error("audit: expected a plan, or a group with fields, found both")
    if plan is not None:
        plans = [checked(plan)]
    elif group is not None and fields == "auto":
        plans = []
    elif group is not None:
        plans = [Plan.uniform(group, kind) for kind in ([fields] if fields else ["trivial", "regular"])]
    else:
        plans, rank = [], True
    typings = [(plan.name, plan._plan) for plan in plans]
    guess = group if fields == "auto" else None
    ranked = (fields if fields == "regular" else "trivial") if rank else None
    if isinstance(model, (str, os.PathLike)):
        return Audit(_reynolds.audit_file(os.fspath(model), typings, ranked, guess))
    label = type(models.unwrapped(model)).__name__ if models.is_module(model) else "tensors"
    return Audit(_reynolds.audit_bytes(label, models.to_safetensors(model), typings, ranked, guess))
