"""examples/sentence_search.py on real weights, its attention on the host."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sentence_search.py"


@pytest.mark.parametrize(("dtype", "bound"), [("fp16", 2e-4), ("fp32", 2e-6)])
def test_sentences_find_their_neighbours(dtype, bound):
    command = [sys.executable, EXAMPLE, "--dtype", dtype]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pairs = re.findall(r"0\.\d{3}  (.+)\n +→ (.+)", done.stdout)
    assert len(pairs) == 4
    assert all((second, first) in pairs for first, second in pairs)
    error = re.search(r"against float64: (\S+)", done.stdout)
    assert error is not None
    assert 0 < float(error[1]) < bound
    assert re.search(r"24 launches on host", done.stdout)
    assert re.search(rf"24 × Q='\*{dtype}:16';BLOCK_DMODEL=32;PADDED_HEAD=False", done.stdout)
