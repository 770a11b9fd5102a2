"""DS: every instruction of LDS and between lanes, against its definition."""

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_memory import ATOMICS, Lds, edge_state, gather, signed
from tests.tools.amd_run import M0, run
from tests.tools.simulator import Simulator

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
SIZE = 1024  # of LDS, in dwords
MASKS = [(1 << 64) - 1, 0x00FF00FF12345678, 0]
OUT, ADDRESS, DATA, DATA1 = 40, 10, 20, 30


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


def registers(row, dwords, bank="v"):
    return f"{bank}{row}" if dwords == 1 else f"{bank}[{row}:{row + dwords - 1}]"


def start(seed, mask, aligned, spread=True):
    state = edge_state(seed, SIZE)
    state.exec = mask
    places = np.random.default_rng(seed).permutation(SIZE * 4 // 32)[:64] * 32
    places += np.random.default_rng(seed).integers(0, 16, 64) // aligned * aligned
    if not spread:
        places[::3] = places[0]
    places[5] = SIZE * 4 - aligned  # the last element, or beyond where there is an offset
    places[6], places[7] = SIZE * 4, 0xFFFFFFFF & -aligned  # outside
    state.vgpr[ADDRESS] = places
    return state


def lanes_of(state):
    return [lane for lane in range(64) if state.exec >> lane & 1]


def check(simulator, arch, line, state, expected_vgpr, expected_lds):
    left = run(simulator, arch, line, state)
    np.testing.assert_array_equal(left.vgpr, expected_vgpr)
    np.testing.assert_array_equal(left.lds, expected_lds.dwords())


# Bytes, whether the sign is extended, which half of the register (None: all of it).
READS = {
    "ds_read_u8": (1, 0, None), "ds_read_i8": (1, 1, None), "ds_read_u16": (2, 0, None), "ds_read_i16": (2, 1, None),
    "ds_read_b32": (4, 0, None), "ds_read_b64": (8, 0, None), "ds_read_b96": (12, 0, None),
    "ds_read_b128": (16, 0, None), "ds_read_u8_d16": (1, 0, 0), "ds_read_u8_d16_hi": (1, 0, 1),
    "ds_read_i8_d16": (1, 1, 0), "ds_read_i8_d16_hi": (1, 1, 1), "ds_read_u16_d16": (2, 0, 0),
    "ds_read_u16_d16_hi": (2, 0, 1),
}  # fmt: skip


def put_read(vgpr, lane, value, size, sign, half):
    if sign:
        value = signed(value, 8 * size) & 0xFFFFFFFF
    if half is not None:
        old = int(vgpr[OUT, lane])
        value = (old & 0xFFFF) | (value & 0xFFFF) << 16 if half else (old & 0xFFFF0000) | (value & 0xFFFF)
    for i in range(max(1, size // 4)):
        vgpr[OUT + i, lane] = value >> 32 * i & 0xFFFFFFFF


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", READS)
def test_reads(simulator, arch, mask, name):
    size, sign, half = READS[name]
    for offset, bank in ((0, "v"), (1028, "v"), (65535, "v"), (4, "a")):
        state = start(size + offset, mask, min(size, 4))
        memory, base = Lds(state.lds), 256 if bank == "a" else 0
        vgpr = state.vgpr.copy()
        for lane in lanes_of(state):
            value = memory.read(int(state.vgpr[ADDRESS, lane]) + offset, size)
            put_read(vgpr[base:], lane, value, size, sign, half)
        line = f"{name} {registers(OUT, max(1, size // 4), bank)}, v{ADDRESS}" + (f" offset:{offset}" if offset else "")
        check(simulator, arch, line, state, vgpr, memory)


WRITES = {
    "ds_write_b8": (1, 0), "ds_write_b8_d16_hi": (1, 16), "ds_write_b16": (2, 0), "ds_write_b16_d16_hi": (2, 16),
    "ds_write_b32": (4, 0), "ds_write_b64": (8, 0), "ds_write_b96": (12, 0), "ds_write_b128": (16, 0),
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", WRITES)
def test_writes(simulator, arch, mask, name):
    size, shift = WRITES[name]
    for offset, bank in ((0, "v"), (1028, "v"), (4, "a")):
        state = start(size + offset, mask, min(size, 4))
        memory, base = Lds(state.lds), 256 if bank == "a" else 0
        for lane in lanes_of(state):
            value = gather(state, base + DATA, lane, max(1, size // 4)) >> shift
            memory.write(int(state.vgpr[ADDRESS, lane]) + offset, size, value)
        line = f"{name} v{ADDRESS}, {registers(DATA, max(1, size // 4), bank)}" + f" offset:{offset}" * bool(offset)
        check(simulator, arch, line, state, state.vgpr, memory)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS[:2])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("far", [False, True])
def test_two_addresses(simulator, arch, mask, bits, far):
    size, dwords, unit = bits // 8, bits // 32, bits // 8 * (64 if far else 1)
    suffix, offsets = f"2st64_b{bits}" if far else f"2_b{bits}", (1, 3)
    text = f" offset0:{offsets[0]} offset1:{offsets[1]}"
    # Reads, the result where the address was.
    state = start(bits, mask, size)
    vgpr, memory = state.vgpr.copy(), Lds(state.lds)
    for lane in lanes_of(state):
        for part, offset in enumerate(offsets):
            value = memory.read(int(state.vgpr[ADDRESS, lane]) + offset * unit, size)
            for i in range(dwords):
                vgpr[ADDRESS + part * dwords + i, lane] = value >> 32 * i & 0xFFFFFFFF
    line = f"ds_read{suffix} {registers(ADDRESS, 2 * dwords)}, v{ADDRESS}{text}"
    check(simulator, arch, line, state, vgpr, memory)
    # Writes.
    state = start(bits, mask, size)
    memory = Lds(state.lds)
    for row, offset in zip((DATA, DATA1), offsets, strict=True):
        for lane in lanes_of(state):
            memory.write(int(state.vgpr[ADDRESS, lane]) + offset * unit, size, gather(state, row, lane, dwords))
    line = f"ds_write{suffix} v{ADDRESS}, {registers(DATA, dwords)}, {registers(DATA1, dwords)}{text}"
    check(simulator, arch, line, state, state.vgpr, memory)
    # Exchanges.
    state = start(bits, mask, size)
    vgpr, memory = state.vgpr.copy(), Lds(state.lds)
    for part, (row, offset) in enumerate(zip((DATA, DATA1), offsets, strict=True)):
        for lane in lanes_of(state):
            at = int(state.vgpr[ADDRESS, lane]) + offset * unit
            value = memory.read(at, size)
            memory.write(at, size, gather(state, row, lane, dwords))
            for i in range(dwords):
                vgpr[OUT + part * dwords + i, lane] = value >> 32 * i & 0xFFFFFFFF
    suffix = suffix.replace("_", "_rtn_")
    data = f"{registers(DATA, dwords)}, {registers(DATA1, dwords)}"
    line = f"ds_wrxchg{suffix} {registers(OUT, 2 * dwords)}, v{ADDRESS}, {data}{text}"
    check(simulator, arch, line, state, vgpr, memory)


# The operation, the letter of its type, how many data it has.
OPERATIONS = {
    "add": ("add", "u", 1), "sub": ("sub", "u", 1), "rsub": ("rsub", "u", 1), "inc": ("inc", "u", 1),
    "dec": ("dec", "u", 1), "min_i": ("smin", "i", 1), "max_i": ("smax", "i", 1), "min_u": ("umin", "u", 1),
    "max_u": ("umax", "u", 1), "and": ("and", "b", 1), "or": ("or", "b", 1), "xor": ("xor", "b", 1),
    "mskor": ("mskor", "b", 2), "cmpst_b": ("cmpst", "b", 2), "cmpst_f": ("cmpst_f", "f", 2),
    "min_f": ("min_f", "f", 1), "max_f": ("max_f", "f", 1), "add_f": ("add_f", "f", 1), "wrxchg": ("swap", "b", 1),
}  # fmt: skip


def atomics(arch):
    for key, (operation, letter, count) in OPERATIONS.items():
        for bits in (32, 64):
            stem = f"ds_{key.split('_')[0]}"
            yield f"{stem}_rtn_{letter}{bits}", operation, bits, count
            if key != "wrxchg":
                yield f"{stem}_{letter}{bits}", operation, bits, count
    yield "ds_wrap_rtn_b32", "wrap", 32, 2
    yield "ds_condxchg32_rtn_b64", "condxchg32", 64, 1
    if arch != "gfx90a":
        for kind in ("f16", "bf16"):
            yield f"ds_pk_add_{kind}", f"pk_add_{kind}", 32, 1
            yield f"ds_pk_add_rtn_{kind}", f"pk_add_{kind}", 32, 1


def without_nans(values):
    """Registers or memory whose halves and wholes aren't NaNs: which NaN comes out of a sum isn't settled."""
    return np.where((values & 0x7C00) == 0x7C00, values & ~np.uint32(0x0400), values) & np.where(
        (values & 0x7C000000) == 0x7C000000, ~np.uint32(0x04000000), ~np.uint32(0)
    )


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS[:2])
def test_atomics(simulator, arch, mask):
    for name, operation, bits, count in atomics(arch):
        size, dwords = bits // 8, bits // 32
        state = start(len(name), mask, size, spread=False)
        if "add_f" in operation or "pk_add" in operation:
            state.vgpr[DATA : DATA + 2], state.lds = without_nans(state.vgpr[DATA : DATA + 2]), without_nans(state.lds)
        for lane in range(0, 64, 4):  # where what is compared with is there
            value = Lds(state.lds).read(int(state.vgpr[ADDRESS, lane]) + 8, size)
            for i in range(dwords if "cmpst" in name else 0):
                state.vgpr[DATA + i, lane] = value >> 32 * i & 0xFFFFFFFF
        vgpr, memory = state.vgpr.copy(), Lds(state.lds)
        returns = "_rtn_" in name
        for lane in lanes_of(state):
            at = int(state.vgpr[ADDRESS, lane]) + 8
            old = memory.read(at, size)
            data, more = gather(state, DATA, lane, dwords), gather(state, DATA1, lane, dwords)
            memory.write(at, size, ATOMICS[operation](old, data, more, bits))
            for i in range(dwords if returns else 0):
                vgpr[OUT + i, lane] = old >> 32 * i & 0xFFFFFFFF
        parts = [registers(OUT, dwords)] * returns + [f"v{ADDRESS}", registers(DATA, dwords), registers(DATA1, dwords)]
        line = f"{name} {', '.join(parts[: returns + 1 + count])} offset:8"
        check(simulator, arch, line, state, vgpr, memory)


def reverse(n):
    return int(f"{n:05b}"[::-1], 2)


def swizzle(i, offset):
    mask, group, n = offset & 31, i & 32, i & 31
    if offset >= 0xE000:
        return group | (reverse(n) >> mask.bit_count()) | (n & mask)
    if offset >= 0xC000:
        turn = -(offset >> 5 & 31) if offset >> 10 & 1 else offset >> 5 & 31
        return group | (n & mask) | ((n + turn) & 31 & ~mask)
    if offset >= 0x8000:
        return i - i % 4 + (offset >> 2 * (i % 4) & 3)
    return group | (((n & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
def test_lanes_from_lanes(simulator, arch, mask):
    state, rng = edge_state(1), np.random.default_rng(2)
    state.exec = mask
    on = lanes_of(state)
    fixed = [0x1F, 0x041F, 0x801B, 0x80E4, 0xC0A0, 0xC463, 0xE000, 0xE010, 0xE01F, 0x7C00]
    for offset in fixed + list(rng.integers(0, 1 << 16, 20)):
        vgpr = state.vgpr.copy()
        for i in on:
            vgpr[OUT, i] = state.vgpr[ADDRESS, swizzle(i, offset)] if swizzle(i, offset) in on else 0
        left = run(simulator, arch, f"ds_swizzle_b32 v{OUT}, v{ADDRESS} offset:{offset}", state)
        np.testing.assert_array_equal(left.vgpr, vgpr, f"{offset:#x}")
    for name in ("ds_permute_b32", "ds_bpermute_b32"):
        for offset in (0, 12):
            vgpr, scattered = state.vgpr.copy(), {}
            for i in on:
                other = (int(state.vgpr[ADDRESS, i]) + offset & 0xFFFFFFFF) // 4 % 64
                scattered[other] = state.vgpr[DATA, i]
                vgpr[OUT, i] = state.vgpr[DATA, other] if other in on else 0
            if name == "ds_permute_b32":
                vgpr[OUT, on] = [scattered.get(i, 0) for i in on]
            line = f"{name} v{OUT}, v{ADDRESS}, v{DATA}" + f" offset:{offset}" * bool(offset)
            left = run(simulator, arch, line, state)
            np.testing.assert_array_equal(left.vgpr, vgpr)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_by_lane_number_and_counters(simulator, arch):
    state = edge_state(3, SIZE)
    state.exec, state.sgpr[M0] = 0xFFFFFFFF0000FFF0, 0x00400010
    on, memory, vgpr = lanes_of(state), Lds(state.lds), state.vgpr.copy()
    for lane in on:
        vgpr[OUT, lane] = memory.read(0x10 + 8 + 4 * lane, 4)
    check(simulator, arch, f"ds_read_addtid_b32 v{OUT} offset:8", state, vgpr, memory)
    for lane in on:
        memory.write(0x10 + 8 + 4 * lane, 4, int(state.vgpr[DATA, lane]))
    check(simulator, arch, f"ds_write_addtid_b32 v{DATA} offset:8", state, state.vgpr, memory)
    for name, sign in (("ds_append", 1), ("ds_consume", -1)):
        vgpr, memory = state.vgpr.copy(), Lds(state.lds)
        vgpr[OUT, on] = memory.read(0x40 + 8, 4)
        memory.write(0x40 + 8, 4, memory.read(0x40 + 8, 4) + sign * len(on))
        check(simulator, arch, f"{name} v{OUT} offset:8", state, vgpr, memory)
    check(simulator, arch, "ds_nop", state, state.vgpr, Lds(state.lds))


@pytest.mark.parametrize(("name", "bits", "dwords"), [
    ("ds_read_b64_tr_b16", 16, 2), ("ds_read_b64_tr_b8", 8, 2),
    ("ds_read_b64_tr_b4", 4, 2), ("ds_read_b96_tr_b6", 6, 3),
])  # fmt: skip
def test_transposed_reads(simulator, name, bits, dwords):
    # Sixteen lanes read rows of sixteen elements, one after the other; lane i gets the elements i of the rows.
    state = start(bits, MASKS[0], 4)
    state.vgpr[ADDRESS, 5:8] = [0, 16, 32]
    memory, vgpr, count = Lds(state.lds), state.vgpr.copy(), 32 * dwords // bits
    for first in range(0, 64, 16):
        elements = []
        for lane in range(first, first + 16):
            value = memory.read(int(state.vgpr[ADDRESS, lane]) + 16, 4 * dwords)
            elements += [value >> bits * i & (1 << bits) - 1 for i in range(count)]
        for i in range(16):
            value = sum(elements[16 * row + i] << bits * row for row in range(count))
            for part in range(dwords):
                vgpr[OUT + part, first + i] = value >> 32 * part & 0xFFFFFFFF
    check(simulator, "gfx950", f"{name} {registers(OUT, dwords)}, v{ADDRESS} offset:16", state, vgpr, memory)
