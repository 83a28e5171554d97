"""The penalty λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² on a PyTorch module, in a training loop that stays as it is."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from . import _reynolds, models
from ._reynolds import Error
from .hooks import Hooks
from .memory import is_direct, place
from .plan import Plan, checked
from .shards import Shard, gathered, is_sharded, refuse
from .tiles import Tiles


@dataclass(frozen=True)
class LayerReport:
    """One penalised layer as it is now."""

    name: str
    #: ‖W‖.
    norm: float
    #: ‖P(W)‖²/‖W‖²: 1 for an equivariant layer.
    energy: float
    #: The energy to expect of random weights: dim Hom_G/dim Hom.
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
        from html import escape

        head = "".join(f"<th>{name}</th>" for name in ("layer", "‖W‖", "energy", "chance", "residual"))
        rows = "".join(
            f"<tr><td>{escape(row.name)}</td><td>{row.norm:.4f}</td><td>{row.energy:.4f}</td><td>{row.chance:.4f}</td><td>{row.residual:.4f}</td></tr>"
            for row in self
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


class _Layer:
    """A parameter that the plan types and on which the group acts."""

    def __init__(self, layers: _reynolds.Layers, number: int, description: _reynolds.LayerRow, parameter: nn.Parameter):
        self.layers, self.number, self.parameter = layers, number, parameter
        self.name = description["name"]
        self.size = description["weights"]
        self.rank = description["rank"]
        self.strength = 1.0
        self.equivariant_since: Tensor | None = None
        self._tiles: Tiles | None = None
        self._direct: tuple[int, int, bool] | None = None
        self._dtype: torch.dtype | None = None
        #: What this process holds, where the parameter is sharded.
        self.shard = Shard(self.name, parameter) if is_sharded(parameter) else None
        #: Whether all shards are needed to project any of them.
        self.gathered = False

    def bind_shard(self, whole: bool) -> bool:
        """Chooses how a sharded parameter is projected; whether its shards cut fields. ``whole``: the norm needs all of it at once."""
        if self.shard is None:
            return False
        cut = self.tiles.cuts(self.shard.boundaries)
        self.gathered = whole or cut
        if not self.gathered:
            self.tiles.keep(self.shard.start, self.shard.end)
        return cut

    def local(self, tensor: Tensor) -> Tensor:
        """The numbers of the parameter, or of its gradient, that this process holds."""
        return tensor.detach() if self.shard is None else self.shard.local(tensor.detach())

    def mine(self, values: Tensor) -> Tensor:
        """Of values that `split` or `weights` led to, those of the numbers that this process holds."""
        return self.shard.mine(values) if self.shard is not None and self.gathered else values

    def weights(self) -> Tensor:
        """What is projected: the parameter, or this process's shard, or all shards gathered."""
        if self.shard is not None and self.gathered:
            return gathered(self.parameter)
        return self.local(self.parameter)

    @property
    def tiles(self) -> Tiles:
        if self._tiles is None:
            self._tiles = Tiles(self.layers, self.number)
        return self._tiles

    def check(self) -> None:
        """What may have changed since the penalty was made."""
        if self.parameter.numel() != self.size:
            raise Error(f"{self.name}: expected {self.size} weights as when the penalty was made, found {self.parameter.numel()}")

    def split(self) -> tuple[Tensor, Tensor]:
        """P(W) and W − P(W) as vectors in f32 or f64."""
        self.check()
        weights = self.weights()
        dtype = torch.float64 if weights.dtype == torch.float64 else torch.float32
        flat = weights.reshape(-1).to(dtype)
        equivariant = self.tiles.project_flat(flat)
        return equivariant, flat - equivariant

    def place(self) -> tuple[int, int, bool] | None:
        """Number, address and type for the compiled part; ``None`` where it cannot work on the weights' memory."""
        parameter, known = self.parameter, self._direct
        # What was checked once is not checked again while it is the same memory.
        same = known is not None and parameter.data_ptr() == known[1] and parameter.dtype is self._dtype
        if not same or parameter.numel() != self.size or not parameter.is_contiguous():
            self._direct = (self.number, *place(self.name, parameter, self.size)) if is_direct(parameter) else None
            self._dtype = parameter.dtype
        return self._direct

    def gradient_address(self) -> int | None:
        """Where the gradient's numbers lie, if they lie as the weights do."""
        grad = self.parameter.grad
        if grad is None or grad.dtype is not self._dtype or not grad.is_contiguous() or grad.layout is not torch.strided:
            return None
        return grad.data_ptr() if grad.device == self.parameter.device and grad.numel() == self.size else None


