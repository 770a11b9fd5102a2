"""Tensors as descriptors, clusters, dependent and cooperative launches on a GPU of sm_90, against float64."""

import numpy as np
import pytest
import torch

from aotriton import AotritonError, UnsupportedError
from tests.tools import tiles

FOLDER = FAMILY = "tiles"
SIZES = [(128, 128, 64), (257, 136, 200), (64, 1000, 8), (1, 8, 512), (1024, 1024, 1024)]


@pytest.fixture
def tile_kernel(kernel_of):
    """Opens a kernel of the family by its name."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the packs of these kernels are for sm_90")
    return lambda name: kernel_of(FOLDER, FAMILY, name)


@pytest.mark.parametrize("view", tiles.VIEWS)
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_tiles_of_any_view(tile_kernel, memory, dtype, view):
    tiles.scale(tile_kernel("scale"), memory, tiles.sources(view, dtype))


def test_larger_than_one_wave(tile_kernel, memory):
    x = np.random.default_rng(1).standard_normal((3001, 2056)).astype(np.float16)
    tiles.scale(tile_kernel("scale"), memory, x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_loads_beyond_the_tensor_give_what_was_declared(tile_kernel, memory, dtype, order):
    x = np.random.default_rng(2).standard_normal((3, 21, 40)).astype(dtype).transpose(order)
    tiles.show(tile_kernel("show_tiles"), memory, x, tuple(size + 30 for size in x.shape))


def test_rows_that_are_one_row(tile_kernel):
    """A stride of 0: every row of the tensor is the same memory."""
    x = torch.randn(1, 64, dtype=torch.float16, device="cuda").expand(70, 64)
    y = torch.full((70, 64), float("nan"), dtype=torch.float16, device="cuda")
    tile_kernel("scale").launch(X=x, Y=y, M=70, N=64, factor=2.0)
    assert torch.equal(y, 2 * x)


@pytest.mark.parametrize("name", ["matmul", "matmul_cluster"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_products(tile_kernel, memory, name, dtype, m, n, k):
    tiles.matmul(tile_kernel(name), memory, dtype, m, n, k)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_dependent_launches_see_each_others_results(tile_kernel, memory, dtype):
    """Each may start before the one before it has ended, and waits for its writes in the kernel."""
    tiles.scale(tile_kernel("scale_after"), memory, tiles.sources("contiguous", dtype), times=12)


def test_cooperative_launches_run_all_blocks_at_once_or_not_at_all(tile_kernel, memory):
    kernel = tile_kernel("scale_together")
    tiles.scale(kernel, memory, tiles.sources("contiguous", "fp16"))
    large = torch.zeros(64 * 1024, 64, dtype=torch.float16, device="cuda")
    with pytest.raises(AotritonError, match=r"tiles\.scale_together.*COOPERATIVE"):
        kernel.launch(X=large, Y=torch.zeros_like(large), M=64 * 1024, N=64, factor=1.0)
    tiles.scale(kernel, memory, tiles.sources("contiguous", "fp16"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_gluon(tile_kernel, dtype):
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((130, 72)).astype(dtype)).cuda()
    y = torch.full((130, 80), float("nan"), dtype=x.dtype, device="cuda")
    tile_kernel("copy").launch(X=x, Y=y[:, :72], M=130, N=72)
    assert torch.equal(y[:, :72], x)
    assert y[:, 72:].isnan().all(), "the store leaves out what is not there"


def test_graphs_keep_their_descriptors(tile_kernel):
    kernel = tile_kernel("matmul_cluster")
    a, b = (torch.randn(256, 256, dtype=torch.float16, device="cuda") for _ in range(2))
    c = torch.full_like(a, float("nan"))
    arguments = {"A": a, "B": b, "C": c, "M": 256, "N": 256, "K": 256}
    kernel.load(arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch(arguments, stream=torch.cuda.current_stream())
    c.fill_(float("nan"))
    a.copy_(torch.eye(256, dtype=torch.float16, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(c, b)


BAD_VIEWS = {
    "an address that is no multiple of 16 bytes": (lambda x: x[:, 1:], "the address of 'X' is not a multiple of 16"),
    "rows that are no multiple of 16 bytes": (lambda x: x[:, :65].contiguous(), "'X' has stride 65 in dimension 0"),
    "columns that are not contiguous": (lambda x: x[:, ::2], "'X' has stride 2 in its last dimension"),
    "no rows": (lambda x: x[:0], "'X' has size 0 in dimension 0"),
}


@pytest.mark.parametrize("name", BAD_VIEWS)
def test_views_that_have_no_descriptor_are_named(tile_kernel, memory, name):
    view, text = BAD_VIEWS[name]
    x = view(torch.zeros(70, 128, dtype=torch.float16, device="cuda"))
    y = torch.full((70, 128), float("nan"), dtype=torch.float16, device="cuda")
    with pytest.raises(UnsupportedError, match=r"tiles\.scale") as raised:
        tile_kernel("scale").launch(X=x, Y=y, M=70, N=64, factor=1.0)
    assert text in str(raised.value)
    assert y.isnan().all()
    tiles.scale(tile_kernel("scale"), memory, tiles.sources("inner", "fp16"))
