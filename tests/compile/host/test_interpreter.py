"""The host device's own part: a code object's source in Triton's interpreter, on real memory, by typed pointers."""

import ctypes
import json
import os
import threading

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl

from aotriton.runtime.interpreter import load_program
from aotriton.runtime.interpreter_builder import narrow, widen

KERNEL = """
import triton
import triton.language as tl
from .helper import scaled, LIMIT


@triton.jit
def rows(X, Y, Sums, n, factor, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None]
    x = tl.load(X + row[:, None] * stride + column[None, :], mask=inside, other=0.0)
    y = scaled(x, factor)
    tl.store(Y + row[:, None] * WIDTH + column[None, :], y.to(Y.dtype.element_ty), mask=inside)
    if Sums.to(tl.uint64, bitcast=True) != 0:
        total = tl.sum(tl.dot(x, tl.trans(x)), axis=1) + tl.cdiv(LIMIT, 3) - 4
        tl.store(Sums + row, total, mask=row < n)
"""
HELPER = '''
import triton
import triton.language as tl

LIMIT = tl.constexpr(10)


@triton.jit
def scaled(x, factor):
    """Arithmetic in the type of x."""
    return tl.maximum((x + x) * x, x) - x * factor.to(x.dtype)
'''
TYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}


def bundle(dtype="fp16", **changes):
    whole = {
        "format": 1,
        "entry": "rows",
        "module": "kernel",
        "modules": {"kernel": KERNEL, "helper": HELPER},
        "signature": [["X", f"*{dtype}:16"], ["Y", f"*{dtype}"], ["Sums", "*fp32"], ["n", "i32"], ["factor", "fp32"],
                      ["stride", "u64:8"]],
        "constants": {"WIDTH": 16, "BLOCK": 16},
    }  # fmt: skip
    return json.dumps({**whole, **changes}).encode()


