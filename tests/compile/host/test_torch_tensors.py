"""PyTorch's tensors on the host device, where PyTorch is installed; by DLPack's C exchange API where it has that."""

import numpy as np
import pytest

import aotriton
from aotriton.flash.description import ATTN_FWD
from aotriton.runtime import attention, objects
from aotriton.runtime.dlpack import exchange_view, protocol_view
from aotriton.runtime.tensors import view_of
from aotriton.targets import TARGETS
from tests.tools.fake_code import write_pack
from tests.tools.recording import Recorder

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-all` installs a CPU build")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_attention_on_tensors_of_pytorch(on_host, dtype):
    q, k, v = (torch.randn(2, rows, 2, 24, dtype=getattr(torch, dtype)).transpose(1, 2) for rows in (5, 9, 9))
    out, lse = aotriton.attn_fwd(q, k, v, causal="bottom_right", lse=True)
    assert (type(out), out.dtype, out.shape, lse.dtype) == (torch.Tensor, q.dtype, q.shape, torch.float32)
    m, n = torch.arange(5)[:, None], torch.arange(9)[None, :]
    scores = (q.double() @ k.double().mT / 24**0.5).masked_fill(n > m + 4, -torch.inf)
    tolerance = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-5}[dtype]
    torch.testing.assert_close(out.double(), scores.softmax(-1) @ v.double(), atol=tolerance, rtol=0)
    torch.testing.assert_close(lse.double(), scores.logsumexp(-1), atol=1e-5, rtol=1e-5)


def test_views_by_both_ways_agree():
    tensor = torch.zeros(2, 3, 5, 8, dtype=torch.bfloat16).transpose(1, 2)[:, 1:]
    by_protocol = protocol_view(tensor)
    assert (by_protocol.data, by_protocol.shape) == (tensor.data_ptr(), tuple(tensor.shape))
    by_exchange = exchange_view(tensor)
    if by_exchange is None:
        pytest.skip("this PyTorch has no C exchange API")
    for name in ("data", "dtype", "shape", "strides", "device"):
        assert getattr(by_exchange, name) == getattr(by_protocol, name)


def test_parameters_and_tensors_that_need_gradients_are_viewed():
    assert view_of(torch.nn.Parameter(torch.zeros(3)), "x").shape == (3,)
    assert view_of(torch.zeros(3, requires_grad=True), "x").dtype == "fp32"


def test_tensors_of_two_libraries_meet(on_host):
    q = torch.ones(1, 1, 4, 16)
    out = np.full((1, 1, 4, 16), np.nan, np.float32)
    assert aotriton.attn_fwd(q, q.numpy(), q, out=out) is out
    assert (out == 1).all()


def test_the_library_reads_tensors_itself(tmp_path, monkeypatch):
    off = {"BLOCK_DMODEL": 64, "PADDED_HEAD": False, "ENABLE_DROPOUT": False, "BIAS_TYPE": 0, "VARLEN": False}
    wanted = [{**off, "Q": dtype, "CAUSAL_TYPE": 3} for dtype in ("*bf16", "*bf16:16")]
    write_pack(tmp_path, ATTN_FWD, TARGETS["sm_90"], {ATTN_FWD.number_of(axes) for axes in wanted})
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(tmp_path))
    monkeypatch.setenv("AOTRITON_DEVICE", "record:sm_90")
    q, k, v, out = (torch.zeros(2, 37, 4, 64, dtype=torch.bfloat16).transpose(1, 2) for _ in range(4))
    parameter = torch.nn.Parameter(k)
    lse, recorder, general = torch.zeros(2, 4, 37), Recorder(), attention._attn_fwd
    aotriton.attn_fwd(q, parameter, v, causal=True, out=out, lse=lse)
    recorder.reset()
    monkeypatch.setattr(attention, "_attn_fwd", None)  # can't be called
    aotriton.attn_fwd(q, parameter, v, causal=True, out=out, lse=lse)
    fast = recorder.launches()
    monkeypatch.setattr(attention, "_attn_fwd", general)
    monkeypatch.setattr(objects, "attn_fwd", lambda *_: objects.DECLINED)
    aotriton.attn_fwd(q, parameter, v, causal=True, out=out, lse=lse)
    assert recorder.launches() == fast != []
