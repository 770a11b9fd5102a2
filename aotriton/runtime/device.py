"""Devices and drivers, and which device a call goes to."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from aotriton.errors import ArgumentError, DeviceError
from aotriton.runtime.dlpack import CUDA, CUDA_MANAGED, HOST_MEMORY, ROCM, current_stream
from aotriton.runtime.host import require_triton, triton_is_missing
from aotriton.runtime.library import check, library, text_of
from aotriton.runtime.view import View

__all__ = [
    "Device",
    "DriverInfo",
    "device_address",
    "device_for",
    "devices",
    "drivers",
    "open_device",
    "stream_address",
    "stream_handle",
]


@dataclass(frozen=True)
class Device:
    """A device that launches go to; `open_device` gives it.

    Attributes
    ----------
    name : str
        `hip:0`, `cuda:1`, `host`, `record:gfx942`, `target:sm_90`, ….
    driver : str
        `hip`, `cuda`, `host`, …; empty for `target:…`, which can be asked but not launched on.
    target : str
        The architecture that its code objects are for.
    description : str
        The driver's own name for it.
    driver_library : str
        The file of the driver.
    compute_units, warp_size, shared_memory : int
        What dispatch knows of it.
    ordinal : int
        Its number in its driver.
    """

    name: str
    driver: str
    target: str
    description: str
    driver_library: str
    compute_units: int
    warp_size: int
    shared_memory: int
    ordinal: int
    handle: ctypes.c_void_p = field(repr=False, compare=False)

    @property
    def reads_host_memory(self) -> bool:
        """Whether its launches read the host's own memory, or none at all."""
        return self.name.split(":")[0] in ("host", "sim", "record", "target")


@dataclass(frozen=True)
class DriverInfo:
    """A way to run code, and whether this machine has it.

    Attributes
    ----------
    name : str
        `hip`, `cuda`, `host`, ….
    available : bool
        Whether a device of it can be opened.
    reason : str
        Why not; empty if it can.
    library : str
        The file of the driver, where there is one.
    devices : tuple of str
        Names of its devices.
    """

    name: str
    available: bool
    reason: str
    library: str
    devices: tuple[str, ...]


_devices: dict[str, Device] = {}


def open_device(name: str | Device | None = None) -> Device:
    """The device of that name.

    Parameters
    ----------
    name : str, optional
        None: what AOTRITON_DEVICE names, else the current HIP device, else the current CUDA device.

    Raises
    ------
    ArgumentError
        It is no name.
    DeviceError
        There is no such device here.
    """
    if isinstance(name, Device):
        return name
    if name is not None and (not isinstance(name, str) or "\0" in name):
        raise ArgumentError(f"device is {name!r}; it is a name such as 'hip:0', 'cuda:0' or 'host'")
    if name in _devices:
        return _devices[name]
    handle = ctypes.c_void_p()
    check(library().aotriton_device_open(name.encode() if name else None, ctypes.byref(handle)))
    facts: dict[str, Any] = json.loads(text_of("aotriton_device_to_json", handle))
    if facts["driver"] == "host":
        require_triton()
    device = Device(
        name=facts["name"],
        driver=facts["driver"],
        target=facts["target"],
        description=facts.get("description") or "",
        driver_library=facts.get("driver_library") or "",
        compute_units=facts["compute_units"],
        warp_size=facts["warp_size"],
        shared_memory=facts["shared_memory"],
        ordinal=facts["ordinal"],
        handle=handle,
    )
    if name:  # what None means may change
        _devices[name] = device
    return device


def device_address(name: str | Device) -> int | None:
    """The library's handle of a device, as a number; raises as `open_device` does."""
    return open_device(name).handle.value


def drivers() -> list[DriverInfo]:
    """What this machine can run, and why not."""
    found = []
    for entry in json.loads(text_of("aotriton_drivers_to_json")):
        info = DriverInfo(
            entry["driver"],
            bool(entry["available"]),
            entry.get("reason") or "",
            entry.get("library") or "",
            tuple(entry.get("devices") or ()),
        )
        missing = triton_is_missing() if info.name == "host" else None
        found.append(replace(info, available=False, reason=missing) if missing else info)
    return found


