"""The library's tests: what is installed, and the tools of a C++ build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PREFIX = ROOT / "build" / "install"


def run(*command: str | Path, **options) -> str:
    """The output of a command that must succeed; what it printed stands in the failure."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tool(name: str) -> str:
    """A program of the environment that runs the tests, else of PATH."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


def without_device() -> dict[str, str]:
    """The environment with nothing in it that picks devices or packs."""
    return {key: value for key, value in os.environ.items() if not key.startswith("AOTRITON_")}


@pytest.fixture(scope="session")
def prefix() -> Path:
    """The installed library."""
    if not (PREFIX / "lib" / "libaotriton_v2.so").exists():
        pytest.skip("nothing is installed in build/install: run `make setup`")
    return PREFIX


@pytest.fixture(scope="session")
def compiler() -> str:
    """The C++ compiler."""
    return tool("g++")
