"""Flash attention by the original's structs: `attn_fwd_params`, `attn_options`, `attn_fwd`."""

from __future__ import annotations

import ctypes
import os
from contextlib import nullcontext
from typing import Any, ClassVar

from aotriton.runtime import host, objects
from aotriton.runtime.abi import DTYPES, AttnFwdParams, AttnOptions, Tensor, write_tensor
from aotriton.runtime.library import library
from pyaotriton.errors import hip_error_of, hipError_t, refused
from pyaotriton.runtime import Stream
from pyaotriton.tensors import T0, T1, T2, T4, DType, TensorView

__all__ = ["attn_fwd", "attn_fwd_params", "attn_options"]

# The struct's fields that are tensors: what they are in the C API, and the rank that each takes.
_TENSORS: dict[str, tuple[str, type[TensorView]]] = {
    "Q": ("q", T4),
    "K": ("k", T4),
    "V": ("v", T4),
    "B": ("bias", T4),
    "L": ("lse", T2),
    "Out": ("out", T4),
    "cu_seqlens_q": ("cu_seqlens_q", T1),
    "cu_seqlens_k": ("cu_seqlens_k", T1),
    "seq_strides_q": ("seq_strides_q", T1),
    "seq_strides_k": ("seq_strides_k", T1),
    "philox_seed_ptr": ("philox_seed", T0),
    "philox_offset1": ("philox_offset1", T0),
    "philox_seed_output": ("philox_seed_output", T0),
    "philox_offset_output": ("philox_offset_output", T0),
    "encoded_softmax": ("encoded_softmax", T4),
    "persistent_atomic_counter": ("persistent_atomic_counter", T0),
}
_SCALARS: dict[str, tuple[str, type]] = {
    "Sm_scale": ("scale", float),
    "Max_seqlen_q": ("max_seqlen_q", int),
    "Max_seqlen_k": ("max_seqlen_k", int),
    "dropout_p": ("dropout_p", float),
    "philox_offset2": ("philox_offset2", int),
    "causal_type": ("causal_type", int),
    "varlen_type": ("varlen_type", int),
    "window_left": ("window_left", int),
    "window_right": ("window_right", int),
}
_RANGES = {
    "philox_offset2": (0, (1 << 64) - 1),
    "causal_type": (-128, 127),
    "varlen_type": (-128, 127),
}
_INT32 = (-(1 << 31), (1 << 31) - 1)
_OFFSETS = {field: getattr(AttnFwdParams, name).offset for field, (name, _) in _TENSORS.items()}
_BYTES = dict(DTYPES.values())


class attn_options:
    """How `attn_fwd` chooses.

    Attributes
    ----------
    force_backend_index : int
        -1: the operator's table decides; else the backend of that number.
    deterministic : bool
        Only backends whose results are the same each time.
    """

    __slots__ = ("_address", "_struct")

    def __init__(self) -> None:
        self._struct = AttnOptions(ctypes.sizeof(AttnOptions), -1, 0, 0, 0)
        self._address = ctypes.addressof(self._struct)

    @property
    def force_backend_index(self) -> int:
        """-1, or the number of a backend."""
        return int(self._struct.force_backend)

    @force_backend_index.setter
    def force_backend_index(self, number: int) -> None:
        low, high = _INT32
        if not low <= number <= high:  # ctypes would take its lowest bits
            raise TypeError(f"attn_options.force_backend_index is from {low} to {high}, not {number}")
        self._struct.force_backend = number

    @property
    def deterministic(self) -> bool:
        """Whether results are to be the same each time."""
        return bool(self._struct.deterministic)

    @deterministic.setter
    def deterministic(self, wanted: bool) -> None:
        self._struct.deterministic = int(wanted)

    def __getstate__(self) -> tuple[int, bool]:
        return self.force_backend_index, self.deterministic

    def __setstate__(self, state: tuple[int, bool]) -> None:
        attn_options.__init__(self)
        self.force_backend_index, self.deterministic = state


