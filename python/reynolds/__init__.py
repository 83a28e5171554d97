"""Measure, tune and enforce the symmetry of neural networks by projection.

For a group G that acts on the input and the output of a layer, P(W) is the average of the layer's weights over G: the nearest equivariant
weights. The penalty λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² tunes how equivariant a network becomes while it is trained.

    import reynolds as rn

    print(rn.audit(model, group="C4", fields="trivial"))      # energy, chance, defect of every layer
    plan = rn.Plan.uniform("C4", "regular")                   # which fields the channels hold
    penalty = rn.Penalty(model, plan, lambda_perp=3.0)
    penalty.attach(optimizer)                                 # the training loop stays as it is

torch is imported only by what needs it: audits of files, plans and projections of NumPy arrays work without it.
"""

from typing import TYPE_CHECKING

from ._reynolds import Error, __version__
from .audit import Audit, audit
from .fourier import FourierBlocks, fourier_blocks
from .plan import Plan
from .projector import Projector

if TYPE_CHECKING:
    from .certificate import Certificate, certify
    from .constraint import bake_, constrain_
    from .equivariance import EquivarianceError, equivariance_error
    from .penalty import Penalty
    from .projection import project_, projected, settle_

__all__ = [
    "Audit",
    "Certificate",
    "EquivarianceError",
    "Error",
    "FourierBlocks",
    "Penalty",
    "Plan",
    "Projector",
    "__version__",
    "audit",
    "bake_",
    "certify",
    "constrain_",
    "equivariance_error",
    "fourier_blocks",
    "project_",
    "projected",
    "settle_",
]

_WITH_TORCH = {
    "Penalty": "penalty",
    "project_": "projection",
    "projected": "projection",
    "settle_": "projection",
    "equivariance_error": "equivariance",
    "EquivarianceError": "equivariance",
    "certify": "certificate",
    "Certificate": "certificate",
    "constrain_": "constraint",
    "bake_": "constraint",
}


def __getattr__(name: str) -> object:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module 'reynolds' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f".{_WITH_TORCH[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
