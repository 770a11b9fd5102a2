"""Turns: everybody gets as many, in changing order; who falls behind leaves after the screening."""

from __future__ import annotations

import itertools

import pytest

from aotriton.tune.timing import Effort, quantile, summarise, take_turns


def test_quantiles() -> None:
    values = [5.0, 1.0, 2.0, 3.0, 4.0]
    assert [quantile(values, part) for part in (0.0, 0.2, 0.5, 0.8, 1.0)] == pytest.approx([1, 1.8, 3, 4.2, 5])
    assert quantile([7.0], 0.8) == 7.0
    assert summarise(values).samples == 5


def test_turns_are_taken_by_all_and_then_by_those_that_are_near() -> None:
    speeds, order = {"a": 10.0, "b": 11.0, "c": 30.0}, list[str]()

    def sample(name: str) -> float:
        order.append(name)
        return speeds[name]

    samples = take_turns(speeds, sample, Effort(screening=3, rounds=8, near=1.15, seconds=60), lambda: 0.0)
    assert {name: len(found) for name, found in samples.items()} == {"a": 8, "b": 8, "c": 3}
    rounds = [order[at : at + 3] for at in range(0, 9, 3)] + [order[at : at + 2] for at in range(9, 19, 2)]
    assert all(sorted(one) == sorted(set(one)) for one in rounds)
    assert len({tuple(one) for one in rounds[3:]}) > 1


def test_a_clock_that_drifts_drifts_for_all() -> None:
    """Two that are as fast stay as fast while the GPU slows down by a half meanwhile."""
    ticks = itertools.count()
    samples = take_turns("ab", lambda name: 10.0 + next(ticks) * 0.125, Effort(rounds=20, seconds=60), lambda: 0.0)
    first, second = (summarise(found).median for found in samples.values())
    assert first == pytest.approx(second, rel=0.02)


def test_time_ends_rounds_but_never_the_screening() -> None:
    seconds = itertools.count(step=10)
    samples = take_turns("ab", lambda name: 1.0, Effort(screening=3, rounds=50, seconds=35), lambda: next(seconds))
    assert {name: len(found) for name, found in samples.items()} == {"a": 6, "b": 6}
    late = take_turns("ab", lambda name: 1.0, Effort(screening=3, rounds=50, seconds=0), lambda: next(seconds))
    assert {name: len(found) for name, found in late.items()} == {"a": 3, "b": 3}


def test_nobody() -> None:
    assert take_turns([], lambda name: 1.0, Effort(), lambda: 0.0) == {}
