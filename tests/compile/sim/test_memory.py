"""FLAT, GLOBAL and SCRATCH: every instruction against its definition; faults."""

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_memory import ATOMICS, MOVES, Lds, edge_state, gather, signed
from tests.tools.amd_run import M0, run
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
SIZE = 1024  # of memory, in dwords
MASKS = [(1 << 64) - 1, 0x00FF00FF12345678, 0]
OUT, ADDRESS, DATA = 40, 10, 20
SHARED, PRIVATE = 1 << 48, 2 << 48


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


def registers(row, dwords, bank="v"):
    return f"{bank}{row}" if dwords == 1 else f"{bank}[{row}:{row + dwords - 1}]"


def lanes_of(state):
    return [lane for lane in range(64) if state.exec >> lane & 1]


def places(seed, aligned):
    rng = np.random.default_rng(seed)
    return rng.permutation(SIZE * 4 // 32)[:64] * 32 + rng.integers(0, 16, 64) // aligned * aligned


class Way:
    """One way of addressing: the operands' text, and the registers that make lane i reach byte place[i] of memory."""

    def __init__(self, space, kind, offset):
        self.space, self.kind, self.offset = space, kind, offset

    def text(self, before, after=""):
        address = f"v{ADDRESS}" if self.kind == "scalar" else f"v[{ADDRESS}:{ADDRESS + 1}]"
        base = {"scalar": ", s[4:5]", "vector": ", off", "flat": ""}[self.kind]
        parts = [p for p in (before, address, after) if p]
        return ", ".join(parts) + base + (f" offset:{self.offset}" if self.offset else "")

    def set(self, state, base, place):
        if self.kind == "scalar":
            state.set_pair(4, base - self.offset - 1000)
            state.vgpr[ADDRESS] = place + 1000
        else:
            state.set_wide(ADDRESS, (np.uint64(base - self.offset) + place.astype(np.uint64)))


def ways(arch):
    yield Way("global", "vector", 0)
    yield Way("global", "vector", -4096)
    yield Way("global", "scalar", 4095)
    yield Way("flat", "flat", 4095)


def start(seed, mask, way, aligned):
    state = edge_state(seed, SIZE)
    memory, place = state.lds.copy(), places(seed, aligned)
    state.exec = mask
    state.lds = state.lds[:0]
    way.set(state, memory.ctypes.data, place)
    return state, memory, place


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
def test_loads(simulator, arch, mask):
    for name, (size, sign, half) in MOVES.items():
        for way in ways(arch):
            state, memory, place = start(size, mask, way, 1)
            vgpr, bytes_ = state.vgpr.copy(), Lds(memory)
            for lane in lanes_of(state):
                value = bytes_.read(int(place[lane]), size)
                value = signed(value, 8 * size) & 0xFFFFFFFF if sign else value
                if half is not None:
                    old = int(vgpr[OUT, lane])
                    value = (old & 0xFFFF) | (value & 0xFFFF) << 16 if half else (old & 0xFFFF0000) | (value & 0xFFFF)
                for i in range(max(1, size // 4)):
                    vgpr[OUT + i, lane] = value >> 32 * i & 0xFFFFFFFF
            line = f"{way.space}_load_{name} {way.text(registers(OUT, max(1, size // 4)))}"
            left = run(simulator, arch, line, state)
            np.testing.assert_array_equal(left.vgpr, vgpr, line)


STORES = {
    "byte": (1, 0), "byte_d16_hi": (1, 16), "short": (2, 0), "short_d16_hi": (2, 16),
    "dword": (4, 0), "dwordx2": (8, 0), "dwordx3": (12, 0), "dwordx4": (16, 0),
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
def test_stores(simulator, arch, mask):
    for name, (size, shift) in STORES.items():
        for way in ways(arch):
            state, memory, place = start(size, mask, way, 1)
            expected, dwords = Lds(memory), max(1, size // 4)
            for lane in lanes_of(state):
                expected.write(int(place[lane]), size, gather(state, DATA, lane, dwords) >> shift)
            line = f"{way.space}_store_{name} {way.text('', registers(DATA, dwords))}"
            left = run(simulator, arch, line, state)
            np.testing.assert_array_equal(left.vgpr, state.vgpr, line)
            np.testing.assert_array_equal(memory, expected.dwords(), line)


def atomics(arch, space):
    for name in ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec"):
        yield name, name, 32
        yield f"{name}_x2", name, 64
    for name in ("add", "min", "max"):
        yield f"{name}_f64", f"{name}_f", 64
    if space == "global" or arch != "gfx90a":
        yield "add_f32", "add_f", 32
        yield "pk_add_f16", "pk_add_f16", 32
    if arch != "gfx90a":
        yield "pk_add_bf16", "pk_add_bf16", 32


def tame(values):
    """Numbers that aren't NaNs, as floats of 16, 32 or 64 bits: which NaN comes out of a sum isn't settled."""
    return values & np.uint32(0xBBFFBBFF)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS[:2])
def test_atomics(simulator, arch, mask):
    for way in ways(arch):
        for name, operation, bits in atomics(arch, way.space):
            size, dwords = bits // 8, bits // 32
            for returns in (False, True):
                state, memory, place = start(size, mask, way, size)
                place[::3] = place[0]
                way.set(state, memory.ctypes.data, place)
                if "add_" in name:
                    state.vgpr[DATA : DATA + 2], memory[:] = tame(state.vgpr[DATA : DATA + 2]), tame(memory)
                for lane in range(1, 64, 4):
                    state.vgpr[DATA + dwords : DATA + 2 * dwords, lane] = memory[place[lane] // 4 :][:dwords]
                expected, vgpr = Lds(memory), state.vgpr.copy()
                for lane in lanes_of(state):
                    old = expected.read(int(place[lane]), size)
                    data, more = gather(state, DATA, lane, dwords), gather(state, DATA + dwords, lane, dwords)
                    expected.write(int(place[lane]), size, ATOMICS[operation](old, data, more, bits))
                    for i in range(dwords if returns else 0):
                        vgpr[OUT + i, lane] = old >> 32 * i & 0xFFFFFFFF
                data = registers(DATA, dwords * (2 if operation == "cmpswap" else 1))
                line = f"{way.space}_atomic_{name} {way.text(registers(OUT, dwords) if returns else '', data)}"
                line += (" glc" if arch == "gfx90a" else " sc0") if returns else ""
                left = run(simulator, arch, line, state)
                np.testing.assert_array_equal(left.vgpr, vgpr, line)
                np.testing.assert_array_equal(memory, expected.dwords(), line)


LDS_LOADS = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True), "dword": (4, False)}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS[:2])
def test_loads_into_lds(simulator, arch, mask):
    wide = {"dwordx3": (12, False), "dwordx4": (16, False)} if arch == "gfx950" else {}
    for name, (size, sign) in (LDS_LOADS | wide).items():
        for way in (Way("global", "vector", 64), Way("global", "scalar", 64)):
            state, memory, place = start(size, mask, way, 1)
            state.lds = edge_state(99, SIZE).lds
            state.sgpr[M0] = 128
            expected, source = Lds(state.lds), Lds(memory)
            for lane in lanes_of(state):
                value = source.read(int(place[lane]), size)
                value = signed(value, 8 * size) if sign else value
                expected.write(128 + 64 + max(4, size) * lane, max(4, size), value)
            stem = f"global_load_{name}" if arch == "gfx90a" else f"global_load_lds_{name}"
            line = f"{stem} {way.text('')}" + (" lds" if arch == "gfx90a" else "")
            left = run(simulator, arch, line, state)
            np.testing.assert_array_equal(left.lds, expected.dwords(), line)
            np.testing.assert_array_equal(left.vgpr, state.vgpr, line)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_flat_reaches_lds_and_scratch(simulator, arch):
    state = edge_state(4, 64)
    memory, values = np.arange(64, dtype=np.uint32), state.vgpr[DATA : DATA + 2].copy()
    address = np.full(64, memory.ctypes.data, np.uint64) + np.arange(64, dtype=np.uint64) * np.uint64(4)
    in_lds, in_scratch = np.arange(64) % 3 == 1, np.arange(64) % 3 == 2
    address[in_lds] = SHARED + np.arange(64, dtype=np.uint64)[in_lds] * np.uint64(4)
    address[in_scratch] = PRIVATE + np.uint64(8)
    state.set_wide(ADDRESS, address)
    lines = [
        f"flat_store_dword v[{ADDRESS}:{ADDRESS + 1}], v{DATA}",
        f"flat_load_dword v{OUT}, v[{ADDRESS}:{ADDRESS + 1}]",
        f"flat_atomic_add v[{ADDRESS}:{ADDRESS + 1}], v{DATA}",
        f"flat_load_dword v{OUT + 1}, v[{ADDRESS}:{ADDRESS + 1}]",
    ]
    left = run(simulator, arch, lines, state)
    np.testing.assert_array_equal(left.vgpr[OUT], values[0])
    np.testing.assert_array_equal(left.vgpr[OUT + 1], values[0] * np.uint32(2))
    np.testing.assert_array_equal(memory, np.where(in_lds | in_scratch, np.arange(64), values[0] * np.uint32(2)))
    np.testing.assert_array_equal(left.lds, np.where(in_lds, values[0] * np.uint32(2), state.lds))
    # Several dwords, in scratch and elsewhere.
    address[:] = PRIVATE + np.uint64(16)
    state.set_wide(ADDRESS, address)
    lines = [
        f"flat_store_dwordx4 v[{ADDRESS}:{ADDRESS + 1}], v[{DATA}:{DATA + 3}]",
        f"flat_load_dwordx2 v[{OUT}:{OUT + 1}], v[{ADDRESS}:{ADDRESS + 1}] offset:8",
    ]
    left = run(simulator, arch, lines, state)
    np.testing.assert_array_equal(left.vgpr[OUT : OUT + 2], state.vgpr[DATA + 2 : DATA + 4])


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("mask", MASKS)
def test_scratch(simulator, arch, mask):
    place = np.random.default_rng(5).integers(0, 14, 64) * 16
    for name, (size, shift) in STORES.items():
        state = edge_state(size)
        state.exec = mask
        state.vgpr[ADDRESS], state.sgpr[4], dwords = place, 16, max(1, size // 4)
        vgpr = state.vgpr.copy()
        for lane in lanes_of(state):
            memory = Lds(np.zeros(64, np.uint32))
            memory.write(int(place[lane]) + 8, size, gather(state, DATA, lane, dwords) >> shift)
            vgpr[OUT : OUT + 4, lane] = memory.dwords()[int(place[lane]) // 4 :][:4]
            vgpr[OUT + 4, lane] = memory.read(24, 2)
        lines = [f"scratch_store_{name} v{ADDRESS}, {registers(DATA, dwords)}, off offset:8"]
        if size <= 8:
            lines += [f"scratch_load_dwordx4 v[{OUT}:{OUT + 3}], v{ADDRESS}, off"]
        else:
            lines += [f"scratch_load_dwordx2 v[{OUT}:{OUT + 1}], v{ADDRESS}, off offset:8"]
            vgpr[OUT : OUT + 4] = state.vgpr[OUT : OUT + 4]
            vgpr[OUT : OUT + 2, lanes_of(state)] = state.vgpr[DATA : DATA + 2, lanes_of(state)]
        lines += [f"scratch_load_ushort v{OUT + 4}, off, s4 offset:8"]
        left = run(simulator, arch, lines, state)
        np.testing.assert_array_equal(left.vgpr[:OUT + 4], vgpr[:OUT + 4], name)
        if size <= 8:
            np.testing.assert_array_equal(left.vgpr[OUT + 4], vgpr[OUT + 4], name)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_faults_are_errors(simulator, arch):
    memory = np.arange(64, dtype=np.uint32)
    for address, text in ((8, "0x8"), (1 << 60, "0x1000000000000000"), (0x7F0000000000 - 64, "0x7effffffffc0")):
        state = edge_state(1)
        state.set_wide(ADDRESS, memory.ctypes.data + 4 * np.arange(64, dtype=np.uint64))
        state.vgpr[ADDRESS : ADDRESS + 2, 7] = address & 0xFFFFFFFF, address >> 32
        line = f"global_load_dword v{OUT}, v[{ADDRESS}:{ADDRESS + 1}], off"
        with pytest.raises(SimulatorError, match=f"memory at {text} can't be read, by lane 7") as error:
            run(simulator, arch, ["s_nop 0", line], state)
        assert str(error.value).endswith(f"`{line}` at 0x4")
        with pytest.raises(SimulatorError, match="can't be written, by lane 7"):
            run(simulator, arch, f"global_store_dword v[{ADDRESS}:{ADDRESS + 1}], v{DATA}, off", state)
        with pytest.raises(SimulatorError, match=r"can't be|misaligned"):
            run(simulator, arch, f"global_atomic_add v[{ADDRESS}:{ADDRESS + 1}], v{DATA}, off", state)
    state = edge_state(1)
    state.set_pair(4, 16)
    with pytest.raises(SimulatorError, match=r"memory at 0x10 can't be read: `s_load_dword s8, s\[4:5\], 0x0`"):
        run(simulator, arch, "s_load_dword s8, s[4:5], 0x0", state)
    state.vgpr[ADDRESS] = 253
    with pytest.raises(SimulatorError, match="lane 0 is at byte 253 of its scratch, which has 256"):
        run(simulator, arch, f"scratch_load_dword v{OUT}, v{ADDRESS}, off", state)
    state.set_wide(ADDRESS, np.full(64, memory.ctypes.data + 2, np.uint64))
    with pytest.raises(SimulatorError, match="lane 0 has a misaligned address"):
        run(simulator, arch, f"global_atomic_add v[{ADDRESS}:{ADDRESS + 1}], v{DATA}, off", state)
