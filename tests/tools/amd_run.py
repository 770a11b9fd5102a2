"""Instructions run by themselves on the simulator: registers and LDS given, registers and LDS read back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.tools.amd_text import assemble
from tests.tools.simulator import Simulator, SimulatorError

__all__ = ["AGPR", "EXEC", "M0", "VCC", "State", "run", "run_code"]

AGPR = 256  # the row of a0
VCC, M0, EXEC = 106, 124, 126  # rows of `sgpr`; vcc and exec take two

_POISON = 0x7FE17FE1


def _scalars() -> np.ndarray:
    """Poison, but all lanes on."""
    scalars = np.full(128, _POISON, np.uint32)
    scalars[EXEC : EXEC + 2] = 0xFFFFFFFF
    return scalars


@dataclass
class State:
    """What a wave has: `vgpr` (512 registers, 64 lanes) from v0 and a0 on, `sgpr` by the encoding's codes, `lds` in
    dwords. All lanes are on; what isn't set is poison. Memory is NumPy arrays whose addresses are given."""

    vgpr: np.ndarray = field(default_factory=lambda: np.full((512, 64), _POISON, np.uint32))
    sgpr: np.ndarray = field(default_factory=_scalars)
    scc: bool = False
    lds: np.ndarray = field(default_factory=lambda: np.full(0, _POISON, np.uint32))

    def pair(self, code: int) -> int:
        """The 64 bits of two scalars."""
        return int(self.sgpr[code]) | int(self.sgpr[code + 1]) << 32

    def set_pair(self, code: int, value: int) -> None:
        """Sets two scalars."""
        self.sgpr[code : code + 2] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    @property
    def exec(self) -> int:
        """The lanes that are on, as a mask."""
        return self.pair(EXEC)

    @exec.setter
    def exec(self, mask: int) -> None:
        self.set_pair(EXEC, mask)

    def set_wide(self, row: int, values: np.ndarray) -> None:
        """Writes values of 64 bits, one for each lane, into two registers, low half first."""
        self.vgpr[row : row + 2] = values.astype(values.dtype).view(np.uint32).reshape(64, 2).T

    def wide(self, row: int, dtype: type = np.uint64) -> np.ndarray:
        """Two registers as 64 values of 64 bits."""
        return np.ascontiguousarray(self.vgpr[row : row + 2].T).view(dtype).reshape(64)

    def copy(self) -> State:
        """The same, in memory of its own."""
        return State(self.vgpr.copy(), self.sgpr.copy(), self.scc, self.lds.copy())


class _Wave(ctypes.Structure):
    _fields_ = [
        ("vgpr", ctypes.c_uint32 * (512 * 64)),
        ("sgpr", ctypes.c_uint32 * 128),
        ("scc", ctypes.c_uint32),
    ]


def run(simulator: Simulator, arch: str, lines: str | Sequence[str], state: State) -> State:
    """Assembles the lines with Triton's assembler and runs them; what they leave. Raises SimulatorError."""
    lines = [lines] if isinstance(lines, str) else list(lines)
    codes = assemble(arch, lines)
    for line, code in zip(lines, codes, strict=True):
        if not code:
            raise ValueError(f"`{line}` isn't assembly of {arch}")
    return run_code(simulator, arch, b"".join(codes), state)


def run_code(simulator: Simulator, arch: str, code: bytes, state: State) -> State:
    """Runs bytes of code to their end in a wave that starts with `state`; what they leave. Raises SimulatorError."""
    text, size = ctypes.c_char_p, ctypes.c_size_t
    execute = simulator.library.sim_execute
    execute.argtypes = [text, text, size, ctypes.c_void_p, ctypes.c_void_p, size, text, size]
    wave, error, lds = _Wave(), ctypes.create_string_buffer(1024), state.lds.astype(np.uint32)
    ctypes.memmove(wave.vgpr, np.ascontiguousarray(state.vgpr, np.uint32).ctypes.data, 512 * 64 * 4)
    ctypes.memmove(wave.sgpr, np.ascontiguousarray(state.sgpr, np.uint32).ctypes.data, 512)
    wave.scc = state.scc
    done = execute(
        arch.encode(), code, len(code), ctypes.byref(wave), lds.ctypes.data, lds.nbytes, error, len(error)
    )  # fmt: skip
    if not done:
        raise SimulatorError(error.value.decode())
    vgpr = np.ctypeslib.as_array(wave.vgpr).reshape(512, 64).copy()
    return State(vgpr, np.ctypeslib.as_array(wave.sgpr).copy(), bool(wave.scc), lds)
