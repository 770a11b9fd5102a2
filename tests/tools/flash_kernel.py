"""The flash kernels by themselves in Triton's interpreter, with any config and schedule: no pack, no library."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Any

import numpy as np

from aotriton.flash.description import ATTN_FWD, HEAD_DIMS
from aotriton.runtime.interpreter import Program, load_program

TYPES = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32"}
CTYPES = {"i32": ctypes.c_int32, "u64": ctypes.c_uint64, "fp32": ctypes.c_float}


@functools.cache
def program(number: int, config: tuple[tuple[str, Any], ...]) -> Program:
    """The functional of that number with a config, as the host runs it."""
    functional = ATTN_FWD.functional(number)
    bundle = {
        "format": 1,
        "entry": ATTN_FWD.symbol,
        "module": "attn_fwd",
        "modules": {"attn_fwd": ATTN_FWD.source.read_text()},
        "signature": [[parameter.argument, parameter.type] for parameter in functional.parameters],
        "constants": {**functional.constants, **dict(ATTN_FWD.config(dict(config)).performance)},
    }
    return load_program(json.dumps(bundle).encode())


def functional_of(q: Any, v: Any, window: tuple[int, int] | None) -> int:
    """The number of the functional that serves the problem, unaligned so that any strides do."""
    widest = max(q.shape[3], v.shape[3])
    width = min(dim for dim in HEAD_DIMS if dim >= widest)
    values = {
        "Q": TYPES[q.dtype.name],
        "BLOCK_DMODEL": width,
        "PADDED_HEAD": not width == q.shape[3] == v.shape[3],
        "ENABLE_DROPOUT": False,
        "CAUSAL_TYPE": 0 if window is None else 3,
        "BIAS_TYPE": 0,
        "VARLEN": False,
    }
    return ATTN_FWD.number_of(values)


def extent(array: Any) -> tuple[int, int]:
    """The addresses of an array's memory, of its base where it is a view made by this module's callers."""
    return array.ctypes.data, array.ctypes.data + sum(
        (size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)
    ) + array.itemsize if array.size else array.ctypes.data


def launch(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any = None,
    *,
    scale: float,
    window: tuple[int, int] | None = None,
    counter: Any = None,
    programs: int | None = None,
    config: tuple[tuple[str, Any], ...] = (),
) -> None:
    """Runs attn_fwd; `programs` is the grid, as many as there are tiles where it isn't given.

    Memory outside of the tensors must not be touched: that is an error.
    """
    number = functional_of(q, v, window)
    batch, heads, rows = q.shape[:3]
    block = dict(ATTN_FWD.config(dict(config)).performance)["BLOCK_M"]
    left, right = window or (0, 0)
    given = {
        "Sm_scale": scale, "Num_head_q": heads, "Num_head_k": k.shape[1], "Num_seqlens": 0, "Max_seqlen_q": rows,
        "Max_seqlen_k": k.shape[2], "Hdim_qk": q.shape[3], "Hdim_vo": v.shape[3], "Window_left": left,
        "Window_right": right, "Num_CU": 1, "Batch": batch,
    }  # fmt: skip
    tensors = {"Q": q, "K": k, "V": v, "Out": out, "L": lse, "persistent_atomic_counter": counter}
    values = []
    for parameter in ATTN_FWD.functional(number).parameters:
        argument = ATTN_FWD.argument(parameter.argument)
        if argument.role == "tensor":
            tensor = tensors[argument.name]
            values.append(ctypes.c_uint64(0 if tensor is None else tensor.ctypes.data))
        elif argument.role == "stride":
            tensor = tensors[argument.tensor]
            values.append(ctypes.c_uint64(tensor.strides[argument.dimension] // tensor.itemsize))
        else:
            values.append(CTYPES[parameter.type](given[argument.name]))
    grid = -(-rows // block) * heads * batch if programs is None else programs
    extents = [extent(tensor) for tensor in tensors.values() if tensor is not None]
    program(number, config).launch((grid, 1, 1), [ctypes.addressof(value) for value in values], extents)


def poisoned(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of NaN."""
    return np.full(shape, np.nan, dtype)
