"""Two small kernels for Triton's own launcher."""

import triton
import triton.language as tl

__all__ = ["add_many", "add_one"]


@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)


@triton.jit
def add_many(a, b, c, d, e, f, g, out, n, p, q, r, s, t, u, v, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.load(a + at) * p + tl.load(b + at) * q + tl.load(c + at) * r + tl.load(d + at) * s
    total += tl.load(e + at) * t + tl.load(f + at) * u + tl.load(g + at) * v
    tl.store(out + at, total, at < n)
