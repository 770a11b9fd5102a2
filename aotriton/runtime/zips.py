"""What the library says of one kernel's ZIP: its index, and whether it is whole."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from aotriton.runtime.library import check, library, take_text, text_of

__all__ = ["index_of", "verify_zip"]


def index_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The verified index of a kernel's ZIP.

    Raises
    ------
    PackError
        The file is missing or damaged.
    """
    index: dict[str, Any] = json.loads(text_of("aotriton_index_to_json", os.fsencode(path)))
    return index


def verify_zip(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Checks a kernel's ZIP whole: directory, CRCs, index, every cluster, every image's hash.

    Returns
    -------
    report : dict
        `file`, `entries`, `functionals`, `images`, `bytes`, and `problems`, a list of texts: empty if all is well.

    Raises
    ------
    PackError
        The file can't be read at all.
    """
    text = ctypes.c_void_p()
    status = library().aotriton_verify_zip(os.fsencode(path), ctypes.byref(text))
    report = take_text(text)
    if not report:
        check(status)
    found: dict[str, Any] = json.loads(report)
    return found
