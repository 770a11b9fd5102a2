"""A compiler: one Python with one Triton in it, and what is pinned and known of that version."""

from __future__ import annotations

import csv
import functools
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotriton.errors import BuildError
from aotriton.targets import Target

__all__ = ["Compiler", "Environment"]

_DATA = Path(__file__).resolve().parents[1] / "data" / "compiler"

# Variables with these beginnings change what Triton and LLVM do; none of the caller's reaches a worker.
_FOREIGN = ("TRITON_", "AMDGCN_", "LLVM_", "MLIR_", "NVPTX_", "PTXAS_", "DISABLE_", "USE_IR_", "PYTHON")


@dataclass(frozen=True)
class Compiler:
    """Who compiled a code object: all that can change the bytes beside the source.

    Attributes
    ----------
    version : str
        Triton's version; `none` where nothing is compiled.
    identity : str
        SHA-256 over the hashes of the files that Triton's distribution records.
    environment : tuple of (name, value)
        The environment variables that are pinned.
    options : tuple of (name, value)
        The compiler options that are pinned beside those of the config.
    """

    version: str
    identity: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, object], ...] = ()

    def properties(self) -> dict[str, str]:
        """Names and values as text, for an index or a report."""
        pairs = [("triton", self.version), ("identity", self.identity), *self.environment]
        return {**dict(pairs), **{f"option {name}": repr(value) for name, value in self.options}}


@dataclass(frozen=True)
class Environment:
    """A Python with a Triton in it, which workers run in.

    Attributes
    ----------
    python : Path
        The interpreter.
    triton_version : str
        Triton's version there.
    identity : str
        SHA-256 over the hashes of the files that Triton's distribution records: two builds of one version differ.
    """

    python: Path
    triton_version: str
    identity: str

    @classmethod
    def current(cls) -> Environment:
        """The environment that this process runs in."""
        return _environment(Path(sys.executable), tuple(sys.path))

    @classmethod
    def at(cls, folder: Path) -> Environment:
        """The virtual environment in that folder."""
        places = tuple(str(path) for path in sorted((folder / "lib").glob("python3*/site-packages")))
        return _environment(folder / "bin" / "python", places)

    @property
    def findings(self) -> Mapping[str, Any]:
        """What is pinned and known of this version: the file `aotriton/data/compiler/<version>.json`."""
        return _findings(self.triton_version)

    def options(self, target: Target) -> dict[str, object]:
        """The options that are pinned for a target's vendor."""
        return dict(self.findings["options"][target.vendor])

    def pinned(self, line_information: bool = False) -> dict[str, str]:
        """The variables that are pinned."""
        return {**self.findings["environment"], "TRITON_DISABLE_LINE_INFO": "0" if line_information else "1"}

    def variables(self, line_information: bool = False) -> dict[str, str]:
        """All variables that a worker starts with."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        return {**own, **self.pinned(line_information), "TRITON_STORE_BINARY_ONLY": "1"}

    def representative(self, target: str) -> str:
        """The target that is compiled for this one: itself, or the first of those with identical code."""
        for group in self.findings["identical"]:
            if target in group["targets"]:
                return str(group["targets"][0])
        return target

    def compiler(self, target: Target, line_information: bool = False) -> Compiler:
        """The identity that code objects for a target carry."""
        return Compiler(
            self.triton_version,
            self.identity,
            tuple(sorted(self.pinned(line_information).items())),
            tuple(sorted(self.options(target).items())),
        )


@functools.lru_cache
def _environment(python: Path, places: tuple[str, ...]) -> Environment:
    found = next(iter(importlib.metadata.distributions(name="triton", path=list(places))), None)
    if found is None:
        raise BuildError(f"there is no Triton in the environment of {python}", "pip install triton==3.9.0")
    lines = (found.read_text("RECORD") or "").splitlines()
    rows = [row for row in csv.reader(lines) if row and row[0].startswith("triton/") and len(row) > 1 and row[1]]
    if not rows:
        raise BuildError(
            f"Triton {found.version} in the environment of {python} doesn't record its files, so it can't be told "
            "apart from another build of the same version",
            "install it from a wheel",
        )
    text = "\n".join(f"{row[0]} {row[1]}" for row in sorted(rows))
    return Environment(python, found.version, hashlib.sha256(text.encode()).hexdigest())


@functools.lru_cache
def _findings(version: str) -> Mapping[str, Any]:
    path = _DATA / f"{version}.json"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in _DATA.glob("*.json") if file.stem != "seconds"))
        raise BuildError(
            f"Triton {version} is not known to this version of aotriton; known: {known}",
            f"install a known one, or describe it in {path}",
        )
    data: Mapping[str, Any] = json.loads(path.read_text())
    return data
