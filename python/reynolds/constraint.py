"""Layers whose effective weights are equivariant, or equivariant plus a residual, by construction."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.utils import parametrize

from . import models
from ._reynolds import Error
from .plan import Plan, checked
from .shards import refuse
from .tiles import Tiles


class _Strict(nn.Module):
    """W ↦ P(W): only the equivariant part of the parameter acts."""

    def __init__(self, tiles: Tiles):
        super().__init__()
        self._tiles = tiles

    def forward(self, weights: Tensor) -> Tensor:
        return self._tiles.project_flat(weights.reshape(-1)).reshape(weights.shape)

    def right_inverse(self, weights: Tensor) -> Tensor:
        return weights


class _Residual(_Strict):
    """(A, B) ↦ P(A) + B: residual pathway priors (RPP), with a weight decay of its own for each."""

    def forward(self, equivariant: Tensor, residual: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(equivariant) + residual

    def right_inverse(self, weights: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        equivariant = super().forward(weights)
        return equivariant, weights - equivariant


def constrain_(model: nn.Module, plan: Plan, kind: str = "strict") -> list[str]:
    """Makes typed layers equivariant by construction, in place (torch.nn.utils.parametrize); returns their names.

    ``"strict"``: the layer computes with P(W), so that it is equivariant whatever the optimiser does. ``"residual"``: with P(A) + B for two
    parameters, ``parametrizations.weight.original0`` and ``original1``; a stronger weight decay on B prefers equivariant weights without
    forcing them (residual pathway priors). Make the optimiser after this call, since parameters are new. `bake_` undoes it.
    """
    if kind not in ("strict", "residual"):
        raise Error(f'kind: expected "strict" or "residual", found "{kind}"')
    checked(plan)
    inner = models.unwrapped(model)
    parameters = dict(inner.named_parameters())
    layers = plan.resolve(models.tensors(inner))
    constrained = []
    for number, row in enumerate(layers.describe()):
        name = row["name"]
        if name not in parameters or row["rank"] == row["weights"]:
            continue
        refuse(name, parameters[name], "constrain the model before fully_shard")
        owner, _, attribute = name.rpartition(".")
        tiles = Tiles(layers, number)
        parametrize.register_parametrization(inner.get_submodule(owner), attribute, (_Strict if kind == "strict" else _Residual)(tiles))
        constrained.append(name)
    if not constrained:
        raise Error(f"plan: expected parameters on which {layers.group} acts, found none")
    return constrained


def bake_(model: nn.Module) -> None:
    """Undoes `constrain_`: the effective weights become plain parameters again."""
    for module in models.unwrapped(model).modules():
        if not parametrize.is_parametrized(module):
            continue
        for name, chain in list(_chains(module)):
            if any(isinstance(step, _Strict) for step in chain):
                parametrize.remove_parametrizations(module, name, leave_parametrized=True)


def _chains(module: Any) -> Any:
    return module.parametrizations.items()