class attn_fwd_params:
    """The problem: tensors as `T0`, `T1`, `T2`, `T4`, null ones unless set, and scalars, zero unless set.

    Q, K, V, Out are (batch, heads, length, head dim); L is (batch·heads, length) in fp32 or null.
    """

    kVersion: ClassVar[int] = 3
    __slots__ = ("_address", "_struct", *_TENSORS, *_SCALARS)

    _struct: AttnFwdParams  # what the library takes, always up to date with the fields
    _address: int

    def __init__(self) -> None:
        struct = AttnFwdParams()
        struct.size = ctypes.sizeof(AttnFwdParams)
        object.__setattr__(self, "_struct", struct)
        object.__setattr__(self, "_address", ctypes.addressof(struct))
        for field, (_, kind) in _TENSORS.items():
            null = T0(0, DType.kUnknown) if kind is T0 else kind(0, [0] * kind.RANK, [0] * kind.RANK, DType.kUnknown)
            object.__setattr__(self, field, null)
        for field, (_, number) in _SCALARS.items():
            object.__setattr__(self, field, number())

    def __setattr__(self, field: str, value: Any) -> None:
        if field in _TENSORS:
            kind = _TENSORS[field][1]
            if not isinstance(value, kind):
                raise TypeError(f"attn_fwd_params.{field} takes a {kind.__name__}, not a {type(value).__name__}")
            self._write(field, value)
        elif field in _SCALARS:
            value = self._number(field, value)
            setattr(self._struct, _SCALARS[field][0], value)
        object.__setattr__(self, field, value)

    def __getstate__(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in (*_TENSORS, *_SCALARS)}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        attn_fwd_params.__init__(self)
        for field, value in fields.items():
            setattr(self, field, value)

    def _write(self, field: str, view: TensorView) -> None:
        offset = _OFFSETS[field]
        if view.data_ptr or any(view.sizes):  # a tensor without elements may have no address, but it has a shape
            write_tensor(self._struct, offset, view.data_ptr, view.dtype, view.sizes, view.strides)
        else:
            ctypes.memset(self._address + offset, 0, ctypes.sizeof(Tensor))

    @staticmethod
    def _number(field: str, value: Any) -> Any:
        kind = _SCALARS[field][1]
        try:
            number = float(value) if kind is float else int(value.__index__())
        except (TypeError, ValueError, AttributeError):
            raise TypeError(f"attn_fwd_params.{field} takes {kind.__name__}, not {type(value).__name__}") from None
        except OverflowError:
            raise TypeError(f"attn_fwd_params.{field} is {value}, which no {kind.__name__} holds") from None
        low, high = _RANGES.get(field, _INT32)
        if kind is int and not low <= number <= high:
            raise TypeError(f"attn_fwd_params.{field} is from {low} to {high}, not {value}")
        return number


def _extents(params: attn_fwd_params) -> list[tuple[int, int]]:
    """Where a launch on `host` may read and write."""
    extents = []
    for field in _TENSORS:
        view: TensorView = getattr(params, field)
        if view.data_ptr and 0 not in view.sizes:
            last = sum((size - 1) * stride for size, stride in zip(view.sizes, view.strides, strict=True))
            extents.append((view.data_ptr, view.data_ptr + (last + 1) * _BYTES.get(view.dtype, 1)))
    return extents


def attn_fwd(
    params: attn_fwd_params, params_version: int, stream: Stream | None = None, options: attn_options | None = None
) -> hipError_t:
    """Enqueues attention forward.

    Parameters
    ----------
    params : attn_fwd_params
        The problem.
    params_version : int
        `attn_fwd_params.kVersion` as the caller knows it.
    stream : Stream, optional
        The default stream unless given.
    options : attn_options, optional
        How to choose.

    Returns
    -------
    hipError_t
        `hipSuccess`, or why nothing was launched; `pyaotriton.last_error()` has it in words.
    """
    if not isinstance(params, attn_fwd_params):
        raise TypeError(f"attn_fwd takes attn_fwd_params, not a {type(params).__name__}")
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"attn_fwd takes a Stream or None, not a {type(stream).__name__}")
    if options is not None and not isinstance(options, attn_options):
        raise TypeError(f"attn_fwd takes attn_options or None, not a {type(options).__name__}")
    if params_version != attn_fwd_params.kVersion:
        text = f"attn_fwd_params has version {params_version}; this package takes version {attn_fwd_params.kVersion}"
        return refused(hipError_t.hipErrorInvalidSymbol, f"{text}: pass attn_fwd_params.kVersion")
    chosen = 0 if options is None else options._address
    handle = stream.handle if stream is not None else 0
    status = objects.attn_fwd_params(params._address, handle, chosen)
    if status == objects.DECLINED:
        call = library().aotriton_attn_fwd
        bounds = host.bounded(_extents(params)) if os.environ.get("AOTRITON_DEVICE") == "host" else nullcontext()
        with bounds:
            status = call(params._struct, None, handle, None if options is None else options._struct, None)
    return hip_error_of(status)
