"""Tensors in: a view of anything that speaks DLPack or an array interface, and new tensors of the same library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from aotriton.errors import ArgumentError
from aotriton.runtime import objects
from aotriton.runtime.abi import DTYPES
from aotriton.runtime.dlpack import CPU, CUDA, exchange_view, protocol_view
from aotriton.runtime.view import TensorSpec, View, contiguous_strides

__all__ = ["empty_like", "view_of"]

_NUMPY_NAMES = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
_KINDS = {"f": "float", "i": "int", "u": "uint", "b": "bool"}
_APART = 1 << 44  # between the addresses of different arguments' TensorSpecs: never read, only asked about


def view_of(tensor: Any, name: str, number: int = 0) -> View:
    """The view of a tensor.

    Parameters
    ----------
    tensor : object
        Anything with DLPack's C exchange API, `__dlpack__`, NumPy's `__array_interface__` or
        `__cuda_array_interface__`; or a `TensorSpec`.
    name : str
        The argument that it is, for messages.
    number : int, optional
        The position of the argument: specs of different ones share no memory.

    Raises
    ------
    ArgumentError
        It has none of these, or an element type or a layout that no kernel takes.
    """
    try:
        view = exchange_view(tensor)
        if view is not None:
            return view
        if hasattr(tensor, "__array_interface__"):  # before DLPack, which NumPy refuses for bf16 and read-only arrays
            return _array_view(tensor, tensor.__array_interface__, (CPU, 0))
        if hasattr(tensor, "__dlpack__"):
            return protocol_view(tensor)
        if hasattr(tensor, "__cuda_array_interface__"):
            return _array_view(tensor, tensor.__cuda_array_interface__, (CUDA, -1))
        if isinstance(tensor, TensorSpec):
            return _spec_view(tensor, number)
    except (ArgumentError, BufferError, TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"argument {name}: {getattr(error, 'message', error)}") from error
    raise ArgumentError(
        f"argument {name} is a {type(tensor).__name__}, which is no tensor: it has neither __dlpack__ nor an array "
        "interface",
        "pass an array of NumPy, PyTorch, CuPy, JAX or another library that speaks DLPack",
    )


def _spec_view(spec: TensorSpec, number: int) -> View:
    if spec.dtype not in DTYPES:
        raise ArgumentError(f"there is no element type {spec.dtype!r}; they are {', '.join(DTYPES)}")
    return View((number + 1) * _APART + spec.alignment, spec.dtype, spec.shape, spec.strides, (CPU, -1), spec)


def _array_dtype(array: Any, code: str) -> str:
    """The element type of an array, by the name of its dtype (the interface has none for bf16), else by the code."""
    if code.startswith(">"):
        raise ArgumentError("its elements are big-endian; convert it first")
    named = _NUMPY_NAMES.get(getattr(getattr(array, "dtype", None), "name", ""))
    bits = int(code[2:]) * 8 if code[2:].isdigit() else 0
    kind = _KINDS.get(code[1:2], code[1:2])
    found = named or _NUMPY_NAMES.get(kind if kind == "bool" else f"{kind}{bits}")
    if found is None:
        shown = getattr(array, "dtype", code)
        raise ArgumentError(f"a tensor of element type {shown}, which kernels here don't take")
    return found


def _is_masked(array: Any) -> bool:
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(array, masked)


def _array_view(array: Any, interface: dict[str, Any], device: tuple[int, int]) -> View:
    if _is_masked(array):
        raise ArgumentError("it is a masked array, and kernels read no mask; pass its .filled(value) or its .data")
    dtype = _array_dtype(array, interface["typestr"])
    shape = tuple(interface["shape"])
    size = DTYPES[dtype][1]
    steps = interface.get("strides")
    if steps is None:
        strides = contiguous_strides(shape)
    elif any(step % size for step in steps):
        raise ArgumentError(
            f"its strides of {tuple(steps)} bytes are no multiples of its {size}-byte elements; copy it"
        )
    else:
        strides = tuple(step // size for step in steps)
    if type(array) is getattr(sys.modules.get("numpy"), "ndarray", None):
        objects.know_type(type(array), 0, 0)
        if interface["typestr"][1] == "V":
            objects.know_dtype(array.dtype, DTYPES[dtype][0])
    address, read_only = interface["data"]
    return View(address or 0, dtype, shape, strides, device, array, read_only)


def empty_like(tensor: Any, shape: Sequence[int], dtype: str | None, name: str) -> Any:
    """A new tensor from the library that `tensor` is of, on its device.

    Parameters
    ----------
    tensor : object
        The model.
    shape : sequence of int
        Sizes of the new one.
    dtype : str, optional
        `fp32`, or None for that of the model.
    name : str
        The argument to give where the library isn't known.

    Raises
    ------
    ArgumentError
        How that library makes tensors isn't known here.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return tensor.new_empty(shape, dtype=torch.float32 if dtype == "fp32" else None)
    module = type(tensor).__module__.split(".")[0]
    if module in ("numpy", "cupy"):
        return sys.modules[module].empty(tuple(shape), dtype="float32" if dtype == "fp32" else tensor.dtype)
    raise ArgumentError(
        f"no {name} was given, and how {type(tensor).__module__}.{type(tensor).__name__} makes new tensors isn't known",
        f"pass {name}= with shape {tuple(shape)}",
    )
