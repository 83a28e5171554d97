"""A plan from a module: which fields flow through it, followed along the graph of its forward pass."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.overrides import TorchFunctionMode

from . import _reynolds, models
from ._reynolds import Error

_POINTWISE = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish, nn.Sigmoid, nn.Tanh, nn.Hardtanh, nn.Hardswish,
    nn.Softplus, nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d,
)  # fmt: skip
_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm, nn.GroupNorm, nn.LayerNorm)
_CONVOLUTIONS = (nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose2d, nn.ConvTranspose3d)


class _Recorder(TorchFunctionMode):
    """The graph of one forward pass, recorded while it runs: branches and checks of types are taken as they are for the example."""

    def __init__(self, model: nn.Module, example: Tensor):
        self.graph, self.root = fx.Graph(), Tracer()
        self.nodes: dict[int, fx.Node] = {}
        self.alive: list[Tensor] = []  # an address must not be used again
        self.inside = 0
        self._note(example, self.graph.placeholder("x"))
        handles = []
        for name, module in model.named_modules():
            if name and self.root.is_leaf_module(module, name):
                handles.append(module.register_forward_pre_hook(self._enter))
                handles.append(module.register_forward_hook(functools.partial(self._leave, name), with_kwargs=True, always_call=True))
        try:
            with torch.no_grad(), self:
                model(example)
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: Any) -> None:
        self.inside += 1

    def _leave(self, name: str, module: nn.Module, args: Any, kwargs: Any, out: Any) -> None:
        self.inside -= 1
        if self.inside == 0 and out is not None:
            self._note(out, self.graph.call_module(name, *self._nodes(args, kwargs)))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.inside == 0:
            of_nodes = self._nodes(args, kwargs or {})
            if any(isinstance(value, fx.Node) for value in torch.utils._pytree.tree_leaves(of_nodes)):
                self._note(out, (func, of_nodes))
        return out

    def _nodes(self, args: Any, kwargs: Any) -> Any:
        def node(value: Any) -> Any:
            return self.nodes.get(id(value)) if isinstance(value, Tensor) else value

        return torch.utils._pytree.tree_map(node, (tuple(args), dict(kwargs)))

    def _note(self, out: Any, node: Any) -> None:
        for value in torch.utils._pytree.tree_leaves(out):
            if isinstance(value, Tensor):
                made = node if isinstance(node, fx.Node) else self.graph.create_node("call_function", node[0], *node[1])
                made.meta.setdefault("tensor_meta", value)
                self.nodes[id(value)] = made
                self.alive.append(value)


class Tracer(fx.Tracer):
    """Does not look into users' own kinds of known layers."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, _CONVOLUTIONS + _TRANSPOSED + _NORMS + (nn.Linear,)) or super().is_leaf_module(m, module_qualified_name)


@dataclass(frozen=True)
class _Fields:
    """The fields of a tensor's channels, and the axis on which they lie."""

    text: str
    axis: int


