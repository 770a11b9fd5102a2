"""Functions of the library that take Python's objects as they are: calls without ctypes, for launches that cost little.

Each answers with a status, or with DECLINED: nothing happened then, and the caller goes its general path, which can do
it or says what is wrong. Until the library is open, and where it makes no such functions, all is declined.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from aotriton.runtime import library

__all__ = ["DECLINED", "attn_fwd", "attn_fwd_params", "kernel_launch", "know_dtype", "know_type"]

DECLINED = -1
_MOST_DTYPES = 64  # there is one for each type, but where arrays come with copies of their own


def _decline(*_: Any) -> int:
    return DECLINED


attn_fwd: Callable[..., int] = _decline
"""`(q, k, v, out, lse or None, scale or None, mask or None, device or None, stream or None)`: the mask as a tuple of
causal type and both sides of the window, the device and the stream as addresses."""
attn_fwd_params: Callable[..., int] = _decline
"""`(address of the struct, stream, address of the options or 0)`: `aotriton_attn_fwd` on the stream's device."""
kernel_launch: Callable[..., int] = _decline
"""`(kernel, device, arguments, grid or None, config or None, stream or None)`: kernel, device and stream as addresses,
the arguments as a dict by name, the grid as a tuple."""

_learn_type: Callable[..., int] = _decline
_learn_dtype: Callable[..., int] = _decline
_types: dict[type, tuple[int, int]] = {}  # keeps the types alive, whose addresses the library compares
_dtypes: dict[int, tuple[Any, int]] = {}  # by their addresses, for the same reason


def know_type(kind: type, view: int, current_stream: int) -> None:
    """Tensors of that very type are read by the library from now on.

    Parameters
    ----------
    kind : type
        The type.
    view, current_stream : int
        Addresses of `dltensor_from_py_object_no_sync` and `current_work_stream` of its DLPack exchange API, or 0 where
        it has no such function; both 0 for NumPy's arrays, which the library reads by their `__array_struct__`.
    """
    _types[kind] = view, current_stream
    _learn_type(kind, view, current_stream)


def know_dtype(dtype: Any, number: int) -> None:
    """Arrays with that very dtype object have elements of the type of that number, which NumPy's struct can't say."""
    if len(_dtypes) < _MOST_DTYPES:
        _dtypes[id(dtype)] = dtype, number
        _learn_dtype(dtype, number)


class _Method(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def _register(opened: ctypes.CDLL) -> None:
    """Makes functions of the library's methods."""
    global attn_fwd, attn_fwd_params, kernel_launch, _learn_type, _learn_dtype
    address = opened.aotriton_python_methods()
    if not address:
        return
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    made = {}
    while name := _Method.from_address(address).name:
        made[name.decode()] = make(address, None, None)
        address += ctypes.sizeof(_Method)
    _learn_type, _learn_dtype = made["know_type"], made["know_dtype"]
    for kind, functions in list(_types.items()):
        _learn_type(kind, *functions)
    for known in list(_dtypes.values()):
        _learn_dtype(*known)
    attn_fwd, attn_fwd_params, kernel_launch = made["attn_fwd"], made["attn_fwd_params"], made["kernel_launch"]


library.when_opened(_register)
