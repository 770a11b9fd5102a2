"""The recording driver's own functions, from Python."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from aotriton.runtime import library_path


class Recorder:
    """What was launched on the devices `record:…` of this process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library_path().with_name("libaotriton_record.so")))
        for name in ("aotriton_record_take", "aotriton_record_calls"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def _text(self, function: str) -> Any:
        pointer = ctypes.c_void_p(getattr(self.library, function)())
        try:
            return json.loads(ctypes.string_at(pointer.value))
        finally:
            self.library.aotriton_record_free(pointer)

    def launches(self) -> list[dict[str, Any]]:
        """All launches since the last time."""
        return self._text("aotriton_record_take")

    def calls(self) -> dict[str, int]:
        """How often each function of the driver was called since the last time."""
        found = self._text("aotriton_record_calls")
        assert found["violations"] == []
        return found["calls"]

    def configure(self, target: str, devices: int) -> None:
        """There are at least so many devices of a target from now on."""
        self.library.aotriton_record_configure(target.encode(), devices)

    def fail(self, function: str, code: int, after: int = 0) -> None:
        """A later call of a function of the driver fails with a code, once."""
        self.library.aotriton_record_fail(function.encode(), code, after)

    def reset(self) -> None:
        """Forgets launches, calls and failures to come."""
        self.library.aotriton_record_reset()
