"""Networks as named tensors: a torch module, a state_dict, or a mapping of names to arrays."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from ._reynolds import Error
from .memory import is_array, is_tensor

_SAFETENSORS_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def is_module(value: Any) -> bool:
    """Whether it is a torch module."""
    return hasattr(value, "named_parameters") and hasattr(value, "state_dict")


def unwrapped(model: Any) -> Any:
    """The module inside DataParallel, DistributedDataParallel and torch.compile, whose names plans use."""
    kind = type(model).__name__
    if kind == "FullyShardedDataParallel":
        raise Error("model: FullyShardedDataParallel (FSDP1) hides its parameters in flat vectors; expected an unsharded model")
    if kind == "OptimizedModule":
        return unwrapped(model._orig_mod)
    if kind in ("DistributedDataParallel", "DataParallel"):
        return unwrapped(model.module)
    return model


def tensors(model: Any) -> dict[str, Any]:
    """Name and tensor of every parameter and buffer."""
    if is_module(model):
        return dict(unwrapped(model).state_dict())
    if isinstance(model, Mapping):
        for name, value in model.items():
            if not isinstance(name, str) or not (is_tensor(value) or is_array(value)):
                raise Error(f"model: expected names with tensors or arrays, found {name!r} with {type(value).__name__}")
        return dict(model)
    raise Error(f"model: expected a torch module, a state_dict or a file, found {type(model).__name__}")


def shapes(named: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    """Name and shape of every floating-point tensor with at least one axis, as plans take them."""
    return [(name, list(value.shape)) for name, value in named.items() if len(value.shape) > 0 and 0 not in value.shape and _is_float(value)]


def _is_float(value: Any) -> bool:
    return bool(value.is_floating_point() if is_tensor(value) else value.dtype.kind == "f")


def to_array(value: Any) -> Any:
    """The numbers of a tensor or an array in f64, as a new NumPy array."""
    if is_array(value):
        return value.astype("float64")
    import torch

    value = value.full_tensor() if hasattr(value, "full_tensor") else value
    return value.detach().to("cpu", torch.float64, copy=True).contiguous().numpy()


def to_safetensors(model: Any) -> bytes:
    """The tensors as a file of the safetensors format, in memory."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, value in tensors(model).items():
        kind = _SAFETENSORS_TYPES.get(str(value.dtype).removeprefix("torch."))
        if kind is None:
            raise Error(f"{name}: expected numbers of a common type, found {value.dtype}")
        data = _bytes(value)
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def _bytes(value: Any) -> bytes:
    if is_array(value):
        return bytes(value.astype(value.dtype.newbyteorder("<")).tobytes())
    import torch

    value = value.full_tensor() if hasattr(value, "full_tensor") else value
    flat = value.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
