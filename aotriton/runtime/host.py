"""The driver of the device `host`: callbacks that the library calls to run kernel sources in Triton's interpreter."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aotriton.errors import DeviceError
from aotriton.runtime import library
from aotriton.runtime.abi import HostDriver, LaunchCallback, LoadCallback, UnloadCallback

if TYPE_CHECKING:
    from aotriton.runtime.interpreter import Program

__all__ = ["bounded", "require_triton", "triton_is_missing"]

_HINT = "install it with `pip install triton==3.9.0 numpy`, or choose another device"
_programs: dict[int, Program] = {}
_handles = itertools.count(1)
_state = threading.local()  # .extents: where this thread's launch may read and write


def triton_is_missing() -> str | None:
    """Why the host device can't run here, or None if it can."""
    missing = ", ".join(name for name in ("triton", "numpy") if importlib.util.find_spec(name) is None)
    return f"the host device runs kernels in Triton's interpreter; not installed: {missing}" if missing else None


def require_triton() -> None:
    """Raises DeviceError where Triton is missing, with how to get it."""
    reason = triton_is_missing()
    if reason:
        raise DeviceError(reason, _HINT)


@contextlib.contextmanager
def bounded(extents: Sequence[tuple[int, int]]) -> Iterator[None]:
    """Launches of this thread on `host` may touch these addresses, [begin, end), and fail at others."""
    before = getattr(_state, "extents", None)
    _state.extents = extents
    try:
        yield
    finally:
        _state.extents = before


def _fail(error: BaseException, message: int, capacity: int) -> int:
    """Copies the text of a failure to the library; an interrupt goes on to the caller when the library returns."""
    if not isinstance(error, Exception):
        library.pending.exception = error
    text = (str(error) or type(error).__name__).encode("utf-8", "replace")[: max(0, capacity - 1)] + b"\0"
    if message and capacity:
        ctypes.memmove(message, text, len(text))
    return 1


def _load(image: int, size: int, symbol: bytes, handle: Any, message: int, capacity: int) -> int:
    try:
        require_triton()
        from aotriton.runtime.interpreter import load_program  # imports Triton: not before it is needed

        program = load_program(ctypes.string_at(image, size))
        number = next(_handles)
        _programs[number] = program
        handle[0] = number
        return 0
    except BaseException as error:
        return _fail(error, message, capacity)


def _launch(handle: int, grid: Any, parameters: Any, count: int, message: int, capacity: int) -> int:
    try:
        addresses = [parameters[i] or 0 for i in range(count)]
        _programs[handle].launch((grid[0], grid[1], grid[2]), addresses, getattr(_state, "extents", None))
        return 0
    except BaseException as error:
        return _fail(error, message, capacity)


def _unload(handle: int) -> None:
    _programs.pop(handle, None)


# Kept for as long as the process lives: the library calls them.
_CALLBACKS = (LoadCallback(_load), LaunchCallback(_launch), UnloadCallback(_unload))
_DRIVER = HostDriver(ctypes.sizeof(HostDriver), *(ctypes.cast(callback, ctypes.c_void_p) for callback in _CALLBACKS))


def _register(opened: ctypes.CDLL) -> None:
    if opened.aotriton_set_host_driver(ctypes.byref(_DRIVER)):
        raise DeviceError(f"the host device can't be set up: {opened.aotriton_last_error().decode()}")


library.when_opened(_register)
