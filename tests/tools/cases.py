"""Small inputs that have broken attention libraries: the forward parts, by number, for any device.

A test module takes them by `from tests.tools.cases import *`, and its fixture `memory` says where tensors lie.

K is 0 unless said, so that all visible keys weigh the same, and row j of V is j + 1: outputs are means, which fp16
holds exactly. LSE is the natural logarithm. A row that sees no key has out 0 and LSE -inf.
"""

import math
import threading

import ml_dtypes
import numpy as np
import pytest

import aotriton
from aotriton import ArgumentError, UnsupportedError
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward
from pyaotriton import T0, T4, DType, hipError_t, last_error
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params
from tests.tools.attention import check, poisoned

NOTHING = -math.inf


def ramp(rows, columns, dim, dtype=np.float16, heads=1):
    """q and k of zeros, v whose row j is j + 1."""
    q, k = np.zeros((1, heads, rows, dim), dtype), np.zeros((1, heads, columns, dim), dtype)
    v = np.broadcast_to(np.arange(1, columns + 1, dtype=dtype)[:, None], (1, heads, columns, dim)).copy()
    return q, k, v


def normal(*shape, dtype=np.float16, factor=1):
    return (np.random.default_rng().standard_normal(shape) * factor).astype(dtype)


def run(memory, q, k, v, out=None, **options):
    """Poisoned outputs, filled; `out` gives the layout of the one."""
    if out is None:
        out = poisoned((*q.shape[:3], v.shape[3]), q.dtype)
    q, k, v, out, lse = (memory.place(array) for array in (q, k, v, out, poisoned(q.shape[:3], np.float32)))
    aotriton.attn_fwd(q, k, v, out=out, lse=lse, **options)
    memory.finish()
    return memory.fetch(out), memory.fetch(lse)


def params_of(memory, q, k, v, out, lse=None):
    """Parameters of the original's interface for tensors that are placed, without a mask."""
    params = attn_fwd_params()
    params.Q, params.K, params.V, params.Out = (memory.view(tensor) for tensor in (q, k, v, out))
    if lse is not None:
        params.L = memory.view(lse)
    params.Sm_scale = 1 / math.sqrt(q.shape[3])
    return params


def call(memory, params):
    """The status of the original's call."""
    status = attn_fwd(params, attn_fwd_params.kVersion, memory.stream())
    memory.finish()
    return status


def rows_of(out):
    """The value of each row of each head; all its columns are the same."""
    assert (out == out[..., :1]).all()
    return out[0, 0, :, 0].tolist()


def test_t1_one_query_one_key(memory):
    q, k, v = (normal(1, 1, 1, 16, factor=3) for _ in range(3))
    out, lse = run(memory, q, k, v, scale=0.5)
    assert np.array_equal(out, v)
    score = 0.5 * float(q.astype(np.float64).ravel() @ k.astype(np.float64).ravel())
    assert lse[0, 0, 0] == pytest.approx(score, abs=1e-5 * max(1, abs(score)))


@pytest.mark.parametrize("causal", [False, "top_left", "bottom_right"])
def test_t2_no_keys(memory, causal):
    q, k, v = ramp(3, 0, 64, heads=2)
    out, lse = run(memory, q, k, v, causal=causal)
    assert (out == 0).all()
    assert (lse == NOTHING).all()
    placed = [memory.place(x) for x in (q, k, v, poisoned(q.shape, np.float16), poisoned((2, 3), np.float32))]
    params = params_of(memory, *placed)
    params.causal_type = 3 if causal else 0
    params.window_left = params.window_right = BOTTOM_RIGHT if causal == "bottom_right" else TOP_LEFT
    assert call(memory, params) == hipError_t.hipSuccess, last_error()
    assert (memory.fetch(placed[3]) == 0).all()
    assert (memory.fetch(placed[4]) == NOTHING).all()


