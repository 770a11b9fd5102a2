"""A vector-add of Triton's, run on the simulator."""

import struct

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aotriton.runtime import library_path
from tests.tools.simulator import Simulator, SimulatorError


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def compiled(arch, pointer, aligned, warps):
    names = ["x", "y", "out"]
    signature = dict.fromkeys(names, f"*{pointer}") | {"n": "i32", "BLOCK": "constexpr"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)} if aligned else {}
    source = ASTSource(fn=add, signature=signature, constexprs={(4,): 256}, attrs=attrs)
    options = {"num_warps": warps, "enable_fp_fusion": True}
    return triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(("pointer", "dtype"), [("fp32", np.float32), ("i32", np.int32)])
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("warps", [1, 4])
def test_vector_add(simulator, arch, pointer, dtype, aligned, warps):
    module = simulator.load(compiled(arch, pointer, aligned, warps).asm["hsaco"])
    rng, n = np.random.default_rng(1), 1000
    x, y = (rng.integers(-1000, 1000, 1024).astype(dtype) for _ in range(2))
    guard = dtype(-77)
    out = np.full(1024, guard)
    arguments = struct.pack("<QQQi4xQQ", x.ctypes.data, y.ctypes.data, out.ctypes.data, n, 0, 0)
    module.launch("add", (4, 1, 1), 64 * warps, arguments)
    np.testing.assert_array_equal(out[:n], (x + y)[:n])
    assert (out[n:] == guard).all()


def test_arguments_of_the_wrong_size_are_named(simulator):
    module = simulator.load(compiled("gfx942", "fp32", True, 4).asm["hsaco"])
    with pytest.raises(SimulatorError, match=r"launch of `add`: arguments of 8 bytes, the kernel has 48"):
        module.launch("add", (1, 1, 1), 256, bytes(8))
    with pytest.raises(SimulatorError, match="the code object has no kernel `sub`"):
        module.launch("sub", (1, 1, 1), 256, bytes(8))


@pytest.mark.parametrize(
    ("image", "error"),
    [(b"", "no 64-bit little-endian ELF"), (b"\x7fELF\2\1" + bytes(100), "another machine"), (bytes(64), "no 64-bit")],
)
def test_what_is_no_code_object_is_named(simulator, image, error):
    with pytest.raises(SimulatorError, match=error):
        simulator.load(image)
