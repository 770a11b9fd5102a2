"""The forward kernel's arithmetic of windows, blocks and dies, each by itself, against its definition."""

import ctypes
import json

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aotriton.flash.description import ATTN_FWD
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, visibility
from aotriton.runtime.interpreter import load_program

PROBE = """
import triton
import triton.language as tl
from .attn_fwd import resolve_window, split_blocks, spread_over_dies

@triton.jit
def blocks(result, first, last, left, right, rows, columns, BLOCK: tl.constexpr):
    left, right = resolve_window(left, right, rows, columns)
    begin, full_begin, full_end, end = split_blocks(first, last, left, right, columns, BLOCK)
    tl.store(result, begin)
    tl.store(result + 1, full_begin)
    tl.store(result + 2, full_end)
    tl.store(result + 3, end)

@triton.jit
def dies(result, DIES: tl.constexpr):
    program = tl.program_id(0)
    tl.store(result + program, spread_over_dies(program, tl.num_programs(0), DIES))
"""
BLOCK = 4
DIES = 8


def probe(entry, names, constants):
    """A function of PROBE on the host: a pointer to its results, then i32 scalars."""
    bundle = {
        "format": 1,
        "entry": entry,
        "module": "probe",
        "modules": {"probe": PROBE, "attn_fwd": ATTN_FWD.source.read_text()},
        "signature": [["result", "*i32"], *([name, "i32"] for name in names)],
        "constants": constants,
    }
    return load_program(json.dumps(bundle).encode())


SPLIT = probe("blocks", ["first", "last", "left", "right", "rows", "columns"], {"BLOCK": BLOCK})
SPREAD = probe("dies", [], {"DIES": DIES})


def call(function, count, *values, programs=1):
    result = np.full(count, -1, np.int32)
    arguments = [ctypes.c_uint64(result.ctypes.data), *map(ctypes.c_int32, values)]
    function.launch((programs, 1, 1), [ctypes.addressof(argument) for argument in arguments])
    return result.tolist()


EXTREMES = [TOP_LEFT, BOTTOM_RIGHT, -(2**31), -(2**31) + 3, 2**31 - 1, 2**31 - 2]
SIDES = st.one_of(st.integers(-60, 60), st.sampled_from(EXTREMES))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(rows=st.integers(1, 40), columns=st.integers(0, 40), tile=st.integers(0, 9), left=SIDES, right=SIDES)
@example(rows=5, columns=2, tile=0, left=BOTTOM_RIGHT, right=BOTTOM_RIGHT)
@example(rows=8, columns=8, tile=1, left=2**31 - 1, right=-(2**31))
def test_blocks_are_split_right(rows, columns, tile, left, right):
    """No visible key outside of [begin, end), no invisible one in [full_begin, full_end)."""
    first = (tile * 4) % rows
    last = min(first + 4, rows)
    begin, full_begin, full_end, end = call(SPLIT, 4, first, last, left, right, rows, columns)
    assert 0 <= begin <= full_begin <= full_end <= end
    visible = visibility(rows, columns, Window(left, right))[first:last]
    assert not visible[:, : begin * BLOCK].any()
    assert not visible[:, end * BLOCK :].any()
    assert visible[:, full_begin * BLOCK : full_end * BLOCK].all()
    assert full_end * BLOCK <= columns or full_begin == full_end
    if visible.any():
        # Nothing is visited or masked for nothing: the blocks at the ends are met, and every other is not full.
        assert visible[:, begin * BLOCK : (begin + 1) * BLOCK].any()
        assert visible[:, (end - 1) * BLOCK : end * BLOCK].any()
        whole = [
            b for b in range(begin, end) if (b + 1) * BLOCK <= columns and visible[:, b * BLOCK :][:, :BLOCK].all()
        ]
        assert len(whole) == full_end - full_begin
    else:
        assert begin == end


@settings(max_examples=40, deadline=None, derandomize=True)
@given(programs=st.integers(1, 70))
def test_programs_are_spread_over_dies(programs):
    """A permutation, and the tiles of a die follow each other."""
    tiles = call(SPREAD, programs, programs=programs)
    assert sorted(tiles) == list(range(programs))
    for die in range(min(DIES, programs)):
        own = tiles[die::DIES]
        assert own == list(range(own[0], own[0] + len(own)))
