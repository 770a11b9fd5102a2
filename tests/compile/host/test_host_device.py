"""The host device from outside: without Triton, interrupted, failing, and its examples as they are printed."""

import doctest
import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import aotriton
from aotriton.runtime import host, library_path
from pyaotriton import Stream, get_name_suffix, hipDeviceSynchronize, hipError_t, hipGetLastError
from tests.tools.attention import poisoned

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTED = ["aotriton.runtime.attention", "aotriton.runtime.view"]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_the_documentation_run(host_packs, name):
    found = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert found.attempted > 0
    assert found.failed == 0


WITHOUT_TRITON = """
import json, sys
sys.modules["triton"] = None
import numpy as np
import aotriton

q = np.ones((1, 1, 4, 16), np.float16)
out = np.full_like(q, 7)
try:
    aotriton.attn_fwd(q, q, q, out=out, device="host")
    raised = ["none", ""]
except aotriton.AotritonError as error:
    raised = [type(error).__name__, str(error)]
asked = aotriton.can_attn_fwd(q, q, q, device="host")
driver = next(one for one in aotriton.drivers() if one.name == "host")
print(json.dumps([*raised, bool((out == 7).all()), asked.supported, asked.reason, driver.available, driver.reason]))
"""


def test_without_triton_the_host_says_how_to_get_it():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AOTRITON_LIBRARY": str(library_path())}
    command = [sys.executable, "-c", WITHOUT_TRITON]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    raised, text, untouched, supported, reason, available, why = json.loads(done.stdout)
    assert raised == "DeviceError"
    assert "not installed: triton" in text
    assert "hint: install it with `pip install triton==" in text
    assert untouched
    assert not supported
    assert not available
    assert "triton" in reason
    assert "triton" in why


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_during_a_launch_reaches_the_caller(on_host, monkeypatch, error):
    q = np.ones((1, 1, 4, 16), np.float16)
    aotriton.attn_fwd(q, q, q)

    def launch(*arguments):
        raise error

    programs = {number: types.SimpleNamespace(launch=launch) for number in host._programs}
    monkeypatch.setattr(host, "_programs", programs)
    with pytest.raises(type(error)):
        aotriton.attn_fwd(q, q, q)
    monkeypatch.undo()
    monkeypatch.setenv("AOTRITON_DEVICE", "host")
    assert (aotriton.attn_fwd(q, q, q) == 1).all()


def test_a_failing_program_is_an_error_with_its_text(on_host, monkeypatch):
    q = np.ones((1, 1, 4, 16), np.float16)
    aotriton.attn_fwd(q, q, q)

    def launch(*arguments):
        raise RuntimeError("a reason with ümlauts " + "x" * 10000)

    programs = {number: types.SimpleNamespace(launch=launch) for number in host._programs}
    monkeypatch.setattr(host, "_programs", programs)
    out = poisoned(q.shape, np.float16)
    with pytest.raises(aotriton.DeviceError, match="a reason with ümlauts"):
        aotriton.attn_fwd(q, q, q, out=out)
    assert np.isnan(out).all()


def test_reads_beyond_a_view_are_errors_not_answers(on_host, monkeypatch):
    """The launch knows the views, not the allocations behind them."""
    whole = np.zeros((1, 1, 8, 16), np.float16)
    q = whole[:, :, :4]
    real = host.bounded

    def narrower(extents):
        return real([(begin, end - 32) for begin, end in extents])

    monkeypatch.setattr(host, "bounded", narrower)
    with pytest.raises(aotriton.DeviceError, match="stray access"):
        aotriton.attn_fwd(q, q, q, out=poisoned(q.shape, np.float16))


def test_the_trace_of_a_launch_is_the_trace_of_a_question(on_host):
    q = np.zeros((1, 2, 37, 64), np.float16)
    asked = aotriton.can_attn_fwd(q, q, q, causal=True)
    assert asked
    assert asked.trace == aotriton.explain_attn_fwd(q, q, q, causal=True)
    assert asked.trace["device"] == "host"
    assert asked.trace["functional"]["signature"].startswith("Q='*fp16:16';BLOCK_DMODEL=64;PADDED_HEAD=False")
    refused = aotriton.explain_attn_fwd(*[aotriton.TensorSpec((1, 1, 4, 600), "fp16")] * 3)
    assert refused["status"] == "unsupported"
    assert "600" in refused["reason"]


def test_the_machine_can_be_asked():
    names = [driver.name for driver in aotriton.drivers()]
    assert names[:3] == ["hip", "cuda", "host"]
    device = aotriton.open_device("host")
    assert device is aotriton.open_device("host")
    assert device in aotriton.devices()
    assert (device.driver, device.target, device.reads_host_memory) == ("host", "host", True)


def test_what_the_binding_passes_on_of_hip(on_host):
    assert hipDeviceSynchronize() == hipError_t.hipSuccess
    assert hipGetLastError() == hipError_t.hipSuccess
    assert get_name_suffix() == ""
    assert Stream().handle == 0


def test_the_program_of_a_user_of_the_original(host_packs):
    pytest.importorskip("torch", reason="PyTorch is not installed: `make test-all` installs a CPU build")
    program = ROOT / "tests" / "consumer" / "python" / "attn_fwd_v3.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AOTRITON_DEVICE": "host"}
    environment["AOTRITON_PACK_PATH"] = str(host_packs)
    command = [sys.executable, str(program), "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "largest error" in done.stdout