class Inference:
    """Walks the graph of a module and writes a rule for every layer whose fields are known."""

    def __init__(self, model: nn.Module, group: str, input: str, fields: str, output: str | None, example: Tensor | None):
        if fields not in ("regular", "trivial"):
            raise Error(f'fields: expected "regular" or "trivial" for the layers inside, found "{fields}"')
        self.model, self.group, self.fields, self.output = models.unwrapped(model), group, fields, output
        self.order = len(_reynolds.channel_matrices(group, "1 trivial")[1])
        self.input = input
        self.rules: list[str] = []
        self.warnings: list[str] = []
        self.graph = self._graph(example)
        self.seen: set[str] = set()
        self.last: str | None = None

    def _graph(self, example: Tensor | None) -> fx.Graph:
        mode = self.model.training
        self.model.eval()
        try:
            if example is not None:
                return _Recorder(self.model, example).graph
            return Tracer().trace(self.model)
        except Exception as error:
            what = "it cannot be run on the example" if example is not None else "torch.fx cannot trace its forward pass; give an example input"
            raise Error(f"model: {what} ({error}); write a plan by hand: Plan.suggest starts one") from error
        finally:
            self.model.train(mode)

    def text(self) -> str:
        """The plan in TOML."""
        known: dict[fx.Node, _Fields | None] = {}
        for node in self.graph.nodes:
            if node.op == "placeholder":
                known[node] = _Fields(self.input, 1) if not known else None
            elif node.op == "call_module":
                known[node] = self._module(node, known)
            elif node.op in ("call_function", "call_method"):
                known[node] = self._function(node, known)
        if not self.rules:
            raise Error(f"model: expected layers whose fields are known, found none ({'; '.join(self.warnings[:3])})")
        comments = "".join(f"# {warning}\n" for warning in self.warnings)
        return f'{comments}group = "{self.group}"\n' + "".join(self.rules)

    def _inside(self, channels: int) -> str:
        """The fields of so many channels inside the network."""
        if self.fields == "regular" and channels % self.order == 0:
            return f"{channels // self.order} regular"
        return f"{channels} trivial"

    def _is_last(self, node: fx.Node) -> bool:
        """Whether nothing with weights follows."""
        todo, done = list(node.users), set()
        while todo:
            user = todo.pop()
            if user in done:
                continue
            done.add(user)
            if user.op == "call_module" and any(True for _ in self.model.get_submodule(str(user.target)).parameters()):
                return False
            todo.extend(user.users)
        return True

    def _fits(self, name: str, given: _Fields, channels: int) -> None:
        """That the fields of a layer's input have as many channels as the layer takes."""
        found = _reynolds.field_dimension(self.group, given.text)
        if found != channels:
            raise Error(f'{name}: expected an input of {channels} channels, found "{given.text}", which has {found}')

    def _rule(self, name: str, **keys: Any) -> None:
        escaped = "".join("\\\\" + c if c in "*?[]{}\\" else c for c in name)
        lines = "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())
        self.rules.append(f'\n[[layer]]\nname = "{escaped}"\n{lines}')

    def _module(self, node: fx.Node, known: dict[fx.Node, _Fields | None]) -> _Fields | None:
        name = str(node.target)
        module = self.model.get_submodule(name)
        given = next((known.get(arg) for arg in (*node.args, *node.kwargs.values()) if isinstance(arg, fx.Node)), None)
        repeated = name in self.seen
        self.seen.add(name)
        if repeated and any(True for _ in module.parameters()):
            self.warnings.append(f"{name}: used more than once; its fields are those of the first use")
        if isinstance(module, _CONVOLUTIONS + _TRANSPOSED):
            return self._convolution(node, name, module, given, repeated)
        if isinstance(module, nn.Linear):
            return self._linear(node, name, module, given, repeated)
        if isinstance(module, _NORMS):
            self._norm(name, module, given, repeated)
            return given
        if isinstance(module, nn.PReLU):
            if given is not None and not repeated and module.num_parameters > 1:
                self._rule(f"{name}.weight", kind="scale", codomain=given.text)
            return given
        if isinstance(module, _POINTWISE) or type(module).__name__ in ("StochasticDepth", "DropPath"):
            return given
        if isinstance(module, nn.Flatten):
            return self._flattened(node, given)
        if any(True for _ in module.parameters()):
            self.warnings.append(f"{name}: {type(module).__name__} is not known; its parameters are left alone")
            return None
        # Pooling, upsampling, padding: the channels stay.
        return given

    def _convolution(self, node: fx.Node, name: str, module: Any, given: _Fields | None, repeated: bool) -> _Fields:
        last = self.output is not None and self._is_last(node)
        codomain = self.output if last and self.output else self._inside(module.out_channels)
        after = _Fields(codomain, 1)
        if given is None or repeated:
            if given is None:
                self.warnings.append(f"{name}: the fields of its input are not known; left alone")
            return after
        domain = given.text
        self._fits(name, given, module.in_channels)
        if module.groups > 1:
            if self.fields == "trivial":
                domain, codomain = f"{module.weight.shape[1]} trivial", f"{module.weight.shape[0]} trivial"
            else:
                self.warnings.append(f"{name}: a convolution in {module.groups} groups mixes no channels of a regular field; left alone")
                return after
        sizes: dict[str, Any] = {}
        if isinstance(module, _TRANSPOSED):
            # Its weight is that of the adjoint map: [in, out, k…].
            self._rule(f"{name}.weight", domain=codomain, codomain=domain, bias=False)
            if module.bias is not None:
                self._rule(f"{name}.bias", kind="bias", codomain=codomain)
            return after
        if isinstance(module.padding, tuple) and len(set(module.padding)) == 1 and len(set(module.stride)) == 1:
            sizes = {"stride": module.stride[0], "padding": module.padding[0]}
            meta = next((arg.meta.get("tensor_meta") for arg in node.args if isinstance(arg, fx.Node)), None)
            if meta is not None and len(set(meta.shape[2:])) == 1:
                sizes["input"] = meta.shape[2]
        self._rule(f"{name}.weight", domain=domain, codomain=codomain, **sizes)
        return after

    def _linear(self, node: fx.Node, name: str, module: nn.Linear, given: _Fields | None, repeated: bool) -> _Fields | None:
        last = self._is_last(node)
        codomain = self.output if last and self.output else (f"{module.out_features} trivial" if last else self._inside(module.out_features))
        axis = given.axis if given is not None else 1
        if given is None or repeated:
            if given is None:
                self.warnings.append(f"{name}: the fields of its input are not known (pixels flattened into channels?); left alone")
            return None if given is None and not last else _Fields(codomain, axis)
        self._fits(name, given, module.in_features)
        self._rule(f"{name}.weight", domain=given.text, codomain=codomain)
        return _Fields(codomain, axis)

    def _norm(self, name: str, module: Any, given: _Fields | None, repeated: bool) -> None:
        if given is None or repeated:
            return
        for part, kind in (("weight", "scale"), ("bias", "bias"), ("running_mean", "bias"), ("running_var", "scale")):
            value = getattr(module, part, None)
            if value is not None and value.dim() == 1:
                self._rule(f"{name}.{part}", kind=kind, codomain=given.text)

    def _flattened(self, node: fx.Node, given: _Fields | None) -> _Fields | None:
        found = [arg.meta.get("tensor_meta") for arg in (node, *node.args) if isinstance(arg, fx.Node)]
        shapes = [meta.shape for meta in found if meta is not None]
        if given is None or len(shapes) < 2:
            if given is not None:
                self.warnings.append(f"{node.name}: give an example input, so that it is known whether only channels are left here")
            return None
        return _Fields(given.text, 1) if shapes[0][1] == shapes[1][given.axis] else None

    def _function(self, node: fx.Node, known: dict[fx.Node, _Fields | None]) -> _Fields | None:
        name = (node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))).strip("_")
        if name in ("cat", "concat"):
            first = node.args[0]
            parts = [known.get(arg) if isinstance(arg, fx.Node) else None for arg in first] if isinstance(first, (list, tuple)) else []
            if not parts or any(part is None for part in parts):
                return None
            return _Fields(" + ".join(part.text for part in parts if part is not None), 1)
        tensors = [arg for arg in node.args if isinstance(arg, fx.Node) and arg in known]
        if not tensors:
            return None
        given = [known[arg] for arg in tensors]
        if name in ("add", "iadd", "radd", "sub", "isub", "rsub", "mul", "imul", "rmul"):
            texts = sorted({fields.text for fields in given if fields is not None})
            if len(texts) > 1:
                self.warnings.append(f"{node.name}: {' and '.join(texts)} are added; their symmetry is lost")
            return given[0] if len(texts) == 1 and None not in given else None
        of_first = known[tensors[0]]
        if of_first is None:
            return None
        if name == "permute":
            order = [arg for arg in node.args[1:] if isinstance(arg, int)] or list(node.args[1])  # type: ignore[arg-type]
            return _Fields(of_first.text, order.index(of_first.axis))
        if name in ("flatten", "view", "reshape", "mean", "squeeze"):
            return self._flattened(node, of_first)
        sizes = [meta.shape[of_first.axis : of_first.axis + 1] for meta in (arg.meta.get("tensor_meta") for arg in (node, tensors[0])) if meta is not None]
        # A part of the channels has other fields.
        return of_first if len(sizes) < 2 or sizes[0] == sizes[1] else None


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f'"{value}"'
