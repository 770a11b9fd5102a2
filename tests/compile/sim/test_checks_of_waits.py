"""In a right kernel each barrier and each wait is replaced by a nop in turn: it is reported, or it was needless."""

import struct

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aotriton.runtime import library_path
from tests.tools.amd_kernel import places_of, without
from tests.tools.amd_text import text_section
from tests.tools.simulator import Simulator, SimulatorError

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
ORDERS = ["forward", "backward", "2", "3"]


@triton.jit
def product(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr):
    i, j, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, 16)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, 16):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BLOCK + j[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BLOCK + j[None, :], total)


class Kernel:
    """A matrix product of four waves whose tiles go through LDS, with its operands."""

    def __init__(self, arch):
        self.arch, self.simulator = arch, Simulator(library_path().parent / "libaotriton_sim.so")
        signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "constexpr", "BLOCK": "constexpr"}
        source = ASTSource(fn=product, signature=signature, constexprs={(3,): 64, (4,): 64})
        options = {"num_warps": 4, "num_stages": 2, "enable_fp_fusion": True}
        made = triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)
        self.image, self.lds = made.asm["hsaco"], made.metadata.shared
        rng = np.random.default_rng(3)
        self.a, self.b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
        self.c = np.zeros((64, 64), np.float32)

    def run(self, image, checks):
        """What the checks report; None where they don't."""
        tensors = [self.a, self.b, self.c]
        arguments = struct.pack("<QQQQQ", *(tensor.ctypes.data for tensor in tensors), 0, 0)
        module = self.simulator.load(image)
        try:
            module.launch("product", (1, 1, 1), 256, arguments, self.lds, memory=tensors, checks=checks)
        except SimulatorError as error:
            return str(error)
        return None

    def unreported(self, name):
        """How many instructions of a name there are, and the places of those whose lack nothing reports."""
        places = [place for place, _ in places_of(self.simulator, self.arch, self.image, name)]
        return len(places), [place for place in places if self.run(without(self.image, place), "all") is None]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def kernel(request):
    return Kernel(request.param)


def test_the_whole_kernel_is_clean(kernel):
    assert kernel.run(kernel.image, "all") is None
    exact = kernel.a.astype(np.float64) @ kernel.b.astype(np.float64)
    np.testing.assert_allclose(kernel.c, exact, atol=64 * 2.0**-22 * 16)


def test_each_wait_that_lacks_is_reported(kernel):
    count, missed = kernel.unreported("s_waitcnt")
    start = kernel.image.index(text_section(kernel.image))
    assert count > 30
    # The first 256 bytes load the arguments where the hardware doesn't; they aren't executed.
    assert [place for place in missed if place >= start + 256] == []


def test_each_barrier_that_lacks_is_reported_or_was_needless(kernel, monkeypatch):
    count, missed = kernel.unreported("s_barrier")
    assert count - len(missed) >= 4
    assert kernel.run(kernel.image, "none") is None
    right = kernel.c.copy()
    for place in missed:  # before the first use of LDS, or between two buffers
        for order in ORDERS:
            monkeypatch.setenv("AOTRITON_SIM_ORDER", order)
            kernel.c[:] = np.nan
            assert kernel.run(without(kernel.image, place), "none") is None
            np.testing.assert_array_equal(kernel.c, right)