def devices() -> list[Device]:
    """The devices that this machine has: GPUs first, then what runs without one."""
    return [open_device(name) for driver in drivers() if driver.available for name in driver.devices]


def _memory_name(view: View) -> str | None:
    """The device whose memory a view is in; None for host memory, and where the interface doesn't say."""
    kind, ordinal = view.device
    if kind in HOST_MEMORY or ordinal < 0:
        return None
    if kind in (CUDA, CUDA_MANAGED):
        return f"cuda:{ordinal}"
    if kind == ROCM:
        return f"hip:{ordinal}"
    raise ArgumentError(f"a tensor is in the memory of a device of DLPack's kind {kind}, which nothing here runs on")


def device_for(views: Iterable[tuple[str, View]], asked: str | Device | None) -> Device:
    """The device that a call with these tensors goes to.

    GPU memory: the device that it is on. Host memory: what was asked for, else what AOTRITON_DEVICE names.

    Parameters
    ----------
    views : iterable of (str, View)
        The tensors with their names.
    asked : str or Device, optional
        What the caller named.

    Raises
    ------
    ArgumentError
        The tensors lie on different devices, or not on the one that was asked for.
    DeviceError
        The tensors are in host memory and no device was asked for, or there is no such device.
    """
    home: str | None = None
    first = ""
    on_host = ""  # the first tensor that is in host memory, or, being only a TensorSpec, in none
    there = ""  # the first that really is
    for name, view in views:
        memory = _memory_name(view)
        if memory is None:
            on_host = on_host or (name if view.device[0] in HOST_MEMORY else "")
            there = there or (name if view.device[0] in HOST_MEMORY and view.device[1] >= 0 else "")
        elif home is None:
            home, first = memory, name
        elif memory != home:
            raise ArgumentError(f"{name} is on {memory} and {first} on {home}; one call runs on one device")
    if home is not None and there:
        raise ArgumentError(f"{there} is in host memory and {first} on {home}; copy one to where the others are")
    if home is not None:
        if asked is not None and open_device(asked).name != home:
            raise ArgumentError(f"device {open_device(asked).name} was asked for, and {first} is on {home}")
        return open_device(home)
    if on_host and asked is None and not os.environ.get("AOTRITON_DEVICE"):
        raise DeviceError(
            f"{on_host} is in host memory, and no device was asked for",
            "move the tensors to a GPU, or name a device that runs on host memory: device='host', "
            "device='sim:gfx942', or AOTRITON_DEVICE",
        )
    device = open_device(asked)
    if on_host and not device.reads_host_memory:
        raise ArgumentError(f"{on_host} is in host memory, which {device.name} doesn't read; copy it there first")
    return device


def stream_handle(stream: Any, tensor: Any, view: View) -> int:
    """The native handle of a stream.

    Parameters
    ----------
    stream : object
        An integer handle; an object with `__cuda_stream__` or `cuda_stream`; or None: the stream that the tensor's
        library works on, where the library says (DLPack's C exchange API), else the device's default stream.
    tensor, view : object, View
        The first tensor of the call.
    """
    if stream is None:
        if view.device[0] in HOST_MEMORY:
            return 0
        return current_stream(tensor, view.device) or 0
    return stream_address(stream)


def stream_address(stream: Any) -> int:
    """The native handle of a stream that was given.

    Raises
    ------
    ArgumentError
        It is no stream.
    """
    handle: Any = stream
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    else:
        for attribute in ("cuda_stream", "ptr"):  # PyTorch's name for both vendors' streams; CuPy's
            handle = getattr(stream, attribute, handle)
    if not hasattr(handle, "__index__"):
        raise ArgumentError(
            f"a {type(stream).__name__} is no stream: pass an integer handle or a stream of your library"
        )
    number = int(handle.__index__())
    if not 0 <= number < 1 << 64:
        raise ArgumentError(f"the stream's handle is {number}; a handle is an address, or 0 for the default stream")
    return number
