"""Tensors and arrays as addresses, checked first: what the compiled part reads and writes is what it expects."""

from __future__ import annotations

from typing import Any

import sys

from ._reynolds import Error


def is_tensor(value: Any) -> bool:
    """Whether it is a torch tensor; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Whether it is a NumPy array; NumPy is not imported for it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_direct(tensor: Any) -> bool:
    """Whether the compiled part can work on the memory of a torch tensor: contiguous f32 or f64 on the CPU."""
    import torch

    return (
        tensor.device.type == "cpu"
        and tensor.dtype in (torch.float32, torch.float64)
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.is_contiguous()
        and not tensor.is_neg()
    )


def place(name: str, value: Any, count: int) -> tuple[int, bool]:
    """The address of the first of ``count`` numbers, and whether they are f64."""
    if is_tensor(value):
        import torch

        if not is_direct(value):
            raise Error(f"{name}: expected a contiguous f32 or f64 tensor on the CPU, found {value.dtype} on {value.device}")
        found, address, double = value.numel(), value.data_ptr(), value.dtype == torch.float64
    elif is_array(value):
        kind = value.dtype.str.lstrip("=<|")
        if value.dtype.kind != "f" or value.dtype.itemsize not in (4, 8) or not value.dtype.isnative or not value.flags.c_contiguous:
            raise Error(f"{name}: expected a contiguous f32 or f64 array, found {kind}")
        found, address, double = value.size, value.ctypes.data, value.dtype.itemsize == 8
    else:
        raise Error(f"{name}: expected a torch tensor or a NumPy array, found {type(value).__name__}")
    if found != count:
        raise Error(f"{name}: expected {count} numbers, found {found}")
    return address, double
