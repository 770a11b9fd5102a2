"""Problems for the kernels of tests/gpu/kernels/tiles, the same for every device that runs them, against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["VIEWS", "matmul", "scale", "show", "sources"]

_TYPES: dict[str, Any] = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
_ROUNDING = {"fp16": 2.0**-11, "bf16": 2.0**-8}  # half of the last place's unit, relative

# How a matrix of the wanted size lies in memory. All start at multiples of 16 bytes, as do their rows.
VIEWS = ("contiguous", "inner", "every other row", "one row", "few columns")
_SIZES = {"one row": (1, 200), "few columns": (130, 3)}


def _random(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(_TYPES[dtype])


def sources(view: str, dtype: str) -> Any:
    """A matrix of ragged size in one of the `VIEWS`, amid other numbers."""
    rows, columns = _SIZES.get(view, (70, 200))
    if view == "contiguous":
        return _random((rows, columns), dtype)
    step = 2 if view == "every other row" else 1
    return _random((step * rows + 3, columns - columns % -8 + 16), dtype)[2::step][:rows, 8 : 8 + columns]


def scale(kernel: Any, memory: Any, x: Any, times: int = 1) -> None:
    """Y = -1.5 X, `times` over; the factor has two bits, so that each product is rounded once, to Y's type."""
    placed, factor = memory.place(x), -1.5
    expected = x.astype(np.float64)
    for _ in range(times):
        out = memory.place(np.full(x.shape, np.nan, x.dtype))
        kernel.launch(X=placed, Y=out, M=x.shape[0], N=x.shape[1], factor=factor)
        expected, placed = (factor * expected).astype(x.dtype).astype(np.float64), out
    memory.finish()
    np.testing.assert_array_equal(memory.fetch(placed).astype(np.float64), expected)


def show(kernel: Any, memory: Any, x: Any, shape: tuple[int, int, int]) -> None:
    """Y is X as far as that goes, and beyond it what loads fill with: NaN."""
    out = memory.place(np.zeros(shape, x.dtype))
    kernel.launch(X=memory.place(x), Y=out, B=shape[0], M=shape[1], N=shape[2])
    memory.finish()
    expected = np.full(shape, np.nan, x.dtype)
    expected[tuple(map(slice, x.shape))] = x
    np.testing.assert_array_equal(memory.fetch(out), expected)


def matmul(kernel: Any, memory: Any, dtype: str, m: int, n: int, k: int) -> None:
    """C = A B. Products are exact in fp32; each of the sums may lose the last bit, then C's type rounds once more."""
    a, b = _random((m, k), dtype), _random((k, n), dtype)
    out = memory.place(np.full((m, n), np.nan, a.dtype))
    kernel.launch(A=memory.place(a), B=memory.place(b), C=out, M=m, N=n, K=k)
    memory.finish()
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = k * 2.0**-23 * (np.abs(a) @ np.abs(b)) + _ROUNDING[dtype] * np.abs(a @ b)
    error = np.abs(memory.fetch(out).astype(np.float64) - a @ b)
    assert (error <= bound).all(), f"{error.max()} of {bound[error == error.max()]}"
