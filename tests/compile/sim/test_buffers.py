"""MUBUF and SMEM: every instruction against its definition; descriptors with ranges."""

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_memory import ATOMICS, MOVES, Lds, edge_state, gather, signed
from tests.tools.amd_run import M0, run
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
SIZE = 1024  # of memory, in dwords
OUT, ADDRESS, DATA = 40, 10, 20
STORES = {
    "byte": (1, 0), "byte_d16_hi": (1, 16), "short": (2, 0), "short_d16_hi": (2, 16),
    "dword": (4, 0), "dwordx2": (8, 0), "dwordx3": (12, 0), "dwordx4": (16, 0),
}  # fmt: skip


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


def registers(row, dwords, bank="v"):
    return f"{bank}{row}" if dwords == 1 else f"{bank}[{row}:{row + dwords - 1}]"


def descriptor(base, count, stride=0, swizzle=False, index_stride=64, add_lane=False):
    """Four scalars: the base, the stride in bytes, the range."""
    word = 0x27FAC & ~(3 << 21) | {8: 0, 16: 1, 32: 2, 64: 3}[index_stride] << 21 | add_lane << 23
    if add_lane:
        word &= ~(15 << 15)
    return [base & 0xFFFFFFFF, base >> 32 | stride << 16 | swizzle << 31, count, word]


def lanes_of(state):
    return [lane for lane in range(64) if state.exec >> lane & 1]


