"""What several folders of tests here share: packs, and where the library is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from aotriton.cli import main
from aotriton.runtime import library_path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rmsnorm"


@pytest.fixture(scope="session")
def rmsnorm_packs(tmp_path_factory):
    """Packs of examples/rmsnorm for gfx942, sm_90 and host, as its set says."""
    out = tmp_path_factory.mktemp("rmsnorm") / "packs"
    description, build_set = str(EXAMPLE / "description.py"), str(EXAMPLE / "set.json")
    assert main(["build", "--family", description, "--set", build_set, "--out", str(out), "--workers", "1"]) == 0
    return out


@pytest.fixture(scope="session")
def demo_packs(tmp_path_factory):
    """The packs of the set `demo` for the host."""
    out = tmp_path_factory.mktemp("demo")
    assert main(["build", "--set", "demo", "--target", "host", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def prefix():
    """Where the library is installed in this tree."""
    return library_path().parents[1]
