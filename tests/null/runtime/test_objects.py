"""Calls that the library takes with Python's objects as they are: the same as by the general path, and as refused."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import threading
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import aotriton
from aotriton import ArgumentError
from aotriton.runtime import attention, library_path, objects
from aotriton.runtime.dlpack import CPU
from tests.tools.exchange import exchanging
from tests.tools.tensors import (
    KEYS,
    SHAPE,
    TENSORS,
    CudaStream,
    Exchanged,
    exchanged_tensors,
    failure,
    kernel_arguments,
    numpy_tensors,
)

ROOT = Path(__file__).resolve().parents[3]

CALLS = {
    "plain": {},
    "causal": {"causal": True},
    "top_left": {"causal": "top_left"},
    "bottom_right": {"causal": "bottom_right"},
    "NumPy's bool": {"causal": np.True_},
    "window": {"window": (5, 3)},
    "causal window": {"causal": "bottom_right", "window": (7, -1)},
    "no window": {"window": (-1, -1)},
    "scale": {"scale": 0.25},
    "whole scale": {"scale": 2},
    "NumPy's scale": {"scale": np.float32(0.3)},
    "a device's name": {"device": "record:sm_90"},
    "another device": {"device": "record:sm_90:1"},
    "no lse": {"lse": None},
    "lse is False": {"lse": False},
    "stream": {"stream": 0},
}


def test_a_process_without_pythons_functions_has_the_general_paths(monkeypatch):
    for name in ("attn_fwd", "attn_fwd_params", "kernel_launch", "_learn_type", "_learn_dtype"):
        monkeypatch.setattr(objects, name, objects._decline)
    objects._register(types.SimpleNamespace(aotriton_python_methods=lambda: None))
    assert objects.attn_fwd is objects.kernel_launch is objects._decline


@pytest.mark.parametrize("made", TENSORS)
def test_both_paths_launch_the_same(on_record, general, monkeypatch, made):
    q, k, v, out, lse = TENSORS[made]()
    calls = {name: {"out": out, "lse": lse, **more} for name, more in CALLS.items()}
    aotriton.attn_fwd(q, k, v, out=out, lse=lse)  # makes the types known
    on_record.reset()
    taken = []
    way = attention._attn_fwd
    monkeypatch.setattr(attention, "_attn_fwd", lambda *given: (taken.append(given), way(*given))[1])
    fast = {}
    for name, call in calls.items():
        found = aotriton.attn_fwd(q, k, v, **call)
        assert found is out if call["lse"] is None or call["lse"] is False else found == (out, lse)
        fast[name] = on_record.launches()
        assert len(fast[name]) == 1, name
    assert len(taken) <= 1  # that with a scale of NumPy's
    general()
    for name, call in calls.items():
        aotriton.attn_fwd(q, k, v, **call)
        assert on_record.launches() == fast[name], name


def test_views_with_steps_and_single_rows_launch_the_same(on_record, general):
    def tensors(rows):
        q, out = (np.zeros((2, 40, 4, 128), np.float16)[:, :rows, :, :64].transpose(0, 2, 1, 3) for _ in range(2))
        k, v = (np.zeros((2, 2, 100, 64), np.float16)[:, :, ::2] for _ in range(2))
        return q, k, v, out

    for rows in (37, 1):
        q, k, v, out = tensors(rows)
        launches = []
        for switch in (lambda: None, general):
            switch()
            aotriton.attn_fwd(q, k, v, out=out)
            launches.append(on_record.launches())
        assert launches[0] == launches[1]


def test_outputs_that_are_not_given_are_made(on_record, only_fast):
    q, k, v, *_ = numpy_tensors()
    aotriton.attn_fwd(q, k, v)
    only_fast()
    out, lse = aotriton.attn_fwd(q, k, v, lse=True)
    assert (out.shape, out.dtype, lse.shape, lse.dtype) == (SHAPE, np.float16, SHAPE[:3], np.float32)
    assert type(aotriton.attn_fwd(q, k, v, lse=False)) is np.ndarray
    assert len(on_record.launches()) == 3


def test_an_lse_without_elements_is_no_absent_one(on_record):
    """PyTorch's tensors without elements have no address."""
    q, k, v, out, lse = exchanged_tensors()
    aotriton.attn_fwd(q, k, v, out=out, lse=lse)
    empty = Exchanged.kind(0, (0, 4, 37), (148, 37, 1), 2, 32)
    empty.fields = (*empty.fields[:-1], 0)  # its memory begins at its address
    on_record.reset()
    with pytest.raises(ArgumentError, match=r"lse has shape \(0, 4, 37\)"):
        aotriton.attn_fwd(q, k, v, out=out, lse=empty)
    assert on_record.launches() == []


