"""Tiny checkpoints as PyTorch, numpy and safetensors write them, and what they hold.

Writes golden/checkpoints/*.{pt,pth,npz,safetensors}; golden/checkpoints/expected.json lists for each file the tensors in order, with
shape, type, and values as text (null for types that are not read; real and imaginary parts in turn for complex ones). Needs torch, numpy and safetensors: peers/.venv/bin/python
golden/checkpoints.py
"""

import argparse
import collections
import datetime
import json
import pathlib
import random

import numpy as np
import safetensors.torch
import torch

FOLDER = pathlib.Path(__file__).parent / "checkpoints"
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.complex64: "c64", torch.complex128: "c128"}
generator = torch.Generator().manual_seed(20261115)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def written(values):
    """Doubles as the shortest decimals that read back equal, in one text: JSON readers may round numbers otherwise."""
    return " ".join(map(repr, values))


def described(name, tensor):
    """Name, shape, type and values of a torch tensor."""
    real = torch.view_as_real(tensor.detach().resolve_conj()) if tensor.is_complex() else tensor.detach()
    values = written(real.double().reshape(-1).tolist()) if tensor.dtype in NAMES else None
    return {"name": name, "shape": list(tensor.shape), "dtype": NAMES.get(tensor.dtype, "other"), "values": values}


def flattened(value, path=()):
    """The rule of names: keys and indices joined with a full stop."""
    if isinstance(value, torch.Tensor):
        yield described(".".join(path) or "tensor", value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flattened(item, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from flattened(item, (*path, str(index)))


class Settings(argparse.Namespace):
    """A class of the user's own, whose objects hold each other."""


class Options(dict):
    """A dictionary with another name."""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3)
        self.norm = torch.nn.BatchNorm2d(3)
        self.head = torch.nn.Linear(3, 2)


def torch_files():
    torch.manual_seed(3)
    net = Net()
    yield "state_dict.pt", net.state_dict()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.head(net.norm(net.conv(normal(2, 2, 5, 5))).mean((2, 3))).sum().backward()
    optimiser.step()
    nested = {"epoch": 3, "state_dict": net.state_dict(), "optimizer": optimiser.state_dict(), "loss": 0.25, "name": "réseau",
              "best": None, "device": torch.device("cpu"), "sizes": torch.Size([2, 3]), "pair": (normal(2), [normal(1)])}
    yield "nested.pth", nested
    yield "dtypes.pt", {
        "single": normal(2, 3), "double": normal(2, 3, dtype=torch.float64), "half": normal(5, dtype=torch.float16),
        "brain": normal(5, dtype=torch.bfloat16), "long": torch.arange(4), "bool": torch.tensor([True, False]),
        "byte": torch.arange(3, dtype=torch.uint8), "complex": torch.ones(2, dtype=torch.complex64),
        "uint16": torch.arange(3).to(torch.uint16), "scalar": torch.tensor(1.5), "empty": torch.zeros(0, 3),
        "parameter": torch.nn.Parameter(normal(2, 2)),
    }
    base = normal(4, 6)
    tied = normal(3, 2)
    yield "views.pt", {
        "transposed": base.t(), "left": base[:, :3], "right": base[:, 3:], "every_other": base[::2, 1::2],
        "permuted": normal(2, 3, 4).permute(2, 0, 1), "expanded_one": normal(1, 3).expand(1, 3),
        "last": normal(7)[5:], "channels_last": normal(2, 3, 2, 2).to(memory_format=torch.channels_last),
    }
    yield "tied.pt", {"embedding.weight": tied, "decoder.weight": tied, "other": normal(2)}
    yield "tensor.pt", normal(2, 2)
    columns = normal(4, 6)
    yield "columns.pt", {"left": columns[:, :3], "right": columns[:, 3:], "expanded": normal(1).expand(4)}


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(normal(3))


def surrounded():
    """Weights beside what training scripts keep."""
    np.random.seed(3)
    random.seed(3)
    torch.manual_seed(3)
    settings = Settings(lr=1e-3, data=pathlib.PurePosixPath("data/train"), started=datetime.datetime(2026, 11, 15, 12, 30))
    settings.itself = settings
    return {
        "state_dict": collections.OrderedDict(weight=normal(2, 3), bias=normal(2)), "args": settings,
        "mean": np.float32([0.5, 0.25]), "steps": np.arange(3), "best": np.float64(0.5), "options": Options(depth=3, shift=normal(2)),
        "rng": {"torch": torch.get_rng_state()[:4].clone(), "numpy": np.random.get_state(), "python": random.getstate()},
        "complex": torch.complex(normal(2, 2), normal(2, 2)).t(), "shape": {(1, 2): {"text": "x"}},
    }


def module():
    torch.manual_seed(4)
    net = Net()
    net.body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), net.head)
    net.owner = Settings(net=net)
    return net


