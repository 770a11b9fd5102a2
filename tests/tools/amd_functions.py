"""All definitions of vector instructions: here minima, functions of floats, conversions and bytes are added."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.tools.amd_definitions import DEFINITIONS, define, each, low
from tests.tools.amd_numbers import FLOATS, Array, decode, encode

__all__ = ["DEFINITIONS", "flushed"]

_QUIET = {"f16": 9, "f32": 22, "f64": 51}


def flushed(a: Array) -> Array:
    """Denormals of f32 as zeros of their sign."""
    return np.where(np.abs(a) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), a), a)


# ---- minima: a NaN loses against a number, but a signaling one wins, quiet; -0 is less than +0 ----


def _signaling(a: Array, kind: str) -> Array:
    return np.isnan(a) & ((encode(a, kind) >> np.uint64(_QUIET[kind]) & np.uint64(1)) == 0)


def extreme(kind: str, least: bool) -> Callable[[Array, Array], Array]:
    def function(a: Array, b: Array) -> Array:
        smaller = (a < b) | ((a == b) & np.signbit(a)) if least else (a > b) | ((a == b) & ~np.signbit(a))
        number = np.where(np.isnan(a), b, np.where(np.isnan(b) | smaller, a, b))
        return np.where(_signaling(a, kind) | _signaling(b, kind), np.nan, number).astype(FLOATS[kind])

    return function


def median(kind: str) -> Callable[[Array, Array, Array], Array]:
    least, most = extreme(kind, True), extreme(kind, False)

    def function(a: Array, b: Array, c: Array) -> Array:
        top = most(most(a, b), c)
        number = np.where(top == a, most(b, c), np.where(top == b, most(a, c), most(a, b)))
        return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), least(least(a, b), c), number)

    return function


for _t in ("f16", "f32", "f64"):
    _least, _most = extreme(_t, True), extreme(_t, False)
    define(f"min_{_t}", _t, f"{_t} {_t}", _least)
    define(f"max_{_t}", _t, f"{_t} {_t}", _most)
    if _t == "f64":
        continue
    define(f"min3_{_t}", _t, f"{_t} {_t} {_t}", lambda a, b, c, f=_least: f(f(a, b), c))
    define(f"max3_{_t}", _t, f"{_t} {_t} {_t}", lambda a, b, c, f=_most: f(f(a, b), c))
    define(f"med3_{_t}", _t, f"{_t} {_t} {_t}", median(_t))


def strict(kind: str, least: bool) -> Callable[[Array, Array], Array]:
    """A NaN wins."""
    number = extreme(kind, least)
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, number(a, b)).astype(FLOATS[kind])


for _name, _strict in (("minimum3", strict("f32", True)), ("maximum3", strict("f32", False))):
    define(f"{_name}_f32", "f32", "f32 f32 f32", lambda a, b, c, f=_strict: f(f(a, b), c))

# ---- a product and a sum, rounded each, without denormals ----


def separate(a: Array, b: Array, c: Array) -> Array:
    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c))


def legacy(a: Array, b: Array) -> Array:
    return np.where((a == 0) | (b == 0), np.float32(0), a * b)


def _flush_half(a: Array) -> Array:
    return np.where(np.abs(a) < np.finfo(np.float16).tiny, np.copysign(np.float16(0), a), a)


def separate_half(a: Array, b: Array, c: Array) -> Array:
    return _flush_half(_flush_half(_flush_half(a) * _flush_half(b)) + _flush_half(c))


define("mad_f32 madmk_f32", "f32", "f32 f32 f32", separate)
define("madak_f32", "f32", "f32 f32 f32", separate)
define("mac_f32", "f32", "f32 f32 f32", separate, old=True)
define("mad_f16 mad_legacy_f16 madmk_f16 madak_f16", "f16", "f16 f16 f16", separate_half)
define("mac_f16", "f16", "f16 f16 f16", separate_half, old=True)
define("mul_legacy_f32", "f32", "f32 f32", legacy)
define(
    "mad_legacy_f32",
    "f32",
    "f32 f32 f32",
    lambda a, b, c: flushed(flushed(legacy(flushed(a), flushed(b))) + flushed(c)),
)

# ---- functions of one number ----


def fraction(kind: str) -> Callable[[Array], Array]:
    largest = np.nextafter(FLOATS[kind](1), FLOATS[kind](0))
    return lambda a: np.where(np.isnan(a - np.floor(a)), np.nan, np.minimum(a - np.floor(a), largest))


def mantissa(a: Array) -> Array:
    return np.where(np.isfinite(a), np.frexp(a)[0], a)


def exponent(a: Array) -> Array:
    return np.where(np.isfinite(a), np.frexp(a)[1], 0)


for _t in ("f16", "f32", "f64"):
    for _name, _f in {
        "trunc": np.trunc,
        "ceil": np.ceil,
        "floor": np.floor,
        "rndne": np.rint,
        "frexp_mant": mantissa,
    }.items():
        define(f"{_name}_{_t}", _t, _t, _f)
    define(f"fract_{_t}", _t, _t, fraction(_t))
    _integer = "i16" if _t == "f16" else "i32"
    define(f"frexp_exp_{_integer}_{_t}", _integer, _t, exponent)
    _ldexp = lambda a, b: np.ldexp(a.astype(np.longdouble), np.clip(b.astype(np.int64), -3000, 3000))  # noqa: E731
    define(f"ldexp_{_t}", _t, f"{_t} {_integer}", lambda a, b, f=_ldexp, t=_t: f(a, b).astype(FLOATS[t]))


def approximate(function: Callable[[Array], Array], flush: bool) -> Callable[[Array], Array]:
    """The function in float64; without denormals of f32, in or out, where `flush`."""

    def of(a: Array) -> Array:
        result = function((flushed(a) if flush else a).astype(np.float64))
        return (
            np.where(np.abs(result) < np.finfo(np.float32).tiny, np.copysign(0.0, result), result) if flush else result
        )

    return of


def _turns(function: Callable[[Array], Array], beyond: float) -> Callable[[Array], Array]:
    def of(a: Array) -> Array:
        part = a - np.rint(a)
        inside = np.abs(a) <= 256
        value = function(2 * np.pi * part)
        value = np.where(
            (np.abs(value) < 1e-12) & (np.abs(part) > 0.1), 0.0, value
        )  # half a turn isn't a multiple of the rounded π
        return np.where(np.isfinite(a), np.where(inside, np.where(a == 0, function(a), value), beyond), np.nan)

    return of


_FUNCTIONS = {"exp": np.exp2, "log": np.log2, "rcp": lambda a: 1 / a, "rsq": lambda a: 1 / np.sqrt(a), "sqrt": np.sqrt}
for _name, _f in _FUNCTIONS.items():
    define(f"{_name}_f32", "f32", "f32", approximate(_f, True), ulps=1)
    define(f"{_name}_f16", "f16", "f16", approximate(_f, False), ulps=1)
define("rcp_iflag_f32", "f32", "f32", approximate(_FUNCTIONS["rcp"], True), ulps=1)
define("exp_legacy_f32", "f32", "f32", approximate(np.exp2, True), ulps=1)
define("log_legacy_f32", "f32", "f32", approximate(np.log2, True), ulps=1)
for _name in ("rcp", "rsq", "sqrt"):
    define(f"{_name}_f64", "f64", "f64", _FUNCTIONS[_name], ulps=2)
for _t in ("f16", "f32"):
    define(f"sin_{_t}", _t, _t, approximate(_turns(np.sin, 0.0), False), ulps=600)
    define(f"cos_{_t}", _t, _t, approximate(_turns(np.cos, 1.0), False), ulps=600)

# ---- conversions ----


def to_integer(kind: str) -> Callable[[Array], Array]:
    least, most = (
        np.iinfo(decode(np.zeros(1, np.uint64), kind).dtype).min,
        np.iinfo(decode(np.zeros(1, np.uint64), kind).dtype).max,
    )

    def one(value: float) -> int:
        if math.isnan(value):
            return 0
        return int(min(max(value, least), most)) if math.isfinite(value) else least if value < 0 else most

    return lambda a: low(np.array([min(max(one(float(v)), least), most) for v in a], dtype=object), int(kind[1:]))


for _t, _kinds in {"f64": ("i32", "u32"), "f32": ("i32", "u32"), "f16": ("i16", "u16")}.items():
    for _k in _kinds:
        define(f"cvt_{_k}_{_t}", _k, _t, to_integer(_k))
        define(f"cvt_{_t}_{_k}", _t, _k, lambda a, t=_t: a.astype(FLOATS[t]))
define("cvt_f16_f32", "f16", "f32", lambda a: a.astype(np.float16))
define("cvt_f32_f16", "f32", "f16", lambda a: a.astype(np.float32))
define("cvt_f32_bf16", "f32", "bf16", lambda a: a)
define("cvt_f32_f64", "f32", "f64", lambda a: a.astype(np.float32))
define("cvt_f64_f32", "f64", "f32", lambda a: a.astype(np.float64))
define("cvt_rpi_i32_f32", "i32", "f32", lambda a: to_integer("i32")(np.floor(a + np.float32(0.5))))
define("cvt_flr_i32_f32", "i32", "f32", lambda a: to_integer("i32")(np.floor(a)))
define("cvt_off_f32_i4", "f32", "u32", each(lambda a: (((a & 15) ^ 8) - 8) / 16))
for _i in range(4):
    define(f"cvt_f32_ubyte{_i}", "f32", "u32", each(lambda a, i=_i: float(a >> 8 * i & 255)))


def _fraction_of(kind: str) -> Callable[[Array], Array]:
    least, scale = (-1, 32767) if kind == "i16" else (0, 65535)
    return lambda a: low(np.rint(np.nan_to_num(np.clip(a.astype(np.float32), least, 1)) * np.float32(scale)), 16)


def packed(a: Array, b: Array) -> Array:
    return a.astype(np.uint32) | b.astype(np.uint32) << np.uint32(16)


for _k in ("i16", "u16"):
    define(f"cvt_norm_{_k}_f16", _k, "f16", _fraction_of(_k))
    _of = _fraction_of(_k)
    for _t in ("f16", "f32"):
        define(f"cvt_pknorm_{_k}_{_t}", "u32", f"{_t} {_t}", lambda a, b, f=_of: packed(f(a), f(b)))


def toward_zero(a: Array) -> Array:
    """f32 as bits of halves, cut."""
    half = a.astype(np.float16)
    beyond = np.abs(half.astype(np.float32)) > np.abs(a)
    half = np.where(beyond & np.isfinite(a), np.nextafter(half, np.float16(0)), half)
    return encode(half, "f16")


def brain(a: Array) -> Array:
    """f32 as bits of brain floats, to the nearest, ties to even."""
    bits = encode(a, "f32").astype(np.uint64)
    nearest = bits + np.uint64(0x7FFF) + (bits >> np.uint64(16) & np.uint64(1)) >> np.uint64(16)
    return np.where(np.isnan(a), bits >> np.uint64(16) | np.uint64(0x40), nearest)


def _halves(a: Array) -> Array:
    raw, bits = encode(a.astype(np.float16), "f16"), encode(a, "f32")
    payload = (
        np.uint64(0x7E00) | (bits >> np.uint64(13) & np.uint64(0x3FF)) | (bits >> np.uint64(16) & np.uint64(0x8000))
    )
    return np.where(np.isnan(a), payload, raw)


def _cut_halves(a: Array) -> Array:
    return np.where(np.isnan(a), _halves(a), toward_zero(a))


define("cvt_pkrtz_f16_f32", "u32", "f32 f32", lambda a, b: packed(_cut_halves(a), _cut_halves(b)))
define("cvt_pk_f16_f32", "u32", "f32 f32", lambda a, b: packed(_halves(a), _halves(b)))
define("cvt_pk_bf16_f32", "u32", "f32 f32", lambda a, b: packed(brain(a), brain(b)))
define("cvt_pk_u16_u32", "u32", "u32 u32", lambda a, b: packed(np.minimum(a, 65535), np.minimum(b, 65535)))
define(
    "cvt_pk_i16_i32",
    "u32",
    "i32 i32",
    each(lambda a, b: (min(max(a, -32768), 32767) & 65535) | (min(max(b, -32768), 32767) & 65535) << 16),
)
define("pack_b32_f16", "u32", "f16 f16", lambda a, b: packed(encode(a, "f16"), encode(b, "f16")))


def _byte(a: Array) -> Array:
    return np.trunc(np.clip(np.nan_to_num(a, nan=0.0, posinf=255, neginf=0), 0, 255)).astype(np.uint32)


def with_byte(old: Array, at: Array, byte: Array) -> Array:
    shift = (at & np.uint32(3)) * np.uint32(8)
    return (old & ~(np.uint32(255) << shift)) | byte << shift


define("cvt_pk_u8_f32", "u32", "f32 u32 u32", lambda a, b, c: with_byte(c, b, _byte(a)))
define("cvt_pkaccum_u8_f32", "u32", "f32 u32 u32", lambda a, b, c: with_byte(c, b, _byte(a)), old=True)
define("sat_pk_u8_i16", "u32", "u32", each(lambda a: _clip8(a) | _clip8(a >> 16) << 8))


def _clip8(a: int) -> int:
    return min(max(((a & 0xFFFF) ^ 0x8000) - 0x8000, 0), 255)


for _name, _least, _most in (("i8", -128, 127), ("u8", 0, 255)):
    define(
        f"ashr_pk_{_name}_i32",
        "u16",
        "i32 i32 u32",
        each(
            lambda a, b, c, x=_least, y=_most: (
                (min(max(a >> (c & 31), x), y) & 255) | (min(max(b >> (c & 31), x), y) & 255) << 8
            )
        ),
    )

# ---- bytes ----


def bytes_of(a: int, count: int = 4) -> list[int]:
    return [a >> 8 * i & 255 for i in range(count)]


def _sad(a: int, b: int, masked: bool = False) -> int:
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y or not masked)


def _sads(names: str, function: Callable[[int, int, int], int]) -> None:
    define(
        names,
        "u32",
        "u32 u32 u32",
        each(lambda a, b, c: function(a, b, c) & 0xFFFFFFFF),
        saturates=each(lambda a, b, c: min(function(a, b, c), 0xFFFFFFFF)),
    )


_sads("sad_u8", lambda a, b, c: _sad(a, b) + c)
_sads("sad_hi_u8", lambda a, b, c: (_sad(a, b) << 16) + c)
_sads("msad_u8", lambda a, b, c: _sad(a, b, True) + c)
_sads("sad_u32", lambda a, b, c: abs(a - b) + c)
_sads("sad_u16", lambda a, b, c: abs((a & 65535) - (b & 65535)) + abs((a >> 16) - (b >> 16)) + c)


def _quad(masked: bool, clamp: bool) -> Callable[..., Array]:
    def one(a: int, b: int, c: int) -> int:
        sums = [_sad(a >> 8 * i & 0xFFFFFFFF, b, masked) + (c >> 16 * i & 65535) for i in range(4)]
        return sum((min(s, 65535) if clamp else s & 65535) << 16 * i for i, s in enumerate(sums))

    return each(one)


define("qsad_pk_u16_u8", "u64", "u64 u32 u64", _quad(False, False), saturates=_quad(False, True))
define("mqsad_pk_u16_u8", "u64", "u64 u32 u64", _quad(True, False), saturates=_quad(True, True))
define(
    "lerp_u8",
    "u32",
    "u32 u32 u32",
    each(
        lambda a, b, c: sum(
            (x + y + (z & 1) >> 1) << 8 * i
            for i, (x, y, z) in enumerate(zip(bytes_of(a), bytes_of(b), bytes_of(c), strict=True))
        )
    ),
)


def _perm(a: int, b: int, c: int) -> int:
    data = bytes_of(a << 32 | b, 8)
    table: dict[int, int] = dict(enumerate(data)) | {8 + i: 255 * (data[2 * i + 1] >> 7) for i in range(4)} | {12: 0}
    return sum(table.get(choice, 255) << 8 * i for i, choice in enumerate(bytes_of(c)))


define("perm_b32", "u32", "u32 u32 u32", each(_perm))

# ---- cubes ----


def _cube(name: str) -> Callable[..., Array]:
    def one(x: float, y: float, z: float) -> float:
        ax, ay, az = abs(x), abs(y), abs(z)
        axis = "z" if az >= ax and az >= ay else "y" if ay >= ax else "x"
        main = {"x": x, "y": y, "z": z}[axis]
        negative = main < 0
        return {
            "id": {"x": 0, "y": 2, "z": 4}[axis] + negative,
            "sc": {"z": -x if negative else x, "y": x, "x": z if negative else -z}[axis],
            "tc": {"z": -y, "y": -z if negative else z, "x": -y}[axis],
            "ma": np.float32(2) * np.float32(main),
        }[name]

    return lambda *s: np.array([one(*(np.float32(v) for v in lane)) for lane in zip(*s, strict=True)], np.float32)


for _name in ("id", "sc", "tc", "ma"):
    define(f"cube{_name}_f32", "f32", "f32 f32 f32", _cube(_name))


def bit_operation(table: int, bits: int) -> Callable[..., Any]:
    def one(a: int, b: int, c: int) -> int:
        return sum((table >> 4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1) & 1) << i for i in range(bits))

    return each(one)
