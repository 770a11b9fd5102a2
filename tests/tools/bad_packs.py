"""Packs that are damaged in ways that need no knowledge of the index, and a process that meets them in turn.

    python -m tests.tools.bad_packs DEVICE PACK GOOD.zip FOLDER …

calls with each folder of packs as it stands, then with a good one, then with the first one put right: an index is read
again after a failure, and a file whose index was good stays open. Prints JSON: by folder, the error's class and text,
whether the output is untouched, and what the next calls raised.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np

import aotriton

__all__ = ["DAMAGES", "damaged_clusters", "empty", "main", "missing", "noise", "renamed", "truncated"]


def truncated(good: Path, path: Path) -> None:
    """Half of it."""
    path.write_bytes(good.read_bytes()[: good.stat().st_size // 2])


def empty(good: Path, path: Path) -> None:
    """Nothing in it."""
    path.write_bytes(b"")


def noise(good: Path, path: Path) -> None:
    """No ZIP."""
    path.write_bytes(random.Random(0).randbytes(10000))


def missing(good: Path, path: Path) -> None:
    """Not there."""


def renamed(good: Path, path: Path) -> None:
    """Under another kernel's name."""
    shutil.copy(good, path.with_name("attn_forward.zip"))


def damaged_clusters(good: Path, path: Path) -> None:
    """A byte of each cluster is another; the index is whole."""
    data = bytearray(good.read_bytes())
    with zipfile.ZipFile(good) as zipped:
        for entry in zipped.infolist():
            start = entry.header_offset + 30
            start += int.from_bytes(data[start - 4 : start - 2], "little")
            start += int.from_bytes(data[entry.header_offset + 28 : entry.header_offset + 30], "little")
            if entry.filename != "__index__":
                data[start + entry.file_size // 2] ^= 0xFF
    path.write_bytes(data)


DAMAGES = {one.__name__: one for one in (truncated, empty, noise, missing, renamed, damaged_clusters)}


class _Process:
    def __init__(self, device: str, pack: str, good: Path) -> None:
        self.device, self.pack, self.good = device, pack, good
        self.q = np.eye(16, dtype=np.float16).reshape(1, 1, 16, 16)
        self.memory = None
        if device.startswith("cuda"):
            import torch  # noqa: F401 - GpuMemory looks for it

            from tests.tools.memory import GpuMemory

            self.memory = GpuMemory()

    def call(self, folder: str) -> list[object]:
        os.environ["AOTRITON_PACK_PATH"] = folder
        q, out = self.q, np.full_like(self.q, 7)
        if self.memory is not None:
            q, out = self.memory.place(q), self.memory.place(out)
        raised, text = "none", ""
        try:
            aotriton.attn_fwd(q, q, q, out=out, device=self.device)
        except aotriton.AotritonError as error:
            raised, text = type(error).__name__, str(error)
        if self.memory is not None:
            self.memory.finish()
            out = self.memory.fetch(out)
        return [raised, text, bool((out == 7).all()) if text else not (out == 7).any()]

    def repair(self, folder: str) -> None:
        target = Path(folder, self.pack, "flash", "attn_fwd.zip")
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name("attn_fwd.zip.new")
        shutil.copy(self.good, fresh)
        fresh.replace(target)

    def meet(self, folder: str) -> list[object]:
        found = self.call(folder)
        self.repair(folder + "-good")
        found.append(self.call(folder + "-good")[0])
        if not folder.endswith("clusters"):
            self.repair(folder)
            found.append(self.call(folder)[0])
        return found


def main(device: str, pack: str, good: str, *folders: str) -> None:
    """The program."""
    process = _Process(device, pack, Path(good))
    print(json.dumps({folder: process.meet(folder) for folder in folders}))


if __name__ == "__main__":
    main(*sys.argv[1:])
