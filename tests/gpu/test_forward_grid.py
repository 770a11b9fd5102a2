"""The forward over its whole feature grid on a GPU, through `aotriton.attn_fwd`, against float64."""

import itertools

import numpy as np
import pytest

import aotriton
from tests.tools.attention import GRID, MASKS, Problem, check

pytestmark = pytest.mark.gpu

# One test per (dtype, head dim, mask): each runs all that is left of the grid.
OUTER = ["dtype", "dim", "mask"]
INNER = [name for name in GRID if name not in OUTER]


def to_gpu(torch, device, array):
    """A copy on the GPU; PyTorch takes no ml_dtypes, so bf16 travels as its bits."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).to(device).view(torch.bfloat16)
    return torch.from_numpy(array).to(device)


def to_host(torch, tensor, dtype):
    """The tensor's elements as an array of that dtype."""
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(dtype)
    return tensor.cpu().numpy()


def run(torch, device, problem, q, k, v):
    """out and lse (or None) of one problem, poisoned before."""
    tq, tk, tv = (to_gpu(torch, device, array) for array in (q, k, v))
    out = torch.full((*q.shape[:3], v.shape[3]), float("nan"), dtype=tq.dtype, device=device)
    lse = torch.full((q.shape[0] * q.shape[1], q.shape[2]), float("nan"), device=device) if problem.lse else None
    causal, window = MASKS[problem.mask][0]
    aotriton.attn_fwd(tq, tk, tv, causal=causal, window=window, out=out, lse=lse)
    torch.cuda.synchronize()
    return to_host(torch, out, q.dtype), None if lse is None else lse.cpu().numpy()


@pytest.mark.parametrize("mask", GRID["mask"])
@pytest.mark.parametrize("dim", GRID["dim"])
@pytest.mark.parametrize("dtype", GRID["dtype"])
def test_forward(torch_gpu, dtype, dim, mask):
    torch, device = torch_gpu
    for values in itertools.product(*(GRID[name] for name in INNER)):
        problem = Problem(dtype=dtype, dim=dim, mask=mask, **dict(zip(INNER, values, strict=True)))
        q, k, v = problem.inputs()
        out, lse = run(torch, device, problem, q, k, v)
        check(q, k, v, out, lse, MASKS[mask][2])


@pytest.mark.parametrize("mask", GRID["mask"])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_longer_sequences(torch_gpu, dtype, dim, mask):
    torch, device = torch_gpu
    for rows, columns in ((1023, 517), (300, 2048)):
        problem = Problem(dtype, dim, mask, "GQA", True, rows, columns, batch=2)
        q, k, v = problem.inputs()
        out, lse = run(torch, device, problem, q, k, v)
        check(q, k, v, out, lse, MASKS[mask][2])


@pytest.mark.parametrize("offset", [0, 1])
def test_transposed_and_unaligned_views(torch_gpu, offset):
    torch, device = torch_gpu
    problem = Problem("bf16", 64, "top_left", "GQA", True, 130, 130, batch=2)
    arrays = problem.inputs()
    views = []
    for array in arrays:  # (B, S, H, D) in memory, `offset` elements behind an aligned address
        b, h, s, d = array.shape
        memory = torch.empty(b * s * h * d + offset, dtype=torch.bfloat16, device=device)
        view = memory[offset:].view(b, s, h, d).transpose(1, 2)
        view.copy_(to_gpu(torch, device, array))
        views.append(view)
    q, k, v = views
    out, lse = aotriton.attn_fwd(q, k, v, causal=True, lse=True)
    torch.cuda.synchronize()
    found = to_host(torch, out.contiguous(), arrays[0].dtype)
    check(*arrays, found, lse.cpu().numpy(), MASKS["top_left"][2])
