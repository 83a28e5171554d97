"""The penalty λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² on a PyTorch module, in a training loop that stays as it is."""

from __future__ import annotations

import fnmatch
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from . import _reynolds, cuda, models, show
from ._reynolds import Error
from .hooks import Hooks
from .layer import Layer, _Common, over_shards, pair, together, write
from .memory import place
from .plan import Plan, checked
from .report import LayerReport, Report
from .shards import refuse
from .tiles import Tiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Penalty:
    """The penalty of a model's layers.

    ``step="decoupled"`` (default) divides W − P(W) by 1 + 2·lr·λ_⊥ after each step of the optimiser, as AdamW's decay shrinks W: stable at
    every strength. ``step="gradient"`` adds the penalty's gradient before the step, as the paper does. ``target=0.05`` takes the place of
    ``lambda_perp``: it keeps ‖W − P(W)‖ at most at 5 % of ‖W‖, for every layer or for the whole network (``target_scope``), by scaling
    W − P(W) down after every step; ``metrics`` has the λ_⊥ that this amounts to. ``target_by="dual"`` reaches it by a λ_⊥ that each step
    moves by ``target_rate`` times the distance from the target.

    ``form``: "squared", λ‖·‖² (default), or "plain", λ‖·‖, whose decoupled step makes whole layers exactly equivariant; ``scale`` multiplies its
    strengths by √(number of weights), so that one value serves layers of all sizes. ``norm``: "frobenius", or with ``step="gradient"`` also
    "spectral", "max" and "(p,q)" with p, q in 1, 2, 3. ``whole``: λ_G is on ‖W‖ in place of ‖P(W)‖. ``strengths`` multiplies both λ of the
    parameters whose name matches a glob: ``{"head.*": 0.1}``; ``exclude`` leaves parameters alone. ``lambda_g`` and ``lambda_perp`` may be set
    between steps, as a schedule does. ``left_out`` says which parameters are not penalised, and why.

    ``stacked=True``: ``model`` holds many models at once, parameters with a leading axis as `torch.func.stack_module_state` makes them;
    strengths may be tensors with one number for each model, `value` and `energies` have one for each. On a GPU a strength may be a tensor
    there, which may be changed between replays of a CUDA graph.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3))
    >>> penalty = Penalty(model, Plan.uniform("C4", "trivial"), lambda_perp=3.0)
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    >>> penalty.attach(optimizer)
    >>> before = penalty.residual()
    >>> for _ in range(20):
    ...     optimizer.zero_grad()
    ...     model(torch.ones(1, 1, 8, 8)).square().mean().backward()
    ...     optimizer.step()
    >>> penalty.residual() < before
    True
    """

    def __init__(
        self,
        model: nn.Module | Mapping[str, Tensor],
        plan: Plan,
        *,
        lambda_perp: float | Tensor | None = None,
        lambda_g: float | Tensor = 0.0,
        step: str = "decoupled",
        form: str = "squared",
        norm: str = "frobenius",
        whole: bool = False,
        scale: bool = True,
        target: float | None = None,
        target_scope: str = "layer",
        target_by: str = "scaling",
        target_rate: float = 1.0,
        strengths: Mapping[str, float] | None = None,
        exclude: Iterable[str] = (),
        stacked: bool = False,
    ):
        if step not in ("decoupled", "gradient"):
            raise Error(f'step: expected "decoupled" or "gradient", found "{step}"')
        if target_scope not in ("layer", "network"):
            raise Error(f'target_scope: expected "layer" or "network", found "{target_scope}"')
        if target_by not in ("scaling", "dual"):
            raise Error(f'target_by: expected "scaling" or "dual", found "{target_by}"')
        if target is None and (target_scope, target_by) != ("layer", "scaling"):
            raise Error(f'target: expected a number with target_scope="{target_scope}" and target_by="{target_by}", found none')
        if not 0.0 < target_rate < math.inf:
            raise Error(f"target_rate: expected a finite number above 0, found {target_rate}")
        if target_by == "scaling" and target_rate != 1.0:
            raise Error(f'target_rate: expected 1 unless target_by="dual", found {target_rate}')
        if target is not None and lambda_perp is not None:
            raise Error("target: it takes the place of lambda_perp; expected one or the other, found both")
        if target is not None and step == "gradient":
            raise Error('target: it is a step of its own after the optimiser\'s; expected step="decoupled", found "gradient"')
        if target is not None and not 0.0 <= target < 1.0:
            raise Error(f"target: expected a number from 0 to below 1, found {target}")
        if target is None and lambda_perp is None:
            raise Error("lambda_perp: expected a strength, or a target in its place, found neither")
        self._settings = _reynolds.Settings(form=form, norm=norm, whole=whole, scale=scale)
        self.form, self.norm, self.whole, self.scale = form, norm, whole, scale
        self.step_kind, self.target, self.target_scope = step, target, target_scope
        self.target_by, self.target_rate = target_by, target_rate
        #: Of each layer: that of the dual update, or the one that the last scaling amounts to.
        self._target_lambdas: dict[str, Tensor] = {}
        self.lambda_g, self.lambda_perp = lambda_g, 0.0 if lambda_perp is None else lambda_perp
        if norm != "frobenius" and step == "decoupled":
            raise Error(f'norm: "{norm}" needs step="gradient"; the decoupled step is known for "frobenius" alone')
        if norm != "frobenius" and stacked:
            raise Error(f'norm: "{norm}" is known for one model at a time; expected "frobenius" with stacked=True')
        for on_g, on_perp in itertools.product(_numbers(self.lambda_g), _numbers(self.lambda_perp)):
            self._settings.check(on_g, on_perp, step == "decoupled")
        self.stacked = stacked
        #: Optimiser steps with this penalty so far.
        self.steps = 0
        #: Step and residual at every call of `metrics`.
        self.history: list[tuple[int, float]] = []
        self._bind(model if isinstance(model, Mapping) else models.unwrapped(model), checked(plan), list(exclude))
        self._set_strengths(strengths or {})
        self._hooks: Hooks | None = None

    def _bind(self, model: nn.Module | Mapping[str, Tensor], plan: Plan, exclude: list[str]) -> None:
        named = models.tensors(model)
        if isinstance(model, Mapping):
            parameters = {name: value for name, value in named.items() if value.requires_grad}
        else:
            parameters = dict(model.named_parameters())
        if self.stacked:
            if any(parameter.dim() == 0 for parameter in parameters.values()) or len({len(value) for value in parameters.values()}) != 1:
                raise Error("model: expected parameters with one leading axis, as torch.func.stack_module_state makes them (stacked=True)")
            named = {name: value[0] for name, value in named.items() if value.dim() > 0}
        # Running statistics beside the parameters are typed with them, but not penalised.
        layers = plan.resolve({name: value for name, value in named.items() if not _matches(name, exclude)})
        self._layers, self._kernels = layers, cuda.AllKernels(layers)
        self.layers: list[Layer] = []
        shared: dict[int, Tiles] = {}
        #: Parameters that are not penalised, with the reasons.
        self.left_out: dict[str, str] = {name: "excluded" for name in parameters if _matches(name, exclude)}
        self.left_out.update((name, reason) for name, reason in layers.untyped() if name in parameters)
        for number, description in enumerate(layers.describe()):
            name = description["name"]
            parameter = parameters.get(name)
            if parameter is None:
                continue
            if description["rank"] == description["weights"]:
                self.left_out[name] = "every tensor of this shape is equivariant"
                continue
            if not parameter.is_floating_point():
                raise Error(f"{name}: expected floating-point weights, found {parameter.dtype} (quantised?)")
            if not parameter.requires_grad:
                raise Error(f"{name}: the parameter is frozen (requires_grad is False); unfreeze it, or leave it out with exclude=[\"{name}\"]")
            if parameter.dtype in (torch.bfloat16, torch.float16) and self.step_kind == "decoupled":
                warnings.warn(f"{name}: {parameter.dtype} weights lose small steps to rounding; train with f32 weights and autocast", stacklevel=4)
            layer = Layer(layers, number, description, parameter, self.stacked, shared)
            twin = next((other.name for other in self.layers if other.address == layer.address != 0), None)
            if twin is not None:
                raise Error(f"{name}: it shares its memory with {twin}; make them one parameter, or leave one out with exclude")
            if layer.bind_shard(whole=self.norm != "frobenius"):
                warnings.warn(f"{name}: its shards cut fields of {description['codomain']}; the layer is gathered at every step", stacklevel=4)
            self.layers.append(layer)
        for strength in (self.lambda_g, self.lambda_perp):
            if isinstance(strength, Tensor) and strength.shape not in (torch.Size(), *(layer.stack for layer in self.layers)):
                raise Error(f"strength: expected one number, or with stacked=True one for each model, found {list(strength.shape)}")
        if not self.layers:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in list(self.left_out.items())[:3])
            raise Error(f"plan: expected layers on which {layers.group} acts, found none ({reasons})")
        untyped = {name: reason for name, reason in layers.untyped() if name in parameters and parameters[name].dim() - self.stacked > 1}
        if untyped:
            first = "; ".join(f"{name}: {reason}" for name, reason in list(untyped.items())[:3]) + ("; …" if len(untyped) > 3 else "")
            warnings.warn(f"not penalised, so that the network does not become equivariant: {first} (Plan.infer types the layers of a module)", stacklevel=3)
        if self.target is not None and self.target_scope == "layer":
            empty = [layer.name for layer in self.layers if layer.rank == 0]
            if empty:
                raise Error(f"target: no equivariant weights but 0 exist for {', '.join(empty)}; leave them out with exclude")

    def _set_strengths(self, strengths: Mapping[str, float]) -> None:
        for pattern, factor in strengths.items():
            chosen = [layer for layer in self.layers if fnmatch.fnmatchcase(layer.name, pattern)]
            if not chosen:
                raise Error(f"strengths: expected a glob that matches a penalised layer, found \"{pattern}\"")
            if not factor >= 0.0 or factor == float("inf"):
                raise Error(f"strengths: expected a finite number, at least 0, for \"{pattern}\", found {factor}")
            for layer in chosen:
                layer.strength = float(factor)

    # In the loop

    def attach(self, *optimizers: torch.optim.Optimizer) -> None:
        """Applies the penalty with every step of these optimisers, which together hold all penalised parameters."""
        if self._hooks is not None:
            raise Error("attach: this penalty is attached already; detach it first")
        self._hooks = Hooks(self, optimizers)

    def detach(self) -> None:
        """Leaves the optimisers as they were before ``attach``."""
        if self._hooks is not None:
            self._hooks.remove()
            self._hooks = None

    def add_grad_(self, scale: Tensor | float = 1.0) -> None:
        """Adds ``scale`` times the penalty's gradient to the gradients of the parameters: for loops that clip gradients after it."""
        self._add_gradients(self.layers, scale)

    @torch.no_grad()
    def _add_gradients(self, chosen: list[Layer], scale: Tensor | float) -> None:
        direct = []
        as_it_is = not isinstance(scale, Tensor) and scale == 1.0
        squares = self._squares(chosen) if self.form == "plain" else {}
        rest = []
        for layer in chosen:
            grad = layer.parameter.grad
            if grad is None:
                continue
            at = layer.places(grad) if as_it_is else None
            if at is not None:
                direct.append((*at, *self._floats(layer)))
            else:
                rest.append((layer, None))
        if direct:
            self._settings.add_gradient(self._layers, direct)
        if self.form == "squared" and self.norm == "frobenius":
            rest = self._add_by_kernels([layer for layer, _ in rest], scale)
        for stack, _, members in self._together(rest):
            gradient = self._gradient(stack, squares.get(stack.name)) * scale
            grads = [layer.local(layer.parameter.grad) for layer in members if layer.parameter.grad is not None]
            rows = [gradient] if len(members) == 1 else gradient.unbind()
            torch._foreach_add_(grads, [row.reshape(grad.shape).to(grad.dtype) for row, grad in zip(rows, grads)])

    def _add_by_kernels(self, chosen: list[Layer], scale: Tensor | float) -> list[tuple[Layer, None]]:
        """Adds the gradients that kernels of a GPU can add; the other layers."""
        groups, rest = self._kernels.split([(layer, None) for layer in chosen], graded=True)
        for kernels, pairs in groups:
            layers = [layer for layer, _ in pairs]
            kernels.add_gradient(layers, kernels.slopes(layers, self._both(), scale))
        return rest

    def _both(self) -> cuda.Strengths:
        return cuda.Strengths(self.lambda_g, self.lambda_perp, self.whole)

    def _together(self, layers: list[tuple[Layer, _Common]]) -> Iterator[tuple[Layer, _Common, list[Layer]]]:
        """Equal layers in one; not where a norm needs them on the host, or a layer remembers since when it has been equivariant."""
        if self.norm == "frobenius" and self.form == "squared":
            yield from together(layers)
        else:
            yield from ((layer, common, [layer]) for layer, common in layers)

    @torch.no_grad()
    def step_(self, lr: float | Tensor) -> None:
        """The decoupled step with learning rate ``lr``, after the optimiser's own: for loops without ``attach``."""
        self._decoupled([(layer, lr) for layer in self.layers], None)
        self.steps += 1

    def _strengths(self, layer: Layer) -> tuple[float | Tensor, float | Tensor]:
        return self.lambda_g * layer.strength, self.lambda_perp * layer.strength

    def _floats(self, layer: Layer) -> tuple[float, float]:
        return float(self.lambda_g) * layer.strength, float(self.lambda_perp) * layer.strength

    def _decoupled(self, layers: list[tuple[Layer, float | Tensor]], skip: Tensor | None) -> None:
        """Shrinks each of the layers with its learning rate; nothing where ``skip`` is 1 (a step that a gradient scaler passed over)."""
        if self.target is None or isinstance(self.lambda_g, Tensor) or self.lambda_g != 0.0:
            self._proximal(layers, skip)
        if self.target is not None:
            self._to_target(layers, skip, self.target)

    def _proximal(self, layers: list[tuple[Layer, float | Tensor]], skip: Tensor | None) -> None:
        direct, jobs, rest = [], [], []
        squares = self._squares([layer for layer, _ in layers]) if self.form == "plain" else {}
        for layer, lr in layers:
            at = _place(layer, lr, skip)
            if at is None:
                rest.append((layer, lr))
            else:
                direct.append(layer)
                jobs.append((*at, float(lr), *self._floats(layer)))
        if self.form == "squared":
            groups, rest = self._kernels.split(rest, graded=False)
            for kernels, pairs in groups:
                chosen = [layer for layer, _ in pairs]
                kernels.rescale(chosen, kernels.factors(chosen, self._both(), pairs[0][1], skip))
        for stack, lr, members in self._together(rest):
            self._shrink(stack, lr, skip, squares.get(stack.name))
            if len(members) > 1:
                old = [layer.parameter.detach() for layer in members]
                torch._foreach_copy_(old, [row.view(weights.shape) for row, weights in zip(stack.parameter.unbind(), old)])
        if not direct:
            return
        factors = self._settings.decoupled(self._layers, jobs)
        if self.form == "plain":
            for layer, both in zip(direct, torch.tensor(factors, dtype=torch.float64)):
                self._note(layer, *both)
        _written(direct)

    def _shrink(self, layer: Layer, lr: float | Tensor, skip: Tensor | None, squares: Tensor | None = None) -> None:
        equivariant, perp = layer.split()
        on_equivariant, on_perp = self._factors(layer, equivariant, perp, lr, squares)
        self._note(layer, on_equivariant, on_perp if skip is None else torch.where(skip > 0, torch.ones_like(on_perp), on_perp))
        write(layer, equivariant * on_equivariant[..., None] + perp * on_perp[..., None], skip, unchanged=(on_equivariant == 1) & (on_perp == 1))

    def _to_target(self, layers: list[tuple[Layer, float | Tensor]], skip: Tensor | None, target: float) -> None:
        """Scales W − P(W), by the target itself or by the λ_⊥ of the dual update."""
        network = self.target_scope == "network"
        places = {layer.name: at for layer, lr in layers if (at := _place(layer, lr, skip)) is not None}
        if network and len(places) < len(layers):
            places = {}
        if places:
            self._to_target_on_host([(layer, float(lr), places[layer.name]) for layer, lr in layers if layer.name in places], target)
        rest = [(layer, lr) for layer, lr in layers if layer.name not in places]
        parts = {layer.name: layer.split() for layer, _ in rest} if network else {}
        if network:
            squares = _summed(dict(zip(parts, over_shards([layer for layer, _ in rest], [pair(*part) for part in parts.values()]))))
        else:
            squares = self._squares([layer for layer, _ in rest])
        for layer, lr in rest:
            equivariant, perp = parts.pop(layer.name) if network else layer.split()
            both = squares[layer.name] if layer.name in squares else pair(equivariant, perp)
            on_perp = self._target_factor(layer, both, lr, skip, target).to(perp)
            write(layer, equivariant + perp * on_perp[..., None], skip, unchanged=on_perp == 1)

    def _to_target_on_host(self, layers: list[tuple[Layer, float, tuple[int, int, bool]]], target: float) -> None:
        network, places = self.target_scope == "network", [at for _, _, at in layers]
        if self.target_by == "dual":
            found = {layer.name: both for (layer, _, _), both in zip(layers, torch.tensor(self._layers.energies(places), dtype=torch.float64))}
            for layer, rate, _ in layers:
                self._target_factor(layer, (_summed(found) if network else found)[layer.name], rate, None, target)
            jobs = [(*at, rate, 0.0, float(self._target_lambdas[layer.name])) for layer, rate, at in layers]
            _reynolds.Settings(form="squared", norm="frobenius", whole=False, scale=True).decoupled(self._layers, jobs)
        else:
            factors = torch.tensor(_reynolds.Settings.target(self._layers, target, network, places), dtype=torch.float64)
            rates = torch.tensor([rate for _, rate, _ in layers], dtype=torch.float64)
            self._target_lambdas.update(zip((layer.name for layer, _, _ in layers), (1 / factors - 1) / (2 * rates)))
        _written([layer for layer, _, _ in layers])

    def _target_factor(self, layer: Layer, both: Tensor, lr: float | Tensor, skip: Tensor | None, target: float) -> Tensor:
        """What W − P(W) is multiplied by at these sums of squares; keeps the λ_⊥ that this amounts to where a captured CUDA graph finds it."""
        rate = _scalar(lr, both)
        kept = self._target_lambdas.get(layer.name)
        before = torch.zeros_like(both[0]) if kept is None else kept.to(both)
        if self.target_by == "dual":
            total = both[0] + both[1]
            residual = (both[1] / torch.where(total == 0, torch.ones_like(total), total)).sqrt()
            strength = (before + self.target_rate * (residual - target)).clamp(min=0.0)
            factor = torch.reciprocal(1 + 2 * rate * strength)
        else:
            factor = _to_target(target, *both.sqrt())
            strength = (1 / factor - 1) / (2 * rate)
        if skip is not None:
            strength = torch.where(skip.to(strength.device) > 0, before, strength)
        if kept is not None and kept.device == strength.device:
            kept.copy_(strength)
        else:
            self._target_lambdas[layer.name] = strength
        return factor

    def _squares(self, layers: list[Layer]) -> dict[str, Tensor]:
        """‖P(W)‖² and ‖W − P(W)‖² of every sharded layer, with one all-reduce."""
        sharded = [layer for layer in layers if layer.shard is not None and not layer.gathered]
        pairs = over_shards(sharded, [pair(*layer.split()) for layer in sharded])
        return {layer.name: pair for layer, pair in zip(sharded, pairs)}

    def _factors(
        self, layer: Layer, equivariant: Tensor, perp: Tensor, lr: float | Tensor, squares: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """What the proximal map multiplies the two parts by: see `Proximal::factors` of the core."""
        lambda_g, lambda_perp = (_scalar(strength, perp) for strength in self._strengths(layer))
        rate = _scalar(lr, perp)
        if self.form == "squared":
            shared = lambda_perp + lambda_g if self.whole else lambda_perp
            return torch.reciprocal(1 + 2 * rate * lambda_g).to(perp), torch.reciprocal(1 + 2 * rate * shared).to(perp)
        if self.scale:
            lambda_g = lambda_g * (layer.size if self.whole else layer.rank) ** 0.5
            lambda_perp = lambda_perp * (layer.size - layer.rank) ** 0.5
        first, second = (pair(equivariant, perp) if squares is None else squares).unbind()
        on_perp = _threshold(second, rate * lambda_perp)
        if self.whole:
            of_all = _threshold(first + on_perp.square() * second, rate * lambda_g)
            return of_all.to(perp), (of_all * on_perp).to(perp)
        return _threshold(first, rate * lambda_g).to(perp), on_perp.to(perp)

    def _note(self, layer: Layer, on_equivariant: Tensor, on_perp: Tensor) -> None:
        """Since when a layer has been exactly equivariant; −1 where it is not, or W is 0."""
        if layer.rank == 0 or self.form != "plain" or not isinstance(self.lambda_perp, Tensor) and self.lambda_perp == 0.0:
            return
        before = layer.equivariant_since
        if before is None or before.device != on_perp.device:
            before = torch.full_like(on_perp, -1, dtype=torch.int64) if before is None else before.to(on_perp.device)
        now = torch.where(before < 0, torch.full_like(before, self.steps), before)
        layer.equivariant_since = torch.where((on_perp == 0) & (on_equivariant != 0), now, torch.full_like(before, -1))

    # Values

    def __call__(self) -> Tensor:
        """The penalty as a scalar that can be differentiated by the weights: add it to a loss in place of ``attach``."""
        for layer in self.layers:
            refuse(layer.name, layer.parameter, "attach the penalty to the optimizer")
        parameters = [layer.parameter for layer in self.layers]
        value: Tensor = _Differentiable.apply(self, *parameters)  # type: ignore[no-untyped-call,unused-ignore]
        return value

    @torch.no_grad()
    def value(self) -> Tensor:
        """The penalty now, as a scalar on the device of the first layer; does not wait for the GPU."""
        squares = self._squares(self.layers)
        values = [self._value(layer, squares.get(layer.name)) for layer in self.layers]
        return torch.stack([value.to(values[0].device) for value in values]).sum(0)

    def _value(self, layer: Layer, squares: Tensor | None = None) -> Tensor:
        at = layer.place()
        if at is not None or self.norm != "frobenius":
            device = layer.parameter.device
            if at is None:
                host = layer.weights().cpu().double().contiguous()
                at = (layer.number, *place(layer.name, host, layer.size))
            found = self._settings.values(self._layers, [(*at, *self._floats(layer))])[0]
            return torch.tensor(found, dtype=torch.float64, device=device)
        sums = pair(*layer.split()) if squares is None else squares
        both = torch.stack([sums.sum(0) if self.whole else sums[0], sums[1]])
        if self.form == "plain":
            both = (both + self._smoothing(layer, sums.sum(0))).sqrt()
        lambda_g, lambda_perp = (_scalar(strength, both) for strength in self._strengths(layer))
        return torch.add(both[0] * lambda_g, both[1] * lambda_perp)

    def _smoothing(self, layer: Layer, total: Tensor) -> Tensor:
        epsilon = torch.finfo(torch.float64 if layer.parameter.dtype == torch.float64 else torch.float32).eps
        kappa = 32 * epsilon * (layer.size / max(layer.rank, 1)) ** 0.5
        return torch.clamp(total * kappa**2, min=1e-12)

    def _gradient(self, layer: Layer, squares: Tensor | None = None) -> Tensor:
        """The penalty's gradient by the weights of a layer, as a vector; by those of this process, where it is sharded; a row for each model
        of a stack."""
        if layer.place() is not None or self.norm != "frobenius":
            weights = layer.weights()
            dtype = torch.float64 if weights.dtype == torch.float64 else torch.float32
            host = weights.to("cpu", dtype).contiguous()
            gradient = torch.zeros_like(host)
            number, address, double = (layer.number, *place(layer.name, host, layer.size))
            job = (number, address, place(layer.name, gradient, layer.size)[0], double, *self._floats(layer))
            self._settings.add_gradient(self._layers, [job])
            return layer.mine(gradient.reshape(-1).to(weights.device))
        equivariant, perp = layer.split()
        lambda_g, lambda_perp = (_scalar(strength, perp) for strength in self._strengths(layer))
        on_first, on_perp = 2 * lambda_g, 2 * lambda_perp
        if self.form == "plain":
            both = pair(equivariant, perp) if squares is None else squares
            smoothing = self._smoothing(layer, both[0] + both[1])
            first = both[0] + both[1] if self.whole else both[0]
            on_first = lambda_g / (first + smoothing).sqrt()
            on_perp = lambda_perp / (both[1] + smoothing).sqrt()
        if self.whole:
            on_perp = on_perp + on_first
        return layer.mine(equivariant * on_first.to(perp)[..., None] + perp * on_perp.to(perp)[..., None])

    @torch.no_grad()
    def energies(self) -> dict[str, tuple[Tensor, Tensor]]:
        """‖P(W)‖² and ‖W − P(W)‖² of every layer, as scalars on its device; does not wait for the GPU. Sharded layers: one all-reduce."""
        found = {}
        squares = self._squares(self.layers)
        for layer in self.layers:
            at = layer.place()
            if at is not None:
                both = torch.tensor(self._layers.energies([at])[0], dtype=torch.float64)
            else:
                both = squares[layer.name] if layer.name in squares else pair(*layer.split())
            found[layer.name] = (both[0], both[1])
        return found

    def residual(self) -> float:
        """‖W − P(W)‖/‖W‖ of all penalised layers together."""
        both = [[float(part.sum()) for part in parts] for parts in self.energies().values()]
        perp, total = sum(part[1] for part in both), sum(sum(part) for part in both)
        return 0.0 if perp == 0 else float((perp / total) ** 0.5)

    def report(self) -> Report:
        """Every penalised layer as it is now."""
        rows = Report(self.left_out)
        for layer, (equivariant, perp) in zip(self.layers, self.energies().values()):
            first, second = float(equivariant.sum()), float(perp.sum())
            total = first + second
            since = -1 if layer.equivariant_since is None or (layer.equivariant_since < 0).any() else int(layer.equivariant_since.max())
            rows.append(
                LayerReport(
                    layer.name,
                    total**0.5,
                    1.0 if total == 0 else first / total,
                    layer.rank / layer.size,
                    0.0 if second == 0 else (second / total) ** 0.5,
                    since if since >= 0 else None,
                )
            )
        return rows

    def metrics(self) -> dict[str, float]:
        """A flat dictionary for any logger; after a step with a target with the λ_⊥ of each layer, or of the network, the mean over a stack.
        `plot` draws the residuals that were asked for."""
        named = {f"reynolds/residual/{row.name}": row.residual for row in self.report()}
        network = self.target_scope == "network"
        for name, strength in self._target_lambdas.items():
            # Scaling at a learning rate of 0 amounts to none.
            if bool((strength.isfinite() | (self.target == 0.0)).all()):
                named["reynolds/lambda_perp" if network else f"reynolds/lambda_perp/{name}"] = float(strength.mean())
        residual = self.residual()
        self.history.append((self.steps, residual))
        return {"reynolds/penalty": float(self.value().sum()), "reynolds/residual": residual, **named}

    def plot(self) -> Figure:
        """The residual over training, at the steps at which `metrics` was called."""
        if not self.history:
            raise Error("plot: expected calls of metrics() during training, found none")
        steps, residuals = zip(*self.history)
        return show.curve(steps, residuals, "step", "‖W − P(W)‖ / ‖W‖")

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    # Checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Strengths, steps and since when layers have been equivariant, for a checkpoint."""
        since = {layer.name: layer.equivariant_since.tolist() for layer in self.layers if layer.equivariant_since is not None}
        strengths = {layer.name: layer.strength for layer in self.layers}
        return {
            "lambda_g": self.lambda_g,
            "lambda_perp": self.lambda_perp,
            "target": self.target,
            "target_lambdas": {name: strength.tolist() for name, strength in self._target_lambdas.items()},
            "steps": self.steps,
            "strengths": strengths,
            "equivariant_since": since,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what ``state_dict`` gave."""
        names = [layer.name for layer in self.layers]
        if sorted(state["strengths"]) != sorted(names):
            raise Error(f"state: expected the layers {', '.join(names)}, found {', '.join(state['strengths'])}")
        self.lambda_g, self.lambda_perp, self.target = state["lambda_g"], state["lambda_perp"], state["target"]
        self.steps = state["steps"]
        self._target_lambdas = {
            name: torch.tensor(strength, dtype=torch.float64) for name, strength in state.get("target_lambdas", {}).items()
        }
        for layer in self.layers:
            layer.strength = state["strengths"][layer.name]
            since = state["equivariant_since"].get(layer.name)
            layer.equivariant_since = None if since is None else torch.tensor(since)

    def __repr__(self) -> str:
        strength = f"lambda_g={self.lambda_g}, " + (f"target={self.target}" if self.target is not None else f"lambda_perp={self.lambda_perp}")
        return f"Penalty({self._layers.group}, {len(self.layers)} layers, {strength}, step={self.step_kind!r}, form={self.form!r})"


class _Differentiable(torch.autograd.Function):
    """The penalty with its closed-form gradient."""

    @staticmethod
    def forward(ctx: Any, penalty: Penalty, *parameters: Tensor) -> Tensor:
        ctx.save_for_backward(*[penalty._gradient(layer) for layer in penalty.layers])
        ctx.places = [(parameter.shape, parameter.dtype) for parameter in parameters]
        return penalty.value().to(parameters[0].dtype)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:  # type: ignore[override,unused-ignore]
        scaled = [gradient * slope.to(gradient)[..., None] for gradient in ctx.saved_tensors]
        gradients = [gradient.reshape(shape).to(dtype) for gradient, (shape, dtype) in zip(scaled, ctx.places)]
        return (None, *gradients)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _threshold(square: Tensor, by: Tensor) -> Tensor:
    """max(0, 1 − by/norm), and 1 where ``by`` is 0."""
    shrunk = (1 - by / square.sqrt()).clamp(min=0.0)
    return torch.where(by == 0, torch.ones_like(square), shrunk)


def _to_target(tau: float, equivariant: Tensor, perp: Tensor) -> Tensor:
    """min(1, τ‖P(W)‖ / (√(1 − τ²) ‖W − P(W)‖)), and 1 where W − P(W) is 0."""
    most = equivariant * (tau / (1 - tau * tau) ** 0.5)
    return torch.where(perp <= most, torch.ones_like(perp), most / perp)


def _summed(squares: dict[str, Tensor]) -> dict[str, Tensor]:
    """The sum over all layers, for each of them on its device."""
    pairs = list(squares.values())
    total = torch.stack([pair.to(pairs[0].device) for pair in pairs]).sum(0) if pairs else None
    return {name: total.to(pair) for name, pair in squares.items() if total is not None}


def _place(layer: Layer, lr: float | Tensor, skip: Tensor | None) -> tuple[int, int, bool] | None:
    """Where the compiled part can take a step of the layer; it reads the learning rate."""
    on_host = skip is None and (not isinstance(lr, Tensor) or lr.device.type == "cpu")
    return layer.place() if on_host else None


def _written(layers: list[Layer]) -> None:
    """The memory was written behind torch's back: its version counter says so to autograd."""
    for layer in layers:
        torch.autograd.graph.increment_version(layer.parameter)


def _numbers(strength: float | Tensor) -> list[float]:
    return strength.reshape(-1).tolist() if isinstance(strength, Tensor) else [float(strength)]


def _scalar(value: float | Tensor, like: Tensor) -> Tensor:
    """A number in f64 on the device of a tensor; without a copy from the host, which a CUDA graph could not capture."""
    if isinstance(value, Tensor):
        return value.to(like.device, torch.float64)
    return torch.full((), value, device=like.device, dtype=torch.float64)
