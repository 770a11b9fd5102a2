"""A Gluon kernel for tests: a copy through shared memory, both ways by descriptors."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma


@gluon.jit
def copy(X, Y, M, N, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr):
    m = gl.program_id(0) * BLOCK_M
    n = gl.program_id(1) * BLOCK_N
    tile = gl.allocate_shared_memory(X.dtype, [BLOCK_M, BLOCK_N], X.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.expect(arrived, X.block_type.nbytes)
    tma.async_load(X, [m, n], arrived, tile)
    mbarrier.wait(arrived, 0)
    mbarrier.invalidate(arrived)
    fence_async_shared()
    tma.async_store(Y, [m, n], tile)
    tma.store_wait(0)
