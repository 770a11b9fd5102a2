"""Which functionals stand for all: greedy coverage of values, and of pairs of values, of a kernel's choices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from aotriton.describe import Functional

__all__ = ["cover_pairs", "cover_values"]

Point: TypeAlias = tuple[tuple[str, int], ...]


def cover_values(candidates: Mapping[str, Sequence[Functional]]) -> dict[str, list[Functional]]:
    """One functional at least for each target, and each value of each choice at least once over all targets.

    Parameters
    ----------
    candidates : mapping of target to functionals
        What each target offers, cheapest first: where several serve alike, the first is taken.
    """
    open_values = {value for offered in candidates.values() for one in offered for value in one.digits.items()}
    chosen: dict[str, list[Functional]] = {target: [] for target in candidates}
    # One round over the targets, then as many as it takes; a target's first pick is due even if nothing is open.
    first = True
    while first or open_values:
        for target, offered in candidates.items():
            if offered and (first or any(value in open_values for one in offered for value in one.digits.items())):
                best = max(offered, key=lambda one: len(open_values & set(one.digits.items())))
                chosen[target].append(best)
                open_values -= set(best.digits.items())
        first = False
    return chosen


def cover_pairs(offered: Sequence[Functional]) -> list[Functional]:
    """Functionals that hold, together, every pair of values of two choices that any of the offered ones holds."""
    pairs: dict[Functional, set[Point]] = {
        one: set(itertools.combinations(one.digits.items(), 2)) or {tuple(one.digits.items())} for one in offered
    }
    open_pairs = {pair for held in pairs.values() for pair in held}
    chosen = []
    while open_pairs:
        best = max(offered, key=lambda one: len(open_pairs & pairs[one]))
        chosen.append(best)
        open_pairs -= pairs[best]
    return chosen
