"""Packs that are missing or damaged (T40), and first calls from many threads in a fresh process (T38), on a GPU."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.bad_packs import DAMAGES

PACK = "nvidia-sm90"


@pytest.fixture(scope="module")
def results(prepared, child_environment, tmp_path_factory):
    """What one process found, by the damage."""
    work = tmp_path_factory.mktemp("t40")
    good = prepared / "lib" / "aotriton.images" / PACK / "flash" / "attn_fwd.zip"
    (work / "lib").mkdir()
    shutil.copy(prepared / "lib" / "libaotriton_v2.so", work / "lib")  # where no packs lie beside it
    for name, damage in DAMAGES.items():
        path = work / name / PACK / "flash" / "attn_fwd.zip"
        path.parent.mkdir(parents=True)
        damage(good, path)
    environment = {**child_environment, "AOTRITON_LIBRARY": str(work / "lib" / "libaotriton_v2.so")}
    folders = [str(work / name) for name in DAMAGES]
    command = [sys.executable, "-m", "tests.tools.bad_packs", "cuda:0", PACK, str(good), *folders]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return {Path(folder).name: result for folder, result in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", DAMAGES)
def test_t40_bad_packs_are_errors_and_the_next_good_call_works(results, name):
    raised, text, untouched, *next_calls = results[name]
    assert raised == "PackError", text
    assert untouched
    assert set(next_calls) == {"none"}
    assert "attn_fwd" in text
    assert name in text, "the text says where it looked"
    assert "sm_90" in text or "sm90" in text


THREADS = """
import threading
import numpy as np
import torch
import ml_dtypes
import aotriton
from tests.tools.attention import check
from tests.tools.cases import normal, run
from tests.tools.memory import GpuMemory

memory, start = GpuMemory(), threading.Barrier(8)
torch.zeros(1, device="cuda")
tensors = [[normal(*shape, dtype=ml_dtypes.bfloat16) for _ in range(3)] for shape in ((1, 1, 5, 24), (1, 2, 9, 64))]
results = [None] * 8


def first(i):
    start.wait()
    results[i] = run(memory, *tensors[i % 2])


threads = [threading.Thread(target=first, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for i, found in enumerate(results):
    check(*tensors[i % 2], *found, None)
print("right")
"""


def test_t38_first_calls_from_eight_threads_in_a_fresh_process(child_environment):
    environment = {**child_environment, "AOTRITON_DEBUG_LEVEL": "3"}
    command = [sys.executable, "-c", THREADS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "right\n", done.stderr
    loaded = re.findall(r"cuda:0 loaded (\S+);", done.stderr)
    assert len(loaded) == len(set(loaded)) == 2, "one load for each kernel and device"
