"""The C interface of `libaotriton_sim.so`, by ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

__all__ = ["Module", "SimulatorError", "Simulator"]

_TEXT = 1024


class SimulatorError(RuntimeError):
    """What the simulator says is wrong."""


class Simulator:
    """The library at a path."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        text, size, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
        self.library.sim_disassemble.argtypes = [text, text, size, ctypes.c_uint64, text, size]
        self.library.sim_load.argtypes = [text, size, text, size]
        self.library.sim_load.restype = pointer
        self.library.sim_unload.argtypes = [pointer]
        three = ctypes.POINTER(ctypes.c_uint32)
        self.library.sim_launch.argtypes = [pointer, text, three, three, ctypes.c_uint32, text, size, text, size]
        self.text = ctypes.create_string_buffer(_TEXT)

    def disassemble(self, arch: str, code: bytes) -> tuple[int, str]:
        """Size and text of the first instruction; 0 and what is wrong where it is none."""
        size = self.library.sim_disassemble(arch.encode(), code, len(code), 0, self.text, _TEXT)
        return size, self.text.value.decode()

    def know(self, memory: Sequence[np.ndarray]) -> None:
        """The memory that launches of this thread may touch, for the check of that."""
        addresses = (ctypes.c_void_p * len(memory))(*(array.ctypes.data for array in memory))
        sizes = (ctypes.c_size_t * len(memory))(*(array.nbytes for array in memory))
        self.library.aotriton_sim_launch_extents.restype = None
        self.library.aotriton_sim_launch_extents(addresses, sizes, ctypes.c_size_t(len(memory)))

    def load(self, image: bytes) -> Module:
        """A code object, loaded; raises SimulatorError."""
        handle = self.library.sim_load(image, len(image), self.text, _TEXT)
        if not handle:
            raise SimulatorError(self.text.value.decode())
        return Module(self, handle)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """A variable of the environment, set for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


class Module:
    """A loaded code object."""

    def __init__(self, simulator: Simulator, handle: int) -> None:
        self._simulator, self._handle = simulator, handle

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        threads: int,
        arguments: bytes,
        lds: int = 0,
        memory: Sequence[np.ndarray] = (),
        checks: str | None = None,
    ) -> None:
        """Runs a kernel to its end, with the explicit arguments as they lie in memory; raises SimulatorError. `memory`:
        what it may touch, for the check of that; `checks`: those that are on, as AOTRITON_SIM_CHECKS."""
        if checks is not None:
            self._simulator.know(memory)
            with _environment("AOTRITON_SIM_CHECKS", checks):
                self.launch(kernel, grid, threads, arguments, lds)
            return
        three, text, name = ctypes.c_uint32 * 3, self._simulator.text, kernel.encode()
        done = self._simulator.library.sim_launch(
            self._handle, name, three(*grid), three(threads, 1, 1), lds, arguments, len(arguments), text, _TEXT
        )
        if not done:
            raise SimulatorError(text.value.decode())

    def __del__(self) -> None:
        self._simulator.library.sim_unload(self._handle)
