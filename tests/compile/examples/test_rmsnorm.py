"""Somebody else's kernel: examples/rmsnorm from Python, C and C++, by the packs that its own set makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aotriton import open_kernel

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "rmsnorm"


def run(*words, **environment):
    settings = {**os.environ, **environment}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=settings, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python_program_builds_and_launches(tmp_path):
    text = run(sys.executable, EXAMPLE / "launch.py", tmp_path / "packs")
    assert "X='*fp16:16';BLOCK_N=1024: largest error against float64" in text
    assert (tmp_path / "packs" / "host" / "norm" / "rms_norm.zip").is_file()


def compiled(source, prefix, folder):
    """The program of a source of the example, linked against the installed library."""
    compiler = ["gcc", "-std=c11"] if source.endswith(".c") else ["g++", "-std=c++20"]
    lib = prefix / "lib"
    link = [f"-I{prefix / 'include'}", f"-L{lib}", "-laotriton_v2", f"-Wl,-rpath,{lib}"]
    run(*compiler, "-Wall", "-Wextra", "-Werror", EXAMPLE / source, *link, "-o", folder / "launch")
    return folder / "launch"


@pytest.mark.parametrize("source", ["launch.c", "launch.cpp"])
@pytest.mark.parametrize("device", ["record:gfx942", "record:sm_90"])
def test_c_and_cpp_programs_launch(source, device, rmsnorm_packs, prefix, tmp_path):
    text = run(compiled(source, prefix, tmp_path), rmsnorm_packs, device)
    if source == "launch.cpp":
        assert text == "launched\n"
    else:
        trace = json.loads(text)
        assert (trace["status"], trace["device"]) == ("success", device)
        assert trace["functional"]["signature"] == "X='*fp16:16';BLOCK_N=1024"


def test_programs_say_what_is_wrong(rmsnorm_packs, prefix, tmp_path):
    program = compiled("launch.c", prefix, tmp_path)
    done = subprocess.run([program, rmsnorm_packs, "record:gfx90a"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "gfx90a" in done.stderr


@pytest.mark.parametrize(("dtype", "rows", "columns"), [("f2", 5, 1000), ("f2", 3, 704), ("f4", 2, 4096)])
def test_numbers_on_the_host(dtype, rows, columns, rmsnorm_packs):
    random = np.random.default_rng(3)
    # Rows with gaps between them, which stay as they are.
    x, y = random.standard_normal((2, rows, columns + 24)).astype(dtype)[:, :, :columns]
    w = random.standard_normal(columns).astype(dtype)
    y[:] = np.nan
    arguments = {"X": x, "W": w, "Y": y, "Rows": rows, "Columns": columns, "Epsilon": 1e-6}
    open_kernel("norm", "rms_norm", rmsnorm_packs, "host").launch(**arguments)
    wide = x.astype(np.float64)
    exact = wide * w / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    # One rounding to the output's type, and a few of fp32 before it.
    np.testing.assert_allclose(y, exact, rtol=2 * np.finfo(dtype).eps, atol=1e-6)


def test_programs_are_short():
    for name in ("description.py", "launch.py", "launch.c", "launch.cpp"):
        assert len((EXAMPLE / name).read_text().splitlines()) < 60, name


def test_library_does_not_know_it():
    for folder in ("aotriton", "pyaotriton", "csrc", "include"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".cc", ".h", ".json"):
                text = path.read_text(encoding="utf-8")
                assert '"norm"' not in text, path
                assert "rms_norm" not in text.replace("norm/rms_norm", ""), path  # an example in a command's help
