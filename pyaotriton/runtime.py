"""Streams, and the few functions of HIP that the original's binding passes on."""

from __future__ import annotations

import ctypes
import re

from aotriton import AotritonError, open_device
from aotriton.runtime import library_path
from pyaotriton.errors import hipError_t

__all__ = ["Stream", "get_name_suffix", "hipDeviceSynchronize", "hipGetLastError"]


class Stream:
    """A stream: the device's default one, or a native handle that the caller owns.

    Parameters
    ----------
    handle : int, optional
        `hipStream_t` or `CUstream` as a number; the default stream unless given.
    """

    __slots__ = ("handle",)

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle


def get_name_suffix() -> str:
    """What `AOTRITON_NAME_SUFFIX` was when the library was configured; empty without one."""
    found = re.fullmatch(r"libaotriton(.*)_v2\.so", library_path().name)
    return found[1] if found else ""


def _call_driver(names: dict[str, str]) -> hipError_t:
    """Calls the driver's function of that name; success where the device's work is done when a call returns."""
    try:
        device = open_device()
    except AotritonError:
        return hipError_t.hipErrorNoDevice
    if device.driver not in names or not device.driver_library:
        return hipError_t.hipSuccess
    try:
        code = int(getattr(ctypes.CDLL(device.driver_library), names[device.driver])())
    except (OSError, AttributeError):
        return hipError_t.hipErrorNotInitialized
    known = set(hipError_t)
    return hipError_t(code) if code in known else hipError_t.hipErrorUnknown


def hipDeviceSynchronize() -> hipError_t:
    """Waits until the device has done all that was asked of it; on NVIDIA too, for the current context."""
    return _call_driver({"hip": "hipDeviceSynchronize", "cuda": "cuCtxSynchronize"})


def hipGetLastError() -> hipError_t:
    """HIP's last error, which it forgets then; success on other devices, which keep none."""
    return _call_driver({"hip": "hipGetLastError"})