def start(seed, count=3000):
    """A raw buffer of 3000 of memory's 4096 bytes; some lanes are at its end, or far outside."""
    state, rng = edge_state(seed, SIZE), np.random.default_rng(seed)
    memory, state.lds = state.lds.copy(), state.lds[:0]
    place = (rng.permutation(2900 // 32)[:64] * 32).astype(np.uint32)
    place[3:12] = [count - 4, count - 8, count - 12, count - 16, count - 20, count, 4000, 0x80000000, 0xFFFFFFFC]
    state.sgpr[4:8] = descriptor(memory.ctypes.data, count)
    state.sgpr[8] = 16
    state.vgpr[ADDRESS] = place
    state.exec = 0xFFFFF0FFFFFFFFF0 | 0xF
    return state, memory, place


def read(memory, at, size, sign, limit):
    """What a load gives, dword by dword where there are several; zero from `limit` on."""
    source = Lds(memory)
    if size <= 4:
        value = source.read(at, size) if at + size <= limit else 0
        return signed(value, 8 * size) & 0xFFFFFFFF if sign else value
    return sum(source.read(at + i, 4) << 8 * i for i in range(0, size, 4) if at + i + 4 <= limit)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_raw_loads_and_stores(simulator, arch):
    for name, (size, sign, half) in MOVES.items():
        for offset in (0, 100):
            state, memory, place = start(size + offset)
            vgpr, dwords = state.vgpr.copy(), max(1, size // 4)
            for lane in lanes_of(state):
                # The scalar offset moves the data, but the range is checked without it.
                at = int(place[lane]) + offset
                value = read(memory[4:], at, size, sign, 3000)
                if half is not None:
                    old = int(vgpr[OUT, lane])
                    value = (old & 0xFFFF) | (value & 0xFFFF) << 16 if half else (old & 0xFFFF0000) | (value & 0xFFFF)
                for i in range(dwords):
                    vgpr[OUT + i, lane] = value >> 32 * i & 0xFFFFFFFF
            line = f"buffer_load_{name} {registers(OUT, dwords)}, v{ADDRESS}, s[4:7], s8 offen"
            line += f" offset:{offset}" * bool(offset)
            np.testing.assert_array_equal(run(simulator, arch, line, state).vgpr, vgpr, line)
    for name, (size, shift) in STORES.items():
        state, memory, place = start(size)
        expected, dwords = Lds(memory), max(1, size // 4)
        for lane in lanes_of(state):
            at, value = int(place[lane]) + 4, gather(state, DATA, lane, dwords) >> shift
            for i in range(0, size, 4):
                part = min(4, size)
                if at + i + part <= 3000:
                    expected.write(at + i + 16, part, value >> 8 * i)
        line = f"buffer_store_{name} {registers(DATA, dwords)}, v{ADDRESS}, s[4:7], s8 offen offset:4"
        left = run(simulator, arch, line, state)
        np.testing.assert_array_equal(left.vgpr, state.vgpr, line)
        np.testing.assert_array_equal(memory, expected.dwords(), line)


def atomics(arch):
    for name in ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec"):
        yield name, name, 32
        yield f"{name}_x2", name, 64
    yield from (("add_f64", "add_f", 64), ("min_f64", "min_f", 64), ("max_f64", "max_f", 64), ("add_f32", "add_f", 32))
    yield "pk_add_f16", "pk_add_f16", 32
    if arch == "gfx950":
        yield "pk_add_bf16", "pk_add_bf16", 32


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("returns", [False, True])
def test_raw_atomics(simulator, arch, returns):
    for name, operation, bits in atomics(arch):
        size, dwords = bits // 8, bits // 32
        state, memory, place = start(size)
        if "add_" in name:
            state.vgpr[DATA : DATA + 2] &= np.uint32(0xBBFFBBFF)
            memory &= np.uint32(0xBBFFBBFF)
        place = place // 8 * 8
        state.vgpr[ADDRESS] = place
        expected, vgpr = Lds(memory), state.vgpr.copy()
        for lane in lanes_of(state):
            at, inside = int(place[lane]), int(place[lane]) + size <= 3000
            data, more = gather(state, DATA, lane, dwords), gather(state, DATA + dwords, lane, dwords)
            old = expected.read(at + 16, size) if inside else 0
            if inside:
                expected.write(at + 16, size, ATOMICS[operation](old, data, more, bits))
            for i in range(dwords if returns else 0):
                vgpr[DATA + i, lane] = old >> 32 * i & 0xFFFFFFFF
        data = registers(DATA, dwords * (2 if operation == "cmpswap" else 1))
        line = f"buffer_atomic_{name} {data}, v{ADDRESS}, s[4:7], s8 offen"
        line += (" glc" if arch == "gfx90a" else " sc0") if returns else ""
        left = run(simulator, arch, line, state)
        np.testing.assert_array_equal(left.vgpr, vgpr, line)
        np.testing.assert_array_equal(memory, expected.dwords(), line)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("swizzle", [False, True])
@pytest.mark.parametrize("add_lane", [False, True])
def test_records(simulator, arch, swizzle, add_lane):
    # Records of 32 bytes; where they are swizzled, eight records' dwords lie side by side.
    state, memory, _ = start(7)
    rng = np.random.default_rng(8)
    index, within = rng.integers(0, 40, 64).astype(np.uint32), rng.integers(0, 5, 64).astype(np.uint32) * 4
    state.sgpr[4:8] = descriptor(memory.ctypes.data, 35, stride=32, swizzle=swizzle, index_stride=8, add_lane=add_lane)
    state.vgpr[ADDRESS], state.vgpr[ADDRESS + 1] = index, within
    vgpr = state.vgpr.copy()
    for lane in lanes_of(state):
        record = int(index[lane]) + (lane if add_lane else 0)
        for i in range(2):
            offset = int(within[lane]) + 4 + 4 * i
            at = record * 32 + offset
            if swizzle:
                at = (record // 8 * 32 + offset // 4 * 4) * 8 + record % 8 * 4 + offset % 4
            vgpr[OUT + i, lane] = memory[(at + 16) // 4] if index[lane] < 35 else 0
    line = f"buffer_load_dwordx2 v[{OUT}:{OUT + 1}], v[{ADDRESS}:{ADDRESS + 1}], s[4:7], s8 idxen offen offset:4"
    np.testing.assert_array_equal(run(simulator, arch, line, state).vgpr, vgpr)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_loads_into_lds(simulator, arch):
    kinds = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True), "dword": (4, False)}
    if arch == "gfx950":
        kinds |= {"dwordx3": (12, False), "dwordx4": (16, False)}
    for name, (size, sign) in kinds.items():
        state, memory, place = start(size)
        state.lds, state.sgpr[M0], state.sgpr[8] = edge_state(9, SIZE).lds, 256, 0
        expected = Lds(state.lds)
        for lane in lanes_of(state):
            value = read(memory, int(place[lane]) + 64, size, sign, 3000)
            expected.write(256 + 64 + max(4, size) * lane, max(4, size), value)
        line = f"buffer_load_{name} v{ADDRESS}, s[4:7], s8 offen offset:64 lds"
        left = run(simulator, arch, line, state)
        np.testing.assert_array_equal(left.lds, expected.dwords(), line)
        np.testing.assert_array_equal(left.vgpr, state.vgpr, line)
    state.sgpr[M0] = 4 * SIZE - 8
    with pytest.raises(SimulatorError, match="a load into LDS from byte 4152 on, of LDS of 4096 bytes"):
        run(simulator, arch, f"buffer_load_dword v{ADDRESS}, s[4:7], s8 offen offset:64 lds", state)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_scalar_memory(simulator, arch):
    state, memory, _ = start(10)
    state.set_pair(12, memory.ctypes.data)
    for count in (1, 2, 4, 8, 16):
        suffix, out = ("" if count == 1 else f"x{count}"), registers(20, count, "s")
        state.sgpr[9], state.sgpr[6] = 0x43, 400
        for offset, at in (("0x10", 0x10), ("s9", 0x40), ("s9 offset:0x8", 0x48)):
            sgpr = state.sgpr.copy()
            sgpr[20 : 20 + count] = memory[at // 4 :][:count]
            left = run(simulator, arch, f"s_load_dword{suffix} {out}, s[12:13], {offset}", state)
            np.testing.assert_array_equal(left.sgpr, sgpr)
        for offset in (0, 388, 400):
            sgpr = state.sgpr.copy()
            sgpr[20 : 20 + count] = np.concatenate([memory[offset // 4 : 100], np.zeros(16, np.uint32)])[:count]
            left = run(simulator, arch, f"s_buffer_load_dword{suffix} {out}, s[4:7], {offset:#x}", state)
            np.testing.assert_array_equal(left.sgpr, sgpr)
    for line in ("s_dcache_inv", "s_dcache_wb", "buffer_wbl2" if arch == "gfx90a" else "buffer_inv sc1"):
        np.testing.assert_array_equal(run(simulator, arch, line, state).sgpr, state.sgpr)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_scalar_stores_and_atomics(simulator, arch):
    for count in (1, 2, 4):
        state, memory, _ = start(11)
        state.set_pair(12, memory.ctypes.data)
        suffix, data = ("" if count == 1 else f"x{count}"), registers(20, count, "s")
        expected = memory.copy()
        expected[4 : 4 + count] = expected[744 : 744 + count] = state.sgpr[20 : 20 + count]
        lines = [f"s_store_dword{suffix} {data}, s[12:13], 0x10", f"s_buffer_store_dword{suffix} {data}, s[4:7], 0xba0"]
        if 744 + count > 750:
            expected[750:] = memory[750:]
        run(simulator, arch, lines, state)
        np.testing.assert_array_equal(memory, expected)
    for name, operation, bits in atomics(arch):
        if operation.endswith(("_f", "16")):
            continue
        for base, offset in (("s[12:13]", 0x28), ("s[4:7]", 0x28), ("s[4:7]", 3000)):
            for returns in (False, True):
                state, memory, _ = start(12)
                state.set_pair(12, memory.ctypes.data)
                size, dwords = bits // 8, bits // 32
                if operation == "cmpswap":
                    state.sgpr[20 + dwords : 20 + 2 * dwords] = memory[10 : 10 + dwords]
                expected, sgpr = Lds(memory), state.sgpr.copy()
                operands = (state.sgpr[at : at + dwords].tobytes() for at in (20, 20 + dwords))
                data, more = (int.from_bytes(operand, "little") for operand in operands)
                old = expected.read(offset, size) if offset < 3000 else 0
                if offset < 3000:
                    expected.write(offset, size, ATOMICS[operation](old, data, more, bits))
                for i in range(dwords if returns else 0):
                    sgpr[20 + i] = old >> 32 * i & 0xFFFFFFFF
                both = registers(20, dwords * (2 if operation == "cmpswap" else 1), "s")
                stem = "s_atomic" if base == "s[12:13]" else "s_buffer_atomic"
                line = f"{stem}_{name} {both}, {base}, {offset:#x}" + " glc" * returns
                left = run(simulator, arch, line, state)
                np.testing.assert_array_equal(left.sgpr, sgpr, line)
                np.testing.assert_array_equal(memory, expected.dwords(), line)
