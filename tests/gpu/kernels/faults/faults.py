"""Kernels for the tests of the driver: one that writes where it is told to, and one with much shared memory."""

import triton
import triton.language as tl


@triton.jit
def poke(
    Y,
    address,
    N,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + offsets, offsets, mask=offsets < N)
    if address != 0:
        tl.store(address.to(tl.pointer_type(tl.int32)), 1)


@triton.jit
def product(
    A,
    B,
    C,
    N,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, N, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        a = tl.load(A + rows[:, None] * N + inner[None, :])
        b = tl.load(B + inner[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(C + rows[:, None] * N + columns[None, :], total)
