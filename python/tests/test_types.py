"""The types that users' tools see: the stub of the compiled part, and mypy over package and examples."""

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

from reynolds import _reynolds

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(_reynolds.__file__).parent


def stub_names(body):
    """Name and parameters (name, kind, whether there is a default) of everything that a stub declares; those of classes as `Class.name`."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            if any(isinstance(base, ast.Name) and base.id == "TypedDict" for base in node.bases):
                continue  # a dictionary when it runs
            yield node.name, None
            for name, parameters in stub_names(node.body):
                if name == "__init__":
                    yield node.name, parameters
                else:
                    yield f"{node.name}.{name}", parameters
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, None
        elif isinstance(node, ast.FunctionDef):
            plain = node.args.args
            without = [None] * (len(plain) - len(node.args.defaults))
            found = [(arg.arg, "positional", default is not None) for arg, default in zip(plain, without + node.args.defaults)]
            found += [(arg.arg, "keyword", default is not None) for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults)]
            yield node.name, [one for one in found if one[0] != "self"]


def compiled_names():
    for name, value in vars(_reynolds).items():
        if name.startswith("__") and name != "__version__":
            continue
        yield name, parameters(value) if callable(value) and not isinstance(value, type) else None
        if isinstance(value, type) and value is not _reynolds.Error:
            if value.__text_signature__:
                yield name, parameters(value)
            for member in vars(value):
                if not member.startswith("__"):
                    found = getattr(value, member)
                    yield f"{name}.{member}", parameters(found) if callable(found) else None


def parameters(function):
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword"}
    found = inspect.signature(function).parameters.values()
    return [(one.name, kinds.get(one.kind, "positional"), one.default is not inspect.Parameter.empty) for one in found if one.name != "self"]


def test_the_stub_declares_what_the_compiled_part_has():
    stub = list(stub_names(ast.parse((PACKAGE / "_reynolds.pyi").read_text(encoding="utf-8")).body))
    assert sorted(map(str, stub)) == sorted(map(str, compiled_names()))


def test_package_and_examples_are_typed(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("mypy")
    user = tmp_path / "user.py"
    user.write_text(
        "import torch, reynolds as rn\n"
        "model = torch.nn.Conv2d(1, 4, 3)\n"
        'penalty = rn.Penalty(model, rn.Plan.uniform("C4", "trivial"), lambda_perp="strong")\n'
        "print(penalty.residual() + 1.0, rn.project_(model, 3))\n"
    )
    run = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "python" / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    installed = "site-packages" in PACKAGE.parts
    environment = os.environ if installed else os.environ | {"MYPYPATH": str(PACKAGE.parent)}

    def errors(*what):
        return subprocess.run([*run, *what], capture_output=True, text=True, env=environment).stdout

    assert "Success" in (found := errors("--package", "reynolds")), found
    assert "Success" in (found := errors(*map(str, ROOT.glob("examples/*.py")))), found
    assert (found := errors(str(user))).count("error:") == 2, found
