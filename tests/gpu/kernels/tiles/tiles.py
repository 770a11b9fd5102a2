"""Kernels for tests that take tensors as descriptors: a scaled copy, a matrix product, and a copy that waits."""

import triton
import triton.language as tl


@triton.jit
def scale(X, Y, stride_ym, stride_yn, M, N, factor, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N
    x = X.load([m, n])
    rows = m + tl.arange(0, BLOCK_M)[:, None]
    columns = n + tl.arange(0, BLOCK_N)[None, :]
    y = (x.to(tl.float32) * factor).to(x.dtype)
    places = rows.to(tl.int64) * stride_ym + columns.to(tl.int64) * stride_yn
    tl.store(Y + places, y, (rows < M) & (columns < N))


@triton.jit
def show_tiles(X, Y, stride_yb, stride_ym, stride_yn, B, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Y is what loads of X give, tile by tile, in 3 dimensions, as far as Y reaches: beyond X it shows what fills."""
    b = tl.program_id(2)
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N
    x = X.load([b, m, n]).reshape(BLOCK_M, BLOCK_N)
    rows = m + tl.arange(0, BLOCK_M)[:, None]
    columns = n + tl.arange(0, BLOCK_N)[None, :]
    places = b.to(tl.int64) * stride_yb + rows.to(tl.int64) * stride_ym + columns.to(tl.int64) * stride_yn
    tl.store(Y + places, x, (rows < M) & (columns < N))


@triton.jit
def matmul(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """C = A B, all three as descriptors: the store, too, leaves out what is not there."""
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        total = tl.dot(A.load([m, k]), B.load([k, n]), total)
    C.store([m, n], total.to(C.dtype))


@triton.jit
def scale_after(X, Y, stride_ym, stride_yn, M, N, factor, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """`scale`, for a launch that may start before the kernel before it has ended: it waits for that one's writes."""
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N
    tl.extra.cuda.gdc_wait()
    x = X.load([m, n])
    tl.extra.cuda.gdc_launch_dependents()
    rows = m + tl.arange(0, BLOCK_M)[:, None]
    columns = n + tl.arange(0, BLOCK_N)[None, :]
    y = (x.to(tl.float32) * factor).to(x.dtype)
    places = rows.to(tl.int64) * stride_ym + columns.to(tl.int64) * stride_yn
    tl.store(Y + places, y, (rows < M) & (columns < N))
