"""The device `sim:TARGET`: from a Python call through the runtime to simulated code, and what it says of failures."""

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import aotriton
from aotriton.cli import main
from aotriton.errors import DeviceError
from aotriton.runtime import drivers, library_path, open_device
from aotriton.targets import TARGETS
from tests.compile.sim.test_vector_add import compiled
from tests.tools.simulator import Simulator, SimulatorError

SIMULATED = ["gfx90a", "gfx942", "gfx950"]
ROWS = 200  # more than one block of rows, with a ragged end


@pytest.fixture(scope="module")
def packs(tmp_path_factory):
    """Forward attention of head dim 16 in fp16 for the simulated targets: one code object each."""
    folder = tmp_path_factory.mktemp("sim")
    where = {"BLOCK_DMODEL": [16], "Q": ["*fp16:16"], "CAUSAL_TYPE": [0], "BIAS_TYPE": [0], "PADDED_HEAD": [False]}
    choice = {"why": "a test", "kernels": "flash.attn_fwd", "targets": SIMULATED, "where": where, "cover": "all"}
    build_set = {"format": 1, "name": "sim", "purpose": "a test", "targets": SIMULATED, "selections": [choice]}
    file = folder / "set.json"
    file.write_text(json.dumps(build_set), encoding="utf-8")
    out = folder / "packs"
    assert main(["build", "--set", str(file), "--out", str(out), "--workers", "1"]) == 0
    return out


@pytest.fixture(scope="module")
def tensors():
    random = np.random.default_rng(7)
    return [random.standard_normal((1, 2, ROWS, 16)).astype(np.float16) for _ in range(3)]


def attend(q, k, v):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.exp(q @ k.swapaxes(-1, -2) / 4)
    return scores / scores.sum(-1, keepdims=True) @ v


@pytest.fixture
def call(packs, tensors, monkeypatch):
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs))
    monkeypatch.setenv("AOTRITON_SIM_CHECKS", "all")

    def run(device):
        out = np.full_like(tensors[0], np.nan)
        aotriton.attn_fwd(*tensors, out=out, device=device)
        return out

    return run


@pytest.mark.parametrize("target", SIMULATED)
def test_attention(target, call, tensors):
    out = call(f"sim:{target}")
    # p and v are fp16: half a unit in the last place each, and again in the output; values are below 4.
    np.testing.assert_allclose(out.astype(np.float64), attend(*tensors), rtol=0, atol=4 * 3 * 2.0**-11)


def test_the_second_device_and_other_orders_of_waves_give_the_same_bits(call, monkeypatch):
    first = call("sim:gfx942")
    assert call("sim:gfx942:1").tobytes() == first.tobytes()
    monkeypatch.setenv("AOTRITON_SIM_THREADS", "1")
    for order in ("backward", "2", "3"):
        monkeypatch.setenv("AOTRITON_SIM_ORDER", order)
        assert call("sim:gfx942").tobytes() == first.tobytes()


def test_facts_are_those_of_the_targets():
    for target in SIMULATED:
        device, facts = open_device(f"sim:{target}"), TARGETS[target]
        assert (device.driver, device.target) == ("sim", target)
        assert device.compute_units == facts.compute_units
        assert (device.warp_size, device.shared_memory) == (facts.warp_size, facts.shared_memory)
        assert device.description.startswith(f"simulated {target}")


