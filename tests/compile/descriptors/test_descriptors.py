"""Kernels that take descriptors: compiled for GPUs with and without tensor maps, run on `host`, recorded elsewhere."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from aotriton import UnsupportedError, open_kernel
from aotriton.cli import main
from tests.tools import tiles
from tests.tools.memory import HostMemory
from tests.tools.recording import Recorder

KERNELS = Path(__file__).resolve().parents[2] / "gpu" / "kernels" / "tiles"


@pytest.fixture(scope="module")
def packs(tmp_path_factory):
    """The packs of the family `tiles`, as its set says."""
    out = tmp_path_factory.mktemp("tiles") / "packs"
    description, build_set = str(KERNELS / "description.py"), str(KERNELS / "set.json")
    assert main(["build", "--family", description, "--set", build_set, "--out", str(out), "--workers", "1"]) == 0
    return out


@pytest.fixture
def recorder():
    recorder = Recorder()
    recorder.reset()
    return recorder


def test_the_host_runs_them(packs):
    kernel, memory = open_kernel("tiles", "scale", packs, "host"), HostMemory()
    for view in tiles.VIEWS:
        for dtype in ("fp16", "bf16", "fp32"):
            tiles.scale(kernel, memory, tiles.sources(view, dtype))
    tiles.matmul(open_kernel("tiles", "matmul", packs, "host"), memory, "fp16", 130, 136, 72)
    x = np.random.default_rng(2).standard_normal((3, 21, 40)).astype(np.float16)
    tiles.show(open_kernel("tiles", "show_tiles", packs, "host"), memory, x, (4, 40, 70))
    with pytest.raises(UnsupportedError, match="the address of 'X' is not a multiple of 16 bytes"):
        tiles.scale(kernel, memory, tiles.sources("inner", "fp16")[:, 1:])


def hexes(launch):
    return [argument["hex"] for argument in launch["arguments"]]


def expected_map(x, block, swizzle):
    """What the recording library puts into a map of a matrix of fp16."""
    head = struct.pack("<Q8B", x.ctypes.data, 6, 2, 0, swizzle, 2, 0, 0, 0)
    sizes = struct.pack("<5Q", x.shape[1], x.shape[0], 0, 0, 0)
    strides_and_block = struct.pack("<4Q5I", x.strides[0], 0, 0, 0, block[1], block[0], 0, 0, 0)
    return (head + sizes + strides_and_block).ljust(128, b"\0").hex()


def test_a_launch_on_sm_90_passes_tensor_maps(packs, recorder):
    x, y = tiles.sources("inner", "fp16"), np.zeros((70, 200), np.float16)
    open_kernel("tiles", "scale", packs, "record:sm_90").launch(X=x, Y=y, M=70, N=200, factor=2.0)
    (launch,) = recorder.launches()
    assert launch["grid"] == [2, 7, 1]
    shape = [struct.pack("<i", 70).hex(), struct.pack("<i", 200).hex(), struct.pack("<q", 216).hex(), "01" + "00" * 7]
    assert hexes(launch)[:5] == [expected_map(x, (64, 32), 2), *shape]
    assert hexes(launch)[5] == struct.pack("<Q", y.ctypes.data).hex()
    assert "cluster" not in launch


@pytest.mark.parametrize("device", ["record:sm_80", "record:gfx942"])
def test_other_targets_get_the_view_in_pieces(packs, recorder, device):
    x, y = tiles.sources("inner", "fp16"), np.zeros((70, 200), np.float16)
    open_kernel("tiles", "scale", packs, device).launch(X=x, Y=y, M=70, N=200, factor=2.0)
    (launch,) = recorder.launches()
    found = hexes(launch)
    assert found[0] == struct.pack("<Q", x.ctypes.data).hex()
    assert found[1:5] == [struct.pack("<q", number).hex() for number in (70, 200, 216, 1)]
    assert found[5:7] == ["00", "00"]
    assert found[7:11] == [struct.pack(kind, n).hex() for kind, n in (("<i", 70), ("<i", 200), ("<q", 216), ("<q", 1))]


def test_attributes_of_launches(packs, recorder):
    x, y = tiles.sources("inner", "fp16"), np.zeros((70, 200), np.float16)
    for name in ("scale_after", "scale_together"):
        open_kernel("tiles", name, packs, "record:sm_90").launch(X=x, Y=y, M=70, N=200, factor=2.0)
    a = np.zeros((256, 256), np.float16)
    open_kernel("tiles", "matmul_cluster", packs, "record:sm_90").launch(A=a, B=a, C=a.copy(), M=256, N=256, K=256)
    after, together, cluster = recorder.launches()
    assert after["stream_serialization"] == 1
    assert together["cooperative"] == 1
    assert (cluster["cluster"], cluster["grid"], cluster["cluster_scheduling"]) == ([2, 1, 1], [4, 2, 1], 1)
    assert recorder.calls()["cuLaunchKernelEx"] == 3


def test_a_gluon_kernel_gets_the_layout_that_is_declared(packs, recorder, capsys):
    x = tiles.sources("inner", "fp16")
    open_kernel("tiles", "copy", packs, "record:sm_90").launch(X=x, Y=np.zeros_like(x), M=70, N=200)
    assert hexes(recorder.launches()[0])[0] == expected_map(x, (64, 32), 2)
    assert main(["inspect", str(packs / "nvidia-sm90" / "tiles" / "copy.zip"), "--json"]) == 0
    half, single = json.loads(capsys.readouterr().out)["targets"][0]["functionals"]
    assert half["images"][0]["tensor_maps"] == 2 * [{"block": [64, 32], "swizzle": 64}]
    assert single["images"][0]["tensor_maps"] == 2 * [{"block": [64, 16], "swizzle": 64}]


def test_inspect_says_what_a_launch_needs(packs, capsys):
    assert main(["inspect", str(packs / "nvidia-sm90" / "tiles" / "matmul_cluster.zip")]) == 0
    text = capsys.readouterr().out
    assert "clusters of 2, tensor map of 128 x 64, swizzle 128" in text


def test_what_the_driver_refuses_is_an_error_with_its_text(packs, recorder):
    x = tiles.sources("inner", "fp16")
    kernel = open_kernel("tiles", "scale", packs, "record:sm_90")
    recorder.fail("cuTensorMapEncodeTiled", 1)
    with pytest.raises(Exception, match=r"argument 'X': cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE"):
        kernel.launch(X=x, Y=np.zeros_like(x), M=70, N=200, factor=2.0)
    assert recorder.launches() == []
