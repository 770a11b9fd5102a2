"""examples/sentence_search.py on real weights, its attention on the host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sentence_search.py"


def search(packs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "AOTRITON_PACK_PATH": str(packs)}
    command = [sys.executable, EXAMPLE, *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(("dtype", "bound"), [("fp16", 2e-4), ("fp32", 2e-6)])
def test_sentences_find_their_neighbours(dtype, bound, demo_packs):
    done = search(demo_packs, "--dtype", dtype)
    assert done.returncode == 0, done.stdout + done.stderr
    pairs = re.findall(r"0\.\d{3}  (.+)\n +→ (.+)", done.stdout)
    assert len(pairs) == 4
    assert all((second, first) in pairs for first, second in pairs)
    error = re.search(r"against float64: (\S+)", done.stdout)
    assert error is not None
    assert 0 < float(error[1]) < bound
    assert re.search(r"24 launches on host", done.stdout)
    assert re.search(rf"24 × Q='\*{dtype}:16';BLOCK_DMODEL=32;PADDED_HEAD=False", done.stdout)


def test_what_is_missing_is_said(demo_packs):
    done = search(demo_packs, "--device", "record:gfx90a")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "gfx90a" in done.stderr
