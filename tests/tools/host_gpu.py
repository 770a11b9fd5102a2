"""A stand-in for a GPU in the tests of tuning: host memory behind its face, and time that the test makes up.

Nothing is measured here: times are what `clock` gives, so that everything but the timing itself can be tried without a
GPU.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from aotriton.tune.gpu import GpuArray


class HostGpu:
    """What `aotriton.tune.gpu.Gpu` offers, on the memory that the device `host` reads."""

    compute_units = 1

    def __init__(self, device: Any) -> None:
        self.device = device
        self.memory: dict[int, Any] = {}
        self.clock = itertools.count(10)

    def allocate(self, size: int) -> GpuArray:
        room = np.empty(size + 256, np.uint8)
        address = -(-room.ctypes.data // 256) * 256
        self.memory[address] = room
        return GpuArray(address, (size,), np.uint8)

    def free(self, array: GpuArray) -> None:
        del self.memory[array.address]

    @staticmethod
    def bytes_of(array: GpuArray) -> Any:
        import ctypes

        return np.frombuffer((ctypes.c_uint8 * array.nbytes).from_address(array.address), np.uint8)

    def upload(self, array: GpuArray, values: Any) -> None:
        raw = np.ascontiguousarray(values).view(np.uint8).ravel()
        self.bytes_of(array)[: raw.size] = raw

    def download(self, array: GpuArray) -> Any:
        return self.bytes_of(array).copy().view(array.dtype).reshape(array.shape)

    def poison(self, array: GpuArray) -> None:
        self.bytes_of(array)[:] = 0xFF

    def flush(self) -> None:
        pass

    def event(self) -> list[int]:
        return [0]

    def record(self, event: list[int]) -> None:
        event[0] = next(self.clock)

    def reached(self, event: list[int]) -> bool:
        return False

    def microseconds(self, start: list[int], end: list[int]) -> float:
        return float(end[0] - start[0])

    def synchronise(self) -> None:
        pass
