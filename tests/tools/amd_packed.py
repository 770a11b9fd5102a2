"""Packed instructions (VOP3P): cases and what they leave, from the definitions of the single ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.tools.amd_forms import Row, raw_values
from tests.tools.amd_functions import DEFINITIONS
from tests.tools.amd_numbers import BITS, FLOATS, Array, decode, encode
from tests.tools.amd_run import State

__all__ = ["PackedCase", "check_packed", "kind_of", "packed_cases", "packed_state", "packed_text"]

_REGISTERS, _RESULT, _SCALAR = (10, 14, 18), 24, 20


@dataclass(frozen=True)
class PackedCase:
    """One instruction: bits for each source say which half, and which sign."""

    row: Row
    kinds: tuple[str, ...]
    low: int
    high: int
    neg: int = 0
    neg_hi: int = 0
    clamp: bool = False
    exec: int = 2**64 - 1
    seed: int = 0


def single(row: Row) -> str:
    """The instruction that runs on each half."""
    name = row.name.replace("v_pk_", "v_")
    return {"v_minimum3_f16": "v_minimum3_f32", "v_maximum3_f16": "v_maximum3_f32"}.get(name, name)


def kind_of(row: Row) -> str:
    """What the halves are."""
    return row.name.rpartition("_")[2].replace("b16", "u16").replace("b32", "u32")


def packed_cases(row: Row, seed: int) -> list[PackedCase]:
    """All selections at random, signs where the halves are floats, a scalar now and then."""
    rng = random.Random(f"{row.mnemonic}{seed}")
    count = sum(name.startswith("src") for name, _, _ in row.operands)
    full, found = (1 << count) - 1, []
    floats = kind_of(row) in FLOATS
    for turn in range(12):
        chosen = turn > 0
        kinds = ["v"] * count
        if turn % 4 == 3:
            kinds[rng.randrange(count)] = rng.choice(["s", "0", "-1"] + (["1.0"] if kind_of(row) == "f16" else []))
        signs = floats and turn % 3 == 2
        found.append(
            PackedCase(
                row,
                tuple(kinds),
                rng.randrange(full + 1) if chosen else 0,
                rng.randrange(full + 1) if chosen and kind_of(row) != "u32" else full,
                rng.randrange(full + 1) if signs else 0,
                rng.randrange(full + 1) if signs else 0,
                clamp=turn % 4 == 1 and _clamps(row),
                exec=rng.choice([2**64 - 1, rng.getrandbits(64)]),
                seed=turn,
            )
        )
    return found


def _clamps(row: Row) -> bool:
    return kind_of(row) in FLOATS or (single(row) in DEFINITIONS and DEFINITIONS[single(row)].saturates is not None)


def _list(name: str, bits: int, count: int) -> str:
    return f" {name}:[{','.join(str(bits >> i & 1) for i in range(count))}]"


def packed_text(case: PackedCase) -> str:
    """The instruction's assembly text."""
    width = next(w for name, _, w in case.row.operands if name == "vdst")
    parts, count = [_group("v", _RESULT, width)], len(case.kinds)
    for i, kind in enumerate(case.kinds):
        parts.append(
            _group("v", _REGISTERS[i], width) if kind == "v" else _group("s", _SCALAR, width) if kind == "s" else kind
        )
    tail = _list("op_sel", case.low, count) + _list("op_sel_hi", case.high, count)
    if case.neg or case.neg_hi:
        tail += _list("neg_lo", case.neg, count) + _list("neg_hi", case.neg_hi, count)
    return f"{case.row.mnemonic} {', '.join(parts)}{tail}{' clamp' if case.clamp else ''}"


def _group(bank: str, register: int, width: int) -> str:
    return f"{bank}{register}" if width == 1 else f"{bank}[{register}:{register + width - 1}]"


