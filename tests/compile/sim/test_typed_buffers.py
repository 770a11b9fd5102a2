"""Buffers whose elements have a format: every data and number format, loads and stores, against the definition."""

import math

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_memory import edge_state
from tests.tools.amd_run import run
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
OUT, ADDRESS, DATA = 40, 10, 20
# The components' bits, from the lowest on; names begin with the highest.
DATA_FORMATS = {
    1: [8], 2: [16], 3: [8, 8], 4: [32], 5: [16, 16], 6: [11, 11, 10], 7: [10, 11, 11], 8: [2, 10, 10, 10],
    9: [10, 10, 10, 2], 10: [8] * 4, 11: [32] * 2, 12: [16] * 4, 13: [32] * 3, 14: [32] * 4,
}  # fmt: skip
NUMBERS = {0: "unorm", 1: "snorm", 2: "uscaled", 3: "sscaled", 4: "uint", 5: "sint", 7: "float"}
NAMES = {1: "x", 2: "xy", 3: "xyz", 4: "xyzw"}


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


def registers(row, dwords):
    return f"v{row}" if dwords == 1 else f"v[{row}:{row + dwords - 1}]"


def formats():
    for data, bits in DATA_FORMATS.items():
        for number, kind in NUMBERS.items():
            if kind != "float" or min(bits) >= 10:
                yield data, number


def bits_of(value):
    return int(np.float32(value).view(np.uint32))


def small_float(value, bits):
    """Five bits of exponent; without a sign, unless there are 16 bits."""
    sign = -1.0 if bits == 16 and value >> 15 else 1.0
    fraction = bits - 5 if bits < 16 else 10
    exponent, low = value >> fraction & 31, value & (1 << fraction) - 1
    if exponent == 31:
        return math.nan if low else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(low, -14 - fraction)
    return sign * math.ldexp((1 << fraction) | low, exponent - 15 - fraction)


def loaded(value, bits, kind):
    """A component as 32 bits of its register."""
    signed = value - (1 << bits) if value >> (bits - 1) else value
    if kind == "unorm":
        return bits_of(value / ((1 << bits) - 1))
    if kind == "snorm":
        return bits_of(max(-1.0, signed / max((1 << bits - 1) - 1, 1)))
    if kind == "float":
        return value if bits == 32 else bits_of(small_float(value, bits))
    return {"uscaled": bits_of(value), "sscaled": bits_of(signed), "uint": value, "sint": signed & 0xFFFFFFFF}[kind]


def descriptor(base, count, data, number):
    return [base & 0xFFFFFFFF, base >> 32, count, 0xFAC | number << 12 | data << 15]


