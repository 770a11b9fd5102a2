"""From a Python call to the bytes that a driver gets, for every target, on the recording driver.

The packs hold the real kernel's description, tables and parameters, and code objects without code: what is checked here
is the path to the launch.
"""

import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aotriton
from aotriton.flash.description import ATTN_FWD
from aotriton.flash.reference import BOTTOM_RIGHT
from aotriton.runtime import library_path
from aotriton.targets import TARGETS
from pyaotriton import hipError_t
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params
from tests.tools.attention import DTYPES, outputs, params_of
from tests.tools.fake_code import layout, sizes_of, write_pack
from tests.tools.recording import Recorder

ROOT = Path(__file__).resolve().parents[3]
GPUS = [name for name, target in TARGETS.items() if target.vendor != "host"]


def functional_for(dtype, dim, padded, causal, aligned):
    pointer = f"*{dtype}:16" if aligned else f"*{dtype}"
    off = {"ENABLE_DROPOUT": False, "BIAS_TYPE": 0, "VARLEN": False}
    axes = {"Q": pointer, "BLOCK_DMODEL": dim, "PADDED_HEAD": padded, "CAUSAL_TYPE": 3 if causal else 0, **off}
    return ATTN_FWD.functional(ATTN_FWD.number_of(axes))


# dtype, head dim of q and v, width that is compiled, mask, alignment, lengths
PROBLEMS = {
    "plain": ("fp16", 64, 64, False, True, (37, 130)),
    "causal": ("bf16", 128, 128, True, True, (130, 37)),
    "padded": ("fp32", 40, 48, True, True, (5, 5)),
    "unaligned": ("fp16", 64, 64, False, False, (37, 37)),
    "odd head dim": ("bf16", 17, 32, False, False, (1, 300)),
}
FUNCTIONALS = {
    name: functional_for(dtype, width, dim != width, causal, aligned)
    for name, (dtype, dim, width, causal, aligned, _) in PROBLEMS.items()
}


@pytest.fixture(scope="module")
def packs(tmp_path_factory):
    """A folder of packs for all targets, each with the functionals of the problems."""
    folder = tmp_path_factory.mktemp("recorded") / "aotriton.images"
    for name in GPUS:
        target = TARGETS[name]
        one = folder.with_name(name)  # targets of one pack stand in folders of their own here
        write_pack(one, ATTN_FWD, target, {functional.number for functional in FUNCTIONALS.values()})
    return folder.parent


@pytest.fixture(scope="module")
def recorder():
    return Recorder()


def tensors(name):
    """q, k, v, out, lse of a problem: real memory, which the recording driver doesn't touch."""
    dtype, dim, _, _, aligned, (rows, columns) = PROBLEMS[name]
    shapes = [(2, 4, rows, dim), (2, 2, columns, dim), (2, 2, columns, dim)]
    made = []
    for shape in shapes:
        size = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
        raw = np.zeros(size + 64, np.uint8)
        start = -raw.ctypes.data % 16 + (0 if aligned else np.dtype(DTYPES[dtype]).itemsize)
        made.append(np.ndarray(shape, DTYPES[dtype], raw, start))
    q, k, v = made
    out, lse = outputs(q, v)
    return q, k, v, out, lse


def expected(name, functional, q, k, v, out, lse, units):
    """The value of each parameter by the description: the Python side's own word on what is to be passed."""
    values = {
        "Q": q.ctypes.data, "K": k.ctypes.data, "V": v.ctypes.data, "Out": out.ctypes.data, "L": lse.ctypes.data,
        "persistent_atomic_counter": 0, "Sm_scale": np.float32(1 / math.sqrt(q.shape[3])), "Num_head_q": 4,
        "Num_head_k": 2, "Num_seqlens": 0, "Max_seqlen_q": q.shape[2], "Max_seqlen_k": k.shape[2],
        "Hdim_qk": q.shape[3], "Hdim_vo": v.shape[3], "Window_left": BOTTOM_RIGHT, "Window_right": BOTTOM_RIGHT,
        "Num_CU": units, "Batch": 2,
    }  # fmt: skip
    for letter, names, array in (("q", "zhm", q), ("k", "zhn", k), ("v", "zhn", v), ("o", "zhm", out)):
        for axis, size, step in zip(names, array.shape, array.strides, strict=False):
            # One row is never stepped from: whatever stride the caller's array has there, the launch says 0.
            values[f"stride_{letter}{axis}"] = step // array.itemsize if size > 1 else 0
    formats = {"i32": "<i", "u64": "<Q", "fp32": "<f"}
    packed = []
    for parameter in functional.parameters:
        kind = parameter.type.split(":")[0]
        packed.append(struct.pack("<Q" if kind.startswith("*") else formats[kind], values[parameter.argument]))
    return [*packed, bytes(8), bytes(8)]


