"""A proven bound of a network's equivariance error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx, nn

from . import _reynolds, models, show
from ._reynolds import Error
from .infer import Tracer
from .plan import Plan, checked

_ACTIVATIONS: dict[type[nn.Module], str] = {
    nn.Identity: "identity", nn.Dropout: "identity", nn.ReLU: "relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid", nn.SiLU: "silu", nn.GELU: "gelu",
    nn.Softplus: "softplus", nn.LeakyReLU: "leaky_relu",
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """What one layer adds to the bound."""

    layer: str
    #: An upper bound of its Lipschitz constant.
    lipschitz: float
    #: The radius of the ball in which its inputs lie.
    radius: float
    #: How far it is from equivariance on that ball.
    defect: float
    #: The defect times the Lipschitz constants of what follows.
    contribution: float


@dataclass(frozen=True)
class Certificate:
    """‖f(gx) − g f(x)‖ ≤ ``bound`` for every g and every ‖x‖ ≤ ``radius``, in exact arithmetic. ``print`` shows it layer by layer."""

    radius: float
    bound: float
    terms: list[Term]
    #: The largest error that a search found, a lower bound of the worst case.
    searched: float | None
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        rows = [(term.layer, term.lipschitz, term.radius, term.defect, term.contribution) for term in self.terms]
        return show.table(("layer", "Lipschitz", "radius in", "defect", "contribution"), rows, [f"bound {self.bound:.4g} for ‖x‖ ≤ {self.radius:g}"])


def certify(model: nn.Module, plan: Plan, radius: float = 1.0, example: Tensor | None = None, search: int = 0) -> Certificate:
    """A bound of the equivariance error of a chain of layers in eval mode, on inputs ‖x‖ ≤ ``radius``; an error names the layer that forbids one.

    Known are dense layers, convolutions (stride 1, zero padding that keeps the size, odd kernels), pointwise activations, batch normalisation
    and the mean over all pixels. Convolutions need an ``example`` input. ``search`` evaluations look for a large error, beside the bound.

    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> plan = Plan.infer(model, "C4", "1 regular", output="1 trivial")
    >>> certify(model, plan).bound > 0
    True
    >>> from .projection import project_
    >>> _ = project_(model, plan)
    >>> certify(model, plan).bound < 1e-5
    True
    """
    inner = models.unwrapped(model)
    layers = checked(plan).resolve(models.tensors(inner))
    numbers = {row["name"]: number for number, row in enumerate(layers.describe())}
    stages: list[tuple[str, str, int | None, list[float], list[float] | None]] = []
    pooled = example is None or example.dim() == 2
    mode = inner.training
    inner.eval()
    try:
        graph = fx.GraphModule(inner, Tracer().trace(inner))
        before = None
        for node in graph.graph.nodes:
            if node.op in ("placeholder", "output"):
                before = before or node
                continue
            name = str(node.target)
            module = graph.get_submodule(name) if node.op == "call_module" else None
            if module is None or list(node.all_input_nodes) != [before]:
                raise Error(f"{name}: it cannot be certified: expected a chain of modules, each with the output of the last as its input")
            before = node
            if isinstance(module, nn.Flatten) and pooled:
                continue
            stages.append((name, *_stage(name, module, numbers)))
            pooled = pooled or stages[-1][1] == "mean_pool"
    finally:
        inner.train(mode)
    spatial = None
    if example is not None and example.dim() > 2:
        if len(set(example.shape[2:])) != 1:
            raise Error(f"example: expected square images or cubic volumes, found {list(example.shape)}")
        spatial = (example.shape[2], example.dim() - 2)
    bound, terms, searched, text = _reynolds.certify(layers, stages, spatial, radius, search)
    return Certificate(radius, bound, [Term(*term) for term in terms], searched, text)


def _stage(name: str, module: nn.Module, numbers: dict[str, int]) -> tuple[str, int | None, list[float], list[float] | None]:
    def refused(reason: str) -> Error:
        return Error(f"{name}: it cannot be certified: {reason}")

    if isinstance(module, nn.Linear) or isinstance(module, (nn.Conv2d, nn.Conv3d)):
        if f"{name}.weight" not in numbers:
            raise refused("the plan does not type it")
        if not isinstance(module, nn.Linear):
            padding: Any = module.padding
            same = padding == "same" if isinstance(padding, str) else all(2 * pad == size - 1 for pad, size in zip(padding, module.kernel_size))
            if not same or set(module.stride) != {1} or set(module.dilation) != {1}:
                raise refused("expected a convolution with stride 1 and zero padding that keeps the size")
            if module.groups != 1 or module.padding_mode != "zeros":
                raise refused("expected a convolution without groups, padded with zeros")
        bias = None if module.bias is None else _floats(module.bias)
        return "linear", numbers[f"{name}.weight"], _floats(module.weight), bias
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        if module.running_mean is None or module.running_var is None:
            raise refused("its statistics are those of the batch")
        ones = torch.ones_like(module.running_mean, dtype=torch.float64)
        weight = ones if module.weight is None else module.weight.detach().double()
        scale = weight / (module.running_var.double() + module.eps).sqrt()
        shift = (0 * ones if module.bias is None else module.bias.detach().double()) - scale * module.running_mean.double()
        return "batch_norm", None, _floats(scale), _floats(shift)
    if isinstance(module, (nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)) and module.output_size in (1, (1, 1), (1, 1, 1)):
        return "mean_pool", None, [], None
    kind = _ACTIVATIONS.get(type(module))
    if kind is None:
        raise refused(f"no bound of {type(module).__name__} is known")
    return kind, None, [float(getattr(module, "negative_slope"))] if kind == "leaky_relu" else [], None


def _floats(tensor: Any) -> list[float]:
    found: list[float] = tensor.detach().double().cpu().reshape(-1).tolist()
    return found
