"""Attention problems for tests: fresh inputs, a call through either Python interface, and the check against float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import aotriton
from aotriton.flash.error_model import forward_bound
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward
from pyaotriton import T2, T4, DType, Stream, hipError_t, last_error
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params, attn_options

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
KINDS = {"float16": DType.kFloat16, "bfloat16": DType.kBFloat16, "float32": DType.kFloat32}
# How a mask is asked for: (causal, window) of the one interface, (causal_type, left, right) of the other, its meaning.
MASKS = {
    "full": ((False, None), (0, 0, 0), None),
    "top_left": (("top_left", None), (3, TOP_LEFT, TOP_LEFT), Window(TOP_LEFT, TOP_LEFT)),
    "bottom_right": (("bottom_right", None), (3, BOTTOM_RIGHT, BOTTOM_RIGHT), Window(BOTTOM_RIGHT, BOTTOM_RIGHT)),
    "window": ((False, (20, 7)), (3, 20, 7), Window(20, 7)),
}
HEADS = {"MHA": (2, 2), "GQA": (4, 2), "MQA": (3, 1)}
GRID = {
    "dtype": ["fp16", "bf16", "fp32"],
    "dim": [16, 40, 64, 72, 128, 256],
    "mask": list(MASKS),
    "heads": list(HEADS),
    "lse": [True, False],
    "rows": [1, 37, 130],
    "columns": [1, 37, 130],
}
"""The feature grid: pairwise on `host`, whole on a GPU."""


@dataclass(frozen=True)
class Problem:
    """One problem of the grid."""

    dtype: str
    dim: int
    mask: str
    heads: str
    lse: bool
    rows: int
    columns: int
    batch: int = 1

    def __str__(self) -> str:
        lengths = f"{self.rows}x{self.columns}"
        return f"{self.dtype}-{self.dim}-{self.mask}-{self.heads}-{lengths}-{'lse' if self.lse else 'nolse'}"

    def inputs(self) -> tuple[Any, Any, Any]:
        """Fresh random q, k, v."""
        chance = np.random.default_rng()
        hq, hk = HEADS[self.heads]
        shapes = [(self.batch, h, s, self.dim) for h, s in ((hq, self.rows), (hk, self.columns), (hk, self.columns))]
        q, k, v = (chance.standard_normal(shape).astype(DTYPES[self.dtype]) for shape in shapes)
        return q, k, v


def poisoned(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of NaN."""
    return np.full(shape, np.nan, dtype)


def outputs(q: Any, v: Any) -> tuple[Any, Any]:
    """Poisoned out and lse for a call."""
    return poisoned((*q.shape[:3], v.shape[3]), q.dtype), poisoned((q.shape[0] * q.shape[1], q.shape[2]), np.float32)


def view(array: Any) -> Any:
    """The binding's view of an array."""
    strides = [step // array.itemsize for step in array.strides]
    return {2: T2, 4: T4}[array.ndim](array.ctypes.data, array.shape, strides, KINDS[array.dtype.name])


def params_of(q: Any, k: Any, v: Any, out: Any, lse: Any = None, scale: float | None = None) -> Any:
    """Parameters of the binding for one problem, without a mask."""
    params = attn_fwd_params()
    params.Q, params.K, params.V, params.Out = view(q), view(k), view(v), view(out)
    if lse is not None:
        params.L = view(lse)
    params.Sm_scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    return params


def by_aotriton(q: Any, k: Any, v: Any, out: Any, lse: Any, mask: str, device: str, **more: Any) -> None:
    """Calls `aotriton.attn_fwd`."""
    causal, window = MASKS[mask][0]
    aotriton.attn_fwd(q, k, v, causal=causal, window=window, out=out, lse=lse, device=device, **more)


def by_pyaotriton(q: Any, k: Any, v: Any, out: Any, lse: Any, mask: str) -> None:
    """Calls `pyaotriton.v3.flash.attn_fwd`; the device is what AOTRITON_DEVICE names."""
    params = params_of(q, k, v, out, lse)
    params.causal_type, params.window_left, params.window_right = MASKS[mask][1]
    status = attn_fwd(params, attn_fwd_params.kVersion, Stream(), attn_options())
    assert status == hipError_t.hipSuccess, last_error()


def check(q: Any, k: Any, v: Any, out: Any, lse: Any, window: Window | None, scale: float | None = None) -> None:
    """Fails unless each element is within the error model's bound of float64, and none is NaN."""
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    wanted = forward(q, k, v, scale, window=window)
    bound = forward_bound(q, k, v, scale, window=window)
    excess = np.abs(out.astype(np.float64) - wanted.out) - bound.out
    assert not np.isnan(out.astype(np.float64)).any()
    assert (excess <= 0).all(), f"out is off by {excess.max():.3g} more than its bound"
    if lse is None:
        return
    found = lse.reshape(wanted.lse.shape).astype(np.float64)
    seen = np.isfinite(wanted.lse)
    assert np.array_equal(found[~seen], wanted.lse[~seen])
    excess = np.abs(found[seen] - wanted.lse[seen]) - bound.lse[seen]
    assert (excess <= 0).all(), f"lse is off by {excess.max(initial=0):.3g} more than its bound"