def numpy_arrays():
    return {
        "single": np.asarray(normal(2, 3)), "double": np.asarray(normal(2, 3, dtype=torch.float64)),
        "half": np.asarray(normal(5, dtype=torch.float16)), "fortran": np.asfortranarray(np.asarray(normal(2, 3, 4))),
        "fortran_double": np.asfortranarray(np.asarray(normal(3, 2, dtype=torch.float64))), "scalar": np.float32(1.5),
        "empty": np.zeros((0, 3), np.float32), "integers": np.arange(4), "text": np.array(["a", "bc"]),
        "record": np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]), "folder/inner": np.asarray(normal(3)),
        "zeros": np.zeros((16, 16), np.float32),
    }


def describe_array(name, array):
    array = np.asarray(array)
    kind = {"<f2": "f16", "<f4": "f32", "<f8": "f64"}.get(array.dtype.str, "other")
    values = None if kind == "other" else written(array.astype(np.float64).reshape(-1).tolist())
    return {"name": name, "shape": list(array.shape), "dtype": kind, "values": values}


def main():
    FOLDER.mkdir(exist_ok=True)
    expected = {"torch": torch.__version__, "numpy": np.__version__, "safetensors": safetensors.__version__, "files": {}}
    files = expected["files"]
    for name, value in torch_files():
        torch.save(value, FOLDER / name)
        files[name] = list(flattened(value))
    protocol4 = collections.OrderedDict(weight=normal(2, 2), bias=normal(2))
    torch.save(protocol4, FOLDER / "protocol4.pt", pickle_protocol=4)
    files["protocol4.pt"] = list(flattened(protocol4))
    scored = {"score": np.float64(0.5), "weight": normal(2, 2), "counts": collections.Counter("aab"), "seen": {1, 2}}
    torch.save(scored, FOLDER / "scored.pt")
    files["scored.pt"] = list(flattened(scored))
    arrays = numpy_arrays()
    np.savez(FOLDER / "stored.npz", **arrays)
    np.savez_compressed(FOLDER / "deflated.npz", **arrays)
    files["stored.npz"] = files["deflated.npz"] = [describe_array(*item) for item in arrays.items()]
    tensors = {
        "single": normal(2, 3), "double": normal(2, 3, dtype=torch.float64), "half": normal(5, dtype=torch.float16),
        "brain": normal(5, dtype=torch.bfloat16), "long": torch.arange(4), "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 3), "bool": torch.tensor([True, False]),
    }
    safetensors.torch.save_file(tensors, FOLDER / "plain.safetensors", metadata={"format": "pt", "note": "naïve"})
    files["plain.safetensors"] = [described(*item) for item in tensors.items()]
    legacy = {"state_dict": {"weight": normal(2, 3), "half": normal(3, dtype=torch.float16)}, "view": normal(3, 4)[1:, ::2]}
    kept = surrounded()
    described_of_kept = list(flattened({key: kept[key] for key in ("state_dict", "options", "rng", "complex")}))
    # Modules are named as their state_dict names them. The legacy format holds their source text, so that one is short.
    net, scale = module(), Scale()
    for name, value, tensors in [
        ("surrounded.pt", kept, described_of_kept), ("module.pt", net, list(flattened(net.state_dict()))),
        ("legacy.pt", legacy, list(flattened(legacy))), ("surrounded_legacy.pt", kept, described_of_kept),
        ("module_legacy.pt", scale, list(flattened(scale.state_dict()))),
    ]:
        torch.save(value, FOLDER / name, _use_new_zipfile_serialization="legacy" not in name)
        files[name] = tensors
    (FOLDER / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