class Penalty:
    """The penalty of a model's layers.

    ``step="decoupled"`` (default) divides W − P(W) by 1 + 2·lr·λ_⊥ after each step of the optimiser, as AdamW's decay shrinks W: stable at
    every strength. ``step="gradient"`` adds the penalty's gradient before the step, as the paper does. ``target=0.05`` takes the place of
    ``lambda_perp``: it keeps ‖W − P(W)‖ at most at 5 % of ‖W‖, for every layer or for the whole network (``target_scope``).

    ``form``: "squared", λ‖·‖² (default), or "plain", λ‖·‖, whose decoupled step makes whole layers exactly equivariant; ``scale`` multiplies its
    strengths by √(number of weights), so that one value serves layers of all sizes. ``norm``: "frobenius", or with ``step="gradient"`` also
    "spectral", "max" and "(p,q)" with p, q in 1, 2, 3. ``whole``: λ_G is on ‖W‖ in place of ‖P(W)‖. ``strengths`` multiplies both λ of the
    parameters whose name matches a glob: ``{"head.*": 0.1}``; ``exclude`` leaves parameters alone. ``lambda_g`` and ``lambda_perp`` may be set
    between steps, as a schedule does. ``left_out`` says which parameters are not penalised, and why.

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
        model: nn.Module,
        plan: Plan,
        *,
        lambda_perp: float | None = None,
        lambda_g: float = 0.0,
        step: str = "decoupled",
        form: str = "squared",
        norm: str = "frobenius",
        whole: bool = False,
        scale: bool = True,
        target: float | None = None,
        target_scope: str = "layer",
        strengths: Mapping[str, float] | None = None,
        exclude: Iterable[str] = (),
    ):
        if step not in ("decoupled", "gradient"):
            raise Error(f'step: expected "decoupled" or "gradient", got "{step}"')
        if target_scope not in ("layer", "network"):
            raise Error(f'target_scope: expected "layer" or "network", got "{target_scope}"')
        if target is not None and (lambda_perp is not None or lambda_g != 0.0):
            raise Error("target: it takes the place of lambda_perp and lambda_g; expected one or the other, found both")
        if target is not None and step == "gradient":
            raise Error('target: it is a step of its own after the optimiser\'s; expected step="decoupled", found "gradient"')
        if target is not None and not 0.0 <= target < 1.0:
            raise Error(f"target: expected a number from 0 to below 1, got {target}")
        if target is None and lambda_perp is None:
            raise Error("lambda_perp: expected a strength, or a target in its place, found neither")
        self._settings = _reynolds.Settings(form=form, norm=norm, whole=whole, scale=scale)
        self.form, self.norm, self.whole, self.scale = form, norm, whole, scale
        self.step_kind, self.target, self.target_scope = step, target, target_scope
        self.lambda_g = float(lambda_g)
        self.lambda_perp = 0.0 if lambda_perp is None else float(lambda_perp)
        if norm != "frobenius" and step == "decoupled":
            raise Error(f'norm: "{norm}" needs step="gradient"; the decoupled step is known for "frobenius" alone')
        self._settings.check(self.lambda_g, self.lambda_perp, step == "decoupled" and target is None)
        #: Optimiser steps with this penalty so far.
        self.steps = 0
        self._bind(models.unwrapped(model), checked(plan), list(exclude))
        self._set_strengths(strengths or {})
        self._hooks: Hooks | None = None

    def _bind(self, model: nn.Module, plan: Plan, exclude: list[str]) -> None:
        parameters = dict(model.named_parameters())
        # Running statistics beside the parameters are typed with them, but not penalised.
        layers = plan.resolve({name: value for name, value in models.tensors(model).items() if not _matches(name, exclude)})
        self._layers = layers
        self.layers: list[_Layer] = []
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
            layer = _Layer(layers, number, description, parameter)
            twin = next((other.name for other in self.layers if _address(other) == _address(layer) != 0), None)
            if twin is not None:
                raise Error(f"{name}: it shares its memory with {twin}; make them one parameter, or leave one out with exclude")
            if layer.bind_shard(whole=self.norm != "frobenius"):
                warnings.warn(f"{name}: its shards cut fields of {description['codomain']}; the layer is gathered at every step", stacklevel=4)
            self.layers.append(layer)
        if not self.layers:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in list(self.left_out.items())[:3])
            raise Error(f"plan: expected layers on which {layers.group} acts, found none ({reasons})")
        if self.target is not None and self.target_scope == "layer":
            empty = [layer.name for layer in self.layers if layer.rank == 0]
            if empty:
                raise Error(f"target: no equivariant weights but 0 exist for {', '.join(empty)}; leave them out with exclude")

    def _set_strengths(self, strengths: Mapping[str, float]) -> None:
        for pattern, factor in strengths.items():
            chosen = [layer for layer in self.layers if fnmatch.fnmatchcase(layer.name, pattern)]
            if not chosen:
                raise Error(f"strengths: expected a glob that matches a penalised layer, got \"{pattern}\"")
            if not factor >= 0.0 or factor == float("inf"):
                raise Error(f"strengths: expected a finite number, at least 0, for \"{pattern}\", got {factor}")
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

    @torch.no_grad()
    def add_grad_(self, scale: Tensor | float = 1.0, *, only: Callable[[_Layer], bool] | None = None) -> None:
        """Adds ``scale`` times the penalty's gradient to the gradients of the parameters: for loops that clip gradients after it."""
        direct = []
        as_it_is = not isinstance(scale, Tensor) and scale == 1.0
        chosen = self._chosen(only)
        squares = self._squares(chosen) if self.form == "plain" else {}
        for layer in chosen:
            grad = layer.parameter.grad
            if grad is None:
                continue
            at = layer.place() if as_it_is else None
            address = layer.gradient_address() if at is not None else None
            if at is not None and address is not None:
                direct.append((at[0], at[1], address, at[2], self.lambda_g * layer.strength, self.lambda_perp * layer.strength))
            else:
                local = layer.local(grad)
                local.add_(self._gradient(layer, squares.get(layer.name)).reshape(local.shape).to(local.dtype) * scale)
        if direct:
            self._settings.add_gradient(self._layers, direct)

    @torch.no_grad()
    def step_(self, lr: float | Tensor, *, only: Callable[[_Layer], bool] | None = None) -> None:
        """The decoupled step with learning rate ``lr``, after the optimiser's own: for loops without ``attach``."""
        self._decoupled([(layer, lr) for layer in self._chosen(only)], None)
        self.steps += 1

    def _chosen(self, only: Callable[[_Layer], bool] | None) -> list[_Layer]:
        return [layer for layer in self.layers if only is None or only(layer)]

    def _strengths(self, layer: _Layer) -> tuple[float, float]:
        return self.lambda_g * layer.strength, self.lambda_perp * layer.strength

    def _decoupled(self, layers: list[tuple[_Layer, float | Tensor]], skip: Tensor | None) -> None:
        """Shrinks each of the layers with its learning rate; nothing where ``skip`` is 1 (a step that a gradient scaler passed over)."""
        if self.target is not None and self.target_scope == "network":
            self._to_network_target([layer for layer, _ in layers], skip)
            return
        direct, jobs = [], []
        squares = self._squares([layer for layer, _ in layers]) if self.form == "plain" or self.target is not None else {}
        for layer, lr in layers:
            on_host = skip is None and (not isinstance(lr, Tensor) or lr.device.type == "cpu")
            at = layer.place() if on_host else None
            if at is None:
                self._shrink(layer, lr, skip, squares.get(layer.name))
            else:
                direct.append(layer)
                jobs.append((*at, float(lr), self.lambda_g * layer.strength, self.lambda_perp * layer.strength))
        if not direct:
            return
        if self.target is not None:
            _reynolds.Settings.target(self._layers, self.target, False, [job[:3] for job in jobs])
        else:
            factors = self._settings.decoupled(self._layers, jobs)
            if self.form == "plain":
                for layer, (_, perp) in zip(direct, factors):
                    self._note(layer, torch.tensor(perp))
        for layer in direct:
            # The memory was written behind torch's back: its version counter says so to autograd.
            torch.autograd.graph.increment_version(layer.parameter)

    def _shrink(self, layer: _Layer, lr: float | Tensor, skip: Tensor | None, squares: Tensor | None = None) -> None:
        equivariant, perp = layer.split()
        if self.target is not None:
            norms = (_pair(equivariant, perp) if squares is None else squares).sqrt()
            on_equivariant, on_perp = torch.ones((), device=perp.device), _to_target(self.target, norms[0], norms[1]).to(perp)
        else:
            on_equivariant, on_perp = self._factors(layer, equivariant, perp, lr, squares)
            self._note(layer, on_perp if skip is None else torch.where(skip > 0, torch.ones_like(on_perp), on_perp))
        _write(layer, equivariant * on_equivariant + perp * on_perp, skip, unchanged=(on_equivariant == 1) & (on_perp == 1))

    def _to_network_target(self, layers: list[_Layer], skip: Tensor | None) -> None:
        assert self.target is not None
        places = [layer.place() for layer in layers]
        direct = [at for at in places if at is not None]
        if skip is None and len(direct) == len(layers):
            _reynolds.Settings.target(self._layers, self.target, True, direct)
            for layer in layers:
                torch.autograd.graph.increment_version(layer.parameter)
            return
        parts = [layer.split() for layer in layers]
        pairs = _over_shards(layers, [_pair(*part) for part in parts])
        norms = torch.stack([pair.to(pairs[0].device) for pair in pairs]).sum(0).sqrt()
        factor = _to_target(self.target, norms[0], norms[1])
        for layer, (equivariant, perp) in zip(layers, parts):
            on_perp = factor.to(perp)
            _write(layer, equivariant + perp * on_perp, skip, unchanged=on_perp == 1)

    def _squares(self, layers: list[_Layer]) -> dict[str, Tensor]:
        """‖P(W)‖² and ‖W − P(W)‖² of every sharded layer, with one all-reduce."""
        sharded = [layer for layer in layers if layer.shard is not None and not layer.gathered]
        pairs = _over_shards(sharded, [_pair(*layer.split()) for layer in sharded])
        return {layer.name: pair for layer, pair in zip(sharded, pairs)}

    def _factors(
        self, layer: _Layer, equivariant: Tensor, perp: Tensor, lr: float | Tensor, squares: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """What the proximal map multiplies the two parts by: see `Proximal::factors` of the core."""
        lambda_g, lambda_perp = self._strengths(layer)
        rate = torch.as_tensor(lr, device=perp.device, dtype=torch.float64)
        if self.form == "squared":
            shared = lambda_g if self.whole else 0.0
            return (1 / (1 + 2 * rate * lambda_g)).to(perp), (1 / (1 + 2 * rate * (lambda_perp + shared))).to(perp)
        if self.scale:
            lambda_g *= (layer.size if self.whole else layer.rank) ** 0.5
            lambda_perp *= (layer.size - layer.rank) ** 0.5
        first, second = _pair(equivariant, perp) if squares is None else squares
        on_perp = _threshold(second, rate * lambda_perp)
        if self.whole:
            of_all = _threshold(first + on_perp.square() * second, rate * lambda_g)
            return of_all.to(perp), (of_all * on_perp).to(perp)
        return _threshold(first, rate * lambda_g).to(perp), on_perp.to(perp)

    def _note(self, layer: _Layer, on_perp: Tensor) -> None:
        """Since when a layer has been exactly equivariant; −1 where it is not."""
        if self.form != "plain" or self.lambda_perp == 0.0:
            return
        before = layer.equivariant_since
        if before is None or before.device != on_perp.device:
            before = torch.full((), -1, device=on_perp.device) if before is None else before.to(on_perp.device)
        now = torch.where(before < 0, torch.full_like(before, self.steps), before)
        layer.equivariant_since = torch.where(on_perp == 0, now, torch.full_like(before, -1))

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
        return torch.stack([value.to(values[0].device) for value in values]).sum()

    def _value(self, layer: _Layer, squares: Tensor | None = None) -> Tensor:
        lambda_g, lambda_perp = self._strengths(layer)
        at = layer.place()
        if at is not None or self.norm != "frobenius":
            device = layer.parameter.device
            if at is None:
                host = layer.weights().cpu().double().contiguous()
                at = (layer.number, *place(layer.name, host, layer.size))
            found = self._settings.values(self._layers, [(*at, lambda_g, lambda_perp)])[0]
            return torch.tensor(found, dtype=torch.float64, device=device)
        pair = _pair(*layer.split()) if squares is None else squares
        both = torch.stack([pair.sum() if self.whole else pair[0], pair[1]])
        if self.form == "plain":
            both = (both + self._smoothing(layer, pair.sum())).sqrt()
        return torch.add(both[0] * lambda_g, both[1] * lambda_perp)

    def _smoothing(self, layer: _Layer, total: Tensor) -> Tensor:
        epsilon = torch.finfo(torch.float64 if layer.parameter.dtype == torch.float64 else torch.float32).eps
        kappa = 32 * epsilon * (layer.size / max(layer.rank, 1)) ** 0.5
        return torch.clamp(total * kappa**2, min=1e-12)

    def _gradient(self, layer: _Layer, squares: Tensor | None = None) -> Tensor:
        """The penalty's gradient by the weights of a layer, as a vector; by those of this process, where it is sharded."""
        lambda_g, lambda_perp = self._strengths(layer)
        if layer.place() is not None or self.norm != "frobenius":
            weights = layer.weights()
            dtype = torch.float64 if weights.dtype == torch.float64 else torch.float32
            host = weights.to("cpu", dtype).contiguous()
            gradient = torch.zeros_like(host)
            number, address, double = (layer.number, *place(layer.name, host, layer.size))
            job = (number, address, place(layer.name, gradient, layer.size)[0], double, lambda_g, lambda_perp)
            self._settings.add_gradient(self._layers, [job])
            return layer.mine(gradient.reshape(-1).to(weights.device))
        equivariant, perp = layer.split()
        on_first: Tensor | float = 2 * lambda_g
        on_perp: Tensor | float = 2 * lambda_perp
        if self.form == "plain":
            both = _pair(equivariant, perp) if squares is None else squares
            smoothing = self._smoothing(layer, both[0] + both[1])
            first = both[0] + both[1] if self.whole else both[0]
            on_first = (lambda_g / (first + smoothing).sqrt()).to(perp)
            on_perp = (lambda_perp / (both[1] + smoothing).sqrt()).to(perp)
        return layer.mine(equivariant * on_first + perp * (on_perp + (on_first if self.whole else 0)))

    @torch.no_grad()
    def energies(self) -> dict[str, tuple[Tensor, Tensor]]:
        """‖P(W)‖² and ‖W − P(W)‖² of every layer, as scalars on its device; does not wait for the GPU. Sharded layers: one all-reduce."""
        found = {}
        squares = self._squares(self.layers)
        for layer in self.layers:
            at = layer.place()
            if at is not None:
                pair = torch.tensor(self._layers.energies([at])[0], dtype=torch.float64)
            else:
                pair = squares[layer.name] if layer.name in squares else _pair(*layer.split())
            found[layer.name] = (pair[0], pair[1])
        return found

    def residual(self) -> float:
        """‖W − P(W)‖/‖W‖ of all penalised layers together."""
        both = [[float(part) for part in parts] for parts in self.energies().values()]
        perp, total = sum(part[1] for part in both), sum(sum(part) for part in both)
        return float((perp / total) ** 0.5) if perp > 0 else 0.0

    def report(self) -> Report:
        """Every penalised layer as it is now."""
        rows = Report(self.left_out)
        for layer, (equivariant, perp) in zip(self.layers, self.energies().values()):
            first, second = float(equivariant), float(perp)
            total = first + second
            since = -1 if layer.equivariant_since is None else int(layer.equivariant_since)
            rows.append(
                LayerReport(
                    layer.name,
                    total**0.5,
                    first / total if total > 0 else 1.0,
                    layer.rank / layer.size,
                    (second / total) ** 0.5 if second > 0 else 0.0,
                    since if since >= 0 else None,
                )
            )
        return rows

    def metrics(self) -> dict[str, float]:
        """A flat dictionary for any logger."""
        named = {f"reynolds/residual/{row.name}": row.residual for row in self.report()}
        return {"reynolds/penalty": float(self.value()), "reynolds/residual": self.residual(), **named}

    # Checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Strengths, steps and since when layers have been equivariant, for a checkpoint."""
        since = {layer.name: int(layer.equivariant_since) for layer in self.layers if layer.equivariant_since is not None}
        strengths = {layer.name: layer.strength for layer in self.layers}
        return {
            "lambda_g": self.lambda_g,
            "lambda_perp": self.lambda_perp,
            "target": self.target,
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
        for layer in self.layers:
            layer.strength = state["strengths"][layer.name]
            since = state["equivariant_since"].get(layer.name)
            layer.equivariant_since = None if since is None else torch.tensor(since)

    def __repr__(self) -> str:
        strength = f"target={self.target}" if self.target is not None else f"lambda_g={self.lambda_g}, lambda_perp={self.lambda_perp}"
        return f"Penalty({self._layers.group}, {len(self.layers)} layers, {strength}, step={self.step_kind!r}, form={self.form!r})"


class _Differentiable(torch.autograd.Function):
    """The penalty with its closed-form gradient."""

    @staticmethod
    def forward(ctx: Any, penalty: Penalty, *parameters: Tensor) -> Tensor:
        ctx.save_for_backward(*[penalty._gradient(layer) for layer in penalty.layers])
        ctx.shapes = [(parameter.shape, parameter.dtype) for parameter in parameters]
        return penalty.value().to(parameters[0].dtype)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:  # type: ignore[override,unused-ignore]
        gradients = [(gradient * slope.to(gradient)).reshape(shape).to(dtype) for gradient, (shape, dtype) in zip(ctx.saved_tensors, ctx.shapes)]
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


def _write(layer: _Layer, values: Tensor, skip: Tensor | None, unchanged: Tensor) -> None:
    """Writes new weights, but none where nothing changes: the bits stay then."""
    weights = layer.local(layer.parameter)
    new = layer.mine(values).reshape(weights.shape).to(weights.dtype)
    keep = unchanged if skip is None else unchanged | (skip.to(unchanged.device) > 0)
    weights.copy_(torch.where(keep, weights, new))


def _pair(equivariant: Tensor, perp: Tensor) -> Tensor:
    """Both sums of squares in f64."""
    return torch.stack([equivariant.double().square().sum(), perp.double().square().sum()])


def _over_shards(layers: list[_Layer], pairs: list[Tensor]) -> list[Tensor]:
    """Sums over the processes that share a layer; one all-reduce for all layers that the same processes share."""
    groups: dict[Any, list[int]] = {}
    for number, layer in enumerate(layers):
        if layer.shard is not None and layer.shard.group is not None and not layer.gathered:
            groups.setdefault(layer.shard.group, []).append(number)
    for group, numbers in groups.items():
        together = torch.stack([pairs[number] for number in numbers])
        torch.distributed.all_reduce(together, group=group)
        for number, pair in zip(numbers, together):
            pairs[number] = pair
    return pairs


def _address(layer: _Layer) -> int:
    return layer.local(layer.parameter).data_ptr()
