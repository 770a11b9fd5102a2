"""DLPack: tensors of any library, by its C exchange API where the library offers it, else through `__dlpack__`."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from aotriton.errors import ArgumentError
from aotriton.runtime import objects
from aotriton.runtime.view import View, contiguous_strides

__all__ = ["CPU", "CUDA", "CUDA_MANAGED", "ROCM", "HOST_MEMORY", "current_stream", "exchange_view", "protocol_view"]

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
HOST_MEMORY = frozenset({CPU, CUDA_HOST, ROCM_HOST})
"""Kinds of device whose memory the host reads and writes."""

_CODES = {
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
    (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
    (2, 16): "fp16", (2, 32): "fp32", (2, 64): "fp64", (4, 16): "bf16", (6, 8): "bool",
}  # fmt: skip
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}
_READ_ONLY = 1

# DLTensor: data, device (type, id), ndim, dtype (code, bits, lanes), shape, strides, byte_offset
_DL_TENSOR = struct.Struct("@PiiiBBHPPQ")
_DLTensorBytes = ctypes.c_char * _DL_TENSOR.size
_NUMBERS = [struct.Struct(f"@{rank}q") for rank in range(33)]
_VERSIONED_FLAGS = 24  # of DLManagedTensorVersioned: version (8), manager_ctx (8), deleter (8), flags (8), dl_tensor
_VERSIONED_TENSOR = 32
# DLPackExchangeAPI: version (2 x u32), prev_api, and five functions
_EXCHANGE = struct.Struct("@IIPPPPPP")

_python = ctypes.pythonapi
_capsule_name = _python.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer = _python.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

_TensorFromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)


class _Exchange:
    """The functions of a library's exchange API that are needed here."""

    __slots__ = ("stream", "tensor")

    def __init__(self, tensor: int, stream: int) -> None:
        self.tensor = _TensorFromObject(tensor) if tensor else None
        self.stream = _CurrentStream(stream) if stream else None


_exchanges: dict[type, _Exchange | None] = {}


def _exchange_of(kind: type) -> _Exchange | None:
    """The exchange API that a type offers, asked once per type."""
    try:
        return _exchanges[kind]
    except KeyError:
        pass
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    address = capsule if isinstance(capsule, int) else None  # what the first libraries to have it gave
    if capsule is not None and address is None:
        address = _capsule_pointer(capsule, b"dlpack_exchange_api")
    found = None
    while address:
        major, _, previous, *functions = _EXCHANGE.unpack(ctypes.string_at(address, _EXCHANGE.size))
        if major == 1:
            found = _Exchange(functions[3], functions[4])
            if found.tensor:
                objects.know_type(kind, functions[3], functions[4])
            break
        address = previous
    _exchanges[kind] = found
    return found


def _read(raw: Any, owner: Any, read_only: bool) -> View:
    """The view that a DLTensor describes."""
    data, kind, ordinal, rank, code, bits, lanes, shape, strides, offset = _DL_TENSOR.unpack_from(raw)
    dtype = _CODES.get((code, bits))
    if dtype is None or lanes != 1:
        name = f"{_KINDS.get(code, f'code {code} ')}{bits}" + (f"x{lanes}" if lanes != 1 else "")
        raise ArgumentError(f"a tensor of element type {name}, which kernels here don't take")
    numbers = _NUMBERS[rank]
    sizes = numbers.unpack(ctypes.string_at(shape, numbers.size)) if rank else ()
    if strides and rank:
        steps = numbers.unpack(ctypes.string_at(strides, numbers.size))
    else:
        steps = contiguous_strides(sizes)
    return View((data or 0) + offset, dtype, sizes, steps, (kind, ordinal), owner, read_only)


def exchange_view(tensor: Any) -> View | None:
    """The view of a tensor whose library offers the C exchange API; None where it doesn't. Takes no ownership."""
    exchange = _exchange_of(type(tensor))
    if exchange is None or exchange.tensor is None:
        return None
    raw = _DLTensorBytes()
    if exchange.tensor(tensor, ctypes.byref(raw)):  # a Python error is set then, and raised by ctypes
        raise ArgumentError(f"{type(tensor).__name__} gave no view of its memory")
    return _read(raw, tensor, False)


def current_stream(tensor: Any, device: tuple[int, int]) -> int | None:
    """The stream that the tensor's library works on at present, if the library says."""
    exchange = _exchange_of(type(tensor))
    if exchange is None or exchange.stream is None:
        return None
    stream = ctypes.c_void_p()
    if exchange.stream(*device, ctypes.addressof(stream)):
        return None
    return stream.value or 0


def protocol_view(tensor: Any) -> View:
    """The view of a tensor through `__dlpack__`; it keeps the capsule, which owns what the view names."""
    kind, _ = tensor.__dlpack_device__()
    on_host = kind in HOST_MEMORY
    stream = None if on_host else -1  # -1: don't synchronise; the launch goes to the stream that the caller names
    try:
        capsule = tensor.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a library older than DLPack 1.0
        capsule = tensor.__dlpack__() if stream is None else tensor.__dlpack__(stream=stream)
    name = _capsule_name(capsule)
    address = _capsule_pointer(capsule, name)
    read_only = False
    if name == b"dltensor_versioned":
        read_only = bool(ctypes.c_uint64.from_address(address + _VERSIONED_FLAGS).value & _READ_ONLY)
        address += _VERSIONED_TENSOR
    elif name != b"dltensor":
        raise ArgumentError(f"{type(tensor).__name__}.__dlpack__ gave a capsule named {name!r}")
    return _read(ctypes.string_at(address, _DL_TENSOR.size), capsule, read_only)
