"""The packs of the host: those of the tree's prefix, or, where there are none, some made for the occasion."""

import subprocess
import sys
from pathlib import Path

import pytest

import aotriton
from aotriton.runtime import pack_paths

pytest.register_assert_rewrite("tests.tools.cases")


@pytest.fixture(scope="session")
def host_packs(tmp_path_factory):
    """The folder of packs in which the host's are."""
    for folder in pack_paths():
        if (Path(folder) / "host" / "flash" / "attn_fwd.zip").is_file():
            return Path(folder)
    made = tmp_path_factory.mktemp("packs") / "aotriton.images"
    command = [sys.executable, "-m", "aotriton", "build", "--set", "ci", "--target", "host", "--out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    aotriton.add_pack_path(made)
    return made


@pytest.fixture
def on_host(host_packs, monkeypatch):
    """AOTRITON_DEVICE names the host."""
    monkeypatch.setenv("AOTRITON_DEVICE", "host")
    return host_packs