def test_what_there_is_is_listed(capsys):
    (found,) = (driver for driver in drivers() if driver.name == "sim")
    assert found.available
    assert found.devices == tuple(f"sim:{target}" for target in SIMULATED)
    assert main(["targets", "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out) if one["simulated"]} == set(SIMULATED)
    with pytest.raises(DeviceError, match=r"no such device of target gfx1100; it has gfx90a, gfx942, gfx950"):
        open_device("sim:gfx1100")


def test_a_launch_that_fails_says_why_and_the_next_one_runs(call, monkeypatch):
    monkeypatch.setenv("AOTRITON_SIM_LIMIT", "100")
    with pytest.raises(DeviceError, match="LaunchTimeOut: `attn_fwd`: a wave came to the limit of 100 ") as error:
        call("sim:gfx942")
    assert "the process can go on" in str(error.value)
    monkeypatch.setenv("AOTRITON_SIM_LIMIT", "a few")
    with pytest.raises(DeviceError, match=r"AOTRITON_SIM_LIMIT is 'a few'; it takes the most instructions"):
        call("sim:gfx942")
    monkeypatch.delenv("AOTRITON_SIM_LIMIT")
    assert np.isfinite(call("sim:gfx942")).all()


def test_the_memory_check_knows_the_tensors(packs, tensors, monkeypatch):
    """It has been told where they lie: the same addresses by themselves are unknown to it."""
    simulator = Simulator(library_path().parent / "libaotriton_sim.so")
    module = simulator.load(compiled("gfx942", "fp32", True, 4).asm["hsaco"])
    x = np.zeros(1024, np.float32)
    arguments = struct.pack("<QQQi4xQQ", *[x.ctypes.data] * 3, 1000, 0, 0)
    monkeypatch.setenv("AOTRITON_SIM_CHECKS", "memory")
    with pytest.raises(SimulatorError, match=r"memory at 0x\w+, of which nothing is known, is read by lane 0"):
        module.launch("add", (4, 1, 1), 256, arguments)
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs))
    aotriton.attn_fwd(*tensors, device="sim:gfx942")


def test_interrupts_end_a_launch(packs):
    program = """
        import numpy as np, aotriton
        q = np.zeros((8, 16, 2048, 16), np.float16)
        small = q[:1, :1, :64]
        aotriton.attn_fwd(small, small, small)
        print("begun", flush=True)
        try:
            aotriton.attn_fwd(q, q, q)
        except KeyboardInterrupt:
            aotriton.attn_fwd(small, small, small)
            print("interrupted", flush=True)
    """
    environment = os.environ | {"AOTRITON_PACK_PATH": str(packs), "AOTRITON_DEVICE": "sim:gfx942"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert process.stdout.read() == "interrupted\n"
        assert time.monotonic() - begin < 10


def test_report_counts_every_instruction(packs, tmp_path, capsys, monkeypatch):
    program = tmp_path / "program.py"
    lines = ["import numpy as np, aotriton", "q = np.ones((1, 2, 200, 16), np.float16)", "aotriton.attn_fwd(q, q, q)"]
    program.write_text("\n".join([*lines, "print('what the program prints')"]), encoding="utf-8")
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs))
    assert main(["sim", "--device", "sim:gfx90a", "--report", "--json", "--", sys.executable, str(program)]) == 0
    (launch,) = json.loads(capsys.readouterr().out)
    assert main(["sim", "--report", "--", sys.executable, str(program)]) == 0
    printed = capsys.readouterr().out
    assert (launch["kernel"], launch["target"]) == ("attn_fwd", "gfx90a")
    assert sum(launch["classes"].values()) == launch["instructions"] > 0
    loop = launch["hottest_loop"]
    assert sum(loop["classes"].values()) == loop["executed"] <= launch["instructions"]
    assert all(loop["classes"][name] <= launch["classes"][name] for name in loop["classes"])
    assert launch["waves"] * 64 == launch["threads"] * launch["workgroups"]
    assert launch["classes"]["matrix"] == round(launch["matrix_share"] * launch["instructions"])
    assert sum(one.get("cache_lines", 0) for one in launch["memory"]) == launch["cache_lines"] > 0
    assert launch["lds_cycles"] >= launch["lds_cycles_without_conflicts"]
    assert 1 <= launch["occupancy"]["waves_of_a_simd"] <= launch["occupancy"]["most"]
    assert printed.startswith("attn_fwd on gfx942: grid ")
    assert "bank conflicts" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sim", "--report"], "no program to run"),
        (["sim", "--device", "host", "--", "true"], "device 'host' is not simulated"),
        (["sim", "--device", "sim:gfx1100", "--", "true"], "no such device of target gfx1100"),
        (["sim", "--", "there-is-no-such-program"], "there-is-no-such-program can't be run"),
    ],
)
def test_wrong_usage(words, message, capsys):
    assert main(words) in (2, 3)
    assert message in capsys.readouterr().err