def read_only(array):
    array.flags.writeable = False
    return array


def no_tensor_kinds():
    q, k, v, out, lse = numpy_tensors()
    return {
        "a list": {"k": [1.0]},
        "none": {"v": None},
        "a spec": {"q": aotriton.TensorSpec(SHAPE, "fp16")},
        "rank": {"k": k[0]},
        "read-only out": {"out": read_only(out.copy())},
        "read-only lse": {"lse": read_only(lse.copy())},
        "out's shape": {"out": out[:, :, :5]},
        "lse's type": {"lse": lse.astype(np.float16)},
        "types": {"v": v.astype(np.float32)},
        "a type for no kernel": {"q": q.astype(np.complex64)},
        "big-endian": {"k": k.astype(">f2")},
        "odd strides": {"q": np.zeros((*SHAPE[:3], 65), "i1, f2")["f1"][..., :64]},
        "exchanged of a type for no kernel": {"q": Exchanged.kind(0, SHAPE, None, 5, 64)},
        "too many dimensions": {"out": np.zeros((1,) * 9, np.float16)},
        "a masked array": {"k": np.ma.masked_array(k)},
        "backwards": {"k": k[:, ::-1]},
        "a head dimension that isn't built": dict.fromkeys(("q", "k", "v", "out"), np.zeros((1, 1, 4, 32), np.float16)),
    }


WRONG = {
    "scale": [{"scale": "x"}, {"scale": float("inf")}, {"scale": 10**400}, {"scale": 1e300}, {"scale": [1]}],
    "mask": [{"causal": 2}, {"causal": 0}, {"causal": "left"}, {"causal": []}, {"window": 3}, {"window": (1.5, 2)},
             {"causal": True, "window": (1, 2)}, {"window": (1, 2, 3)}, {"window": {1, 2}}],
    "device": [{"device": "nope"}, {"device": 5}, {"device": "target:sm_90"}, {"device": "record:sm_90:99"}],
    "stream": [{"stream": stream} for stream in (-1, 1 << 64, "0", CudaStream(-5), CudaStream(""))],
}  # fmt: skip


def test_both_paths_refuse_with_the_same_words(on_record, general, monkeypatch):
    q, k, v, out, lse = numpy_tensors()
    right = {"q": q, "k": k, "v": v, "out": out, "lse": lse}
    aotriton.attn_fwd(**right)
    aotriton.attn_fwd(*exchanged_tensors()[:3], out=out)
    on_record.reset()
    calls = [{**right, **wrong} for wrong in no_tensor_kinds().values()]
    calls += [{**right, **wrong} for each in WRONG.values() for wrong in each]
    fast = [failure(aotriton.attn_fwd, **call) for call in calls]
    assert on_record.launches() == []
    assert all(issubclass(kind, aotriton.AotritonError) for kind, _ in fast)
    general()
    assert [failure(aotriton.attn_fwd, **call) for call in calls] == fast
    monkeypatch.delenv("AOTRITON_DEVICE")
    assert failure(aotriton.attn_fwd, **right)[0] is aotriton.DeviceError


@pytest.mark.parametrize("name", ["out", "lse"])
def test_outputs_of_too_many_dimensions_are_named(on_record, name):
    q, k, v, out, lse = numpy_tensors()
    with pytest.raises(ArgumentError, match=f"^{name} has 9 dimensions"):
        aotriton.attn_fwd(q, k, v, **{"out": out, "lse": lse, name: np.zeros((1,) * 9, np.float32)})


def test_an_iterator_is_no_window_on_either_path(on_record, general):
    """The first look at one would use it up for the second."""
    q, k, v, out, _ = numpy_tensors()
    for switch in (lambda: None, lambda: None, general):
        switch()
        with pytest.raises(ArgumentError, match="it is a pair of integers"):
            aotriton.attn_fwd(q, k, v, out=out, window=iter((1, 2)))
    assert on_record.launches() == []


def test_without_a_device_host_memory_is_refused(on_record, monkeypatch):
    tensors = numpy_tensors()
    aotriton.attn_fwd(*tensors[:3], out=tensors[3])
    on_record.reset()
    for value in ("", None):
        monkeypatch.setenv("AOTRITON_DEVICE", value) if value is not None else monkeypatch.delenv("AOTRITON_DEVICE")
        with pytest.raises(aotriton.DeviceError, match="no device was asked for"):
            aotriton.attn_fwd(*tensors[:3], out=tensors[3])
    assert on_record.launches() == []


