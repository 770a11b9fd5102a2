"""What vector instructions compute, in NumPy: one definition for each mnemonic. A function takes an array for each
source (numbers of its kind; a mask is booleans), and gives the result's numbers, or booleans for a comparison, or both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.tools.amd_numbers import Array, encode, fused

__all__ = ["DEFINITIONS", "Definition"]


@dataclass(frozen=True)
class Definition:
    """`out` and `sources` are kinds of numbers; `mask`: booleans. `old`: the last source is what the result's register
    held. `ulps`: how far the result may be from the function's exact value; `saturates`: what `clamp` gives."""

    out: str
    sources: tuple[str, ...]
    function: Callable[..., Any]
    old: bool = False
    ulps: float = 0
    saturates: Callable[..., Any] | None = None
    carry: bool = False


DEFINITIONS: dict[str, Definition] = {}


def define(names: str, out: str, sources: str, function: Callable[..., Any], **more: Any) -> None:
    for name in names.split():
        DEFINITIONS[f"v_{name}"] = Definition(out, tuple(sources.split()), function, **more)


def wide(*arrays: Array) -> tuple[Array, ...]:
    """Integers of any size, so that nothing wraps."""
    return tuple(np.array([int(v) for v in a], dtype=object) for a in arrays)


def low(values: Array, bits: int = 32) -> Array:
    """The low bits of integers of any size, as unsigned numbers."""
    dtype = np.uint64 if bits == 64 else np.uint32 if bits == 32 else np.uint16
    return np.array([int(v) & ((1 << bits) - 1) for v in values], dtype=dtype)


def integers(out: str, operation: Callable[..., Any]) -> Callable[..., Array]:
    """The operation on integers of any size, cut to the result's bits."""
    bits = int(out[1:])
    return lambda *sources: low(operation(*wide(*sources)), bits)


def saturated(out: str, operation: Callable[..., Any]) -> Callable[..., Array]:
    bits, signed = int(out[1:]), out[0] == "i"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda *sources: low(
        np.array([min(max(int(v), least), most) for v in operation(*wide(*sources))], dtype=object), bits
    )


def arithmetic(names: str, out: str, sources: str, operation: Callable[..., Any], clamps: bool = False) -> None:
    more = {"saturates": saturated(out, operation)} if clamps else {}
    define(names, out, sources, integers(out, operation), **more)