def test_t2_no_keys_in_views_of_no_address(memory):
    """A tensor without elements has none in PyTorch."""
    q, out = memory.place(normal(1, 2, 3, 64)), memory.place(poisoned((1, 2, 3, 64), np.float16))
    params = params_of(memory, q, q, q, out)
    params.K = params.V = T4(0, (1, 2, 0, 64), (0, 0, 64, 1), DType.kFloat16)
    assert call(memory, params) == hipError_t.hipSuccess, last_error()
    assert (memory.fetch(out) == 0).all()
    params.K = T4(0, (0, 0, 0, 0), (0, 0, 0, 0), DType.kFloat16)
    assert call(memory, params) == hipError_t.hipErrorInvalidValue
    assert "k is null" in last_error()


@pytest.mark.parametrize("shape", [(1, 2, 0, 64), (0, 2, 3, 64)])
def test_t2_no_queries_or_no_batch(memory, shape):
    q = np.zeros(shape, np.float16)
    k = v = np.zeros((shape[0], 2, 5, 64), np.float16)
    out, lse = run(memory, q, k, v)
    assert out.size == lse.size == 0


def test_t4_causal_lse_is_natural(memory):
    out, lse = run(memory, *ramp(4, 4, 16), causal=True)
    assert rows_of(out) == [1, 1.5, 2, 2.5]
    np.testing.assert_allclose(lse.ravel(), np.log([1, 2, 3, 4]), atol=1e-6)


@pytest.mark.parametrize(("causal", "wanted"), [("top_left", [1, 1.5]), ("bottom_right", [2.5, 3])])
def test_t5_more_keys_than_queries(memory, causal, wanted):
    assert rows_of(run(memory, *ramp(2, 5, 16), causal=causal)[0]) == wanted


def test_t6_more_queries_than_keys(memory):
    assert rows_of(run(memory, *ramp(5, 2, 16), causal="top_left")[0]) == [1, 1.5, 1.5, 1.5, 1.5]
    out, lse = run(memory, *ramp(5, 2, 16), causal="bottom_right")
    assert rows_of(out) == [0, 0, 0, 1, 1.5]
    assert lse.ravel()[:3].tolist() == [NOTHING] * 3
    np.testing.assert_allclose(lse.ravel()[3:], np.log([1, 2]), atol=1e-6)


