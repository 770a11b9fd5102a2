"""The structs and numbers of the C API (include/aotriton/aotriton.h) as ctypes has them."""

from __future__ import annotations

import ctypes
import enum
import struct
from collections.abc import Sequence
from typing import Any

from aotriton.errors import ArgumentError

__all__ = [
    "API",
    "Argument",
    "ArgumentKind",
    "AttnFwdParams",
    "AttnOptions",
    "CAUSAL_NONE",
    "CAUSAL_WINDOWED",
    "DTYPES",
    "HostDriver",
    "LaunchCallback",
    "LaunchOptions",
    "LoadCallback",
    "MAX_RANK",
    "Status",
    "Tensor",
    "UnloadCallback",
    "WINDOW_BOTTOM_RIGHT",
    "WINDOW_TOP_LEFT",
    "write_tensor",
]

MAX_RANK = 8
CAUSAL_NONE = 0
CAUSAL_WINDOWED = 3
WINDOW_TOP_LEFT = -2147483647
WINDOW_BOTTOM_RIGHT = -2147483646


class Status(enum.IntEnum):
    """`aotriton_status`: what a function of the C API returns."""

    SUCCESS = 0
    INVALID_ARGUMENT = 1
    INVALID_VERSION = 2
    NO_DEVICE = 3
    NO_PACK = 4
    BAD_PACK = 5
    UNSUPPORTED = 6
    NOT_BUILT = 7
    DRIVER_ERROR = 8
    OUT_OF_MEMORY = 9
    INTERNAL_ERROR = 10


DTYPES = {
    "fp32": (1, 4), "fp16": (2, 2), "bf16": (3, 2), "fp64": (4, 8),
    "i8": (10, 1), "i16": (11, 2), "i32": (12, 4), "i64": (13, 8), "bool": (14, 1),
    "u8": (20, 1), "u16": (21, 2), "u32": (22, 4), "u64": (23, 8),
}  # fmt: skip
"""Element types: the value of `aotriton_dtype` and the size in bytes, by name."""


class Tensor(ctypes.Structure):
    """`aotriton_tensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
    ]


# One write per tensor: setting the fields one by one costs ten times as much.
_LAYOUTS = [struct.Struct(f"@Pii{r}q{8 * (MAX_RANK - r)}x{r}q{8 * (MAX_RANK - r)}x") for r in range(MAX_RANK + 1)]


def write_tensor(
    target: ctypes.Structure | ctypes.Array[Any],
    offset: int,
    data: int,
    dtype: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    name: str = "a tensor",
) -> None:
    """Writes an `aotriton_tensor` at `offset` of a struct; its rank is the number of sizes, its name for messages.

    Raises
    ------
    ArgumentError
        It has more dimensions than the struct, or numbers that 64 bits don't hold.
    """
    rank = len(sizes)
    if rank > MAX_RANK:
        raise ArgumentError(f"{name} has {rank} dimensions, {tuple(sizes)}; no kernel takes more than {MAX_RANK}")
    try:
        _LAYOUTS[rank].pack_into(target, offset, data, dtype, rank, *sizes, *strides)
    except struct.error as error:
        what = f"{name} with sizes {tuple(sizes)} and strides {tuple(strides)}"
        raise ArgumentError(f"{what}: not all are numbers of 64 bits") from error


class HostDriver(ctypes.Structure):
    """`aotriton_host_driver`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("load", ctypes.c_void_p),
        ("launch", ctypes.c_void_p),
        ("unload", ctypes.c_void_p),
    ]


LoadCallback = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_void_p,
    ctypes.c_size_t,
)
LaunchCallback = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
)
UnloadCallback = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class ArgumentKind(enum.IntEnum):
    """`aotriton_argument_kind`."""

    TENSOR = 1
    INTEGER = 2
    REAL = 3


class Argument(ctypes.Structure):
    """`aotriton_argument`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("tensor", Tensor),
    ]


class LaunchOptions(ctypes.Structure):
    """`aotriton_launch_options`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("grid", ctypes.POINTER(ctypes.c_uint32)),
        ("config", ctypes.c_int32),
        ("query_only", ctypes.c_int32),
    ]


