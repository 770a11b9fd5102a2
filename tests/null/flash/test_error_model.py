"""The error bounds: a computation of the modelled kind stays inside, and faults that a kernel may have do not."""

import ml_dtypes
import numpy as np
import pytest

from aotriton.flash.error_model import PRECISIONS, forward_bound
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
TL = Window(TOP_LEFT, TOP_LEFT)


def problem(dtype, rows=48, columns=80, dim=40, factor=1.0):
    chance = np.random.default_rng()
    return tuple((factor * chance.standard_normal((1, 2, n, dim))).astype(dtype) for n in (rows, columns, columns))


def flash(q, k, v, scale, window, block=16, weights=None):
    """Online softmax in NumPy's fp32, as the model says; `weights`: the type of the weights, by default V's."""
    rows, columns = q.shape[2], k.shape[2]
    left, right = window.resolve(rows, columns) if window else (rows, columns)
    wide = [x.astype(np.float32) for x in (q, k, v)]
    acc = np.zeros((*q.shape[:3], v.shape[3]), np.float32)
    total, maximum = np.zeros(q.shape[:3], np.float32), np.full(q.shape[:3], -np.inf, np.float32)
    for first in range(0, columns, block):
        keys = slice(first, first + block)
        score = wide[0] @ wide[1][:, :, keys].swapaxes(-1, -2) * np.float32(scale)
        m, n = np.arange(rows)[:, None], np.arange(columns)[keys]
        score = np.where((n >= m - left) & (n <= m + right), score, np.float32(-np.inf))
        larger = np.maximum(maximum, score.max(-1))
        shift = np.where(np.isneginf(larger), np.float32(0), larger)
        weight, decay = np.exp(score - shift[..., None]), np.exp(maximum - shift)
        total = total * decay + weight.sum(-1)
        acc = acc * decay[..., None] + weight.astype(weights or v.dtype).astype(np.float32) @ wide[2][:, :, keys]
        maximum = larger
    empty = total == 0
    with np.errstate(divide="ignore"):
        lse = np.where(empty, -np.inf, maximum + np.log(total))
    return (acc / np.where(empty, 1, total)[..., None]).astype(q.dtype), lse.astype(np.float32)


def excess(q, k, v, scale, window, out, lse):
    """The largest ratio of error to bound, of the output and of the log-sum-exp."""
    wanted, bound = forward(q, k, v, scale, window=window), forward_bound(q, k, v, scale, window=window)
    seen = np.isfinite(wanted.lse)
    assert np.array_equal(lse[~seen], wanted.lse[~seen])
    of_out = np.abs(out.astype(np.float64) - wanted.out)[seen] / bound.out[seen]
    return of_out.max(), (np.abs(lse - wanted.lse)[seen] / bound.lse[seen]).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [None, TL, Window(3, -2), Window(BOTTOM_RIGHT, BOTTOM_RIGHT)])
@pytest.mark.parametrize(("scale", "factor"), [(0.2, 1.0), (-0.2, 1.0), (1.0, 3.0), (0.0, 1.0)])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_right_kernel_stays_inside(dtype, window, scale, factor):
    q, k, v = problem(dtype, factor=factor)
    out, lse = flash(q, k, v, scale, window)
    assert max(excess(q, k, v, scale, window, out, lse)) <= 1


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_bound_is_no_wider_than_it_must_be(dtype):
    q, k, v = problem(dtype)
    out, lse = flash(q, k, v, 0.2, None)
    assert excess(q, k, v, 0.2, None, out, lse)[0] > 0.1


def test_faults_are_outside():
    q, k, v = problem(np.float16)
    out, lse = flash(q, k, v, 0.2, TL)
    assert excess(q, k, v, 0.2, TL, out, lse / np.float32(np.log(2)))[1] > 1  # base 2
    assert excess(q, k, v, 0.2, TL, *flash(q, k, v, 0.201, TL))[0] > 1  # another scale
    assert excess(q, k, v, 0.2, TL, *flash(q, k[:, ::-1], v[:, ::-1], 0.2, TL))[0] > 1  # another head's keys
    narrow = flash(q, k, v, 0.2, TL, weights=ml_dtypes.float8_e4m3fn)
    assert excess(q, k, v, 0.2, TL, *narrow)[0] > 1  # weights of too few bits
    late = out.copy()
    late[:, :, -1] = out[:, :, -2]
    assert excess(q, k, v, 0.2, TL, late, lse)[0] > 1  # a row that isn't its own


def test_tensor_float_32_is_outside():
    """fp32 inputs cut to TF32's ten bits of mantissa, as a matrix unit does that isn't told otherwise."""
    q, k, v = problem(np.float32, dim=64)
    cut = [(x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (q, k)]
    assert excess(q, k, v, 0.2, None, *flash(*cut, v, 0.2, None))[0] > 1


def test_rows_that_see_nothing_have_no_error():
    q, k, v = problem(np.float16, rows=5, columns=2)
    bound = forward_bound(q, k, v, 0.2, window=Window(BOTTOM_RIGHT, BOTTOM_RIGHT))
    assert (bound.out[:, :, :3] == 0).all()
    assert (bound.lse[:, :, :3] == 0).all()
    assert (bound.out[:, :, 3:] > 0).all()
    none = forward_bound(q, k[:, :, :0], v[:, :, :0], 0.2)
    assert (none.out == 0).all()
    assert (none.lse == 0).all()


def test_bounds_are_finite_for_large_scores_and_never_wider_than_any_mean():
    q, k, v = problem(np.float32, factor=1e4)
    bound = forward_bound(q, k, v, 1.0)
    assert np.isfinite(bound.lse).all()
    assert (bound.out <= 2.001 * np.abs(v).max()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_precisions_are_those_of_the_types(dtype):
    precision, info = PRECISIONS[np.dtype(dtype).name], ml_dtypes.finfo(dtype)
    assert precision.roundoff == float(info.eps) / 2
    assert precision.subnormal == float(info.smallest_subnormal) / 2
