"""Is the network equivariant, and if not, which module breaks it and why?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from . import _reynolds, models, show
from ._reynolds import Error
from .plan import Plan, checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A module leaks where its output's error is beyond this and its input's is not.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Leak:
    """The first module whose output is not equivariant though its input is."""

    module: str
    kind: str
    #: Relative error of its output; that of its input is below `TOLERANCE`.
    error: float
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.module} ({self.kind}): error {self.error:.1e}: {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class EquivarianceError:
    """‖f(gx) − g f(x)‖ / ‖f(x)‖ over batches and the elements g of a group."""

    group: str
    #: The largest over all elements.
    worst: float
    #: The mean over all elements but the identity.
    mean: float
    #: One number an element, in the order of the group; the first is the identity.
    by_element: list[float] = field(repr=False)
    leak: Leak | None = None

    def plot(self) -> Figure:
        """The error of every element."""
        return show.curve(range(len(self.by_element)), self.by_element, f"element of {self.group}", "‖f(gx) − g f(x)‖ / ‖f(x)‖", "o")

    def _repr_html_(self) -> str:
        notes = [] if self.leak is None else [f"first leak: {self.leak}"]
        return show.table(("group", "worst", "mean"), [(self.group, self.worst, self.mean)], notes)

    def __str__(self) -> str:
        line = f"equivariance error under {self.group}: worst {self.worst:.2e}, mean {self.mean:.2e}"
        return line if self.leak is None else f"{line}\nfirst leak: {self.leak}"


class _Action:
    """How the elements of a finite group act on batches of fields."""

    def __init__(self, group: str):
        self.group = group
        self._channels: dict[tuple[str, torch.device], Tensor] = {}
        self._points: dict[tuple[int, int], list[list[int]]] = {}
        self.order = len(_reynolds.channel_matrices(group, "1 trivial")[1])

    def matrices(self, fields: str, like: Tensor) -> Tensor:
        """[|G|, channels, channels]."""
        key = (fields, like.device)
        if key not in self._channels:
            size, rows = _reynolds.channel_matrices(self.group, fields)
            self._channels[key] = torch.tensor(rows, dtype=torch.float64, device=like.device).view(-1, size, size)
        return self._channels[key].to(like.dtype)

    def apply(self, element: int, batch: Tensor, fields: str) -> Tensor:
        """g on a batch [N, channels] or [N, channels, k…]."""
        matrix = self.matrices(fields, batch)[element]
        if matrix.shape[0] != batch.shape[1]:
            raise Error(f'fields: "{fields}" has {matrix.shape[0]} channels, the tensor has {batch.shape[1]}')
        turned = torch.einsum("ij,nj...->ni...", matrix, batch)
        dims = batch.dim() - 2
        if dims == 0:
            return turned
        if dims not in (2, 3) or len(set(batch.shape[2:])) != 1:
            raise Error(f"input: expected square images or cubic volumes, found {list(batch.shape)}")
        side = batch.shape[2]
        if side == 1:
            return turned
        if (side, dims) not in self._points:
            self._points[side, dims] = _reynolds.grid_permutations(self.group, side, dims)
        goes_to = torch.tensor(self._points[side, dims][element], device=batch.device)
        flat = turned.flatten(2)
        out = torch.empty_like(flat)
        out[:, :, goes_to] = flat
        return out.view_as(turned)


@torch.no_grad()
def equivariance_error(
    model: nn.Module,
    batches: Tensor | Iterable[Any],
    group: str,
    output: str | None = None,
    input: str | None = None,
    plan: Plan | None = None,
    trace: bool = False,
) -> EquivarianceError:
    """Compares f(gx) with g f(x) for every element of a finite group that maps the pixels to pixels (C2, C4, D4, Oh, …).

    ``batches`` is a tensor [N, channels, k, k(, k)], or several, or tuples that begin with one. ``input`` and ``output`` are the fields
    ("3 trivial", "10 trivial", "4 regular"); both are scalars where nothing is said. ``trace`` finds the first module that breaks
    equivariance, and why; it needs the ``plan`` that types the layers. The model is evaluated in eval mode.

    >>> import torch
    >>> blur = torch.nn.Conv2d(1, 1, 3, bias=False)
    >>> _ = blur.weight.data.fill_(1.0)
    >>> equivariance_error(blur, torch.rand(2, 1, 8, 8), "C4").worst < 1e-5
    True
    """
    if trace and plan is None:
        raise Error("trace: expected the plan that types the layers, found none")
    if plan is not None:
        checked(plan)
    action = _Action(group)
    mode = model.training
    model.eval()
    squares = [0.0] * action.order
    total = 0.0
    leak: Leak | None = None
    try:
        count = 0
        for batch in [batches] if isinstance(batches, Tensor) else batches:
            x = batch[0] if isinstance(batch, (tuple, list)) else batch
            fields_in = input or f"{x.shape[1]} trivial"
            tracer = _Tracer(model, plan, action, fields_in, x) if trace and plan is not None and leak is None else None
            y = tracer.reference(x) if tracer else model(x)
            fields_out = output or f"{y.shape[1]} trivial"
            total += float(y.double().square().sum())
            for element in show.progress(range(action.order), "equivariance error"):
                turned = action.apply(element, x, fields_in)
                found = tracer.compare(turned, element) if tracer else model(turned)
                expected = action.apply(element, y, fields_out)
                if found.shape != expected.shape:
                    raise Error(f"output: expected the shape {list(expected.shape)} for every element, found {list(found.shape)}")
                squares[element] += float((found - expected).double().square().sum())
            if tracer:
                leak = tracer.leak()
            count += 1
        if count == 0:
            raise Error("batches: expected at least one, found none")
    finally:
        model.train(mode)
    errors = [0.0 if total == 0 else (square / total) ** 0.5 for square in squares]
    others = errors[1:] or [0.0]
    return EquivarianceError(group, max(errors), sum(others) / len(others), errors, leak)


class _Tracer:
    """Follows one batch through the leaf modules, in the order in which they run."""

    def __init__(self, model: nn.Module, plan: Plan, action: _Action, fields: str, x: Tensor):
        self.model, self.action = model, action
        inner = models.unwrapped(model)
        layers = plan.resolve(models.tensors(inner))
        self.types: Mapping[str, tuple[str, str]] = {
            row["name"].rsplit(".", 1)[0]: (row["domain"], row["codomain"]) for row in layers.describe() if row["role"] == "weight"
        }
        self.modules = [(name or "(the model)", module) for name, module in inner.named_modules() if not list(module.children())]
        self.fields = fields
        self.outputs: dict[str, tuple[str, Tensor, str, Tensor]] = {}
        self.order: list[str] = []
        self.errors: dict[str, list[float]] = {}
        self.seen: list[tuple[Tensor, str]] = [(x, fields)]

    def _run(self, x: Tensor, note: Any) -> Tensor:
        """f(x); ``note`` gets every module's name, its input (the tensor and, since modules may work in place, a copy) and its output."""
        inputs: dict[str, tuple[Any, Any]] = {}

        def before(name: str, given: Any) -> None:
            tensor = given[0] if given else None
            inputs[name] = (tensor, tensor.clone() if isinstance(tensor, Tensor) else None)

        handles = []
        for name, module in self.modules:
            handles.append(module.register_forward_pre_hook(lambda module, given, name=name: before(name, given)))
            handles.append(module.register_forward_hook(lambda module, given, out, name=name: note(name, *inputs[name], out)))
        try:
            return self.model(x)  # type: ignore[no-any-return]
        finally:
            for handle in handles:
                handle.remove()

    def reference(self, x: Tensor) -> Tensor:
        """f(x), with the fields of every module's output."""

        def note(name: str, tensor: Any, given: Any, out: Any) -> None:
            if not isinstance(given, Tensor) or not isinstance(out, Tensor) or out.dim() < 2 or name in self.outputs:
                return
            before = next((fields for known, fields in reversed(self.seen) if known is tensor), None)
            if name in self.types:
                before, after = self.types[name]
            else:
                before = before or f"{given.shape[1]} trivial"
                after = before if out.shape[1] == given.shape[1] else f"{out.shape[1]} trivial"
            self.outputs[name] = (before, given, after, out.clone())
            self.order.append(name)
            self.seen.append((out, after))

        return self._run(x, note)

    def compare(self, turned: Tensor, element: int) -> Tensor:
        """f(gx), with the error of every module's input and output."""

        def note(name: str, _: Any, given: Any, out: Any) -> None:
            if name not in self.outputs or not isinstance(out, Tensor):
                return
            before, x, after, y = self.outputs[name]
            both = []
            for fields, reference, found in ((before, x, given), (after, y, out)):
                try:
                    expected = self.action.apply(element, reference, fields)
                except Error:  # no square, or channels that the fields do not fit: nothing to compare
                    return
                both.append(float((found - expected).norm() / reference.norm().clamp(min=1e-30)) if found.shape == expected.shape else 1.0)
            worst = self.errors.setdefault(name, [0.0, 0.0])
            self.errors[name] = [max(old, new) for old, new in zip(worst, both)]

        return self._run(turned, note)

    def leak(self) -> Leak | None:
        """The first module that leaks."""
        modules = dict(self.modules)
        for name in self.order:
            before, after = self.errors.get(name, [0.0, 0.0])
            if before <= TOLERANCE < after:
                reason, remedy = self._reason(name, modules[name])
                return Leak(name, type(modules[name]).__name__, after, reason, remedy)
        return None

    def _reason(self, name: str, module: nn.Module) -> tuple[str, str]:
        given = self.outputs[name][1]
        stride = _one(getattr(module, "stride", 1))
        if stride > 1 and given.dim() > 2:
            kernel, padding = _one(getattr(module, "kernel_size", 1)), _one(getattr(module, "padding", 0))
            dilation = _one(getattr(module, "dilation", 1))
            rest = (given.shape[2] + 2 * padding - dilation * (kernel - 1) - 1) % stride
            if rest:
                return (
                    f"stride {stride} on {given.shape[2]} pixels samples off centre ({rest} are left over at one edge)",
                    f"use inputs of {given.shape[2] - rest} or {given.shape[2] - rest + stride} pixels there, or a stride of 1 and a blur with pooling",
                )
        if isinstance(module, nn.modules.conv._ConvNd) or isinstance(module, nn.Linear):
            if name not in self.types:
                return "the plan does not type it", "give it a rule in the plan, and project or penalise it"
            return "its weights or its bias are not equivariant", "raise lambda_perp, set a target, or project_ the model"
        if isinstance(module, nn.modules.batchnorm._NormBase):
            return "its scales or statistics differ inside fields", "share them inside fields: project_ does"
        if isinstance(module, (nn.Flatten, nn.Unflatten)):
            return "it mixes pixels with channels, and what follows is not typed", "pool over the pixels in its place"
        return "it does not commute with the group", "use an operation that acts on pixels and channels of a field alike"


def _one(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        value = value[0]
    return value if isinstance(value, int) else 0
