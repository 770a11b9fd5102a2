"""Scalar instructions on the simulator, by definitions on Python's integers."""

import itertools
import random

import pytest

from aotriton.runtime import library_path
from tests.tools.amd_forms import rows
from tests.tools.amd_run import State, run, run_code
from tests.tools.amd_text import assemble
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
FULL = (1 << 32) - 1
EDGES = [
    0,
    1,
    2,
    4,
    31,
    32,
    63,
    64,
    0x7F,
    0x80,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x1F0004,
    0x200007,
    0x400000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    FULL,
    0x12345678,
    0xF0F00000,
]


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(library_path().parent / "libaotriton_sim.so")


def signed(a, bits=32):
    return (a & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def leading(a, bits):
    return bits - a.bit_length() if a else -1


def trailing(a):
    return (a & -a).bit_length() - 1


def field(a, where, bits, sign):
    offset, width = where & bits - 1, min(where >> 16 & 127, bits)
    part = (signed(a, bits) if sign else a) >> offset & (1 << width) - 1
    return signed(part, width) if sign and width else part


def quads(a, bits, whole):
    each = [a >> 4 * i & 15 != 0 for i in range(bits // 4)]
    return sum((15 << 4 * i if whole else 1 << i) for i, some in enumerate(each) if some)


# name: (bits of the result, the function of the sources and SCC that gives the result and the new SCC; None: as it was)
TWO = {
    "add_u32": lambda a, b, c: (a + b, a + b > FULL),
    "sub_u32": lambda a, b, c: (a - b, a < b),
    "add_i32": lambda a, b, c: (a + b, not -(1 << 31) <= signed(a) + signed(b) < 1 << 31),
    "sub_i32": lambda a, b, c: (a - b, not -(1 << 31) <= signed(a) - signed(b) < 1 << 31),
    "addc_u32": lambda a, b, c: (a + b + c, a + b + c > FULL),
    "subb_u32": lambda a, b, c: (a - b - c, a - b - c < 0),
    "min_i32": lambda a, b, c: (min(signed(a), signed(b)), signed(a) < signed(b)),
    "min_u32": lambda a, b, c: (min(a, b), a < b),
    "max_i32": lambda a, b, c: (max(signed(a), signed(b)), signed(a) > signed(b)),
    "max_u32": lambda a, b, c: (max(a, b), a > b),
    "bfm_b32": lambda a, b, c: (((1 << (a & 31)) - 1) << (b & 31), None),
    "bfm_b64": lambda a, b, c: (((1 << (a & 63)) - 1) << (b & 63), None),
    "mul_i32": lambda a, b, c: (a * b, None),
    "mul_hi_u32": lambda a, b, c: (a * b >> 32, None),
    "mul_hi_i32": lambda a, b, c: (signed(a) * signed(b) >> 32, None),
    "absdiff_i32": lambda a, b, c: nonzero(abs(signed(a - b)) & FULL),
    "pack_ll_b32_b16": lambda a, b, c: (a & 0xFFFF | b << 16, None),
    "pack_lh_b32_b16": lambda a, b, c: (a & 0xFFFF | b & 0xFFFF0000, None),
    "pack_hh_b32_b16": lambda a, b, c: (a >> 16 | b & 0xFFFF0000, None),
} | {f"lshl{n}_add_u32": lambda a, b, c, n=n: ((a << n) + b, (a << n) + b > FULL) for n in (1, 2, 3, 4)}


def nonzero(value):
    return value, value != 0


for _bits in (32, 64):
    _all = (1 << _bits) - 1
    TWO |= {
        f"cselect_b{_bits}": lambda a, b, c: (a if c else b, None),
        f"and_b{_bits}": lambda a, b, c: nonzero(a & b),
        f"or_b{_bits}": lambda a, b, c: nonzero(a | b),
        f"xor_b{_bits}": lambda a, b, c: nonzero(a ^ b),
        f"andn2_b{_bits}": lambda a, b, c, m=_all: nonzero(a & ~b & m),
        f"orn2_b{_bits}": lambda a, b, c, m=_all: nonzero((a | ~b) & m),
        f"nand_b{_bits}": lambda a, b, c, m=_all: nonzero(~(a & b) & m),
        f"nor_b{_bits}": lambda a, b, c, m=_all: nonzero(~(a | b) & m),
        f"xnor_b{_bits}": lambda a, b, c, m=_all: nonzero(~(a ^ b) & m),
        f"lshl_b{_bits}": lambda a, b, c, m=_all, n=_bits: nonzero(a << (b & n - 1) & m),
        f"lshr_b{_bits}": lambda a, b, c, n=_bits: nonzero(a >> (b & n - 1)),
        f"ashr_i{_bits}": lambda a, b, c, m=_all, n=_bits: nonzero(signed(a, n) >> (b & n - 1) & m),
        f"bfe_u{_bits}": lambda a, b, c, n=_bits: nonzero(field(a, b, n, False)),
        f"bfe_i{_bits}": lambda a, b, c, m=_all, n=_bits: nonzero(field(a, b, n, True) & m),
    }
ONE = {
    "sext_i32_i8": lambda a, old, c: (signed(a, 8), None),
    "sext_i32_i16": lambda a, old, c: (signed(a, 16), None),
    "abs_i32": lambda a, old, c: nonzero(abs(signed(a)) & FULL),
    "flbit_i32": lambda a, old, c: (leading(a if a < 1 << 31 else a ^ FULL, 32), None),
    "flbit_i32_i64": lambda a, old, c: (leading(a if a < 1 << 63 else a ^ (1 << 64) - 1, 64), None),
    "bitreplicate_b64_b32": lambda a, old, c: (sum((a >> i & 1) * (3 << 2 * i) for i in range(32)), None),
}
for _bits in (32, 64):
    _all = (1 << _bits) - 1
    ONE |= {
        f"mov_b{_bits}": lambda a, old, c: (a, None),
        f"cmov_b{_bits}": lambda a, old, c: (a if c else old, None),
        f"not_b{_bits}": lambda a, old, c, m=_all: nonzero(~a & m),
        f"wqm_b{_bits}": lambda a, old, c, n=_bits: nonzero(quads(a, n, True)),
        f"quadmask_b{_bits}": lambda a, old, c, n=_bits: nonzero(quads(a, n, False)),
        f"brev_b{_bits}": lambda a, old, c, n=_bits: (int(f"{a:0{n}b}"[::-1], 2), None),
        f"bcnt0_i32_b{_bits}": lambda a, old, c, n=_bits: nonzero(n - a.bit_count()),
        f"bcnt1_i32_b{_bits}": lambda a, old, c: nonzero(a.bit_count()),
        f"ff0_i32_b{_bits}": lambda a, old, c, m=_all: (trailing(~a & m), None),
        f"ff1_i32_b{_bits}": lambda a, old, c: (trailing(a), None),
        f"flbit_i32_b{_bits}": lambda a, old, c, n=_bits: (leading(a, n), None),
        f"bitset0_b{_bits}": lambda a, old, c, n=_bits: (old & ~(1 << (a & n - 1)), None),
        f"bitset1_b{_bits}": lambda a, old, c, n=_bits: (old | 1 << (a & n - 1), None),
    }
COMPARE = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
TESTS = {f"cmp_{n}_u{b}": f for n, f in COMPARE.items() for b in (32, 64)}
TESTS |= {f"cmp_{n}_i32": lambda a, b, f=f: f(signed(a), signed(b)) for n, f in COMPARE.items()}
TESTS |= {f"bitcmp{v}_b{n}": lambda a, b, v=v, n=n: a >> (b & n - 1) & 1 == v for v in (0, 1) for n in (32, 64)}
EXEC = {
    "and_saveexec": lambda a, e: a & e,
    "or_saveexec": lambda a, e: a | e,
    "xor_saveexec": lambda a, e: a ^ e,
    "andn2_saveexec": lambda a, e: a & ~e,
    "orn2_saveexec": lambda a, e: a | ~e,
    "nand_saveexec": lambda a, e: ~(a & e),
    "nor_saveexec": lambda a, e: ~(a | e),
    "xnor_saveexec": lambda a, e: ~(a ^ e),
    "andn1_saveexec": lambda a, e: ~a & e,
    "orn1_saveexec": lambda a, e: ~a | e,
    "andn1_wrexec": lambda a, e: ~a & e,
    "andn2_wrexec": lambda a, e: a & ~e,
}
SHORT = {
    f"cmpk_{n}_{t}32": (lambda a, k, f=f: f(signed(a), signed(k, 16)))
    if t == "i"
    else (lambda a, k, f=f: f(a, k & 0xFFFF))
    for n, f in COMPARE.items()
    for t in "iu"
}
# What has a test of its own below or in another file, and what the simulator doesn't execute.
OTHERS = {
    "movk_i32",
    "cmovk_i32",
    "addk_i32",
    "mulk_i32",
    "getpc_b64",
    "setpc_b64",
    "swappc_b64",
    "call_b64",
    "getreg_b32",
    "setreg_b32",
    "setreg_imm32_b32",
    "movrels_b32",
    "movrels_b64",
    "movreld_b32",
    "movreld_b64",
    "set_gpr_idx_on",
    "set_gpr_idx_idx",
}
NOT_EXECUTED = {"cbranch_g_fork", "cbranch_i_fork", "cbranch_join", "rfe_restore_b64", "rfe_b64", "setvskip"}


def values(rng, wide, count):
    return [rng.choice(EDGES) | (rng.choice(EDGES) << 32 if wide else 0) for _ in range(count)]


def widths(row):
    return {name: width for name, _, width in row.operands}


def put(state, code, value, width):
    state.sgpr[code] = value & FULL
    if width == 2:
        state.sgpr[code + 1] = value >> 32


def take(state, code, width):
    return state.pair(code) if width == 2 else int(state.sgpr[code])


def group(code, width):
    return f"s{code}" if width == 1 else f"s[{code}:{code + 1}]"


def scalar_cases(row, rng):
    """(text, sources, old result, SCC): registers, inline constants and literals."""
    wide = widths(row)
    names = [n for n, _, _ in row.operands if n.startswith("ssrc")]
    for turn in range(24):
        sources = [values(rng, wide[n] == 2, 1)[0] for n in names]
        texts = [group(20 + 4 * i, wide[n]) for i, n in enumerate(names)]
        if turn % 4 == 1:
            i = rng.randrange(len(names))
            constant = rng.choice([0, 1, 64, -1, -16])
            sources[i], texts[i] = constant & (1 << 32 * wide[names[i]]) - 1, str(constant)
        elif turn % 4 == 2 and wide[names[-1]] == 1:
            sources[-1] = rng.choice(EDGES[17:])
            texts[-1] = hex(sources[-1])
        if "sdst" in wide:
            texts.insert(0, group(32, wide["sdst"]))
        yield f"{row.mnemonic} {', '.join(texts)}", sources, values(rng, True, 1)[0], rng.random() < 0.5


def outcome(name, sources, old, scc, exec_mask):
    """(result, SCC, EXEC) by the definition; the result is None where there is none."""
    if name in TESTS:
        return None, TESTS[name](*sources), exec_mask
    if name in TWO or name in ONE:
        value, new = TWO[name](*sources, int(scc)) if name in TWO else ONE[name](sources[0], old, scc)
        return value, scc if new is None else new, exec_mask
    new_exec = EXEC[name[:-4]](sources[0], exec_mask) & (1 << 64) - 1
    return (new_exec if "wrexec" in name else exec_mask), new_exec != 0, new_exec


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_arithmetic(simulator, arch):
    rng, chosen, unknown = random.Random(1), [], set()
    for row in rows(arch):
        name = row.name.removeprefix("s_")
        if row.format not in ("SOP1", "SOP2", "SOPC") or name in OTHERS | NOT_EXECUTED:
            continue
        if name not in TWO and name not in ONE and name not in TESTS and name[:-4] not in EXEC:
            unknown.add(name)
        else:
            chosen += [(row, *case) for case in scalar_cases(row, rng)]
    assert not unknown
    wrong = []
    for code, (row, text, sources, old, scc) in zip(assemble(arch, [c[1] for c in chosen]), chosen, strict=True):
        state, wide = State(scc=scc), widths(row)
        state.exec = rng.getrandbits(64)
        old &= (1 << 32 * wide.get("sdst", 1)) - 1
        put(state, 32, old, wide.get("sdst", 1))
        for i, source in enumerate(sources):
            put(state, 20 + 4 * i, source, wide[f"ssrc{i}"])
        want, want_scc, want_exec = outcome(row.name.removeprefix("s_"), sources, old, scc, state.exec)
        after = run_code(simulator, arch, code, state)
        width = wide.get("sdst", 1)
        got = take(after, 32, width)
        if (
            (want is not None and got != want & (1 << 32 * width) - 1)
            or after.scc != want_scc
            or after.exec != want_exec
        ):
            wrong.append(
                f"{text} of {[hex(s) for s in sources]}, scc {scc}: {got:#x} {after.scc}, not {want} {want_scc}"
            )
    assert len(chosen) > 2000
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("a", [0, 5, 0x7FFFFFFF, 0x80000000, 0xFFFF8000, 0x8000])
def test_immediates(simulator, a):
    ks, state = [0, 5, 0x7FFF, 0x8000, 0xFFFF], State(scc=False)
    state.sgpr[20] = a
    for name, k in itertools.product(SHORT, ks):
        assert run(simulator, "gfx942", f"s_{name} s20, {k:#x}", state).scc == SHORT[name](a, k), (name, k)
    for k in ks:
        by = signed(k, 16)
        after = run(simulator, "gfx942", f"s_addk_i32 s20, {k:#x}", state)
        assert int(after.sgpr[20]) == a + by & FULL
        assert after.scc == (not -(1 << 31) <= signed(a) + by < 1 << 31)
        assert int(run(simulator, "gfx942", f"s_mulk_i32 s20, {k:#x}", state).sgpr[20]) == a * by & FULL
        assert int(run(simulator, "gfx942", f"s_movk_i32 s20, {k:#x}", state).sgpr[20]) == by & FULL
        assert int(run(simulator, "gfx942", f"s_cmovk_i32 s20, {k:#x}", state).sgpr[20]) == a
        assert int(run(simulator, "gfx942", f"s_cmovk_i32 s20, {k:#x}", State(scc=True)).sgpr[20]) == by & FULL


def test_jumps(simulator):
    lines = [
        "s_getpc_b64 s[0:1]",
        "s_add_u32 s0, s0, 16",
        "s_addc_u32 s1, s1, 0",
        "s_swappc_b64 s[2:3], s[0:1]",
        "s_mov_b32 s4, 1",
        "s_endpgm",
        "s_mov_b32 s5, 2",
        "s_setpc_b64 s[2:3]",
    ]
    after = run(simulator, "gfx942", lines, State())
    assert 1 not in after.sgpr[4:6]  # 16 bytes on is s_endpgm
    assert 2 not in after.sgpr[4:6]
    lines[1] = "s_add_u32 s0, s0, 20"
    after = run(simulator, "gfx942", lines, State())
    assert [int(v) for v in after.sgpr[4:6]] == [1, 2]
    with pytest.raises(SimulatorError, match="a jump to where no instruction starts"):
        run(simulator, "gfx942", ["s_mov_b64 s[0:1], 3", "s_setpc_b64 s[0:1]"], State())


def test_registers_counted_from_m0(simulator):
    state = State()
    state.sgpr[124], state.sgpr[10:14] = 3, [7, 8, 9, 10]
    assert int(run(simulator, "gfx942", "s_movrels_b32 s0, s10", state).sgpr[0]) == 10
    assert int(run(simulator, "gfx942", "s_movreld_b32 s20, s11", state).sgpr[23]) == 8
    for register in range(8):
        state.vgpr[register] = register
    state.sgpr[0] = 4
    lines = ["s_set_gpr_idx_on s0, gpr_idx(SRC0)", "v_mov_b32 v9, v1", "s_set_gpr_idx_off", "v_mov_b32 v10, v1"]
    after = run(simulator, "gfx942", lines, state)
    assert (after.vgpr[9] == 5).all()
    assert (after.vgpr[10] == 1).all()
    after = run(
        simulator, "gfx942", ["s_set_gpr_idx_on s0, gpr_idx(DST)", "v_mov_b32 v2, v1", "s_set_gpr_idx_off"], state
    )
    assert (after.vgpr[6] == 1).all()


def test_what_is_not_executed_is_named(simulator):
    for line in ("s_setvskip s0, s1", "s_rfe_b64 s[0:1]", "s_trap 1"):
        with pytest.raises(SimulatorError, match="the simulator doesn't execute this instruction: `s_"):
            run(simulator, "gfx942", line, State())
