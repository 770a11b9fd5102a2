"""CUDA's driver on a GPU: contexts, threads, streams, captures, memory that runs out, kernels that fault."""

import ctypes
import subprocess
import sys
import threading

import pytest
import torch

from tests.tools import refusals

N = 1000
CUDA = ctypes.CDLL("libcuda.so.1") if torch.cuda.is_available() else None


def cuda(function, *arguments):
    error = getattr(CUDA, function)(*arguments)
    assert error == 0, f"{function} gave {error}"


class Context:
    """A context of the application's own, current while it is entered."""

    def __enter__(self):
        self.handle, self.stream, device = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        cuda("cuDeviceGet", ctypes.byref(device), 0)
        cuda("cuCtxCreate_v2", ctypes.byref(self.handle), 0, device)
        cuda("cuStreamCreate", ctypes.byref(self.stream), 1)
        return self

    def __exit__(self, *_):
        cuda("cuCtxDestroy_v2", self.handle)


def current():
    context = ctypes.c_void_p()
    cuda("cuCtxGetCurrent", ctypes.byref(context))
    return context.value


@pytest.fixture
def poke(kernel_of):
    return kernel_of("faults", "faults", "poke")


@pytest.fixture
def y():
    made = torch.full((N,), -1, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    return made


def check(y):
    cuda("cuCtxSynchronize")
    torch.cuda.synchronize()
    assert y.cpu().tolist() == list(range(N))


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_default_streams(poke, y, handle):
    poke.launch(Y=y, address=0, N=N, stream=handle)
    check(y)


def test_a_context_and_stream_of_the_applications_own(poke, y):
    before = current()
    with Context() as own:
        poke.launch(Y=y, address=0, N=N, stream=own.stream.value)
        assert current() == own.handle.value
        check(y)
        y.fill_(-1)
        torch.cuda.synchronize()
        poke.launch(Y=y, address=0, N=N, stream=0)  # into the current context
        check(y)
        y.fill_(-1)
        torch.cuda.synchronize()
        cuda("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        assert current() == before
        poke.launch(Y=y, address=0, N=N, stream=own.stream.value)  # by the stream alone
        assert current() == before
        cuda("cuStreamSynchronize", own.stream)
        check(y)
        cuda("cuCtxPushCurrent_v2", own.handle)
    assert current() == before
    poke.launch(Y=y, address=0, N=N)  # the context is gone, the code isn't
    check(y)


def test_shared_memory_above_the_default_in_every_context(kernel_of):
    product = kernel_of("faults", "faults", "product")
    a, b = (torch.randn(256, 256, device="cuda", dtype=torch.float16) for _ in range(2))
    wanted = a.double() @ b.double()
    for number in range(3):
        c = torch.full((256, 256), float("nan"), device="cuda")
        torch.cuda.synchronize()
        if number == 1:
            with Context() as own:
                product.launch(A=a.view(-1), B=b.view(-1), C=c.view(-1), N=256, stream=own.stream.value)
                cuda("cuCtxSynchronize")
        else:
            product.launch(A=a.view(-1), B=b.view(-1), C=c.view(-1), N=256)
        torch.cuda.synchronize()
        # fp32 sums of 256 products of fp16: each at most 2**-24 of what was added so far
        assert float((c - wanted).abs().max()) <= 256 * 2**-24 * float((a.double().abs() @ b.double().abs()).max())
    code = product.explain(A=a.view(-1), B=b.view(-1), C=c.view(-1), N=256)
    assert code["image"]["shared"] > 48 * 1024


def test_a_thread_with_no_context(poke, y):
    found = []

    def work():
        cuda("cuCtxSetCurrent", ctypes.c_void_p())
        poke.launch(Y=y, address=0, N=N, stream=0)
        found.append(current())
        poke.launch(Y=y, address=0, N=N, stream=2)
        found.append(current())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None, None]
    check(y)


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_code_is_loaded_while_a_stream_is_captured(kernel_of, y, mode):
    poke = kernel_of("faults", "faults", "poke")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        poke.launch(Y=y, address=0, N=N, stream=torch.cuda.current_stream())
    for _ in range(2):
        y.fill_(-1)
        graph.replay()
        check(y)


# Programs for processes of their own; their argument is the folder of packs.
FAULT = """
import sys, torch, aotriton
poke = aotriton.open_kernel("faults", "poke", folder=sys.argv[1], device="cuda:0")
y = torch.zeros(1000, dtype=torch.int32, device="cuda")
poke.launch(Y=y, address=0, N=1000)
poke.launch(Y=y, address=0x10, N=1000)
try:
    torch.cuda.synchronize()
except Exception as error:
    print("pytorch:", str(error).splitlines()[0])
for _ in range(2):
    try:
        poke.launch(Y=y, address=0, N=1000, stream=0)
    except aotriton.DeviceError as error:
        print(error)
"""
FORK = """
import os, sys, torch, aotriton
poke = aotriton.open_kernel("faults", "poke", folder=sys.argv[1], device="cuda:0")
y = torch.zeros(1000, dtype=torch.int32, device="cuda")
poke.launch(Y=y, address=0, N=1000)
torch.cuda.synchronize()
child = os.fork()
if child == 0:
    try:
        poke.launch(Y=y, address=0, N=1000, stream=0)
    except aotriton.DeviceError as error:
        print(error, flush=True)
    del poke
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
poke.launch(Y=y, address=0, N=1000)
torch.cuda.synchronize()
print("parent:", int(y.sum()))
"""
MEMORY = """
import ctypes, sys, torch, aotriton
cuda = ctypes.CDLL("libcuda.so.1")
a = torch.ones(128 * 128, dtype=torch.float16, device="cuda")
c = torch.empty(128 * 128, dtype=torch.float32, device="cuda")

def attempt(number):  # another path is another kernel, which loads code of its own
    c.fill_(float("nan"))
    kernel = aotriton.open_kernel("faults", "product", folder=sys.argv[1] + "/." * number, device="cuda:0")
    kernel.launch(A=a, B=a, C=c, N=128, stream=0)

c.fill_(float("nan"))
assert bool(c.isnan().all())  # what PyTorch needs for this it has from now on
held, size = [], 1 << 36
while size >= 4096:
    pointer = ctypes.c_void_p()
    if cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0:
        held.append(pointer)
    else:
        size //= 2
done = 0
try:
    while done < 1900:
        attempt(done)
        done += 1
except aotriton.DeviceError as error:
    print("refused:", error)
for pointer in held:
    cuda.cuMemFree_v2(pointer)
try:
    attempt(done)
    torch.cuda.synchronize()
    print("then:", int(c.sum()))
except aotriton.DeviceError as error:
    print("then refused:", error)
"""
END = """
import ctypes, sys, torch, aotriton
from aotriton.runtime.library import library
poke = aotriton.open_kernel("faults", "poke", folder=sys.argv[1], device="cuda:0")
y = torch.zeros(1000, dtype=torch.int32, device="cuda")
poke.launch(Y=y, address=0, N=1000)
ctypes.CDLL(None).__cxa_atexit(ctypes.cast(library().aotriton_kernel_close, ctypes.c_void_p), poke._handle, None)
other = aotriton.open_kernel("faults", "poke", folder=sys.argv[1], device="cuda:0")
other.launch(Y=y, address=0, N=1000)
del other
torch.cuda.synchronize()
print("end:", int(y.sum()))
"""


def outcome(program, prepared, environment, *arguments):
    command = [sys.executable, "-c", program, *(arguments or (str(prepared / "packs" / "faults"),))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_kernel_that_faults(prepared, child_environment):
    said = outcome(FAULT, prepared, child_environment)
    assert "pytorch: CUDA error: an illegal memory access" in said
    lines = [line for line in said.splitlines() if line.startswith("faults.poke")]
    assert len(lines) == 2
    for line in lines:
        assert "faults.poke, functional 0 (" in line
        assert " on cuda:0 (sm_90): cuLaunchKernel failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)" in line
        assert "end it and start another; the last that aotriton launched on cuda:0 before is faults.poke" in line
        assert "CUDA_LAUNCH_BLOCKING=1" in line


def test_a_process_that_was_forked(prepared, child_environment):
    said = outcome(FORK, prepared, child_environment)
    assert "CUDA_ERROR_NOT_INITIALIZED (3)" in said
    assert "forked from one that used CUDA already" in said
    assert f"parent: {N * (N - 1) // 2}" in said


def test_memory_that_runs_out(prepared, child_environment):
    """A driver may lose all that the process has there (seen with 580.159: error 999, then and from then on)."""
    said = outcome(MEMORY, prepared, child_environment)
    refused = [line for line in said.splitlines() if line.startswith("refused: ")]
    assert len(refused) == 1, said  # 1900 times 34 kB of code are more than a driver keeps in reserve
    assert "refused: faults.product, functional 0 (" in said
    assert " on cuda:0 (sm_90): cu" in said
    if "failed: CUDA_ERROR_OUT_OF_MEMORY (2)" in refused[0]:
        assert "the process can go on: free memory of the device and call again" in said
        assert f"then: {128**3}" in said
    else:
        assert "failed: CUDA_ERROR_UNKNOWN (999)" in refused[0]
        assert "where the device's memory is used up to the last byte: free some and call again" in refused[0]
        assert f"then: {128**3}" in said or "then refused: faults.product, functional 0 (" in said


@pytest.mark.parametrize("what", refusals.ALTERED)
def test_code_that_is_refused(prepared, child_environment, what):
    arguments = (str(prepared / "packs"), "cuda:0", what)
    said = outcome(refusals.PROGRAM, prepared, child_environment, *arguments)
    refusals.check(said, what, "cuda:0")
    assert f"then {N * (N - 1) // 2}" in said


def test_the_end_of_a_process(prepared, child_environment):
    assert f"end: {N * (N - 1) // 2}" in outcome(END, prepared, child_environment)