def test_t7_windows(memory):
    q, k, v = ramp(6, 6, 16)
    assert rows_of(run(memory, q, k, v, window=(1, 0))[0]) == [1, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert np.array_equal(run(memory, q, k, v, window=(0, 0))[0], v)


@pytest.mark.parametrize(
    ("window", "wanted"),
    [
        ((-1, -1), [2.5] * 4),
        ((-1, 0), [1, 1.5, 2, 2.5]),
        ((0, -1), [2.5, 3, 3.5, 4]),
        ((2**31, 2**40), [2.5] * 4),
        ((-2, 3), [3.5, 4, 0, 0]),  # only what lies two and three to the right
        ((3, -2), [0, 0, 1, 1.5]),
        ((-2, -2), [0, 0, 0, 0]),
    ],
)
def test_windows_without_limits_and_off_the_diagonal(memory, window, wanted):
    out, lse = run(memory, *ramp(4, 4, 16), window=window)
    assert rows_of(out) == wanted
    assert [value == NOTHING for value in lse.ravel()] == [value == 0 for value in wanted]


@pytest.mark.parametrize(("causal", "wanted"), [(False, [3, 3, 3]), ("top_left", [1, 1.5, 2])])
def test_t12_scale_zero(memory, causal, wanted):
    _, _, v = ramp(3, 5, 24)
    q, k = normal(1, 1, 3, 24, factor=5), normal(1, 1, 5, 24, factor=5)
    assert rows_of(run(memory, q, k, v, scale=0.0, causal=causal)[0]) == wanted


@pytest.mark.parametrize(("scale", "wanted"), [(1.0, 3), (-1.0, 1)])
def test_t13_negative_scale(memory, scale, wanted):
    q, k, v = (np.zeros((1, 1, rows, 16), np.float16) for rows in (1, 2, 2))
    q[..., 0] = 1
    k[0, 0, 1, 0] = math.log(3)
    v[0, 0, 1] = 4
    np.testing.assert_allclose(run(memory, q, k, v, scale=scale)[0], wanted, atol=2e-3)


@pytest.mark.parametrize("mask", ["full", "bottom_right"])
@pytest.mark.parametrize(("dim", "padded"), [(72, 80), (1, 16), (17, 32), (40, 48), (100, 128)])
def test_t16_head_dims_between_the_compiled_ones(memory, dim, padded, mask):
    q, k, v = (normal(1, 2, 37, dim) for _ in range(3))
    scale, causal = dim**-0.5, False if mask == "full" else mask
    window = None if mask == "full" else Window(BOTTOM_RIGHT, BOTTOM_RIGHT)
    out, lse = run(memory, q, k, v, scale=scale, causal=causal)
    check(q, k, v, out, lse, window, scale)
    wide = [np.pad(tensor, [(0, 0)] * 3 + [(0, padded - dim)]) for tensor in (q, k, v)]
    wide_out, wide_lse = run(memory, *wide, scale=scale, causal=causal)
    check(q, k, v, wide_out[..., :dim], wide_lse, window, scale)
    assert (wide_out[..., dim:] == 0).all()


@pytest.mark.parametrize("dim", [384, 512])
def test_t18_large_head_dims(memory, dim):
    q, k, v = (np.zeros((1, 1, 16, dim), np.float16) for _ in range(3))
    v[:] = 1
    assert (run(memory, q, k, v)[0] == 1).all()


def test_t18_larger_head_dims_than_compiled_are_refused(memory):
    q = memory.place(np.zeros((1, 1, 16, 513), np.float16))
    out = memory.place(poisoned((1, 1, 16, 513), np.float16))
    with pytest.raises(UnsupportedError, match="513"):
        aotriton.attn_fwd(q, q, q, out=out)
    memory.finish()
    assert np.isnan(memory.fetch(out)).all()


@pytest.mark.parametrize(("heads", "rows", "dim"), [(16, 62, 128), (2, 5, 16)])
@pytest.mark.parametrize("which", ["q", "k", "v", "out"])
def test_t19_transposed_views(memory, heads, rows, dim, which):
    tensors = {name: normal(1, heads, rows, dim, dtype=ml_dtypes.bfloat16) for name in "qkv"}
    wanted, wanted_lse = run(memory, **tensors)
    check(*tensors.values(), wanted, wanted_lse, None)
    tensors["out"] = poisoned((1, heads, rows, dim), ml_dtypes.bfloat16)
    view = np.ascontiguousarray(tensors[which].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    assert view.strides != tensors[which].strides
    tensors[which] = view
    out, lse = run(memory, **tensors)
    assert out.tobytes() == wanted.tobytes()
    assert np.array_equal(lse, wanted_lse)


@pytest.mark.parametrize(("hq", "hk"), [(3, 2), (33, 2), (4, 0), (2, 4)])
def test_t24_heads_that_do_not_divide(memory, hq, hk):
    q, k = (memory.place(np.zeros((1, heads, 4, 16), np.float16)) for heads in (hq, hk))
    out = memory.place(poisoned((1, hq, 4, 16), np.float16))
    with pytest.raises(ArgumentError, match=rf"q has {hq} heads and k (has )?{hk or 'none'}"):
        aotriton.attn_fwd(q, k, k, out=out)
    assert call(memory, params_of(memory, q, k, k, out)) == hipError_t.hipErrorInvalidValue
    assert f"q has {hq} heads" in last_error()
    assert np.isnan(memory.fetch(out)).all()


def test_t28_no_dropout_without_a_generator(memory):
    q, k, v = (normal(1, 2, 9, 64) for _ in range(3))
    wanted, _ = run(memory, q, k, v)
    placed = [memory.place(array) for array in (q, k, v, poisoned(q.shape, np.float16))]
    params = params_of(memory, *placed)
    params.dropout_p, params.philox_offset2 = 0.0, 7
    for name in ("philox_seed_ptr", "philox_offset1", "philox_seed_output", "philox_offset_output"):
        setattr(params, name, T0(0, DType.kUInt64))
    assert call(memory, params) == hipError_t.hipSuccess, last_error()
    assert np.array_equal(memory.fetch(placed[3]), wanted)


@pytest.mark.parametrize("probability", [1.0, 0.5, -0.1, math.nan, 1.5])
def test_t28_dropout_is_refused(memory, probability):
    """All of it while no kernel drops; what is no probability for good."""
    placed = [memory.place(array) for array in (*ramp(4, 4, 16), poisoned((1, 1, 4, 16), np.float16))]
    params = params_of(memory, *placed)
    params.dropout_p = probability
    refused = hipError_t.hipErrorNotSupported if 0 < probability <= 1 else hipError_t.hipErrorInvalidValue
    assert call(memory, params) == refused
    assert "dropout_p" in last_error()
    assert np.isnan(memory.fetch(placed[3])).all()


@pytest.mark.parametrize("mask", [False, "top_left", "bottom_right"])
def test_t29_what_lies_after_the_keys_is_not_used(memory, mask):
    q = normal(1, 2, 7, 64)
    k, v = (normal(1, 2, 8, 64) for _ in range(2))
    k[:, :, 5:] = v[:, :, 5:] = np.nan
    wanted = run(memory, q, k[:, :, :5].copy(), v[:, :, :5].copy(), causal=mask)
    found = run(memory, q, k[:, :, :5], v[:, :, :5], causal=mask)
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])
    assert not np.isnan(found[0]).any()


