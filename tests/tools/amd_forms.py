"""Forms of vector instructions: from a row of the table, texts with every kind of operand and modifier, and what such
an instruction leaves, computed from its definition. Only which forms exist comes from the table."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tests.tools.amd_definitions import Definition
from tests.tools.amd_numbers import BITS, EDGES, FLOATS, Array, decode, encode
from tests.tools.amd_run import VCC, State

__all__ = ["Case", "Row", "cases", "check", "raw_values", "rows", "state_of"]

_TABLE = Path(__file__).resolve().parents[2] / "csrc" / "sim" / "tables" / "cdna.inc"
_ARCHES = ("gfx90a", "gfx942", "gfx950")
_REGISTER = {"src0": 10, "src1": 14, "src2": 18, "vdst": 24}
_SCALAR = {"src0": 20, "src1": 24, "src2": 28}
_MASK, _MASK_OUT = 40, 44  # scalar pairs
_DPP = [
    "quad_perm:[3,0,2,1]",
    "row_shl:1",
    "row_shl:15",
    "row_shr:1",
    "row_shr:7",
    "row_ror:5",
    "wave_shl:1",
    "wave_rol:1",
    "wave_shr:1",
    "wave_ror:1",
    "row_mirror",
    "row_half_mirror",
    "row_bcast:15",
    "row_bcast:31",
    "row_newbcast:9",
]
_SELECT = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
}


@dataclass(frozen=True)
class Row:
    format: str
    mnemonic: str
    operands: tuple[tuple[str, str, int], ...]  # field, bank, registers
    modifiers: frozenset[str]
    sdwa: frozenset[str] | None
    dpp: frozenset[str] | None

    @property
    def name(self) -> str:
        return re.sub("_e(32|64)$", "", self.mnemonic)


def rows(arch: str) -> list[Row]:
    """The rows of an architecture, its matrix instructions left out."""
    found = []
    for line in _TABLE.read_text().splitlines():
        match = re.match(r'X\((\w+), "(\w+)", "(.*)", "(.*)", (.*)\)', line)
        if not match or match[5].split(", ")[_ARCHES.index(arch)] == "-1" or re.match("v_(mfma|smfmac)", match[2]):
            continue
        operands = []
        for text in match[3].split():
            name, _, kind = text.partition(":")
            width = re.search(r"\d+", kind)
            operands.append((name, kind[:1], int(width[0]) if width else 0))
        words = {w.partition("=")[0]: frozenset(w.partition("=")[2].split(",")) for w in match[4].split()}
        found.append(Row(match[1], match[2], tuple(operands), frozenset(words), words.get("sdwa"), words.get("dpp")))
    return found


@dataclass(frozen=True)
class Case:
    """One instruction: `kinds` says what each source is (v, s, or a constant's text), the rest are modifiers."""

    row: Row
    form: str = "plain"  # plain, dpp, sdwa
    kinds: tuple[str, ...] = ()
    neg: int = 0
    abs: int = 0
    sext: int = 0
    clamp: bool = False
    op_sel: int = 0
    dpp: str = ""
    row_mask: int = 15
    bank_mask: int = 15
    bound: bool = False
    dst_sel: str = "DWORD"
    unused: str = "UNUSED_PAD"
    select: tuple[str, str] = ("DWORD", "DWORD")
    exec: int = 2**64 - 1
    seed: int = 0
    text: str = field(default="", compare=False)


def _sources(row: Row) -> list[str]:
    """The fields of the sources in the order of the text, carries and masks too."""
    names = [name for name, _, _ in row.operands]
    first = next((i for i, name in enumerate(names) if name in ("src0",)), len(names))
    return names[first:]


def _group(bank: str, register: int, width: int) -> str:
    return f"{bank}{register}" if width == 1 else f"{bank}[{register}:{register + width - 1}]"


def _operand(case: Case, i: int, name: str, bank: str, width: int) -> str:
    if name == "vcc":
        return "vcc"
    kind = case.kinds[i]
    if name == "literal":
        return kind
    if bank == "s" and name == "src2":
        return _group("s", _MASK, 2)
    text = (
        _group("v", _REGISTER[name], width)
        if kind == "v"
        else _group("s", _SCALAR[name], width)
        if kind == "s"
        else kind
    )
    if case.abs >> i & 1:
        text = f"|{text}|"
    if case.neg >> i & 1:
        text = f"-{text}"
    return f"sext({text})" if case.sext >> i & 1 else text


def _text(case: Case) -> str:
    row, parts, i = case.row, [], 0
    seen_source = False
    for name, bank, width in row.operands:
        if name == "vdst":
            parts.append(_group("s", _MASK_OUT, 2) if bank == "s" else _group("v", _REGISTER["vdst"], width))
        elif name == "sdst":
            parts.append(_group("s", _MASK_OUT, 2))
        elif name == "vcc" and not seen_source:
            parts.append("vcc")
        else:
            seen_source = True
            parts.append(_operand(case, i, name, bank, width))
            i += 1
    mnemonic = row.mnemonic if case.form == "plain" else f"{row.name}_{case.form}"
    tail = " clamp" if case.clamp else ""
    if case.op_sel:
        count = sum(name in _SCALAR for name, _, _ in row.operands) + 1
        bits = [case.op_sel >> k & 1 for k in range(count - 1)] + [case.op_sel >> 3 & 1]
        tail = f" op_sel:[{','.join(map(str, bits))}]" + tail
    if case.form == "dpp":
        tail += f" {case.dpp} row_mask:{case.row_mask:#x} bank_mask:{case.bank_mask:#x}" + (
            " bound_ctrl:1" if case.bound else ""
        )
    if case.form == "sdwa":
        if row.format != "VOPC":
            tail += f" dst_sel:{case.dst_sel} dst_unused:{case.unused}"
        tail += f" src0_sel:{case.select[0]}"
        if any(name == "src1" for name, _, _ in row.operands):
            tail += f" src1_sel:{case.select[1]}"
    return f"{mnemonic} {', '.join(parts)}{tail}"


# ---- values ----


def raw_values(rng: np.random.Generator, kind: str) -> Array:
    """64 raw values of a kind: edges, and bits at random."""
    bits = BITS[kind]
    edges = np.array(EDGES[kind], np.uint64)
    some = (
        rng.integers(0, 2**bits, 64, np.uint64, endpoint=False) if bits < 64 else rng.integers(0, 2**64, 64, np.uint64)
    )
    if kind == "f32":
        some = encode(rng.normal(size=64) * 10.0 ** rng.integers(-3, 4, 64), "f32")
    values = np.where(rng.random(64) < 0.7, rng.choice(edges, 64), some)
    high = rng.integers(0, 2**16, 64, np.uint64) << np.uint64(16) if bits == 16 else np.uint64(0)
    return values | high  # of numbers of 16 bits, the upper halves are others


def state_of(case: Case, definition: Definition) -> State:
    """Registers for an instruction: sources, an old result, masks, EXEC."""
    rng = np.random.default_rng(case.seed + 977 * len(case.row.mnemonic))
    state = State()
    state.exec = case.exec
    for code in (VCC, _MASK, _MASK_OUT):
        state.set_pair(code, int(rng.integers(0, 2**64, dtype=np.uint64)))
    for i, (name, _, width) in enumerate([o for o in case.row.operands if o[0] in _SCALAR]):
        kind = definition.sources[min(i, len(definition.sources) - 1)]
        values = raw_values(rng, kind if kind != "mask" else "u32")
        _put(state, _REGISTER[name], values, width)
        scalar = int(raw_values(rng, kind if kind != "mask" else "u32")[7])
        state.sgpr[_SCALAR[name]] = scalar & 0xFFFFFFFF
        state.sgpr[_SCALAR[name] + 1] = scalar >> 32
    old = raw_values(rng, definition.out if definition.out != "mask" else "u32")
    _put(state, _REGISTER["vdst"], old, 2 if definition.out != "mask" and BITS[definition.out] == 64 else 1)
    return state


def _put(state: State, register: int, values: Array, width: int) -> None:
    state.vgpr[register] = (values & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    if width == 2:
        state.vgpr[register + 1] = (values >> np.uint64(32)).astype(np.uint32)


def _get(state: State, register: int, bits: int) -> Array:
    value = state.vgpr[register].astype(np.uint64)
    return value | state.vgpr[register + 1].astype(np.uint64) << np.uint64(32) if bits == 64 else value


def _constant(text: str, kind: str) -> int:
    bits = BITS[kind]
    if text.startswith("0x"):
        value = int(text, 16)
        if kind == "f64":
            return value << 32
        return value if kind != "i64" or value < 2**31 else value | 0xFFFFFFFF << 32
    if "." in text:
        number = np.array([float(text)])
        return int(encode(number, {16: "f16", 32: "f32", 64: "f64"}[bits])[0])
    return int(text) & (1 << max(bits, 32)) - 1


# ---- the model ----


def _lanes(mask: int) -> Array:
    return np.array([mask >> i & 1 for i in range(64)], bool)


def _dpp(case: Case, on: Array) -> tuple[Array, Array]:
    """Which lane each lane reads, and whether that is one."""
    lane, text = np.arange(64), case.dpp
    number = int(re.search(r":(\d+)", text)[1]) if re.search(r":(\d+)", text) else 0
    row, at = lane & ~15, lane & 15
    if text.startswith("quad"):
        choice = np.array([int(c) for c in text[11:-1].split(",")])
        source = (lane & ~3) + choice[lane & 3]
        valid = np.ones(64, bool)
    else:
        name = text.split(":")[0]
        source, valid = {
            "row_shl": lambda: (lane + number, at + number < 16),
            "row_shr": lambda: (lane - number, at >= number),
            "row_ror": lambda: (row + (at - number) % 16, lane >= 0),
            "wave_shl": lambda: (lane + 1, lane < 63),
            "wave_rol": lambda: ((lane + 1) % 64, lane >= 0),
            "wave_shr": lambda: (lane - 1, lane > 0),
            "wave_ror": lambda: ((lane - 1) % 64, lane >= 0),
            "row_mirror": lambda: (row + 15 - at, lane >= 0),
            "row_half_mirror": lambda: ((lane & ~7) + 7 - (lane & 7), lane >= 0),
            "row_bcast": lambda: (row - 1, lane >= 16) if number == 15 else (np.full(64, 31), lane >= 32),
            "row_newbcast": lambda: (row + number, lane >= 0),
        }[name]()
    source = np.where(valid, source, 0)
    return source, valid & on[source]


def _source(case: Case, state: State, i: int, name: str, kind: str) -> Array:
    """Raw bits of a source after its modifiers."""
    bits, what = BITS[kind], case.kinds[i]
    if what == "v":
        raw = _get(state, _REGISTER[name], bits)
    elif what == "s":
        low, high = int(state.sgpr[_SCALAR[name]]), int(state.sgpr[_SCALAR[name] + 1])
        raw = np.full(64, low | (high << 32 if bits == 64 else 0), np.uint64)
    else:
        raw = np.full(64, _constant(what, kind), np.uint64)
    if case.form == "dpp" and i == 0:
        source, valid = _dpp(case, _lanes(case.exec))
        raw = np.where(valid, raw[source], np.uint64(0))
    if case.form == "sdwa" and i < 2 and case.select[i] in _SELECT:
        at, count = _SELECT[case.select[i]]
        part = raw >> np.uint64(at) & np.uint64((1 << count) - 1)
        negative = (part >> np.uint64(count - 1) & np.uint64(1)) != 0
        raw = (
            np.where(negative, part | np.uint64(0xFFFFFFFF & ~((1 << count) - 1)), part) if case.sext >> i & 1 else part
        )
    if case.op_sel >> i & 1:
        raw = raw >> np.uint64(16)
    sign = np.uint64(1 << bits - 1)
    if case.abs >> i & 1:
        raw = raw & ~sign
    if case.neg >> i & 1:
        raw = raw ^ sign
    return raw & np.uint64((1 << bits) - 1)


def _arguments(case: Case, definition: Definition, state: State) -> list[Array]:
    names, arguments = _sources(case.row), []
    for i, kind in enumerate(definition.sources):
        if kind == "mask":
            in_scalars = i < len(names) and names[i] == "src2"
            arguments.append(_lanes(state.pair(_MASK if in_scalars else VCC)))
        elif definition.old and i == len(definition.sources) - 1:
            raw = _get(state, _REGISTER["vdst"], BITS[kind])
            arguments.append(decode(raw & np.uint64((1 << BITS[kind]) - 1), kind))
        else:
            arguments.append(decode(_source(case, state, i, names[i], kind), kind))
    return arguments


def _fit(case: Case, kind: str, raw: Array, old: Array) -> Array:
    """The whole register after a result."""
    if case.form == "sdwa" and case.dst_sel in _SELECT:
        at, count = _SELECT[case.dst_sel]
        mask = np.uint64(((1 << count) - 1) << at)
        part = raw << np.uint64(at) & mask
        if case.unused == "UNUSED_PRESERVE":
            return part | (old & ~mask)
        negative = (raw >> np.uint64(count - 1) & np.uint64(1)) != 0
        above = np.uint64(0xFFFFFFFF & ~((1 << at + count) - 1))
        return np.where(negative, part | above, part) if case.unused == "UNUSED_SEXT" else part
    if BITS[kind] == 16 and case.op_sel >> 3 & 1:
        return (old & np.uint64(0xFFFF)) | raw << np.uint64(16)
    keeps = "sel3" in case.row.modifiers or case.row.name in ("v_mac_f16", "v_madmk_f16", "v_madak_f16")
    if BITS[kind] == 16 and keeps and case.form != "sdwa":
        return (old & np.uint64(0xFFFF0000)) | raw
    return raw


def check(case: Case, definition: Definition, before: State, after: State) -> str:
    """Empty where `after` is what the definition says, else what differs."""
    on = _lanes(case.exec)
    written = on.copy()
    if case.form == "dpp":
        _, valid = _dpp(case, on)
        lane = np.arange(64)
        chosen = (case.row_mask >> lane // 16 & 1 != 0) & (case.bank_mask >> lane // 4 % 4 & 1 != 0)
        written &= chosen & (valid | case.bound)
    with np.errstate(all="ignore"):
        arguments = _arguments(case, definition, before)
        function = definition.saturates if case.clamp and definition.saturates else definition.function
        result = function(*arguments)
    values, bits = result if definition.carry else (None, result) if definition.out == "mask" else (result, None)
    wrong = []
    if bits is not None:
        code = (
            _MASK_OUT
            if any(name == "sdst" or (name == "vdst" and bank == "s") for name, bank, _ in case.row.operands)
            else VCC
        )
        want = sum(int(b) << i for i, b in enumerate(bits & written))
        if after.pair(code) != want:
            wrong.append(f"bits {after.pair(code):#x}, not {want:#x}")
        exec_want = want if case.row.name.startswith("v_cmpx") else case.exec
        if after.exec != exec_want:
            wrong.append(f"exec {after.exec:#x}, not {exec_want:#x}")
    if values is not None:
        wrong += _check_values(case, definition, values, written, before, after)
    return "; ".join(wrong)


def _check_values(
    case: Case, definition: Definition, values: Array, written: Array, before: State, after: State
) -> list[str]:
    kind = definition.out
    if kind in FLOATS and values.dtype == object:
        values = values.astype(np.float64)
    if case.clamp and kind in FLOATS:
        with np.errstate(all="ignore"):
            values = np.where(np.isnan(values), 0, np.clip(values, 0, 1)) + 0.0
    old, got = _get(before, _REGISTER["vdst"], BITS[kind]), _get(after, _REGISTER["vdst"], BITS[kind])
    with np.errstate(all="ignore"):
        raw = encode(values, kind)
    want = np.where(written, _fit(case, kind, raw, old), old)
    same = got == want
    if kind in FLOATS and case.dst_sel == "DWORD":
        shift = np.uint64(16 if case.op_sel >> 3 & 1 else 0)
        number = decode(got >> shift & np.uint64((1 << BITS[kind]) - 1), kind)
        rest = got & ~(np.uint64((1 << BITS[kind]) - 1) << shift) == want & ~(np.uint64((1 << BITS[kind]) - 1) << shift)
        with np.errstate(all="ignore"):
            close = np.isnan(number) & np.isnan(values)
            if definition.ulps:
                exact = np.asarray(values, np.float64)
                step = np.spacing(np.abs(number)).astype(np.float64)
                close |= np.abs(number.astype(np.float64) - exact) <= definition.ulps * step
        same |= close & rest & written
    elif kind in FLOATS:
        same |= written & np.isnan(values)  # a part of a NaN
    if same.all():
        return []
    lane = int(np.argmin(same))
    return [f"lane {lane}: {int(got[lane]):#x}, not {int(want[lane]):#x}, of {int((~same).sum())}"]


# ---- which cases ----


def _constants(kind: str) -> list[str]:
    return ["0", "64", "-16", "1", "-1"] + (["0.5", "-4.0", "2.0"] if kind in FLOATS else [])


def cases(row: Row, definition: Definition, seed: int) -> Iterator[Case]:
    """The forms that an instruction has, each with what belongs to it."""
    rng = random.Random(f"{row.mnemonic}{seed}")
    sources = [o for o in row.operands if o[0] in ("src0", "src1", "src2", "literal")]
    kinds = [("0x40490fdb" if definition.out == "f32" else "0x4248") if o[0] == "literal" else "v" for o in sources]
    base = Case(row, kinds=(*kinds, "v"))
    partial = rng.getrandbits(64)
    yield from (replace(base, exec=e, seed=s) for s, e in enumerate((2**64 - 1, 2**64 - 1, partial, 0)))
    wide = row.format == "VOP3"
    scalars = "mask" not in definition.sources and not any(o[0] == "literal" for o in sources)  # one scalar is allowed
    for i, source in enumerate(sources):
        if source[0] == "literal" or (not wide and i > 0) or definition.sources[i] == "mask":
            continue
        if scalars:
            yield replace(base, kinds=_with(base.kinds, i, "s"), exec=partial, seed=5 + i)
        for constant in rng.sample(_constants(definition.sources[i]), 3):
            yield replace(base, kinds=_with(base.kinds, i, constant), seed=8 + i)
    if not wide and scalars and BITS.get(definition.sources[0], 0) != 64:
        yield replace(
            base, kinds=_with(base.kinds, 0, "0x40490fdb" if BITS[definition.sources[0]] > 16 else "0x4248"), seed=12
        )
    if wide:
        yield from _modified(row, base, row.modifiers, rng, definition)
    if row.dpp is not None:
        long = 64 in (BITS.get(definition.sources[0]), BITS.get(definition.out))
        for text in ["row_newbcast:9"] if long else _DPP:
            yield replace(
                base,
                form="dpp",
                dpp=text,
                bound=rng.random() < 0.5,
                row_mask=rng.choice([15, 15, 10, 6]),
                bank_mask=rng.choice([15, 15, 5]),
                exec=rng.choice([2**64 - 1, partial]),
                seed=20 + rng.randrange(9),
            )
    if row.sdwa is not None:
        yield from _sdwa(row, base, rng, definition)


def _with(kinds: tuple[str, ...], i: int, kind: str) -> tuple[str, ...]:
    return kinds[:i] + (kind,) + kinds[i + 1 :]


def _bits(rng: random.Random, allowed: frozenset[str], word: str, count: int = 3) -> int:
    return sum(1 << i for i in range(count) if f"{word}{i}" in allowed and rng.random() < 0.6)


def _modified(
    row: Row, base: Case, allowed: frozenset[str], rng: random.Random, definition: Definition
) -> Iterator[Case]:
    for turn in range(4):
        signs = {"neg": _bits(rng, allowed, "neg"), "abs": _bits(rng, allowed, "abs")}
        clamp = "clamp" in allowed and turn % 2 == 1 and (definition.saturates is not None or definition.out in FLOATS)
        if any(signs.values()) or clamp:
            yield replace(base, **signs, clamp=clamp, seed=30 + turn)
        halves = [i for i, kind in enumerate(definition.sources) if BITS.get(kind) == 16]
        op_sel = sum(1 << i for i in halves if f"sel{i}" in allowed and rng.random() < 0.6)
        if "sel3" in allowed and BITS.get(definition.out) == 16 and rng.random() < 0.6:
            op_sel |= 8
        if op_sel:
            yield replace(base, **signs, op_sel=op_sel, exec=rng.getrandbits(64), seed=40 + turn)


def _sdwa(row: Row, base: Case, rng: random.Random, definition: Definition) -> Iterator[Case]:
    allowed = row.sdwa or frozenset()
    for turn in range(6):
        signs = {
            "neg": _bits(rng, allowed, "neg", 2),
            "abs": _bits(rng, allowed, "abs", 2),
            "sext": _bits(rng, allowed, "sext", 2),
        }
        whole = "dstsel" not in allowed or turn == 5
        yield replace(
            base,
            form="sdwa",
            **signs,
            select=(rng.choice([*_SELECT, "DWORD"]), rng.choice([*_SELECT, "DWORD"])),
            dst_sel="DWORD" if whole else rng.choice(list(_SELECT)),
            exec=rng.choice([2**64 - 1, rng.getrandbits(64)]),
            unused=rng.choice(["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"]),
            seed=50 + turn,
        )


def text_of(case: Case) -> str:
    """The instruction's assembly text."""
    return _text(case)
