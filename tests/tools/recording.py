"""What the recording driver noted: launches since the last time, from Python."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

from aotriton.runtime import library_path

__all__ = ["take_launches"]


def take_launches() -> list[dict[str, Any]]:
    path = next(Path(library_path()).parent.glob("libaotriton*_record.so"))
    recorder = ctypes.CDLL(str(path))
    recorder.aotriton_record_take.restype = ctypes.c_void_p
    recorder.aotriton_record_free.argtypes = [ctypes.c_void_p]
    text = recorder.aotriton_record_take()
    try:
        launches: list[dict[str, Any]] = json.loads(ctypes.string_at(text))
    finally:
        recorder.aotriton_record_free(text)
    return launches