# PyObject_Size answers -1 with Python's error set, as an exchange function does that fails.
FAILING = ctypes.cast(ctypes.pythonapi.PyObject_Size, ctypes.c_void_p).value


@pytest.mark.parametrize("error", [ValueError("no memory"), MemoryError("full"), KeyboardInterrupt(), SystemExit(3)])
def test_errors_of_a_library_go_on_as_they_do_on_the_general_path(on_record, general, error):
    class Broken(exchanging((CPU, 0), True, view=FAILING)):
        def __len__(self):
            raise error

    q, _, v, out, _ = numpy_tensors()
    broken = Broken(0, KEYS, None)
    found = []
    for switch in (lambda: None, lambda: None, general):  # the first makes the type known
        switch()
        with pytest.raises(BaseException) as caught:
            aotriton.attn_fwd(q, broken, v, out=out)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1] == found[2]
    assert on_record.launches() == []


def test_what_was_counted_before_is_counted_after(on_record, general):
    q, k, v, out, lse = numpy_tensors(ml_dtypes.bfloat16)
    x, *_ = exchanged_tensors(4)
    mask, stream, scale = (3, 5, 0), 1 << 40, 0.123
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    arguments = kernel_arguments(*numpy_tensors())
    tensors = [q, k, v, out, lse, x, np.ndarray, type(x), q.dtype]
    counted = [*tensors, mask, stream, scale, None, int, float, tuple, arguments]

    def counts():
        return [sys.getrefcount(one) for one in counted]

    def calls(times):
        for _ in range(times):
            aotriton.attn_fwd(q, k, v, out=out, lse=lse, scale=scale, window=(5, 0))
            aotriton.attn_fwd(x, k, v, out=out, causal=True)
            objects.attn_fwd(q, k, v, out, 5, scale, mask, None, stream)  # declined
            with pytest.raises(aotriton.ArgumentError):
                aotriton.attn_fwd(q, k, v, out=out, stream=-1)
            kernel.launch(arguments)

    calls(2)
    before = counts()
    calls(200)
    assert all(abs(now - then) < 20 for then, now in zip(before, counts(), strict=True))


def test_calls_of_eight_threads_keep_apart(on_record, only_fast):
    makers = [numpy_tensors, exchanged_tensors]
    for make in makers:
        q, k, v, out, lse = make()
        aotriton.attn_fwd(q, k, v, out=out, lse=lse)
    only_fast()
    on_record.reset()
    problems = [makers[i % 2]() for i in range(8)]
    interval, errors = sys.getswitchinterval(), []

    def call(i):
        q, k, v, out, lse = problems[i]
        try:
            for _ in range(50):
                aotriton.attn_fwd(q, k, v, out=out, lse=lse, causal=i % 3 == 0, scale=float(i))
        except BaseException as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    launches = on_record.launches()
    assert len(launches) == 400
    seen = {tuple(one["hex"] for one in launch["arguments"]) for launch in launches}
    assert len(seen) == 8


# ---- memory of a GPU: the recording library in the place of CUDA's driver ----

ON_GPU = """
import ctypes, json, sys
import aotriton
from aotriton.runtime import attention, objects
from tests.tools.exchange import exchanging
from tests.tools.recording import Recorder

recorder = Recorder()
recorder.configure("sm_90", 2)
shape = (2, 4, 37, 64)

def new_stream(device):
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    cuda = recorder.library
    assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert cuda.cuCtxPushCurrent_v2(context) == cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
    assert cuda.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
    return stream.value

streams = {place: new_stream(place[1]) for place in ((2, 0), (2, 1), (13, 1))}
given = new_stream(0)
places = (*streams, (1, 0), (8, 0))
kinds = {place: exchanging(place, True, stream=streams.get(place, 0)) for place in places}
at = iter(range(0x100000000, 0x200000000, 0x1000000))
made = {place: [kind(next(at) - 4, shape, None) for _ in range(4)] for place, kind in kinds.items()}
for tensors in made.values():
    try:
        aotriton.attn_fwd(*tensors[:3], out=tensors[3], device="record:sm_90" if tensors is made[1, 0] else None)
    except aotriton.AotritonError:
        pass

def call(q, k, v, out, **more):
    try:
        aotriton.attn_fwd(q, k, v, out=out, **more)
        error = None
    except aotriton.AotritonError as found:
        error = [type(found).__name__, str(found)]
    return error, [{**one, "id": 0} for one in recorder.launches()]

def calls():
    recorder.reset()
    here, there, managed, host, metal = (made[place] for place in kinds)
    return [
        call(*here), call(*there), call(*managed), call(*there[:2], *managed[2:]),
        call(*there, device="cuda:1"), call(*there, device="cuda:0"), call(*there, device="host"),
        call(*here, stream=given), call(*here[:3], there[3]), call(*here[:3], host[3]), call(*host[:3], here[3]),
        call(*host, device="cuda:0"), call(*metal), call(*host),
    ]

general = attention._attn_fwd
taken = []
attention._attn_fwd = lambda *arguments: (taken.append(1), general(*arguments))[1]
fast = calls()
went = len(taken)
objects.attn_fwd = lambda *_: objects.DECLINED
print(json.dumps({"fast": fast, "general": calls(), "went": went, "streams": [*streams.values(), given]}))
"""


