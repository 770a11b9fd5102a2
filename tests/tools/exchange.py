"""Tensors that speak DLPack's C exchange API, of a library that is made up."""

from __future__ import annotations

import ctypes
from typing import Any


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class ExchangeApi(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


def exchanging(
    device: tuple[int, int], capsule: bool, major: int = 1, view: int | None = None, stream: int | None = None
) -> Any:
    """A class of tensors whose library offers the C exchange API, on a device that need not exist.

    A tensor is made of an address, sizes, strides or None, and DLPack's code and bits of its type; its memory begins
    four bytes behind the address. `view` is another function in place of `dltensor_from_py_object_no_sync`; `stream` is
    the one that the library works on.
    """

    class Tensor:
        def __init__(self, data, shape, strides, code=2, bits=16):
            rank = len(shape)
            self.shape = (ctypes.c_int64 * rank)(*shape)
            self.strides = (ctypes.c_int64 * rank)(*strides) if strides else None
            self.fields = (data, *device, rank, code, bits, 1, self.shape, self.strides, 4)

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
    def tensor_from_object(tensor, out):
        out[0] = DLTensor(*tensor.fields)
        return 0

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    def current_stream(kind, number, out):
        out[0] = 0x1000 * kind + number if stream is None else stream
        return 0

    functions = [ctypes.cast(f, ctypes.c_void_p) for f in (tensor_from_object, current_stream)]
    if view is not None:
        functions[0] = ctypes.c_void_p(view)
    api = ExchangeApi(major, 3, None, None, None, None, *functions)
    Tensor.kept = (api, tensor_from_object, current_stream)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    Tensor.name = b"dlpack_exchange_api"
    Tensor.__dlpack_c_exchange_api__ = (
        new(ctypes.addressof(api), Tensor.name, None) if capsule else ctypes.addressof(api)
    )
    return Tensor
