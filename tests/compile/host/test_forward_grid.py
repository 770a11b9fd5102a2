"""The forward over its feature grid, pairwise, from both Python interfaces, against float64."""

import itertools

import pytest

from tests.tools.attention import GRID, MASKS, Problem, by_aotriton, by_pyaotriton, check, outputs
from tests.tools.pairwise import pairwise

PROBLEMS = [Problem(**row) for row in pairwise(GRID)]


def test_every_two_values_of_the_grid_meet():
    for a, b in itertools.combinations(GRID, 2):
        met = {(getattr(problem, a), getattr(problem, b)) for problem in PROBLEMS}
        assert met == set(itertools.product(GRID[a], GRID[b])), (a, b)


@pytest.mark.parametrize("interface", ["aotriton", "pyaotriton"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_forward(on_host, problem, interface):
    q, k, v = problem.inputs()
    out, lse = outputs(q, v)
    lse = lse if problem.lse else None
    if interface == "aotriton":
        by_aotriton(q, k, v, out, lse, problem.mask, "host")
    else:
        by_pyaotriton(q, k, v, out, lse, problem.mask)
    check(q, k, v, out, lse, MASKS[problem.mask][2])
