"""Few problems that cover every pair of values of every two axes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any


def pairwise(axes: Mapping[str, Sequence[Any]], seed: int = 0, tries: int = 30) -> list[dict[str, Any]]:
    """Rows, one value per axis, so that any two values of any two axes meet in one of them. The same for a seed.

    Greedy: each row starts with a pair that is still missing and takes, of some random completions, the one that covers
    the most missing pairs.
    """
    chance = random.Random(seed)
    names = list(axes)
    positions = {name: range(len(values)) for name, values in axes.items()}
    missing = {
        ((a, x), (b, y))
        for a, b in itertools.combinations(names, 2)
        for x, y in itertools.product(positions[a], positions[b])
    }
    rows = []
    while missing:
        start = dict(min(missing, key=lambda pair: [(names.index(name), value) for name, value in pair]))
        completions = [{n: start.get(n, chance.randrange(len(axes[n]))) for n in names} for _ in range(tries)]
        best = max(completions, key=lambda row: len(pairs_of(row, names) & missing))
        missing -= pairs_of(best, names)
        rows.append({name: axes[name][best[name]] for name in names})
    return rows


def pairs_of(row: Mapping[str, Any], names: Sequence[str]) -> set[tuple[tuple[str, Any], tuple[str, Any]]]:
    """All pairs of (axis, value) that a row has."""
    return {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(names, 2)}
