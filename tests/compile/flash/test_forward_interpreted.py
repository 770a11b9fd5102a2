"""The forward kernel in Triton's interpreter, over its features, schedules and blocks, against float64."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from aotriton.flash.error_model import forward_bound
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward
from tests.tools.flash_kernel import launch, poisoned
from tests.tools.pairwise import pairwise

FARTHEST = 2**31 - 1
GRID = {
    "dtype": [np.float16, ml_dtypes.bfloat16, np.float32],
    "dims": [(16, 16), (40, 40), (48, 16), (17, 100), (64, 64), (200, 224), (8, 1)],
    "window": [
        None,
        (TOP_LEFT, TOP_LEFT),
        (BOTTOM_RIGHT, BOTTOM_RIGHT),
        (20, 7),
        (-3, 9),
        (9, -3),
        (1, -2),
        (-60, FARTHEST),
        (FARTHEST, FARTHEST),
        (-FARTHEST - 1, 0),
        (TOP_LEFT, -20),
    ],
    "heads": [(1, 1), (4, 2), (3, 1)],
    "rows": [1, 37, 50],
    "columns": [0, 1, 37, 70],
    "blocks": [(16, 16), (32, 16), (16, 32)],
    "schedule": ["plain", "dies", "counter", "no counter"],
    "preload": [False, True],
    "scale": [0.3, -0.3, 0.0],
    "layout": ["bhsd", "bshd", "spaced"],
    "lse": [True, False],
}


@dataclass(frozen=True)
class Problem:
    dtype: type
    dims: tuple[int, int]
    window: tuple[int, int] | None
    heads: tuple[int, int]
    rows: int
    columns: int
    blocks: tuple[int, int]
    schedule: str
    preload: bool
    scale: float
    layout: str
    lse: bool

    def __str__(self):
        return "-".join(str(value) for value in [self.dtype.__name__, *list(vars(self).values())[1:]])


def laid_out(values, layout):
    """The same values in other strides."""
    if layout == "bshd":
        return values.swapaxes(1, 2).copy().swapaxes(1, 2)
    if layout == "spaced":  # rows an odd number of elements apart, with NaN between them
        wide = poisoned((*values.shape[:3], values.shape[3] + 3), values.dtype)
        wide[..., : values.shape[3]] = values
        return wide[..., : values.shape[3]]
    return values


def run(problem, q, k, v):
    rows = -(-problem.rows // problem.blocks[0])
    out = laid_out(poisoned((*q.shape[:3], v.shape[3]), q.dtype), problem.layout)
    lse = poisoned(q.shape[:3], np.float32) if problem.lse else None
    persistent = "counter" in problem.schedule
    counter = np.zeros(1, np.int32) if problem.schedule == "counter" else None
    performance = {
        "PERSISTENT_TYPE": 2 if persistent else 0,
        "BLOCK_M": problem.blocks[0],
        "BLOCK_N": problem.blocks[1],
        "PRE_LOAD_V": problem.preload,
        "NUM_XCDS": 8 if problem.schedule == "dies" else 1,
    }
    programs = min(3, rows * q.shape[0] * q.shape[1]) if persistent else None
    launch(
        q, k, v, out, lse, scale=problem.scale, window=problem.window, counter=counter, programs=programs,
        config=tuple(performance.items()),
    )  # fmt: skip
    assert counter is None or counter[0] == 0  # left as it was found: the next launch needs no reset
    if problem.layout == "spaced":
        assert np.isnan(out.base[..., v.shape[3] :].astype(np.float32)).all()
    return out, lse


def check(problem, q, k, v, out, lse):
    window = None if problem.window is None else Window(*problem.window)
    wanted = forward(q, k, v, problem.scale, window=window)
    bound = forward_bound(q, k, v, problem.scale, window=window)
    assert np.max(np.abs(out.astype(np.float64) - wanted.out) - bound.out, initial=0.0) <= 0.0
    if lse is not None:
        seen = np.isfinite(wanted.lse)
        assert np.array_equal(lse[~seen], wanted.lse[~seen])
        assert np.max(np.abs(lse[seen] - wanted.lse[seen]) - bound.lse[seen], initial=0.0) <= 0.0


@pytest.mark.parametrize("problem", [Problem(**row) for row in pairwise(GRID)], ids=str)
def test_forward(problem):
    chance = np.random.default_rng()
    (wide, narrow), (heads, shared) = problem.dims, problem.heads
    shapes = [(1, heads, problem.rows, wide), (1, shared, problem.columns, wide), (1, shared, problem.columns, narrow)]
    q, k, v = (laid_out(chance.standard_normal(shape).astype(problem.dtype), problem.layout) for shape in shapes)
    check(problem, q, k, v, *run(problem, q, k, v))


def test_large_values_stay_numbers():
    """What overflows is neither a score nor a weight: 133120 is near the largest value that bf16's users met."""
    q = k = v = np.full((1, 1, 20, 64), 133120, ml_dtypes.bfloat16)
    out, lse = poisoned(q.shape, q.dtype), poisoned(q.shape[:3], np.float32)
    launch(q, k, v, out, lse, scale=1.0, window=(TOP_LEFT, TOP_LEFT))
    assert (out == v).all()
    assert np.isfinite(lse).all()


def test_values_that_a_row_does_not_see_leave_no_trace_in_rows_that_see_nothing():
    q = k = np.zeros((1, 1, 20, 16), np.float16)
    v = np.full((1, 1, 20, 16), np.inf, np.float16)
    out = poisoned(q.shape, q.dtype)
    launch(q, k, v, out, scale=1.0, window=(0, -4))
    assert (out == 0).all()


def test_a_counter_that_is_ahead_skips_tiles_and_one_launch_after_another_needs_no_reset():
    chance = np.random.default_rng()
    q, k, v = (chance.standard_normal((2, 3, 40, 16)).astype(np.float16) for _ in range(3))
    counter = np.zeros(1, np.int32)
    config = (("PERSISTENT_TYPE", 2),)
    for _ in range(2):
        out, lse = poisoned(q.shape, q.dtype), poisoned(q.shape[:3], np.float32)
        launch(q, k, v, out, lse, scale=0.25, window=(5, 0), counter=counter, programs=4, config=config)
        assert not np.isnan(out).any()
        assert counter[0] == 0
    # The caller's counter is the caller's: one that doesn't start at 0 is out of contract, and does no harm.
    counter[0] = 10**6
    out = poisoned(q.shape, q.dtype)
    launch(q, k, v, out, None, scale=0.25, window=(5, 0), counter=counter, programs=4, config=config)
    assert np.isnan(out).all()