@pytest.mark.parametrize("interface", ["aotriton", "pyaotriton"])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("target", GPUS)
def test_launches_are_what_description_and_metadata_ask_for(packs, recorder, monkeypatch, target, problem, interface):
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs / target))
    monkeypatch.setenv("AOTRITON_DEVICE", f"record:{target}")
    q, k, v, out, lse = tensors(problem)
    causal = PROBLEMS[problem][3]
    device = aotriton.open_device(f"record:{target}")
    recorder.reset()
    if interface == "aotriton":
        aotriton.attn_fwd(q, k, v, causal="bottom_right" if causal else False, out=out, lse=lse)
    else:
        params = params_of(q, k, v, out, lse)
        if causal:
            params.causal_type, params.window_left, params.window_right = 3, BOTTOM_RIGHT, BOTTOM_RIGHT
        assert attn_fwd(params, attn_fwd_params.kVersion) == hipError_t.hipSuccess
    (launch,) = recorder.launches()
    trace = aotriton.explain_attn_fwd(q, k, v, causal="bottom_right" if causal else False, out=out, lse=lse)
    functional = FUNCTIONALS[problem]
    assert trace["functional"]["signature"] == functional.signature
    assert (launch["symbol"], launch["target"], launch["device"]) == ("attn_fwd", target, 0)
    config = dict(part.split("=") for part in trace["config"]["performance"].split(";"))
    assert launch["grid"] == [-(-q.shape[2] // int(config["BLOCK_M"])) * 4 * 2, 1, 1] == trace["grid"]
    warps = int(dict(part.split("=") for part in trace["config"]["options"].split(";"))["num_warps"])
    assert launch["block"] == [warps * TARGETS[target].warp_size, 1, 1]
    assert launch["shared"] == 4096 + 16 * warps
    assert launch["stream"] in (0, "0x0", "0", None)
    bytes_ = expected(problem, functional, q, k, v, out, lse, device.compute_units)
    assert [(one["offset"], one["size"]) for one in launch["arguments"]] == layout(sizes_of(functional))
    assert [bytes.fromhex(one["hex"]) for one in launch["arguments"]] == bytes_
    assert np.isnan(lse).all()


@pytest.mark.parametrize("target", ["gfx942", "sm_90"])
def test_streams_and_several_devices(packs, recorder, monkeypatch, target):
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs / target))
    recorder.configure(target, 3)
    q, k, v, out, lse = tensors("plain")
    for number in (2, 0, 1):
        recorder.reset()
        aotriton.attn_fwd(q, k, v, out=out, lse=lse, device=f"record:{target}:{number}", stream=None)
        (launch,) = recorder.launches()
        assert launch["device"] == number


@pytest.mark.parametrize(("target", "function"), [("gfx942", "hipModuleLaunchKernel"), ("sm_90", "cuLaunchKernel")])
def test_a_driver_that_fails_is_an_error_with_its_code(packs, recorder, monkeypatch, target, function):
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs / target))
    monkeypatch.setenv("AOTRITON_DEVICE", f"record:{target}")
    q, k, v, out, lse = tensors("plain")
    recorder.reset()
    recorder.fail(function, 701)
    with pytest.raises(aotriton.DeviceError, match="701"):
        aotriton.attn_fwd(q, k, v, out=out, lse=lse)
    assert recorder.launches() == []
    aotriton.attn_fwd(q, k, v, out=out, lse=lse)
    assert len(recorder.launches()) == 1
    recorder.fail(function, 701)
    assert attn_fwd(params_of(q, k, v, out, lse), attn_fwd_params.kVersion) == hipError_t.hipErrorLaunchFailure


def test_specs_can_be_asked_about_for_targets_that_are_not_here(packs, monkeypatch):
    for target in GPUS:
        monkeypatch.setenv("AOTRITON_PACK_PATH", str(packs / target))
        q = aotriton.TensorSpec((2, 4, 37, 64), "fp16")
        k = aotriton.TensorSpec((2, 2, 130, 64), "fp16")
        found = aotriton.can_attn_fwd(q, k, k, device=f"target:{target}")
        assert found, found.reason
        assert found.trace["functional"]["signature"] == FUNCTIONALS["plain"].signature
        wide = aotriton.TensorSpec((2, 4, 37, 224), "fp16")
        refused = aotriton.can_attn_fwd(wide, wide, wide, device=f"target:{target}")
        assert not refused
        assert "attn_fwd" in refused.reason


FIRST_CALLS = """
import json, sys, threading
import numpy as np
import aotriton
from tests.tools.recording import Recorder

target = sys.argv[1]
shapes = [(2, 4, 37, 64), (1, 2, 5, 64)]
start, errors = threading.Barrier(8), []

def call(i):
    q = np.zeros(shapes[i % 2], np.float16)
    start.wait()
    try:
        aotriton.attn_fwd(q, q, q, out=np.empty_like(q), device=f"record:{target}")
    except Exception as error:
        errors.append(repr(error))

threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
recorder = Recorder()
print(json.dumps({"errors": errors, "launches": recorder.launches(), "calls": recorder.calls()}))
"""


@pytest.mark.parametrize(("target", "load"), [("gfx942", "hipModuleLoadData"), ("sm_90", "cuLibraryLoadData")])
def test_t38_first_calls_from_eight_threads_of_a_fresh_process(packs, target, load):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AOTRITON_PACK_PATH": str(packs / target)}
    environment["AOTRITON_LIBRARY"] = str(library_path())
    command = [sys.executable, "-c", FIRST_CALLS, target]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["errors"] == []
    assert len(found["launches"]) == 8
    images = {tuple(launch["block"]) + (launch["shared"],) for launch in found["launches"]}
    loads = sum(count for name, count in found["calls"].items() if name.startswith(load))
    assert len(images) <= loads <= 2, "one load per image and device"
