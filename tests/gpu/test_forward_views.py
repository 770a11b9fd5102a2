"""The forward on a GPU beyond the grid: longer sequences, transposed and unaligned views, a counter, a stream."""

import ml_dtypes
import numpy as np
import pytest

import aotriton
from tests.tools.attention import MASKS, Problem, check

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")]


@pytest.fixture(autouse=True)
def _no_named_device(monkeypatch):
    monkeypatch.delenv("AOTRITON_DEVICE", raising=False)


def to_gpu(array):
    """A copy on the GPU; PyTorch takes no ml_dtypes, so bf16 travels as its bits."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16)
    return torch.from_numpy(array).cuda()


def to_host(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
    return tensor.cpu().numpy()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize(("rows", "columns"), [(1023, 517), (300, 2048)])
def test_longer_sequences(rows, columns, dtype, dim, mask):
    inputs = Problem(dtype, dim, mask, "GQA", True, rows, columns, batch=2).inputs()
    q, k, v = (to_gpu(array) for array in inputs)
    out = torch.full_like(q, float("nan"))
    lse = torch.full(q.shape[:3], float("nan"), device="cuda")
    causal, window = MASKS[mask][0]
    aotriton.attn_fwd(q, k, v, causal=causal, window=window, out=out, lse=lse)
    check(*inputs, to_host(out), to_host(lse), MASKS[mask][2])


@pytest.mark.parametrize("offset", [0, 1])
def test_transposed_views(offset):
    """(B, S, H, D) in memory, `offset` elements behind an aligned address."""
    inputs = Problem("bf16", 64, "top_left", "GQA", True, 130, 130, batch=2).inputs()
    views = []
    for array in inputs:
        b, h, s, d = array.shape
        memory = torch.empty(b * s * h * d + offset, dtype=torch.bfloat16, device="cuda")
        view = memory[offset:].view(b, s, h, d).transpose(1, 2)
        view.copy_(to_gpu(array))
        views.append(view)
    trace = aotriton.explain_attn_fwd(*views, causal=True)
    assert ("'*bf16:16'" in trace["functional"]["signature"]) == (offset == 0)
    out, lse = aotriton.attn_fwd(*views, causal=True, lse=True)
    check(*inputs, to_host(out), to_host(lse), MASKS["top_left"][2])


def test_a_stream_of_its_own():
    inputs = Problem("fp16", 64, "full", "MHA", True, 130, 130).inputs()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        q, k, v = (to_gpu(array) for array in inputs)
        out, lse = aotriton.attn_fwd(q, k, v, lse=True, stream=stream)
    stream.synchronize()
    check(*inputs, to_host(out), to_host(lse), None)


def test_graph_capture_and_replay():
    inputs = Problem("fp16", 64, "top_left", "GQA", True, 130, 130).inputs()
    q, k, v = (to_gpu(array) for array in inputs)
    out, lse = aotriton.attn_fwd(q, k, v, causal=True, lse=True)  # loads the code object
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        aotriton.attn_fwd(q, k, v, causal=True, out=out, lse=lse, stream=torch.cuda.current_stream())
    out.fill_(float("nan"))
    lse.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    check(*inputs, to_host(out), to_host(lse), MASKS["top_left"][2])
