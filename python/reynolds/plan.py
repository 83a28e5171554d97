"""Plans: which fields the channels of each layer hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from . import _reynolds, models, show
from .memory import place

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def checked(plan: Any) -> Plan:
    """The plan itself, or an error that says what a plan is."""
    if not isinstance(plan, Plan):
        raise _reynolds.Error(f'plan: expected a Plan, such as Plan.uniform("C4", "trivial"), found {type(plan).__name__} {plan!r}')
    return plan


class Plan:
    """A group, and for every layer the fields of its input and output channels.

    >>> plan = Plan.from_toml('''
    ... group = "C4"
    ... [[layer]]
    ... name = "body.*.weight"
    ... domain = "2 regular"
    ... codomain = "2 regular"
    ... ''')
    >>> plan.group
    'C4'
    """

    def __init__(self, plan: _reynolds.Plan, name: str, text: str | None = None):
        self._plan = plan
        self._text = text
        #: What the plan takes the channels for, as audits name it.
        self.name = name
        #: After `Plan.infer`: the layers that it left alone, and the strides that break the symmetry at the example's size.
        self.warnings: list[str] = []

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """A plan in TOML, as the command line reads it: docs/plans.md has every key."""
        return cls(_reynolds.Plan.from_toml(text), "plan", text)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Plan:
        """A plan in a TOML file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return cls(_reynolds.Plan.from_toml(text), f"plan {os.fspath(path)}", text)

    @classmethod
    def uniform(cls, group: str, fields: str) -> Plan:
        """All convolutions alike: ``fields="trivial"`` takes every channel for a scalar, ``"regular"`` for a part of a regular field.

        >>> Plan.uniform("C4", "regular").group
        'C4'
        """
        return cls(_reynolds.Plan.uniform(group, fields), fields)

    @classmethod
    def suggest(cls, model: Any, group: str) -> Plan:
        """A plan to start from: regular fields where the channels of a layer split into them, scalars elsewhere. Fields are a guess; print
        ``plan.to_toml()`` and edit it."""
        text = _reynolds.Plan.suggest(group, models.shapes(models.tensors(model)))
        return cls.from_toml(text)

    @classmethod
    def infer(
        cls,
        model: Any,
        group: str,
        input: str,
        fields: str = "regular",
        output: str | None = None,
        example: Any = None,
    ) -> Plan:
        """A plan for a torch module, from the graph of its forward pass.

        ``input`` and ``output`` are the fields of its input and output ("3 trivial", "10 trivial"); inside, channels are ``fields``
        ("regular" where their number allows it, or "trivial"). With an ``example`` input sizes are known: strides that break the symmetry
        at that size stand in ``plan.warnings``, and linear layers after a Flatten get fields. So do layers that were left alone, with the
        reason.
        """
        from .infer import Inference

        for what, text in (("group", group), ("input", input), ("fields", fields)):
            if not isinstance(text, str):
                raise _reynolds.Error(f'{what}: expected text, such as {"C4" if what == "group" else "3 trivial"}, found {type(text).__name__}')
        if not models.is_module(model):
            raise _reynolds.Error(f"model: expected a torch module, found {type(model).__name__}")

        inference = Inference(model, group, input, fields, output, example)
        plan = cls.from_toml(inference.text())
        plan.name = "inferred"
        rows = plan.resolve(models.tensors(model)).describe()
        plan.warnings = inference.warnings + [f"{row['name']}: {warning}" for row in rows for warning in row["warnings"]]
        return plan

    @classmethod
    def from_escnn(cls, module: Any) -> Plan:
        """The plan of ``module.export()``, for an equivariant module of escnn with trivial and regular fields of C2, C4, D2 or D4."""
        from itertools import groupby

        rules, groups = [], set()
        for name, part in module.named_modules():
            before, after, kind = getattr(part, "in_type", None), getattr(part, "out_type", None), type(part).__name__
            if before is None or kind not in ("R2Conv", "InnerBatchNorm"):
                continue

            def fields(of: Any, name: str = name) -> str:
                groups.add(str(of.gspace.fibergroup.name))
                runs = groupby("trivial" if one.is_trivial() else one.name for one in of.representations)
                counted = [(kind, len(list(copies))) for kind, copies in runs]
                other = [kind for kind, _ in counted if kind not in ("trivial", "regular")]
                if other:
                    raise _reynolds.Error(f"{name}: expected trivial and regular fields, found {other[0]}, whose basis in escnn is another than ours")
                return " + ".join(f"{count} {kind}" for kind, count in counted)

            prefix = f"{name}." if name else ""
            if kind == "R2Conv":
                rules.append(f'name = "{prefix}weight"\ndomain = "{fields(before)}"\ncodomain = "{fields(after)}"\n')
            else:
                parts = {"weight": "scale", "bias": "bias", "running_mean": "bias", "running_var": "scale"}
                rules += [f'name = "{prefix}{part}"\nkind = "{role}"\ncodomain = "{fields(after)}"\n' for part, role in parts.items()]
        if len(groups) != 1:
            raise _reynolds.Error(f"module: expected convolutions of escnn over one group, found {', '.join(sorted(groups)) or 'none'}")
        plan = cls.from_toml(f'group = "{groups.pop()}"\n' + "".join(f"[[layer]]\n{rule}" for rule in rules))
        plan.name = "escnn"
        return plan

    def restricted_to(self, subgroup: str) -> Plan:
        """The same fields, projected onto a subgroup."""
        return Plan(self._plan.restricted_to(subgroup), self.name)

    @property
    def group(self) -> str:
        """The group of the fields."""
        return self._plan.group

    def to_toml(self) -> str:
        """The text of the plan; a uniform plan has none, since it names no layer."""
        if self._text is None:
            raise _reynolds.Error(f"plan: expected one of rules, found one with {self.name} fields for all layers; Plan.suggest writes rules")
        return self._text

    def resolve(self, named: Mapping[str, Any]) -> _reynolds.Layers:
        """The plan applied to these tensors."""
        return self._plan.resolve(models.shapes(named))

    def plot(self, model: Any, layer: str | None = None, count: int = 12) -> Figure:
        """The first kernels of a layer (of the first convolution without ``layer``), their projections and what is left."""
        named = models.tensors(model)
        layers = self.resolve(named)
        for number, row in enumerate(layers.describe()):
            if row["name"] == layer or layer is None and len(row["shape"]) > 3:
                weights = models.to_array(named[row["name"]])
                projected = weights.copy()
                layers.project_([(number, *place(row["name"], projected, row["weights"]))])
                if weights.ndim < 4:
                    raise _reynolds.Error(f"{row['name']}: expected a convolution, found shape {list(weights.shape)}")
                return show.kernels(row["name"], weights, projected, count)
        raise _reynolds.Error(f"layer: expected a convolution that the plan types, found none named {layer}" if layer else "plan: it types no convolution")

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>" + (f"<pre>{escape(self._text)}</pre>" if self._text else "") + "".join(f"<p>{escape(text)}</p>" for text in self.warnings)

    def __repr__(self) -> str:
        return f"Plan({self.group}, {self.name})"
