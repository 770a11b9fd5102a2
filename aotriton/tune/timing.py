"""How configs are timed against each other: in turns, so that a clock that drifts drifts for all of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Effort", "Times", "quantile", "summarise", "take_turns"]

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Effort:
    """How much is spent on one problem.

    Attributes
    ----------
    screening : int
        Turns that every config has.
    rounds : int
        Turns of those that are still near the best then.
    near : float
        How near: at most so many times the best.
    seconds : float
        After so long on one problem no new round begins, once all have had those of the screening.
    """

    screening: int = 3
    rounds: int = 20
    near: float = 1.15
    seconds: float = 3.0


@dataclass(frozen=True)
class Times:
    """Microseconds of the device: the median, the 20th and 80th percentile, of so many samples."""

    median: float
    p20: float
    p80: float
    samples: int


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which that part of the values lies, interpolated.

    Examples
    --------
    >>> quantile([1.0, 2.0, 4.0], 0.5)
    2.0
    """
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summarise(samples: Sequence[float]) -> Times:
    """What is kept of samples."""
    return Times(quantile(samples, 0.5), quantile(samples, 0.2), quantile(samples, 0.8), len(samples))


def take_turns(
    names: Iterable[Name],
    sample: Callable[[Name], float],
    effort: Effort,
    clock: Callable[[], float],
    seed: int = 20,
) -> dict[Name, list[float]]:
    """Samples of each, taken in turns in an order that changes from round to round.

    Parameters
    ----------
    names : iterable
        What is timed.
    sample : callable
        Takes one sample, in microseconds.
    effort : Effort
        How many.
    clock : callable
        Seconds, of any origin.
    seed : int
        Of the order.

    Returns
    -------
    dict
        Those that fell behind in the screening have fewer samples than the others.
    """
    order, chance, start = list(names), random.Random(seed), clock()
    samples: dict[Name, list[float]] = {name: [] for name in order}
    for number in range(max(effort.rounds, effort.screening)):
        if number == effort.screening:
            order = _near(samples, effort.near)
        if number >= effort.screening and clock() - start > effort.seconds:
            break
        chance.shuffle(order)
        for name in order:
            samples[name].append(sample(name))
    return samples


def _near(samples: Mapping[Name, Sequence[float]], near: float) -> list[Name]:
    least = {name: min(values) for name, values in samples.items()}
    limit = near * min(least.values(), default=0.0)
    return [name for name, value in least.items() if value <= limit]