def each(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of Python integers, for each lane."""
    return lambda *sources: np.array(
        [function(*(int(v) for v in lane)) for lane in zip(*sources, strict=True)], dtype=object
    )


def sign24(a: Array) -> Array:
    return np.array([((int(v) & 0xFFFFFF) ^ 0x800000) - 0x800000 for v in a], dtype=object)


def u24(a: Array) -> Array:
    return np.array([int(v) & 0xFFFFFF for v in a], dtype=object)


# ---- integers ----

arithmetic("add_u32", "u32", "u32 u32", operator.add, clamps=True)
arithmetic("sub_u32", "u32", "u32 u32", operator.sub, clamps=True)
arithmetic("subrev_u32", "u32", "u32 u32", lambda a, b: b - a, clamps=True)
arithmetic("add_i32", "i32", "i32 i32", operator.add, clamps=True)
arithmetic("sub_i32", "i32", "i32 i32", operator.sub, clamps=True)
arithmetic("add_u16", "u16", "u16 u16", operator.add, clamps=True)
arithmetic("sub_u16", "u16", "u16 u16", operator.sub, clamps=True)
arithmetic("subrev_u16", "u16", "u16 u16", lambda a, b: b - a, clamps=True)
arithmetic("add_i16", "i16", "i16 i16", operator.add, clamps=True)
arithmetic("sub_i16", "i16", "i16 i16", operator.sub, clamps=True)
arithmetic("mul_lo_u32", "u32", "u32 u32", operator.mul)
arithmetic("mul_lo_u16", "u16", "u16 u16", operator.mul, clamps=True)
arithmetic("mul_hi_u32", "u32", "u32 u32", lambda a, b: a * b >> 32)
arithmetic("mul_hi_i32", "i32", "i32 i32", lambda a, b: a * b >> 32)
arithmetic("mul_i32_i24", "i32", "i32 i32", lambda a, b: sign24(a) * sign24(b), clamps=True)
arithmetic("mul_u32_u24", "u32", "u32 u32", lambda a, b: u24(a) * u24(b), clamps=True)
arithmetic("mul_hi_i32_i24", "i32", "i32 i32", lambda a, b: sign24(a) * sign24(b) >> 32)
arithmetic("mul_hi_u32_u24", "u32", "u32 u32", lambda a, b: u24(a) * u24(b) >> 32)
arithmetic("mad_i32_i24", "i32", "i32 i32 i32", lambda a, b, c: sign24(a) * sign24(b) + c, clamps=True)
arithmetic("mad_u32_u24", "u32", "u32 u32 u32", lambda a, b, c: u24(a) * u24(b) + c, clamps=True)
arithmetic("mad_u16 mad_legacy_u16", "u16", "u16 u16 u16", lambda a, b, c: a * b + c, clamps=True)
arithmetic("mad_i16 mad_legacy_i16", "i16", "i16 i16 i16", lambda a, b, c: a * b + c, clamps=True)
arithmetic("mad_u32_u16", "u32", "u16 u16 u32", lambda a, b, c: a * b + c, clamps=True)
arithmetic("mad_i32_i16", "i32", "i16 i16 i32", lambda a, b, c: a * b + c, clamps=True)
arithmetic("add3_u32", "u32", "u32 u32 u32", lambda a, b, c: a + b + c)
arithmetic("lshl_add_u32", "u32", "u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c)
arithmetic("add_lshl_u32", "u32", "u32 u32 u32", lambda a, b, c: (a + b) << (c & 31))
arithmetic("lshl_or_b32", "u32", "u32 u32 u32", lambda a, b, c: (a << (b & 31)) | c)
arithmetic("lshl_add_u64", "u64", "u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c)
arithmetic("xad_u32", "u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c)
arithmetic("and_b32", "u32", "u32 u32", operator.and_)
arithmetic("or_b32", "u32", "u32 u32", operator.or_)
arithmetic("xor_b32", "u32", "u32 u32", operator.xor)
arithmetic("xnor_b32", "u32", "u32 u32", lambda a, b: ~(a ^ b))
arithmetic("not_b32", "u32", "u32", operator.invert)
arithmetic("mov_b32", "u32", "u32", lambda a: a)
arithmetic("mov_b64", "u64", "u64", lambda a: a)
arithmetic("or3_b32", "u32", "u32 u32 u32", lambda a, b, c: a | b | c)
arithmetic("and_or_b32", "u32", "u32 u32 u32", lambda a, b, c: a & b | c)
arithmetic("bfi_b32", "u32", "u32 u32 u32", lambda a, b, c: a & b | ~a & c)
arithmetic("bfm_b32", "u32", "u32 u32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31))
arithmetic("bfe_u32", "u32", "u32 u32 u32", lambda a, b, c: a >> (b & 31) & (1 << (c & 31)) - 1)
define("bfe_i32", "i32", "i32 u32 u32", each(lambda a, b, c: _signed(a >> (b & 31), c & 31)))
arithmetic("lshlrev_b32", "u32", "u32 u32", lambda a, b: b << (a & 31))
arithmetic("lshrrev_b32", "u32", "u32 u32", lambda a, b: b >> (a & 31))
arithmetic("ashrrev_i32", "i32", "u32 i32", lambda a, b: b >> (a & 31))
arithmetic("lshlrev_b64", "u64", "u32 u64", lambda a, b: b << (a & 63))
arithmetic("lshrrev_b64", "u64", "u32 u64", lambda a, b: b >> (a & 63))
arithmetic("ashrrev_i64", "i64", "u32 i64", lambda a, b: b >> (a & 63))
arithmetic("lshlrev_b16", "u16", "u16 u16", lambda a, b: b << (a & 15))
arithmetic("lshrrev_b16", "u16", "u16 u16", lambda a, b: b >> (a & 15))
arithmetic("ashrrev_i16", "i16", "u16 i16", lambda a, b: b >> (a & 15))
arithmetic("alignbit_b32", "u32", "u32 u32 u32", lambda a, b, c: (a << 32 | b) >> (c & 31))
arithmetic("alignbyte_b32", "u32", "u32 u32 u32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3))
for t in ("i32", "u32", "i16", "u16"):
    define(f"min_{t}", t, f"{t} {t}", np.minimum)
    define(f"max_{t}", t, f"{t} {t}", np.maximum)
    define(f"min3_{t}", t, f"{t} {t} {t}", lambda a, b, c: np.minimum(np.minimum(a, b), c))
    define(f"max3_{t}", t, f"{t} {t} {t}", lambda a, b, c: np.maximum(np.maximum(a, b), c))
    define(f"med3_{t}", t, f"{t} {t} {t}", lambda a, b, c: np.sort(np.stack([a, b, c]), axis=0)[1])


def _signed(value: int, width: int) -> int:
    return 0 if width == 0 else ((value & (1 << width) - 1) ^ 1 << width - 1) - (1 << width - 1)


def _leading(value: int, bits: int = 32) -> int:
    return bits - value.bit_length() if value else -1


define("bfrev_b32", "u32", "u32", each(lambda a: int(f"{a:032b}"[::-1], 2)))
define("ffbh_u32", "i32", "u32", each(_leading))
define("ffbl_b32", "i32", "u32", each(lambda a: (a & -a).bit_length() - 1))
define("ffbh_i32", "i32", "i32", each(lambda a: _leading(a if a >= 0 else ~a)))
define(
    "bcnt_u32_b32",
    "u32",
    "u32 u32",
    integers("u32", lambda a, b: np.array([v.bit_count() for v in a], dtype=object) + b),
)
define("prng_b32", "u32", "u32", integers("u32", lambda a: a << 1 ^ (a >> 31) * 197))
define("cndmask_b32", "u32", "u32 u32 mask", lambda a, b, c: np.where(c, b, a))


def carries(name: str, operation: Callable[..., Any], takes: bool) -> None:
    """Sums and differences of 32 bits with a carry out, and in where `takes`."""

    def function(*sources: Array) -> tuple[Array, Array]:
        result = operation(*wide(*sources))
        return low(result), np.array([v < 0 or v >> 32 != 0 for v in result])

    clamp = lambda *s: (saturated("u32", operation)(*s), function(*s)[1])  # noqa: E731
    define(name, "u32", "u32 u32 mask" if takes else "u32 u32", function, saturates=clamp, carry=True)


carries("add_co_u32", operator.add, False)
carries("sub_co_u32", operator.sub, False)
carries("subrev_co_u32", lambda a, b: b - a, False)
carries("addc_co_u32", lambda a, b, c: a + b + c, True)
carries("subb_co_u32", lambda a, b, c: a - b - c, True)
carries("subbrev_co_u32", lambda a, b, c: b - a - c, True)


def _mad64(signed: bool) -> Callable[..., tuple[Array, Array]]:
    def function(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        a, b, c = wide(a, b, c)
        total = a * b + c
        return low(total, 64), np.array([bool(v >> 64 & 1) for v in total])

    return function


define("mad_u64_u32", "u64", "u32 u32 u64", _mad64(False), carry=True)
define("mad_i64_i32", "i64", "i32 i32 i64", _mad64(True), carry=True)

# ---- comparisons ----

_COMPARE = {"lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
for t in ("i16", "u16", "i32", "u32", "i64", "u64"):
    for name, op in {**_COMPARE, "ne": operator.ne}.items():
        define(f"cmp_{name}_{t}", "mask", f"{t} {t}", op)
    define(f"cmp_f_{t}", "mask", f"{t} {t}", lambda a, b: np.zeros(64, bool))
    define(f"cmp_t_{t}", "mask", f"{t} {t}", lambda a, b: np.ones(64, bool))
_COMPARE["lg"] = lambda a, b: (a < b) | (a > b)
_COMPARE["o"] = lambda a, b: ~np.isnan(a) & ~np.isnan(b)
for t in ("f16", "f32", "f64"):
    for name, op in _COMPARE.items():
        define(f"cmp_{name}_{t}", "mask", f"{t} {t}", op)
        negated = {"o": "u", "eq": "neq"}.get(name, f"n{name}")
        define(f"cmp_{negated}_{t}", "mask", f"{t} {t}", lambda a, b, op=op: ~op(a, b))
    define(f"cmp_f_{t}", "mask", f"{t} {t}", lambda a, b: np.zeros(64, bool))
    define(f"cmp_tru_{t}", "mask", f"{t} {t}", lambda a, b: np.ones(64, bool))


def _class(kind: str) -> Callable[[Array, Array], Array]:
    def function(a: Array, mask: Array) -> Array:
        negative, tiny = np.signbit(a), np.finfo(a.dtype).tiny
        quiet = encode(a, kind) >> np.uint64({"f16": 9, "f32": 22, "f64": 51}[kind]) & np.uint64(1)
        nan, zero, infinite = np.isnan(a), a == 0, np.isinf(a)
        denormal = ~zero & (np.abs(a) < tiny)
        number = np.select(
            [infinite, denormal, zero],
            [np.where(negative, 2, 9), np.where(negative, 4, 7), np.where(negative, 5, 6)],
            np.where(negative, 3, 8),
        )
        number = np.where(nan, np.where(quiet == 1, 1, 0), number)
        return (mask.astype(np.int64) >> number & 1) != 0

    return function


for t in ("f16", "f32", "f64"):
    define(f"cmp_class_{t}", "mask", f"{t} u32", _class(t))
for name in [n for n in DEFINITIONS if n.startswith("v_cmp_")]:
    DEFINITIONS[name.replace("v_cmp_", "v_cmpx_")] = DEFINITIONS[name]

# ---- floats ----

for t in ("f16", "f32", "f64"):
    define(f"add_{t}", t, f"{t} {t}", operator.add)
    define(f"mul_{t}", t, f"{t} {t}", operator.mul)
    define(f"sub_{t}", t, f"{t} {t}", operator.sub)
    define(f"subrev_{t}", t, f"{t} {t}", lambda a, b: b - a)
    define(f"fma_{t}", t, f"{t} {t} {t}", lambda a, b, c, t=t: fused(a, b, c, t))
    define(f"fmac_{t}", t, f"{t} {t} {t}", lambda a, b, c, t=t: fused(a, b, c, t), old=True)
define("fma_legacy_f16", "f16", "f16 f16 f16", lambda a, b, c: fused(a, b, c, "f16"))
define("fmamk_f32", "f32", "f32 f32 f32", lambda a, b, c: fused(a, b, c, "f32"))
define("fmaak_f32", "f32", "f32 f32 f32", lambda a, b, c: fused(a, b, c, "f32"))
