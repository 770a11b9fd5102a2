"""The simulator's checks: kernels with just one fault, whose report names both instructions, and their clean twins."""

import re
import struct

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_kernel import code_object
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


START = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
"""
LOAD, STORE = "global_load_dword v2, v1, s[4:5]\n", "global_store_dword v1, v2, s[6:7]\n"
WAIT, WAIT_LDS, BARRIER = "s_waitcnt vmcnt(0)\n", "s_waitcnt lgkmcnt(0)\n", "s_barrier\n"
WRITE, READ = "ds_write_b32 v1, v0\n", "ds_read_b32 v2, v3\n"
SECOND_WAVE = "v_cmp_lt_u32_e32 vcc, 63, v0\ns_mov_b64 exec, vcc\n"
OTHER = "v_xor_b32_e32 v3, 0x100, v1\n"  # the same place of the other wave's

# Name: the check, the clean kernel, the faulty one, what the report says, in this order.
CASES = {
    "memory that is not known": (
        "memory",
        START + LOAD + WAIT + STORE,
        START + "s_add_u32 s4, s4, 0x200\n" + LOAD + WAIT + STORE,
        [r"of which nothing is known, is read by lane 0: `global_load_dword v2, v1, s\[4:5\]` at 0x"],
    ),
    "LDS beyond its end": (
        "memory",
        START + WRITE,
        START + "v_add_u32_e32 v1, 0x80, v1\n" + WRITE,
        ["byte 512 of LDS, which has 512, is touched by lane 32: `ds_write_b32 v1, v0` at 0x"],
    ),
    "LDS that nothing wrote": (
        "initial",
        START + OTHER + WRITE + WAIT_LDS + BARRIER + READ + WAIT_LDS + STORE,
        START + OTHER + READ + WAIT_LDS + STORE,
        ["LDS at byte 256, which nothing wrote, is read: `ds_read_b32 v2, v3` at 0x"],
    ),
    "a register that nothing wrote": (
        "initial",
        START + LOAD + WAIT + STORE,
        START + LOAD.replace("v2", "v4") + WAIT + STORE,
        ["v2, which nothing wrote, is used in lane 0: `global_store_dword v1, v2"],
    ),
    "a register read while a load is in flight": (
        "waits",
        START + LOAD + WAIT + STORE,
        START + LOAD + STORE,
        ["v2 is read: `global_store_dword", "no wait was for the load into it that is in flight: `global_load_dword"],
    ),
    "a register written while a load is in flight": (
        "waits",
        START + LOAD + WAIT + "v_mov_b32_e32 v2, 0\n" + STORE,
        START + LOAD + "v_mov_b32_e32 v2, 0\n" + WAIT + STORE,
        ["v2 is written: `v_mov_b32_e32 v2, 0`", "in flight: `global_load_dword v2"],
    ),
    "a wait for too few": (
        "waits",
        START + LOAD.replace("v2", "v4") + LOAD + "s_waitcnt vmcnt(1)\n" + STORE.replace("v2", "v4"),
        START + LOAD.replace("v2", "v4") + LOAD + "s_waitcnt vmcnt(1)\n" + STORE,
        ["v2 is read: `global_store_dword", "in flight: `global_load_dword v2"],
    ),
    "LDS in flight": (
        "waits",
        START + "v_mov_b32_e32 v3, v1\n" + WRITE + READ + WAIT_LDS + STORE,
        START + "v_mov_b32_e32 v3, v1\n" + WRITE + READ + STORE,
        ["v2 is read: `global_store_dword", "in flight: `ds_read_b32 v2, v3`"],
    ),
    "a scalar load in flight": (
        "waits",
        START + "s_load_dword s8, s[4:5], 0x0\n" + WAIT_LDS + "s_mov_b32 s9, s8\n",
        START + "s_load_dword s8, s[4:5], 0x0\ns_mov_b32 s9, s8\n",
        ["s8 is read: `s_mov_b32 s9, s8`", "in flight: `s_load_dword s8"],
    ),
    "a scalar load, and a wait that isn't for all": (
        "waits",
        START + "s_load_dword s8, s[4:5], 0x0\n" + WRITE + WAIT_LDS + "s_mov_b32 s9, s8\n",
        START + "s_load_dword s8, s[4:5], 0x0\n" + WRITE + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s9, s8\n",
        ["s8 is read: `s_mov_b32 s9, s8`", "in flight: `s_load_dword s8"],
    ),
    "another wave's write with no barrier": (
        "races",
        START + OTHER + WRITE + WAIT_LDS + BARRIER + SECOND_WAVE + READ + WAIT_LDS + STORE,
        START + OTHER + WRITE + WAIT_LDS + SECOND_WAVE + READ + WAIT_LDS + STORE,
        ["wave 1 reads LDS at byte 0: `ds_read_b32", "wave 0 writes it, and no barrier is between: `ds_write_b32"],
    ),
    "a barrier that doesn't wait for a write": (
        "races",
        START + OTHER + WRITE + WAIT_LDS + BARRIER + READ + WAIT_LDS + STORE,
        START + OTHER + WRITE + BARRIER + READ + WAIT_LDS + STORE,
        ["reads LDS at byte", "writes it, and doesn't wait for that before a barrier: `ds_write_b32"],
    ),
    "a write after another wave's read": (
        "races",
        START + OTHER + WRITE + WAIT_LDS + BARRIER + READ + WAIT_LDS + BARRIER + SECOND_WAVE + WRITE,
        START + OTHER + WRITE + WAIT_LDS + BARRIER + READ + WAIT_LDS + SECOND_WAVE + WRITE,
        ["wave 1 writes LDS at byte 256: `ds_write_b32", "wave 0 reads it, and no barrier is between: `ds_read_b32"],
    ),
    "two waves' writes": (
        "races",
        START + OTHER + WRITE + WAIT_LDS + BARRIER + "ds_write_b32 v3, v0\n" + WAIT_LDS + STORE.replace("v2", "v0"),
        START + OTHER + WRITE + "ds_write_b32 v3, v0\n" + WAIT_LDS + STORE.replace("v2", "v0"),
        [
            "wave 1 writes LDS at byte 256: `ds_write_b32 v1, v0`",
            "wave 0 writes it, and no barrier is between: `ds_write_b32 v3, v0`",
        ],
    ),
    "a misaligned address": (
        "alignment",
        START + LOAD + WAIT + STORE,
        START + "v_lshlrev_b32_e32 v1, 1, v0\n" + LOAD + WAIT,
        ["isn't a multiple of 4, by lane 1: `global_load_dword"],
    ),
    "a misaligned address in LDS": (
        "alignment",
        START + WRITE,
        START + "v_or_b32_e32 v1, 1, v1\n" + "ds_write_b16 v1, v0\n",
        ["the address 0x1 in LDS isn't a multiple of 2, by lane 0: `ds_write_b16 v1, v0`"],
    ),
    "a write to the arguments": (
        "code",
        START + LOAD + WAIT + STORE,
        START + "v_mov_b32_e32 v1, 0\n" + STORE.replace("s[6:7]", "s[0:1]").replace("v2", "v0"),
        ["the arguments at 0x", "are written by lane 0: `global_store_dword v1, v0, s"],
    ),
    "a write to code": (
        "code",
        START + LOAD + WAIT + STORE,
        START + "s_getpc_b64 s[8:9]\nv_mov_b32_e32 v1, 0\n" + STORE.replace("s[6:7]", "s[8:9]").replace("v2", "v0"),
        ["code at 0x", "is written|are written"],
    ),
}  # fmt: skip


def run(simulator, arch, body, checks):
    module = simulator.load(code_object(arch, body, 2, 512))
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    arguments = struct.pack("<QQ", x.ctypes.data, y.ctypes.data)
    module.launch("kernel", (1, 1, 1), 128, arguments, memory=[x, y], checks=checks)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_reported_with_both_instructions_and_its_clean_twin_is_not(simulator, arch, name):
    check, clean, faulty, texts = CASES[name]
    run(simulator, arch, clean, "all")
    with pytest.raises(SimulatorError) as error:
        run(simulator, arch, faulty, check)
    rest = str(error.value)
    for text in texts:
        found = re.search(text, rest)
        assert found, (text, str(error.value))
        rest = rest[found.end() :]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0] in ("waits", "alignment", "races")])
def test_checks_are_switched_on_one_by_one(simulator, name):
    check, _, faulty, _ = CASES[name]
    others = {"memory", "waits", "races", "alignment", "code"} - {check}
    run(simulator, "gfx942", faulty, ",".join(others))


def test_an_unknown_check_is_named(simulator):
    with pytest.raises(SimulatorError, match="`everything` is no check; there are memory, initial, waits"):
        run(simulator, "gfx942", START, "waits,everything")
