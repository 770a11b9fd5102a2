"""A small kernel for tests: Y = alpha * X + Y over one dimension, with any strides."""

import triton
import triton.language as tl


@triton.jit
def axpy(
    X,
    Y,
    alpha,
    N,
    stride_x,
    stride_y,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    x = tl.load(X + offsets.to(tl.int64) * stride_x, mask=mask)
    y = tl.load(Y + offsets.to(tl.int64) * stride_y, mask=mask)
    tl.store(Y + offsets.to(tl.int64) * stride_y, (alpha * x + y).to(Y.dtype.element_ty), mask=mask)
