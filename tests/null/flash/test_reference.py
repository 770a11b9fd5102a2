"""The float64 reference against what follows from the definition by hand, and against itself."""

import math

import numpy as np
import pytest

from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward, visibility

LN = math.log


def ramp(rows, columns, dim=16):
    """Equal scores, and value j + 1 in row j: outputs are means."""
    v = np.broadcast_to(np.arange(1.0, columns + 1)[:, None], (columns, dim)).astype(np.float16)
    return np.zeros((1, 1, rows, dim), np.float16), np.zeros((1, 1, columns, dim), np.float16), v[None, None]


def outputs(rows, columns, window):
    result = forward(*ramp(rows, columns), 1.0, window=window)
    assert (result.out == result.out[..., :1]).all()
    return result.out[0, 0, :, 0].tolist(), result.lse[0, 0].tolist()


TL, BR = Window(TOP_LEFT, TOP_LEFT), Window(BOTTOM_RIGHT, BOTTOM_RIGHT)


@pytest.mark.parametrize(
    ("rows", "columns", "window", "wanted"),
    [
        (4, 4, TL, [1, 1.5, 2, 2.5]),
        (2, 5, TL, [1, 1.5]),
        (2, 5, BR, [2.5, 3]),
        (5, 2, TL, [1, 1.5, 1.5, 1.5, 1.5]),
        (5, 2, BR, [0, 0, 0, 1, 1.5]),
        (6, 6, Window(1, 0), [1, 1.5, 2.5, 3.5, 4.5, 5.5]),
        (6, 6, Window(0, 0), [1, 2, 3, 4, 5, 6]),
        (3, 4, Window(-1, 2), [2.5, 3.5, 4]),
        (3, 3, Window(2**31 - 1, 2**31 - 1), [2, 2, 2]),
        (3, 3, Window(TOP_LEFT, -1), [0, 1, 1.5]),
        (2, 0, None, [0, 0]),
    ],
)
def test_means(rows, columns, window, wanted):
    assert outputs(rows, columns, window)[0] == pytest.approx(wanted)


def test_lse_is_natural_and_minus_infinity_where_nothing_is_seen():
    assert outputs(4, 4, TL)[1] == pytest.approx([0, LN(2), LN(3), LN(4)])
    assert outputs(5, 2, BR)[1] == pytest.approx([-math.inf] * 3 + [0, LN(2)])
    identity = np.eye(16)[None, None]
    assert forward(identity, identity, identity, 0.25).lse.ravel() == pytest.approx([2.79018449783325195] * 16)


def test_scale_and_sign():
    q = np.eye(1, 16)[None, None]
    k = np.stack([0 * q[0, 0, 0], LN(3) * q[0, 0, 0]])[None, None]
    v = np.repeat([[0.0], [4.0]], 16, axis=1)[None, None]
    assert forward(q, k, v, 1.0).out[0, 0, 0, 0] == pytest.approx(3)
    assert forward(q, k, v, -1.0).out[0, 0, 0, 0] == pytest.approx(1)
    assert forward(q, k, v, 0.0).out[0, 0, 0, 0] == pytest.approx(2)


def test_heads_share_keys_in_groups_of_neighbours():
    chance = np.random.default_rng()
    q, k, v = (chance.standard_normal((2, heads, 5, 8)) for heads in (6, 2, 2))
    whole = forward(q, k, v, 0.3, window=BR)
    for head in range(6):
        one = slice(head // 3, head // 3 + 1)
        part = forward(q[:, head : head + 1], k[:, one], v[:, one], 0.3, window=BR)
        assert np.array_equal(whole.out[:, head : head + 1], part.out)
        assert np.array_equal(whole.lse[:, head : head + 1], part.lse)


def test_bias_is_added_after_the_scale_and_may_mask_whole_rows():
    q, k, v = ramp(2, 3)
    bias = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, 0.0, -np.inf]])
    result = forward(q, k, v, 7.0, bias=bias)
    assert result.out[0, 0, :, 0].tolist() == [0, 2]
    assert result.lse[0, 0].tolist() == [-math.inf, 0]
    weighted = forward(q, k, v, 7.0, bias=np.log([[1.0, 1.0, 2.0]]))
    assert weighted.out[0, 0, :, 0] == pytest.approx(2.25)


def test_parts_merge_by_their_lse():
    chance = np.random.default_rng()
    q, k, v = (chance.standard_normal((1, 2, rows, 16)) for rows in (3, 7, 7))
    whole = forward(q, k, v, 0.25)
    parts = [forward(q, k[:, :, s], v[:, :, s], 0.25) for s in (slice(0, 3), slice(3, 7))]
    lse = np.logaddexp(parts[0].lse, parts[1].lse)
    out = sum(part.out * np.exp(part.lse - lse)[..., None] for part in parts)
    assert np.allclose(out, whole.out, rtol=1e-13)
    assert np.allclose(lse, whole.lse, rtol=1e-13)


def test_sides_of_a_window_are_resolved_one_by_one():
    assert Window(TOP_LEFT, BOTTOM_RIGHT).resolve(5, 2) == (5, -3)
    assert Window(BOTTOM_RIGHT, TOP_LEFT).resolve(5, 2) == (5, 0)
    assert Window(-1, 3).resolve(5, 2) == (-1, 3)
    assert not visibility(4, 4, Window(1, -2)).any()
    assert visibility(2, 3, None).all()