def element(memory, at, bits):
    raw = int.from_bytes(memory[at : at + sum(bits) // 8].tobytes(), "little")
    return [raw >> sum(bits[:i]) & (1 << width) - 1 for i, width in enumerate(bits)]


def close(found, wanted, kind):
    """Equal, or both NaN: which one comes out isn't settled."""
    same = found == wanted
    if kind not in ("uint", "sint"):
        same |= np.isnan(found.view(np.float32)) & np.isnan(wanted.view(np.float32))
    return bool(same.all())


def start(data, number, count=2000):
    state, rng = edge_state(data * 8 + number), np.random.default_rng(number)
    memory = rng.integers(0, 256, 2048, np.uint8)
    state.vgpr[ADDRESS] = rng.permutation(2000 // 16)[:64] * 16
    state.vgpr[ADDRESS, 3:5] = count - 1, count  # partly and wholly outside
    state.sgpr[4:8] = descriptor(memory.ctypes.data, count, data, number)
    state.sgpr[8] = 0
    return state, memory


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_loads(simulator, arch):
    for data, number in formats():
        bits, kind = DATA_FORMATS[data], NUMBERS[number]
        state, memory = start(data, number)
        wanted = np.zeros((4, 64), np.uint32)
        for lane in range(64):
            at = int(state.vgpr[ADDRESS, lane])
            if at + sum(bits) // 8 <= 2000:
                parts = [loaded(v, b, kind) for v, b in zip(element(memory, at, bits), bits, strict=True)]
                wanted[:, lane] = (parts + [0, 0, 0, 1 if "int" in kind else bits_of(1)][len(parts) :])[:4]
        for count in (1, 3, 4):
            line = f"buffer_load_format_{NAMES[count]} {registers(OUT, count)}, v{ADDRESS}, s[4:7], s8 offen"
            left = run(simulator, arch, line, state)
            assert close(left.vgpr[OUT : OUT + count], wanted[:count], kind), (data, kind, count)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_halves(simulator, arch):
    for data, number in ((10, 0), (12, 7), (12, 4), (5, 5)):
        bits, kind = DATA_FORMATS[data], NUMBERS[number]
        state, memory = start(data, number)
        wanted = np.zeros((4, 64), np.uint16)
        for lane in range(64):
            at = int(state.vgpr[ADDRESS, lane])
            if at + sum(bits) // 8 > 2000:
                continue
            parts = [loaded(v, b, kind) for v, b in zip(element(memory, at, bits), bits, strict=True)]
            parts += [0, 0, 0, 1 if "int" in kind else bits_of(1)][len(parts) :]
            if "int" not in kind:
                parts = np.array(parts, np.uint32).view(np.float32).astype(np.float16).view(np.uint16).tolist()
            wanted[:, lane] = [v & 0xFFFF for v in parts]
        lines = [
            f"buffer_load_format_d16_xyzw v[{OUT}:{OUT + 1}], v{ADDRESS}, s[4:7], s8 offen",
            f"buffer_load_format_d16_hi_x v{OUT + 2}, v{ADDRESS}, s[4:7], s8 offen",
        ]
        left = run(simulator, arch, lines, state)
        halves = np.stack([left.vgpr[OUT + i // 2] >> 16 * (i % 2) for i in range(4)]).astype(np.uint16)
        nan = np.isnan(halves.view(np.float16)) & np.isnan(wanted.view(np.float16)) & ("int" not in kind)
        assert ((halves == wanted) | nan).all(), (data, kind)
        assert ((left.vgpr[OUT + 2] >> 16 == wanted[0]) | nan[0]).all()
        np.testing.assert_array_equal(left.vgpr[OUT + 2] & 0xFFFF, state.vgpr[OUT + 2] & 0xFFFF)


def stored(reg, bits, kind):
    """A register's component in memory."""
    value, most, signed = float(np.uint32(reg).view(np.float32)), (1 << bits) - 1, (1 << bits - 1) - 1
    if kind == "unorm":
        return round(min(max(value, 0.0), 1.0) * most)
    if kind == "snorm":
        return round(min(max(value, -1.0), 1.0) * signed) & most
    if kind == "uscaled":
        return math.trunc(min(max(value, 0.0), float(most)))
    if kind == "sscaled":
        return math.trunc(min(max(value, -float(signed) - 1), float(signed))) & most
    if kind == "float" and bits == 16:
        return int(np.float32(value).astype(np.float16).view(np.uint16))
    return reg & most


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_stores(simulator, arch):
    for data, number in formats():
        bits, kind = DATA_FORMATS[data], NUMBERS[number]
        if kind == "float" and min(bits) < 16:
            continue
        state, memory = start(data, number)
        rng = np.random.default_rng(data)
        if "int" not in kind:
            scale = 200 if "scaled" in kind else 1.3
            state.vgpr[DATA : DATA + 4] = (rng.standard_normal((4, 64)) * scale).astype(np.float32).view(np.uint32)
        expected = memory.copy()
        for lane in range(64):
            at, size = int(state.vgpr[ADDRESS, lane]), sum(bits) // 8
            if at + size <= 2000:
                parts = [stored(int(state.vgpr[DATA + i, lane]), width, kind) for i, width in enumerate(bits)]
                raw = sum(part << sum(bits[:i]) for i, part in enumerate(parts))
                expected[at : at + size] = np.frombuffer(raw.to_bytes(size, "little"), np.uint8)
        line = f"buffer_store_format_xyzw v[{DATA}:{DATA + 3}], v{ADDRESS}, s[4:7], s8 offen"
        run(simulator, arch, line, state)
        np.testing.assert_array_equal(memory, expected, f"{data} {kind}")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_formats_of_the_instruction(simulator, arch):
    state, memory = start(14, 7)
    state.vgpr[ADDRESS, 3:5] = 0
    text = "format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_UINT]"
    line = f"tbuffer_load_format_xy v[{OUT}:{OUT + 1}], v{ADDRESS}, s[4:7], s8 {text} offen"
    left = run(simulator, arch, line, state)
    for lane in range(64):
        parts = element(memory, int(state.vgpr[ADDRESS, lane]), [16, 16])
        np.testing.assert_array_equal(left.vgpr[OUT : OUT + 2, lane], parts)
    state.vgpr[ADDRESS] = np.arange(64) * 16
    run(simulator, arch, f"tbuffer_store_format_d16_xy v{DATA}, v{ADDRESS}, s[4:7], s8 {text} offen", state)
    np.testing.assert_array_equal(memory.view(np.uint32)[0:256:4], state.vgpr[DATA])
    state.sgpr[7] = 0xFAC
    with pytest.raises(SimulatorError, match="there is no such format: data format 0, number format 0"):
        run(simulator, arch, f"buffer_load_format_x v{OUT}, v{ADDRESS}, s[4:7], s8 offen", state)
