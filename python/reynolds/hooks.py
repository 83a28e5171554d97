"""When the penalty acts: before or after the steps of PyTorch optimisers."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from ._reynolds import Error

if TYPE_CHECKING:
    from .layer import Layer
    from .penalty import Penalty


class Hooks:
    """The hooks of one penalty on the optimisers that hold its parameters.

    An optimiser that is copied or unpickled loses its hooks silently. A hook of all optimisers notices a step of one that holds penalised
    parameters without them, warns, and attaches it.
    """

    def __init__(self, penalty: Penalty, optimizers: Iterable[Optimizer]):
        self._penalty = penalty
        self._handles: list[Any] = []
        self._attached: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._groups: weakref.WeakKeyDictionary[Optimizer, tuple[list[tuple[int, int]], list[tuple[Layer, dict[str, Any]]]]]
        self._groups = weakref.WeakKeyDictionary()
        self._layers = {id(layer.parameter): layer for layer in penalty.layers}
        found = list(optimizers)
        held: dict[int, Optimizer] = {}
        for optimizer in found:
            if not isinstance(optimizer, Optimizer):
                raise Error(f"attach: expected a torch optimizer, found {type(optimizer).__name__}")
            for parameter in _parameters(optimizer):
                if id(parameter) in self._layers and held.setdefault(id(parameter), optimizer) is not optimizer:
                    raise Error(f"attach: {self._layers[id(parameter)].name} is in two of the optimizers; expected it in one")
        missing = [layer.name for key, layer in self._layers.items() if key not in held]
        if missing:
            names = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            raise Error(
                f"attach: {names} is in none of these optimizers; pass all of them in one call, or leave it out with exclude. (Optimizers "
                "that hold f32 copies of half-precision weights would undo the penalty.)"
            )
        for optimizer in found:
            self._attach(optimizer)
        this = weakref.ref(self)

        def notice(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
            hooks = this()
            if hooks is not None:
                hooks._notice(optimizer)

        self._handles.append(register_optimizer_step_pre_hook(notice))

    def remove(self) -> None:
        """Takes all hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _attach(self, optimizer: Optimizer) -> None:
        self._attached.add(optimizer)
        # Not through torch.compile: what a hook does is not part of the graph.
        if self._penalty.step_kind == "gradient":
            self._handles.append(optimizer.register_step_pre_hook(torch.compiler.disable(self._before)))
        else:
            self._handles.append(optimizer.register_step_post_hook(torch.compiler.disable(self._after)))

    def _notice(self, optimizer: Optimizer) -> None:
        if optimizer in self._attached:
            return
        if any(id(parameter) in self._layers for parameter in _parameters(optimizer)):
            warnings.warn(
                "an optimizer holds penalised parameters without the penalty's hooks (was it copied or unpickled?): attached again",
                stacklevel=3,
            )
            self._attach(optimizer)

    def _of(self, optimizer: Optimizer) -> list[tuple[Layer, dict[str, Any]]]:
        """The penalised layers of an optimiser that have a gradient, with their own parameter group."""
        groups = optimizer.param_groups
        sizes = [(id(group), len(group["params"])) for group in groups]
        known = self._groups.get(optimizer)
        # Looked up anew where parameters were added, or groups replaced.
        if known is None or known[0] != sizes:
            held = [(self._layers.get(id(parameter)), group) for group in groups for parameter in group["params"]]
            known = self._groups[optimizer] = (sizes, [(layer, group) for layer, group in held if layer is not None])
        return [pair for pair in known[1] if pair[0].parameter.grad is not None]

    def _before(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Gradient form: adds the penalty's gradient, once to every gradient that the step uses."""
        closure: Callable[[], Any] | None = kwargs.get("closure")
        if closure is None and len(args) > 1:
            closure = args[1]
        line_search = isinstance(optimizer, torch.optim.LBFGS)
        if closure is None:
            if line_search:
                raise Error("attach: LBFGS evaluates a closure; expected optimizer.step(closure), found no closure")
            # A fused optimizer under a gradient scaler divides by the scale inside its step.
            scale = getattr(optimizer, "grad_scale", None)
            self._add(optimizer, 1.0 if scale is None else scale)
            return None

        def with_penalty() -> Any:
            loss = closure()
            self._add(optimizer, 1.0)
            # A line search compares losses, so that the penalty belongs into them.
            return loss + self._penalty.value().sum().to(loss) if line_search and isinstance(loss, Tensor) else loss

        if "closure" in kwargs:
            return args, {**kwargs, "closure": with_penalty}
        return (args[0], with_penalty, *args[2:]), kwargs

    def _add(self, optimizer: Optimizer, scale: Tensor | float) -> None:
        self._penalty._add_gradients([layer for layer, _ in self._of(optimizer)], scale)
        self._penalty.steps += 1

    @torch.no_grad()
    def _after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """Decoupled form: shrinks W − P(W) after the step."""
        # A fused optimizer under a gradient scaler passes over a step with infinite gradients by itself, and its hooks run nevertheless.
        skip: Tensor | None = getattr(optimizer, "found_inf", None)
        mine = self._of(optimizer)
        if mine:
            self._penalty._decoupled([(layer, group["lr"]) for layer, group in mine], skip)
            self._penalty.steps += 1


def _parameters(optimizer: Optimizer) -> Iterable[Tensor]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])
