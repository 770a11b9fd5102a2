"""Sees whether a process or its children start a compiler."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

__all__ = ["CompilerWatch"]

COMPILERS = ["cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "ld.lld", "as", "ninja", "cmake"]
COMPILERS += ["nvcc", "ptxas", "cicc", "nvlink", "fatbinary", "hipcc", "amdclang"]
_EVENTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")


class CompilerWatch:
    """Programs in front of PATH that stand for compilers and note their call, and a hook on Python's ways to start one.

    The first sees children of any kind that go by PATH, the second what goes by a path of its own.
    """

    def __init__(self) -> None:
        self._noted: list[str] = []
        self._log: Path | None = None

    def start(self, folder: Path) -> None:
        """From now on, for the life of the process."""
        self._log = folder / "called"
        for name in COMPILERS:
            stand_in = folder / name
            stand_in.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self._log}"\nexit 1\n', encoding="utf-8")
            stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS:
            return
        program = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else str(arguments[0])
        name = program.split()[0] if event == "os.system" and program.split() else program
        if Path(name).name in COMPILERS:
            self._noted.append(f"{event} {program}")

    def called(self) -> list[str]:
        """What was started."""
        by_path = self._log.read_text(encoding="utf-8").splitlines() if self._log and self._log.exists() else []
        return self._noted + by_path
