"""What memory instructions do, from their definitions: numbers as Python integers of 32 or 64 bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.tools.amd_run import State

__all__ = ["ATOMICS", "MOVES", "Lds", "edge_state", "gather", "signed"]

_EDGES = np.array(
    [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x80000001, 0x3F800000, 0x7C00FC00], np.uint32
)
Atomic = Callable[[int, int, int, int], int]  # old value, data, second data, bits


def signed(value: int, bits: int) -> int:
    """Two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def _float(value: int, bits: int) -> np.float64 | np.float32:
    if bits == 64:
        return np.float64(np.array([value], np.uint64).view(np.float64)[0])
    return np.float32(np.array([value], np.uint32).view(np.float32)[0])


def _bits(value: np.floating) -> int:
    return int(np.array([value]).view(np.uint64 if value.dtype == np.float64 else np.uint32)[0])


def _add_float(old: int, data: int, _: int, bits: int) -> int:
    with np.errstate(all="ignore"):
        return _bits(_float(old, bits) + _float(data, bits))


def _compared(keep: Callable[[np.floating, np.floating], bool]) -> Atomic:
    return lambda old, data, _, bits: data if keep(_float(data, bits), _float(old, bits)) else old


def _halves(add: Callable[[int, int], int]) -> Atomic:
    return lambda old, data, _1, _2: add(old & 0xFFFF, data & 0xFFFF) | add(old >> 16, data >> 16) << 16


def _add_half(a: int, b: int) -> int:
    with np.errstate(all="ignore"):
        x, y = (np.array([value], np.uint16).view(np.float16) for value in (a, b))
        return int((x + y).view(np.uint16)[0])


def _add_brain(a: int, b: int) -> int:
    with np.errstate(all="ignore"):
        total = np.float64(_float(a << 16, 32)) + np.float64(_float(b << 16, 32))
    if np.isnan(total):
        return -1  # any NaN
    single = _bits(np.float32(total))
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def _condxchg(old: int, data: int, _: int, bits: int) -> int:
    parts = [(old >> at & 0xFFFFFFFF, data >> at & 0xFFFFFFFF) for at in (0, 32)]
    low, high = (d & 0x7FFFFFFF if d >> 31 else o for o, d in parts)
    return low | high << 32


# Of memory the first data is what to write and the second what to compare with; of LDS the other way about.
ATOMICS: dict[str, Atomic] = {
    "swap": lambda old, data, more, bits: data,
    "add": lambda old, data, more, bits: old + data,
    "sub": lambda old, data, more, bits: old - data,
    "rsub": lambda old, data, more, bits: data - old,
    "smin": lambda old, data, more, bits: min(old, data, key=lambda v: signed(v, bits)),
    "smax": lambda old, data, more, bits: max(old, data, key=lambda v: signed(v, bits)),
    "umin": lambda old, data, more, bits: min(old, data),
    "umax": lambda old, data, more, bits: max(old, data),
    "and": lambda old, data, more, bits: old & data,
    "or": lambda old, data, more, bits: old | data,
    "xor": lambda old, data, more, bits: old ^ data,
    "inc": lambda old, data, more, bits: 0 if old >= data else old + 1,
    "dec": lambda old, data, more, bits: data if old == 0 or old > data else old - 1,
    "cmpswap": lambda old, data, more, bits: data if old == more else old,
    "cmpst": lambda old, data, more, bits: more if old == data else old,
    "cmpst_f": lambda old, data, more, bits: more if _float(old, bits) == _float(data, bits) else old,
    "mskor": lambda old, data, more, bits: (old & ~data) | more,
    "wrap": lambda old, data, more, bits: old - data if old >= data else old + more,
    "condxchg32": _condxchg,
    "add_f": _add_float,
    "min_f": _compared(lambda data, old: bool(data < old)),
    "max_f": _compared(lambda data, old: bool(data > old)),
    "pk_add_f16": _halves(_add_half),
    "pk_add_bf16": _halves(_add_brain),
}

# Loads and stores: bytes, whether the sign is extended, which half of the register (None: all of it).
MOVES: dict[str, tuple[int, bool, int | None]] = {
    "ubyte": (1, False, None), "sbyte": (1, True, None), "ushort": (2, False, None), "sshort": (2, True, None),
    "dword": (4, False, None), "dwordx2": (8, False, None), "dwordx3": (12, False, None), "dwordx4": (16, False, None),
    "ubyte_d16": (1, False, 0), "ubyte_d16_hi": (1, False, 1), "sbyte_d16": (1, True, 0), "sbyte_d16_hi": (1, True, 1),
    "short_d16": (2, False, 0), "short_d16_hi": (2, False, 1),
}  # fmt: skip


def edge_state(seed: int, lds: int = 0) -> State:
    """A wave with random registers, some of them edge values, and LDS of so many dwords."""
    rng = np.random.default_rng(seed)
    state = State()
    state.vgpr[:] = rng.integers(0, 1 << 32, state.vgpr.shape, np.uint32)
    some = rng.random(state.vgpr.shape) < 0.3
    state.vgpr[some] = rng.choice(_EDGES, int(some.sum()))
    state.lds = rng.integers(0, 1 << 32, lds, np.uint32)
    state.lds[rng.random(lds) < 0.3] = rng.choice(_EDGES)
    return state


class Lds:
    """Bytes that instructions change, for expected values."""

    def __init__(self, dwords: np.ndarray) -> None:
        self.bytes = bytearray(np.ascontiguousarray(dwords, np.uint32).tobytes())

    def read(self, at: int, size: int) -> int:
        """A number of so many bytes; zero outside."""
        return int.from_bytes(self.bytes[at : at + size], "little") if 0 <= at <= len(self.bytes) - size else 0

    def write(self, at: int, size: int, value: int) -> None:
        """Nothing outside."""
        if 0 <= at <= len(self.bytes) - size:
            self.bytes[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def dwords(self) -> np.ndarray:
        """As a simulated wave has them."""
        return np.frombuffer(bytes(self.bytes), np.uint32)


def gather(state: State, row: int, lane: int, dwords: int) -> int:
    """Registers side by side as one number."""
    return sum(int(state.vgpr[row + i, lane]) << 32 * i for i in range(dwords))
