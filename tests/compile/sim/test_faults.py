"""A wild address ends the launch with an error; the process, and what else it does with faults, goes on."""

import signal
import struct
import subprocess
import sys

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_kernel import code_object
from tests.tools.simulator import Simulator, SimulatorError

BODY = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[6:7]
"""


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("threads", ["1", "4"])
def test_wild_addresses_are_errors_on_every_thread(simulator, arch, threads, monkeypatch):
    monkeypatch.setenv("AOTRITON_SIM_THREADS", threads)
    module = simulator.load(code_object(arch, BODY, 2))
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    good, null, far = x.ctypes.data, 0, 0x7FFF_0000_0000_0000
    for source, target, text in (
        (null, good, "memory at 0x0 can't be read, by lane 0: `global_load_dword v2, v1, s[4:5]` at 0x"),
        (good, null, "memory at 0x0 can't be written, by lane 0: `global_store_dword v1, v2, s[6:7]` at 0x"),
        (far, good, "memory at 0x7fff000000000000 can't be read, by lane 0: `global_load_dword v2, v1, s[4:5]` at 0x"),
    ):
        with pytest.raises(SimulatorError) as error:
            module.launch("kernel", (16, 1, 1), 128, struct.pack("<QQ", source, target))
        assert text in str(error.value)
    module.launch("kernel", (16, 1, 1), 128, struct.pack("<QQ", good, y.ctypes.data))
    np.testing.assert_array_equal(x, y)


# A launch that faults, then a fault of the program's own.
PROGRAM = """
import ctypes, signal, struct, sys
from pathlib import Path
from tests.tools.amd_kernel import code_object
from tests.tools.simulator import Simulator, SimulatorError
HANDLER
module = Simulator(Path(sys.argv[1])).load(code_object("gfx942", sys.argv[2], 2))
try:
    module.launch("kernel", (1, 1, 1), 64, bytes(16))
except SimulatorError as error:
    print(error, flush=True)
ctypes.string_at(8)
"""


@pytest.mark.parametrize("handler", ["", "import faulthandler; faulthandler.enable()"])
def test_faults_of_the_program_are_its_own(handler):
    program = [sys.executable, "-c", PROGRAM.replace("HANDLER", handler)]
    library = str(library_path().parent / "libaotriton_sim.so")
    done = subprocess.run([*program, library, BODY], capture_output=True, text=True, check=False)
    assert "memory at 0x0 can't be read" in done.stdout
    assert done.returncode == -signal.SIGSEGV
    assert ("Fatal Python error: Segmentation fault" in done.stderr) == bool(handler)
