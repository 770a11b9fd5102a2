"""Numbers of the AMD instructions as raw bits in NumPy arrays, and exact arithmetic on them by fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["BITS", "EDGES", "FLOATS", "Array", "decode", "encode", "exact", "fused", "rounded"]

Array = np.ndarray[Any, Any]

BITS = {"u16": 16, "i16": 16, "f16": 16, "bf16": 16, "u32": 32, "i32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTEGERS = {
    f"{sign}{bits}": np.dtype(f"{word}{bits}") for sign, word in (("u", "uint"), ("i", "int")) for bits in (16, 32, 64)
}
_DTYPES: dict[str, Any] = {**FLOATS, **_INTEGERS}
_FORMATS = {"f16": (11, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023), "bf16": (8, -126, 127)}

# Raw bits with which arithmetic goes wrong when it does.
EDGES: dict[str, list[int]] = {
    "u16": [0, 1, 2, 7, 15, 16, 255, 256, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF],
    "f16": [
        0,
        0x8000,
        1,
        0x8001,
        0x3FF,
        0x400,
        0x8400,
        0x3C00,
        0xBC00,
        0x3C01,
        0x4200,
        0x7BFF,
        0xFBFF,
        0x7C00,
        0xFC00,
        0x7E00,
        0x7C01,
        0xFE55,
        0x3800,
        0x5640,
        0xD640,
    ],
    "u32": [
        0,
        1,
        2,
        3,
        31,
        32,
        33,
        63,
        0xFF,
        0xFFFF,
        0x10000,
        0x7FFFFFFF,
        0x80000000,
        0x80000001,
        0xFFFFFFFE,
        0xFFFFFFFF,
        0x00FFFFFF,
        0x00800000,
        0x12345678,
        0xDEADBEEF,
    ],
    "f32": [
        0,
        0x80000000,
        1,
        0x80000001,
        0x007FFFFF,
        0x00800000,
        0x3F800000,
        0xBF800000,
        0x3F800001,
        0x40490FDB,
        0x7F7FFFFF,
        0xFF7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x7F800001,
        0xFFC12345,
        0x3F000000,
        0x4B000001,
        0xCF000000,
        0x4F000000,
        0x4F800000,
        0x33800000,
        0x477FF000,
        0x387FC000,
        0x3EFFFFFF,
    ],
    "u64": [
        0,
        1,
        63,
        64,
        0xFFFFFFFF,
        0x100000000,
        0x7FFFFFFFFFFFFFFF,
        0x8000000000000000,
        0xFFFFFFFFFFFFFFFF,
        0xFFFFFFFF00000000,
        0x123456789ABCDEF0,
    ],
    "f64": [
        0,
        1 << 63,
        1,
        (1 << 63) | 1,
        0x000FFFFFFFFFFFFF,
        0x0010000000000000,
        0x3FF0000000000000,
        0xBFF0000000000000,
        0x7FEFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0xFFF0000000000000,
        0x7FF8000000000000,
        0x7FF0000000000001,
        0xC1E0000000000000,
        0x41E0000000000000,
        0x41F0000000000000,
        0x4009_21FB_5444_2D18,
        0x36A0000000000001,
    ],
}
EDGES |= {"i16": EDGES["u16"], "bf16": [e >> 16 for e in EDGES["f32"]], "i32": EDGES["u32"], "i64": EDGES["u64"]}


def decode(raw: Array, kind: str) -> Array:
    """Raw bits (uint64) as numbers; brain floats become float32."""
    if kind == "bf16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    unsigned = raw.astype(np.dtype(f"uint{BITS[kind]}"))
    return unsigned.view(_DTYPES[kind])


def encode(values: Array, kind: str) -> Array:
    """Numbers as raw bits (uint64)."""
    array = np.asarray(values)
    dtype = np.dtype(_DTYPES[kind])
    if array.dtype != dtype:
        array = array.astype(dtype)
    return np.ascontiguousarray(array).view(np.dtype(f"uint{BITS[kind]}")).astype(np.uint64)


def rounded(value: Fraction, kind: str, way: str = "nearest") -> float:
    """A fraction rounded once to a format; infinite beyond it. `way`: nearest (ties to even), zero, up, down."""
    if value == 0:
        return 0.0
    precision, lowest, highest = _FORMATS[kind]
    magnitude = abs(value)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length(), lowest - 1)
    while exponent > lowest and Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    quantum = Fraction(2) ** (max(exponent, lowest) - precision + 1)
    places = magnitude / quantum
    away = (way == "up" and value > 0) or (way == "down" and value < 0)
    count = round(places) if way == "nearest" else math.ceil(places) if away else math.floor(places)
    result, largest = count * quantum, (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest
    if result > largest:
        result_float = math.inf if way == "nearest" or away else float(largest)
    else:
        result_float = float(result)
    return -result_float if value < 0 else result_float


def exact(operation: Callable[..., Fraction], kind: str, *sources: Array, way: str = "nearest") -> Array:
    """An operation on finite numbers, rounded once; NaN where a source isn't finite or the result is zero."""
    out = np.full(len(sources[0]), np.nan)
    for i, values in enumerate(zip(*sources, strict=True)):
        numbers = [float(v) for v in values]
        if all(math.isfinite(v) for v in numbers):
            value = operation(*map(Fraction, numbers))
            out[i] = rounded(value, kind, way) if value != 0 else np.nan
    return out


def fused(a: Array, b: Array, c: Array, kind: str, way: str = "nearest") -> Array:
    """a · b + c, rounded once."""
    once = exact(lambda x, y, z: x * y + z, kind, a, b, c, way=way)
    loose = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    zero_or_special = np.isnan(once)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    product_negative = np.signbit(a) ^ np.signbit(b)
    product_zero = (a == 0) | (b == 0)
    zeros = np.where(product_zero & product_negative & (c == 0) & np.signbit(c), -0.0, 0.0)
    return np.where(zero_or_special, np.where(finite, zeros, loose), once)
