"""Kernels of Triton's that are about memory: reductions, atomic operations, one that spills; with all checks on."""

import struct

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aotriton.runtime import library_path
from tests.tools.simulator import Simulator

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


@triton.jit
def row_sums(x, out, columns, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, COLUMNS)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out + row, tl.sum(values, 0))


@triton.jit
def histogram(x, sums, counts, greatest, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    bins = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(counts + bins, 1, mask=inside)
    tl.atomic_add(sums + bins, bins.to(tl.float32) * 0.5, mask=inside)
    tl.atomic_max(greatest + at * 0, at, mask=inside)


@triton.jit
def turns(lock, total, BLOCK: tl.constexpr):
    # Blocks take a lock in turn, and change what it guards without atomic operations.
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    at = tl.arange(0, BLOCK)
    value = tl.load(total + at)
    tl.store(total + at, value + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def product(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr):
    # Far more accumulators than there are registers.
    i, j, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, 16)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, 16):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BLOCK + j[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BLOCK + j[None, :], total)


def compiled(function, arch, signature, constants, warps=4, **options):
    constexprs = {(list(signature).index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=function, signature=signature, constexprs=constexprs)
    options = {"num_warps": warps, "enable_fp_fusion": True, **options}
    return triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)


def launch(simulator, kernel, name, grid, warps, arguments, tensors):
    module = simulator.load(kernel.asm["hsaco"])
    module.launch(name, grid, 64 * warps, arguments, kernel.metadata.shared, memory=tensors, checks="all")
    return module


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_reduction(simulator, arch, warps):
    signature = {"x": "*fp32", "out": "*fp32", "columns": "i32", "COLUMNS": "constexpr"}
    kernel = compiled(row_sums, arch, signature, {"COLUMNS": 1024}, warps)
    x = np.random.default_rng(1).standard_normal((5, 1000)).astype(np.float32)
    out = np.full(5, np.nan, np.float32)
    arguments = struct.pack("<QQi4xQQ", x.ctypes.data, out.ctypes.data, 1000, 0, 0)
    launch(simulator, kernel, "row_sums", (5, 1, 1), warps, arguments, [x, out])
    bound = 1000 * 2.0**-24 * np.abs(x.astype(np.float64)).sum(1)
    assert (np.abs(out - x.astype(np.float64).sum(1)) <= bound).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_atomics_of_many_blocks(simulator, arch, monkeypatch):
    monkeypatch.setenv("AOTRITON_SIM_THREADS", "4")
    signature = {"x": "*i32", "sums": "*fp32", "counts": "*i32", "greatest": "*i32", "n": "i32", "BLOCK": "constexpr"}
    kernel = compiled(histogram, arch, signature, {"BLOCK": 256})
    n = 10000
    x = np.random.default_rng(2).integers(0, 16, n).astype(np.int32)
    sums, counts, greatest = np.zeros(16, np.float32), np.zeros(16, np.int32), np.zeros(1, np.int32)
    tensors = [x, sums, counts, greatest]
    arguments = struct.pack("<QQQQi4xQQ", *(t.ctypes.data for t in tensors), n, 0, 0)
    launch(simulator, kernel, "histogram", (40, 1, 1), 4, arguments, tensors)
    expected = np.bincount(x, minlength=16)
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(sums, expected * np.arange(16) * 0.5)
    assert greatest[0] == n - 1


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_blocks_wait_for_each_other(simulator, arch, monkeypatch):
    monkeypatch.setenv("AOTRITON_SIM_THREADS", "4")
    signature = {"lock": "*i32", "total": "*i32", "BLOCK": "constexpr"}
    kernel = compiled(turns, arch, signature, {"BLOCK": 256})
    lock, total = np.zeros(1, np.int32), np.zeros(256, np.int32)
    arguments = struct.pack("<QQQQ", lock.ctypes.data, total.ctypes.data, 0, 0)
    launch(simulator, kernel, "turns", (64, 1, 1), 4, arguments, [lock, total])
    assert (total == 64).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_kernel_that_spills(simulator, arch):
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "constexpr", "BLOCK": "constexpr"}
    kernel = compiled(product, arch, signature, {"K": 64, "BLOCK": 256}, 1, matrix_instr_nonkdim=16)
    assert "scratch_" in kernel.asm["amdgcn"] or "buffer_store_dword" in kernel.asm["amdgcn"]
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, 64), (64, 256)))
    c = np.full((256, 256), np.nan, np.float32)
    arguments = struct.pack("<QQQQQ", *(t.ctypes.data for t in (a, b, c)), 0, 0)
    launch(simulator, kernel, "product", (1, 1, 1), 1, arguments, [a, b, c])
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = 64 * 2.0**-23 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(c - exact) <= bound).all()


@triton.jit
def steps(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i, j, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, STEP)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, STEP):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BLOCK + j[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BLOCK + j[None, :], total)


@pytest.mark.parametrize(
    ("pointer", "dtype", "instruction"),
    [
        ("fp16", np.float16, "ds_read_b64_tr_b16"),
        ("fp8e4nv", ml_dtypes.float8_e4m3fn, "ds_read_b64_tr_b8"),
        ("fp8e5", ml_dtypes.float8_e5m2, "ds_read_b64_tr_b8"),
    ],
)
def test_transposed_reads_feed_a_product(simulator, pointer, dtype, instruction):
    pointers = {"a": f"*{pointer}", "b": f"*{pointer}", "c": "*fp32"}
    signature = pointers | dict.fromkeys(["K", "BLOCK", "STEP"], "constexpr")
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = ASTSource(fn=steps, signature=signature, constexprs={(3,): 256, (4,): 64, (5,): 64}, attrs=attrs)
    options = {"num_warps": 4, "enable_fp_fusion": True}
    kernel = triton.compile(source, target=GPUTarget("hip", "gfx950", 64), options=options)
    assert instruction in kernel.asm["amdgcn"]
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((64, 256), (256, 64)))
    c = np.full((64, 64), np.nan, np.float32)
    arguments = struct.pack("<QQQQQ", *(t.ctypes.data for t in (a, b, c)), 0, 0)
    launch(simulator, kernel, "steps", (1, 1, 1), 4, arguments, [a, b, c])
    bound = 256 * 2.0**-23 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(c - a.astype(np.float64) @ b.astype(np.float64)) <= bound).all()
