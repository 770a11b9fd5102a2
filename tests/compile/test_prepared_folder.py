"""`make packs-gpu`: the folder stands alone, with no Triton and nothing of the tree."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import refusals

ROOT = Path(__file__).resolve().parents[2]

CALL = """
import sys
sys.modules["triton"] = None
import numpy as np
import aotriton
q = np.zeros((1, 2, 37, 32), np.float16)
trace = aotriton.explain_attn_fwd(q, q, q, device="record:sm_90")
aotriton.attn_fwd(q, q, q, device="record:sm_90")
print(aotriton.__file__, trace["status"], trace["pack"])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A prepared one, with the packs of the set `demo` in place of those of `h200`."""
    made = tmp_path_factory.mktemp("prepared") / "gpu"
    command = [sys.executable, "tests/tools/prepare_gpu.py", made, "--set", "demo", "--workers", "2"]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def run(folder, *words):
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, env=outside, check=False)


@pytest.mark.all
def test_the_folder_stands_alone(folder):
    environment = {"PYTHONPATH": f"{folder / 'lib'}:{folder}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", CALL]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    package, status, pack = done.stdout.split()
    assert package == str(folder / "lib" / "aotriton" / "__init__.py")
    assert status == "success"
    assert str(folder / "lib" / "aotriton.images") in pack


@pytest.mark.all
def test_the_benchmark_runs_from_it(folder):
    words = ["--device", "record:sm_90", "--head-dim", "32", "--calls", "200", "--processes", "1"]
    done = run(folder, folder / "run.py", "launch", *words, "--json", folder / "out.json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert found["commit"] == json.loads((folder / "facts.json").read_text(encoding="utf-8"))["commit"]
    assert "aotriton.Kernel.launch, rms_norm" in [row["what"] for row in found["rows"]]


@pytest.mark.all
def test_it_holds_what_its_tests_take(folder):
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    assert 0 < facts["pack_bytes"] < facts["bytes"] < 64 * 2**20
    for name in ("data/sentences.npz", "packs/rmsnorm", "tests/gpu/conftest.py", "bin/consumer_stream", "pytest.ini"):
        assert (folder / name).exists(), name


def test_a_folder_that_is_not_prepared_says_so(tmp_path):
    done = run(tmp_path, ROOT / "tests" / "tools" / "run_gpu.py")
    assert done.returncode == 1
    assert "is no prepared folder" in done.stderr
    assert "hint: make packs-gpu" in done.stderr


@pytest.mark.all
@pytest.mark.parametrize("what", refusals.ALTERED)
def test_refusals_are_refused(folder, what):
    environment = {"PYTHONPATH": f"{folder / 'lib'}:{folder}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", refusals.PROGRAM, str(folder / "packs"), "record:sm_90", what]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    refusals.check(done.stdout, what, "record:sm_90")