def launch(program, x, y, sums, n, factor, bounded=True, grid=None):
    arrays = [array for array in (x, y, sums) if array is not None]
    addresses = [0 if array is None else array.ctypes.data for array in (x, y, sums)]
    values = [ctypes.c_uint64(address) for address in addresses]
    values += [ctypes.c_int32(n), ctypes.c_float(factor), ctypes.c_uint64(16)]
    extents = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays] if bounded else None
    program.launch(grid or (-(-n // 16), 1, 1), [ctypes.addressof(value) for value in values], extents)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_kernel_computes_in_its_types(dtype):
    rng = np.random.default_rng()
    x = rng.standard_normal((37, 16)).astype(TYPES[dtype])
    y, sums = np.full_like(x, np.nan), np.full(37, np.nan, np.float32)
    launch(load_program(bundle(dtype)), x, y, sums, 37, 0.375)
    wanted = np.maximum((x + x) * x, x) - x * np.array(0.375, x.dtype)
    assert np.array_equal(y.astype(np.float64), wanted.astype(np.float64))
    for first in range(0, 37, 16):
        block = x[first : first + 16].astype(np.float64)
        np.testing.assert_allclose(sums[first : first + 16], (block @ block.T).sum(1), rtol=1e-4, atol=1e-4)


def test_absent_tensors_are_null_pointers():
    x = np.ones((16, 16), np.float32)
    y = np.full_like(x, np.nan)
    launch(load_program(bundle("fp32")), x, y, None, 16, 1.0)
    assert np.array_equal(y, np.ones_like(x))


def test_bf16_is_rounded_to_nearest_even():
    values = np.random.default_rng().standard_normal(10000).astype(np.float32) * np.float32(2.0) ** 40
    special = np.array([0, -0.0, np.inf, -np.inf, 1e-45, -1e-40, 3.4e38, 1 + 2**-8, 1 + 3 * 2**-8], np.float32)
    values = np.concatenate([values, special])
    assert np.array_equal(narrow(values), values.astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.isnan(widen(narrow(np.array([np.nan, -np.nan], np.float32)))).all()
    every = np.arange(65536, dtype=np.uint16)
    finite = every[np.isfinite(widen(every))]
    assert np.array_equal(narrow(widen(finite)), finite)


def test_stray_accesses_are_caught_with_their_place():
    x = np.ones((40, 16), np.float32)
    y, sums = np.full_like(x, np.nan), np.full(40, np.nan, np.float32)
    program = load_program(bundle("fp32"))
    with pytest.raises(RuntimeError) as caught:
        launch(program, x[:20].copy(), y, sums, 40, 1.0)
    text = str(caught.value)
    assert "rows failed in program (1, 0, 0) at kernel.py:12" in text
    assert "stray access of 4 bytes" in text
    assert "nearest tensor" in text
    with pytest.raises(RuntimeError, match=r"stray access .* bytes after the end"):
        launch(program, x, y, sums[:39], 40, 1.0)


@pytest.mark.parametrize("bounded", [True, False])
def test_accesses_through_null_are_caught(bounded):
    x = np.ones((16, 16), np.float32)
    with pytest.raises(RuntimeError, match="null pointer"):
        launch(load_program(bundle("fp32")), x, None, None, 16, 1.0, bounded)


def test_launches_from_threads_take_turns():
    program = load_program(bundle("fp32"))
    inputs = [np.full((48, 16), i, np.float32) for i in range(6)]
    outputs = [np.full_like(x, np.nan) for x in inputs]
    tasks = [(program, x, y, None, 48, 1.0) for x, y in zip(inputs, outputs, strict=True)]
    threads = [threading.Thread(target=launch, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, y in enumerate(outputs):
        assert np.array_equal(y, np.full_like(y, max(2 * i * i, i) - i))


def state():
    owners = [tl, tl.core, tl.standard, tl.math, tl.random, tl.dtype, tl.condition]
    builder = triton.runtime.interpreter.interpreter_builder
    return [dict(vars(owner)) for owner in owners] + [dict(vars(builder))["options"], set(vars(builder))]


def test_triton_is_left_as_it_was(tmp_path):
    before, environment = state(), dict(os.environ)
    x = np.ones((16, 16), np.float16)
    grid = {"grid_idx", "grid_dim"}  # where the interpreter keeps its place: its own business
    launch(load_program(bundle()), x, x.copy(), np.zeros(16, np.float32), 16, 1.0)
    with pytest.raises(RuntimeError):
        launch(load_program(bundle()), x, None, None, 16, 1.0)
    after = state()
    assert after[:-1] == before[:-1]
    assert after[-1] - grid == before[-1] - grid
    assert dict(os.environ) == environment
    source = tmp_path / "users.py"
    source.write_text((KERNEL + HELPER).replace("from .helper import scaled, LIMIT", "LIMIT = tl.constexpr(10)"))
    namespace = {}
    exec(compile(source.read_text(), source, "exec"), namespace)
    assert isinstance(namespace["rows"], triton.JITFunction)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (b"\x7fELF", "not a code object of target host"),
        (b"[1]", "not a code object"),
        (b"{}", "format None"),
        (bundle(format=2), "format 2"),
        (bundle(entry="nothing"), "no Triton function 'nothing'"),
        (bundle(module="nothing"), "not a code object"),
        (bundle(signature=[["X", "*fp16"], ["n", "i33"]]), "unknown types i33"),
        (bundle(constants={"WIDTH": 16}), "differ in the arguments BLOCK"),
        (bundle(modules={"../escape": ""}), "module named '../escape'"),
    ],
)
def test_what_is_no_code_object_is_refused(image, words):
    with pytest.raises(ValueError, match=words):
        load_program(image)


def test_a_launch_with_another_number_of_parameters_is_refused():
    with pytest.raises(RuntimeError, match="6 parameters; the launch gave 1"):
        load_program(bundle()).launch((1, 1, 1), [0])