def packed_state(case: PackedCase) -> State:
    """Registers of random numbers, edges among them."""
    rng = np.random.default_rng(case.seed + 31 * len(case.row.mnemonic))
    state, kind = State(), kind_of(case.row)
    state.exec = case.exec

    def register() -> Array:
        mask, shift = np.uint64((1 << BITS[kind]) - 1), np.uint64(16)
        if BITS[kind] == 32:
            return raw_values(rng, kind).astype(np.uint32)
        return ((raw_values(rng, kind) & mask) | (raw_values(rng, kind) & mask) << shift).astype(np.uint32)

    for base in (*_REGISTERS, _RESULT):
        state.vgpr[base], state.vgpr[base + 1] = register(), register()
    state.sgpr[_SCALAR], state.sgpr[_SCALAR + 1] = register()[3], register()[5]
    return state


def _half(case: PackedCase, state: State, i: int, upper: int, negative: int) -> Array:
    kind, what = kind_of(case.row), case.kinds[i]
    if BITS[kind] == 32:
        if what == "v":
            raw = state.vgpr[_REGISTERS[i] + upper].astype(np.uint64)
        elif what == "s":
            raw = np.full(64, state.sgpr[_SCALAR + upper], np.uint64)
        else:
            raw = np.full(64, int(what) >> 32 * upper & 0xFFFFFFFF, np.uint64)
    else:
        if what == "v":
            whole = state.vgpr[_REGISTERS[i]].astype(np.uint64)
        elif what == "s":
            whole = np.full(64, state.sgpr[_SCALAR], np.uint64)
        else:
            whole = np.full(64, 0x3C00 if what == "1.0" else int(what) & 0xFFFFFFFF, np.uint64)
        raw = whole >> np.uint64(16 * upper) & np.uint64(0xFFFF)
    return raw ^ np.uint64(negative << BITS[kind] - 1)


def _results(case: PackedCase, state: State, second: bool, function: Callable[..., Array]) -> Array:
    kind = kind_of(case.row)
    select, signs = (case.high, case.neg_hi) if second else (case.low, case.neg)
    sources = [decode(_half(case, state, i, select >> i & 1, signs >> i & 1), kind) for i in range(len(case.kinds))]
    with np.errstate(all="ignore"):
        result = function(*sources)
        if case.clamp and kind in FLOATS:
            result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)) + 0.0
    return result


def check_packed(case: PackedCase, before: State, after: State) -> str:
    """Empty where `after` is what the definition says."""
    kind, name = kind_of(case.row), case.row.name
    on = np.array([case.exec >> i & 1 for i in range(64)], bool)
    if name == "v_pk_mov_b32":
        raws = [_half(case, before, i, case.low >> i & 1, 0) for i in range(2)]
        values = raws
    else:
        definition = DEFINITIONS[single(case.row)]
        clamped = case.clamp and definition.saturates is not None
        function = definition.saturates if clamped and definition.saturates else definition.function
        values = [_results(case, before, second, function) for second in (False, True)]
        with np.errstate(all="ignore"):
            raws = [encode(v, kind) for v in values]
    for i, (raw, value) in enumerate(zip(raws, values, strict=True)):
        if BITS[kind] == 32:
            got, old = after.vgpr[_RESULT + i].astype(np.uint64), before.vgpr[_RESULT + i].astype(np.uint64)
        else:
            shift, mask = np.uint64(16 * i), np.uint64(0xFFFF)
            got = after.vgpr[_RESULT].astype(np.uint64) >> shift & mask
            old = before.vgpr[_RESULT].astype(np.uint64) >> shift & mask
        same = got == np.where(on, raw, old)
        if kind in FLOATS:
            same |= on & np.isnan(decode(got, kind)) & np.isnan(value)
        if not same.all():
            lane = int(np.argmin(same))
            return f"half {i}, lane {lane}: {int(got[lane]):#x}, not {int(raw[lane]):#x}, of {int((~same).sum())}"
    return ""
