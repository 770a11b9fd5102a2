"""The forward on a GPU beyond the grid: longer sequences, transposed and unaligned views, a counter, a stream."""

import pytest
import torch

import aotriton
from tests.tools.attention import MASKS, Problem, check


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize(("rows", "columns"), [(1023, 517), (300, 2048)])
def test_longer_sequences(memory, rows, columns, dtype, dim, mask):
    inputs = Problem(dtype, dim, mask, "GQA", True, rows, columns, batch=2).inputs()
    q, k, v = (memory.place(array) for array in inputs)
    out = torch.full_like(q, float("nan"))
    lse = torch.full(q.shape[:3], float("nan"), device="cuda")
    causal, window = MASKS[mask][0]
    aotriton.attn_fwd(q, k, v, causal=causal, window=window, out=out, lse=lse)
    check(*inputs, memory.fetch(out), memory.fetch(lse), MASKS[mask][2])


@pytest.mark.parametrize("offset", [0, 1])
def test_transposed_views(memory, offset):
    """(B, S, H, D) in memory, `offset` elements behind an aligned address."""
    inputs = Problem("bf16", 64, "top_left", "GQA", True, 130, 130, batch=2).inputs()
    views = []
    for array in inputs:
        b, h, s, d = array.shape
        storage = torch.empty(b * s * h * d + offset, dtype=torch.bfloat16, device="cuda")
        view = storage[offset:].view(b, s, h, d).transpose(1, 2)
        view.copy_(memory.place(array))
        views.append(view)
    trace = aotriton.explain_attn_fwd(*views, causal=True)
    assert ("'*bf16:16'" in trace["functional"]["signature"]) == (offset == 0)
    out, lse = aotriton.attn_fwd(*views, causal=True, lse=True)
    check(*inputs, memory.fetch(out), memory.fetch(lse), MASKS["top_left"][2])


def test_a_stream_of_its_own(memory):
    inputs = Problem("fp16", 64, "full", "MHA", True, 130, 130).inputs()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        q, k, v = (memory.place(array) for array in inputs)
        out, lse = aotriton.attn_fwd(q, k, v, lse=True, stream=stream)
    stream.synchronize()
    check(*inputs, memory.fetch(out), memory.fetch(lse), None)


def test_graph_capture_and_replay(memory):
    inputs = Problem("fp16", 64, "top_left", "GQA", True, 130, 130).inputs()
    q, k, v = (memory.place(array) for array in inputs)
    out, lse = aotriton.attn_fwd(q, k, v, causal=True, lse=True)  # loads the code object
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        aotriton.attn_fwd(q, k, v, causal=True, out=out, lse=lse, stream=torch.cuda.current_stream())
    out.fill_(float("nan"))
    lse.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    check(*inputs, memory.fetch(out), memory.fetch(lse), MASKS["top_left"][2])
