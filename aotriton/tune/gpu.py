"""A GPU's memory and clocks, by its driver alone: what measuring needs beside the library, and no framework for it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aotriton.errors import DeviceError
from aotriton.runtime import Device
from aotriton.runtime.view import contiguous_strides

__all__ = ["Gpu", "GpuArray", "clocks", "driver_version"]

_L2_CACHE_SIZE = 38  # of CUdevice_attribute
_NOT_READY = 600  # of CUresult
_SM_CLOCK, _MEMORY_CLOCK = 1, 2  # of nvmlClockType_t
_POISON = 0xFF  # every element type's NaN, or -1


class GpuArray:
    """Memory of a GPU as an array, which kernels take.

    Parameters
    ----------
    address : int
        Of the first element.
    shape : sequence of int
        Its sizes.
    dtype : data type
        NumPy's, or ml_dtypes'.
    """

    def __init__(self, address: int, shape: Sequence[int], dtype: Any) -> None:
        self.address, self.shape, self.dtype = address, tuple(shape), np.dtype(dtype)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        steps = tuple(step * self.dtype.itemsize for step in contiguous_strides(self.shape))
        return {
            "shape": self.shape,
            "strides": steps,
            "typestr": np.dtype(f"V{self.dtype.itemsize}").str if self.dtype.kind == "V" else self.dtype.str,
            "data": (self.address, False),
            "version": 3,
        }


class Gpu:
    """One CUDA device in its primary context, on its default stream.

    Parameters
    ----------
    device : Device
        Which, as the library opened it.

    Raises
    ------
    DeviceError
        It is no CUDA device, or its driver failed.
    """

    def __init__(self, device: Device) -> None:
        if device.driver != "cuda":
            raise DeviceError(
                f"measuring needs an NVIDIA GPU; {device.name} is none",
                "run it on a machine with one: --device cuda:0. Nothing is timed on host or on recording devices, and "
                "measuring on AMD GPUs is not written yet",
            )
        self.compute_units = device.compute_units
        self._cuda = ctypes.CDLL(device.driver_library or "libcuda.so.1")
        number, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(number), device.ordinal)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self._call("cuCtxSetCurrent", context)
        cache = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(cache), _L2_CACHE_SIZE, number)
        self._sweep = self.allocate(4 * max(cache.value, 16 << 20))

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(status, ctypes.byref(text))
            raise DeviceError(f"{name} failed with {status}: {(text.value or b'no text').decode()}")

    def allocate(self, size: int) -> GpuArray:
        """So many bytes, aligned to 256."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return GpuArray(address.value, (size,), np.uint8)

    def free(self, array: GpuArray) -> None:
        """Give back what `allocate` gave."""
        self._call("cuMemFree_v2", ctypes.c_uint64(array.address))

    def upload(self, array: GpuArray, values: Any) -> None:
        """Copy an array of the host's to the start of a GPU's."""
        values = np.ascontiguousarray(values)
        size = ctypes.c_size_t(values.nbytes)
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(array.address), ctypes.c_void_p(values.ctypes.data), size)

    def download(self, array: GpuArray) -> Any:
        """A copy in the host's memory; waits for what was enqueued before."""
        values = np.empty(array.shape, array.dtype)
        size = ctypes.c_size_t(values.nbytes)
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(array.address), size)
        return values

    def poison(self, array: GpuArray) -> None:
        """Fill an array with NaN."""
        self._fill(array, _POISON)

    def flush(self) -> None:
        """Enqueue what turns the whole L2 cache over, and keeps the GPU busy while the next launches are enqueued."""
        self._fill(self._sweep, 0)

    def _fill(self, array: GpuArray, byte: int) -> None:
        size = ctypes.c_size_t(array.nbytes)
        self._call("cuMemsetD8Async", ctypes.c_uint64(array.address), ctypes.c_ubyte(byte), size, None)

    def event(self) -> ctypes.c_void_p:
        """A new event."""
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def record(self, event: ctypes.c_void_p) -> None:
        """Enqueue an event."""
        self._call("cuEventRecord", event, None)

    def reached(self, event: ctypes.c_void_p) -> bool:
        """Whether the GPU has come to an event."""
        status = self._cuda.cuEventQuery(event)
        if status not in (0, _NOT_READY):
            self._call("cuEventQuery", event)
        return bool(status == 0)

    def microseconds(self, start: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
        """The GPU's time from one event to a later one; waits for it."""
        elapsed = ctypes.c_float()
        self._call("cuEventSynchronize", end)
        self._call("cuEventElapsedTime", ctypes.byref(elapsed), start, end)
        return elapsed.value * 1e3

    def synchronise(self) -> None:
        """Wait for all that was enqueued; a kernel that faulted is an error here."""
        self._call("cuCtxSynchronize")


def driver_version(ordinal: int) -> str:
    """The version of an NVIDIA GPU's driver; empty where its management library isn't there."""
    nvml, version = _Nvml.of(ordinal), ctypes.create_string_buffer(96)
    known = nvml is not None and nvml.library.nvmlSystemGetDriverVersion(version, 96) == 0
    return version.value.decode() if known else ""


def clocks(ordinal: int) -> dict[str, int]:
    """Clocks in MHz and the temperature in degrees Celsius of an NVIDIA GPU, as far as its management library says.

    Parameters
    ----------
    ordinal : int
        The number that CUDA gives the device.
    """
    nvml, value, found = _Nvml.of(ordinal), ctypes.c_uint(), {}
    if nvml is None:
        return {}
    for name, kind in (("sm_clock", _SM_CLOCK), ("memory_clock", _MEMORY_CLOCK)):
        if nvml.library.nvmlDeviceGetClockInfo(nvml.device, kind, ctypes.byref(value)) == 0:
            found[name] = value.value
    if nvml.library.nvmlDeviceGetTemperature(nvml.device, 0, ctypes.byref(value)) == 0:
        found["temperature"] = value.value
    return found


class _Nvml:
    """NVIDIA's management library, and its handle of a device, which it numbers otherwise than CUDA."""

    def __init__(self, library: ctypes.CDLL, device: ctypes.c_void_p) -> None:
        self.library, self.device = library, device

    @classmethod
    def of(cls, ordinal: int) -> _Nvml | None:
        try:
            cuda, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        bus, device, handle = ctypes.create_string_buffer(32), ctypes.c_int(), ctypes.c_void_p()
        if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), ordinal):
            return None
        if cuda.cuDeviceGetPCIBusId(bus, 32, device) or nvml.nvmlInit_v2():
            return None
        return None if nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(handle)) else cls(nvml, handle)