class AttnFwdParams(ctypes.Structure):
    """`aotriton_attn_fwd_params`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        *(
            (name, Tensor)
            for name in (
                *("q", "k", "v", "bias", "alibi_slopes", "lse", "out"),
                *("cu_seqlens_q", "cu_seqlens_k", "seq_strides_q", "seq_strides_k"),
                *("philox_seed", "philox_offset1", "philox_seed_output", "philox_offset_output"),
                *("encoded_softmax", "persistent_atomic_counter"),
            )
        ),
        ("philox_offset2", ctypes.c_uint64),
        ("scale", ctypes.c_float),
        ("dropout_p", ctypes.c_float),
        ("max_seqlen_q", ctypes.c_int32),
        ("max_seqlen_k", ctypes.c_int32),
        ("causal_type", ctypes.c_int32),
        ("varlen_type", ctypes.c_int32),
        ("window_left", ctypes.c_int32),
        ("window_right", ctypes.c_int32),
    ]


class AttnOptions(ctypes.Structure):
    """`aotriton_attn_options`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("force_backend", ctypes.c_int32),
        ("deterministic", ctypes.c_int32),
        ("query_only", ctypes.c_int32),
        ("load_only", ctypes.c_int32),
    ]


_TEXT_OUT = ctypes.POINTER(ctypes.c_void_p)  # char**: freed with aotriton_free_string
_HANDLE = ctypes.c_void_p
_HANDLE_OUT = ctypes.POINTER(ctypes.c_void_p)
_ARGUMENTS = (ctypes.POINTER(Argument), ctypes.c_size_t)

API: dict[str, tuple[object, tuple[object, ...]]] = {
    "aotriton_last_error": (ctypes.c_char_p, ()),
    "aotriton_version": (ctypes.c_char_p, ()),
    "aotriton_free_string": (None, (ctypes.c_void_p,)),
    "aotriton_add_pack_path": (ctypes.c_int, (ctypes.c_char_p,)),
    "aotriton_pack_paths": (ctypes.c_int, (_TEXT_OUT,)),
    "aotriton_index_to_json": (ctypes.c_int, (ctypes.c_char_p, _TEXT_OUT)),
    "aotriton_verify_zip": (ctypes.c_int, (ctypes.c_char_p, _TEXT_OUT)),
    "aotriton_device_open": (ctypes.c_int, (ctypes.c_char_p, _HANDLE_OUT)),
    "aotriton_device_of_stream": (ctypes.c_int, (ctypes.c_void_p, _HANDLE_OUT)),
    "aotriton_device_to_json": (ctypes.c_int, (_HANDLE, _TEXT_OUT)),
    "aotriton_drivers_to_json": (ctypes.c_int, (_TEXT_OUT,)),
    "aotriton_set_host_driver": (ctypes.c_int, (ctypes.POINTER(HostDriver),)),
    "aotriton_kernel_open": (
        ctypes.c_int,
        (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, _HANDLE, _HANDLE_OUT),
    ),
    "aotriton_kernel_close": (None, (_HANDLE,)),
    "aotriton_kernel_keep_loaded": (ctypes.c_int, (_HANDLE,)),
    "aotriton_kernel_launch": (
        ctypes.c_int,
        (_HANDLE, *_ARGUMENTS, ctypes.c_void_p, ctypes.POINTER(LaunchOptions)),
    ),
    "aotriton_kernel_load": (ctypes.c_int, (_HANDLE, *_ARGUMENTS, ctypes.POINTER(LaunchOptions))),
    "aotriton_kernel_explain": (
        ctypes.c_int,
        (_HANDLE, *_ARGUMENTS, ctypes.POINTER(LaunchOptions), _TEXT_OUT),
    ),
    "aotriton_attn_fwd": (
        ctypes.c_int,
        (
            ctypes.POINTER(AttnFwdParams),
            _HANDLE,
            ctypes.c_void_p,
            ctypes.POINTER(AttnOptions),
            _TEXT_OUT,
        ),
    ),
    "aotriton_python_methods": (ctypes.c_void_p, ()),
}
"""Every function of the C API: its result and its arguments."""