def on_that_driver(program, packs, folder):
    """What a program prints whose CUDA driver is the one in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AOTRITON_PACK_PATH": str(packs)}
    environment |= {"AOTRITON_LIBRARY": str(library_path()), "LD_LIBRARY_PATH": str(folder)}
    environment.pop("AOTRITON_DEVICE", None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_memory_of_a_gpu_says_device_and_stream(sm_90_packs, tmp_path):
    (tmp_path / "libcuda.so.1").symlink_to(library_path().with_name("libaotriton_record.so"))
    found = json.loads(on_that_driver(ON_GPU, sm_90_packs, tmp_path))
    assert found["fast"] == found["general"]
    devices = [[(one["device"], int(str(one["stream"]), 0)) for one in launches] for _, launches in found["fast"]]
    first, second, managed, given = found["streams"]
    here, there = [(0, first)], [(1, second)]
    assert devices == [here, there, [(1, managed)], there, there, [], [], [(0, given)]] + [[]] * 6
    words = ["cuda:0 was asked for", "host was asked for", "out is on cuda:1", "out is in host memory"]
    words += ["q is in host memory", "which cuda:0 doesn't read", "kind 8", "no device was asked for"]
    errors = [error for error, _ in found["fast"] if error]
    assert all(word in error[1] for word, error in zip(words, errors, strict=True))
    assert found["went"] == len(errors) + 1  # CUDA's managed memory beside the other kind


SLOW_DRIVER = """
#include <unistd.h>
static int one;
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char* name, int bytes, int device) { name[0] = 0; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 99999;  // compute capability 9.0
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &one; return 0; }
int cuCtxGetCurrent(void** context) { *context = &one; return 0; }
int cuLibraryLoadData(void** library) { *library = &one; return 0; }
int cuLibraryGetKernel(void** kernel) { *kernel = &one; return 0; }
int cuKernelGetFunction(void** function) { *function = &one; return 0; }
int cuLaunchKernel(void) { usleep(600000); return 0; }
int cuStreamGetCtx(void* s, void** context) { *context = &one; return 0; }
"""
OTHERS = "cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetDevice cuDevicePrimaryCtxGetState cuLibraryUnload "
OTHERS += "cuLaunchKernelEx cuKernelSetAttribute cuKernelSetCacheConfig cuThreadExchangeStreamCaptureMode "
OTHERS += "cuTensorMapEncodeTiled cuGetErrorName cuGetErrorString"
COUNT = """
import sys, threading, time
import aotriton
from tests.tools.exchange import exchanging

kind = exchanging((2, 0), True)
q, k, v, out = (kind(0x100000000 + i * 0x1000000 - 4, (2, 4, 37, 64), None) for i in range(4))
call = lambda: aotriton.attn_fwd(q, k, v, out=out)
call()
sys.setswitchinterval(100)  # who has the interpreter keeps it, unless it gives it away
thread = threading.Thread(target=call)
thread.start()
turns = 0
while thread.is_alive():
    turns += 1
    time.sleep(0.001)
print(turns)
"""


def test_others_run_while_a_launch_waits(sm_90_packs, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "driver.c"
    source.write_text(SLOW_DRIVER + "".join(f"int {name}(void) {{ return 0; }}\n" for name in OTHERS.split()))
    subprocess.run([compiler, "-shared", "-fPIC", "-w", source, "-o", tmp_path / "libcuda.so.1"], check=True)
    assert int(on_that_driver(COUNT, sm_90_packs, tmp_path)) > 5
