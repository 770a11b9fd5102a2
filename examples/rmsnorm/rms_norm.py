"""Root-mean-square normalisation of rows, with a weight per column, as language models use it."""

import triton
import triton.language as tl


@triton.jit
def rms_norm(
    X,
    W,
    Y,
    stride_xm,
    stride_xn,
    stride_wn,
    stride_ym,
    stride_yn,
    Rows,
    Columns,
    Epsilon,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < Rows) & (columns[None, :] < Columns)
    rows = rows.to(tl.int64)[:, None]
    x = tl.load(X + rows * stride_xm + columns[None, :] * stride_xn, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(W + columns * stride_wn, mask=columns < Columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / Columns + Epsilon)
    y = x * scale[:, None] * w[None, :]
    tl.store(Y + rows * stride_ym + columns[None, :] * stride_yn, y.to(Y.dtype.element_ty), mask=inside)
