"""The forward over its whole feature grid on a GPU, against float64: PyTorch holds the tensors."""

import itertools

import numpy as np
import pytest
import torch

import aotriton
from pyaotriton import hipError_t, last_error
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params
from tests.tools.attention import GRID, MASKS, Problem, check, poisoned

TILES = {name: GRID[name] for name in ("dtype", "dim", "mask")}


def by_binding(memory, q, k, v, out, lse, mask):
    params = attn_fwd_params()
    params.Q, params.K, params.V, params.Out = (memory.view(tensor) for tensor in (q, k, v, out))
    if lse is not None:
        params.L = memory.view(lse)
    params.Sm_scale = q.shape[3] ** -0.5
    params.causal_type, params.window_left, params.window_right = MASKS[mask][1]
    assert attn_fwd(params, attn_fwd_params.kVersion, memory.stream()) == hipError_t.hipSuccess, last_error()


@pytest.mark.parametrize(("dtype", "dim", "mask"), list(itertools.product(*TILES.values())))
def test_forward(memory, dtype, dim, mask):
    """All heads, lengths and outputs of one type, head dim and mask; the two interfaces in turn."""
    rest = itertools.product(GRID["heads"], GRID["lse"], GRID["rows"], GRID["columns"])
    for number, (heads, with_lse, rows, columns) in enumerate(rest):
        inputs = Problem(dtype, dim, mask, heads, with_lse, rows, columns, batch=2).inputs()
        q, k, v = (memory.place(array) for array in inputs)
        out = torch.full_like(q, float("nan"))
        lse = memory.place(poisoned((q.shape[0] * q.shape[1], rows), np.float32)) if with_lse else None
        if number % 2:
            by_binding(memory, q, k, v, out, lse, mask)
        else:
            causal, window = MASKS[mask][0]
            stream = torch.cuda.current_stream()
            aotriton.attn_fwd(q, k, v, causal=causal, window=window, out=out, lse=lse, stream=stream)
        memory.finish()
        check(*inputs, memory.fetch(out), None if lse is None else memory.fetch(lse), MASKS[mask][2])


@pytest.mark.parametrize(("scale", "mask"), list(itertools.product([-0.3, 0.0], ["full", "top_left"])))
@pytest.mark.parametrize("dim", [64, 128, 256])
def test_a_scale_that_is_not_positive(memory, dim, scale, mask):
    """With a negative one the smallest product is the largest score, in blocks that need no mask too."""
    inputs = Problem("bf16", dim, mask, "GQA", True, 300, 500).inputs()
    q, k, v = (memory.place(array) for array in inputs)
    out, lse = torch.full_like(q, float("nan")), memory.place(poisoned((q.shape[0] * q.shape[1], 300), np.float32))
    causal, window = MASKS[mask][0]
    aotriton.attn_fwd(q, k, v, scale=scale, causal=causal, window=window, out=out, lse=lse)
    memory.finish()
    check(*inputs, memory.fetch(out), memory.fetch(lse), MASKS[mask][2], scale)


def test_the_stream_is_the_one_that_pytorch_works_on():
    """Without a stream named, a launch follows what was enqueued before it on PyTorch's current stream."""
    q = torch.zeros(4, 8, 512, 64, device="cuda", dtype=torch.float16)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(100_000_000)
        v = q + 1
        out = aotriton.attn_fwd(q, q, v)
        total = out.float().mean()
    torch.cuda.synchronize()
    assert float(total) == 1.0


def test_tensors_in_host_memory_are_refused():
    q = torch.zeros(1, 1, 4, 64, device="cuda", dtype=torch.float16)
    with pytest.raises(aotriton.ArgumentError, match="k is in host memory and q on"):
        aotriton.attn_fwd(q, q.cpu(), q)
