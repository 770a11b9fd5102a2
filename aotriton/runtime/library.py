"""Finding and opening libaotriton_v2.so, and turning its statuses into exceptions."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aotriton.errors import AotritonError, ArgumentError, DeviceError, PackError, UnsupportedError
from aotriton.runtime.abi import API, Status

__all__ = ["check", "last_error", "library", "library_path", "pending", "take_text", "text_of", "when_opened"]

_CLASSES: dict[int, type[AotritonError]] = {
    Status.INVALID_ARGUMENT: ArgumentError,
    Status.INVALID_VERSION: ArgumentError,
    Status.NO_DEVICE: DeviceError,
    Status.NO_PACK: PackError,
    Status.BAD_PACK: PackError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NOT_BUILT: UnsupportedError,
    Status.DRIVER_ERROR: DeviceError,
    Status.OUT_OF_MEMORY: DeviceError,
    Status.INTERNAL_ERROR: AotritonError,
}
_lock = threading.Lock()
_opened: ctypes.CDLL | None = None
_on_open: list[Callable[[ctypes.CDLL], None]] = []


def _candidates() -> list[Path]:
    """Where the library may lie: beside the installed package, else in the tree's install prefix."""
    beside = Path(__file__).resolve().parents[2]
    folders = [beside, beside / "build" / "install" / "lib"]
    return [path for folder in folders for path in sorted(folder.glob("libaotriton*_v2.so"))]


def library_path() -> Path:
    """The file of the library: `$AOTRITON_LIBRARY`, else beside the package, else in the tree's `build/install/lib`.

    Raises
    ------
    AotritonError
        It is in none of these places.
    """
    named = os.environ.get("AOTRITON_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise AotritonError(f"AOTRITON_LIBRARY names {named}, and there is no such file")
        return Path(named)
    found = _candidates()
    if not found:
        folder = Path(__file__).resolve().parents[2]
        raise AotritonError(
            f"the library libaotriton_v2.so is neither in {folder} nor in {folder / 'build/install/lib'}",
            "build it with `make library`, or name the file in AOTRITON_LIBRARY",
        )
    return found[0]


def when_opened(action: Callable[[ctypes.CDLL], None]) -> None:
    """Calls `action` with the library once, right after it was opened."""
    _on_open.append(action)


def library() -> ctypes.CDLL:
    """The library, opened on first use, its functions declared."""
    return _opened or _open()


def _open() -> ctypes.CDLL:
    global _opened
    with _lock:
        if _opened is not None:
            return _opened
        path = library_path()
        try:
            opened = ctypes.CDLL(str(path))
        except OSError as error:
            raise AotritonError(f"{path} can't be opened: {error}") from error
        for name, (result, arguments) in API.items():
            function = getattr(opened, name, None)
            if function is None:
                raise AotritonError(f"{path} has no function {name}: it is of another version than this Python package")
            function.restype = result
            function.argtypes = arguments
        for action in _on_open:
            action(opened)
        _opened = opened
        return opened


def last_error() -> str:
    """The text of this thread's last failure in the library; empty after a success."""
    text: bytes = library().aotriton_last_error() or b""
    return text.decode("utf-8", "replace")


pending = threading.local()
"""`pending.exception`: what a Python callback raised that must go on to the caller, a KeyboardInterrupt say."""


def check(status: int) -> None:
    """Raises the exception that belongs to a status, with the library's text; nothing for a success."""
    if status == Status.SUCCESS:
        return
    raised: BaseException | None = getattr(pending, "exception", None)
    if raised is not None:
        pending.exception = None
        raise raised
    raise _CLASSES.get(status, AotritonError)(last_error() or f"the library failed with status {status} and no text")


def take_text(pointer: ctypes.c_void_p) -> str:
    """The text that the library returned through `char**`, which is freed; empty if it returned none."""
    if not pointer.value:
        return ""
    try:
        return ctypes.string_at(pointer.value).decode("utf-8", "replace")
    finally:
        library().aotriton_free_string(pointer)


def text_of(function: str, *arguments: Any) -> str:
    """Calls a function whose last argument is `char**` and gives the text back.

    Raises
    ------
    AotritonError
        It failed.
    """
    pointer = ctypes.c_void_p()
    status = getattr(library(), function)(*arguments, ctypes.byref(pointer))
    text = take_text(pointer)
    check(status)
    return text