def test_t33_another_head_dim_of_the_values(memory):
    q, k, _ = ramp(2, 4, 48)
    _, _, v = ramp(2, 4, 16)
    out, _ = run(memory, q, k, v)
    assert out.shape == (1, 1, 2, 16)
    assert rows_of(out) == [2.5, 2.5]
    made = aotriton.attn_fwd(*(memory.place(array) for array in (q, k, v)))
    memory.finish()
    assert made.shape == (1, 1, 2, 16)
    assert np.array_equal(memory.fetch(made), out)


@pytest.mark.parametrize("causal", [False, True])
def test_t35_parts_merge_by_natural_lse(memory, causal):
    q, k, v = (normal(1, 1, rows, 16, dtype=np.float32) for rows in (3, 7, 7))
    whole, whole_lse = run(memory, q, k, v, causal=causal)
    check(q, k, v, whole, whole_lse, Window(TOP_LEFT, TOP_LEFT) if causal else None)
    first = run(memory, q, k[:, :, :3], v[:, :, :3], window=(-1, 0) if causal else None)
    rest = run(memory, q, k[:, :, 3:], v[:, :, 3:], window=(-1, -3) if causal else None)
    lses = np.stack([first[1], rest[1]])
    merged_lse = np.logaddexp(*lses)
    weights = np.exp(lses - merged_lse)
    merged = weights[0][..., None] * first[0] + weights[1][..., None] * rest[0]
    np.testing.assert_allclose(merged_lse, whole_lse, atol=1e-5)
    np.testing.assert_allclose(merged, whole, atol=1e-5)


def test_t38_first_calls_from_eight_threads(memory):
    """In this process others may have been first; the null tests do it in a fresh one, on the recording driver."""
    shapes = [(1, 1, 5, 24), (1, 2, 9, 64)]
    tensors = [[normal(*shape, dtype=ml_dtypes.bfloat16) for _ in range(3)] for shape in shapes]
    results = [None] * 8
    start = threading.Barrier(8)

    def first(i):
        start.wait()
        results[i] = run(memory, *tensors[i % 2])

    threads = [threading.Thread(target=first, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (out, lse) in enumerate(results):
        check(*tensors[i % 2], out, lse, None)


def test_views_of_the_original_with_a_null_lse(memory):
    placed = [memory.place(x) for x in (*ramp(4, 4, 16), poisoned((1, 1, 4, 16), np.float16))]
    params = params_of(memory, *placed)
    params.B = T4(0, [0] * 4, [0] * 4, DType.kFloat16)
    params.causal_type, params.window_left, params.window_right = 3, BOTTOM_RIGHT, TOP_LEFT
    assert call(memory, params) == hipError_t.hipSuccess, last_error()
    assert rows_of(memory.fetch(placed[3])) == [1, 1.5, 2, 2.5]


def test_the_sanity_value_of_the_original(memory):
    q = np.eye(16, dtype=np.float32).reshape(1, 1, 16, 16)
    _, lse = run(memory, q, q, q, scale=0.25)
    np.testing.assert_allclose(lse, 2.79018449783325195, atol=1e-6)
    assert forward(q, q, q, 0.25).lse[0, 0, 0] == pytest.approx(2.79018449783325195, abs=1e-7)
