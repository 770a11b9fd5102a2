"""Whether what benchmarks/attention.py times is right, by the error model's bounds and by the backends' errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from attention_report import PEER_NAMES, Measured

__all__ = ["Part", "excess", "failures", "parts_of", "sampled"]

ROWS = 32  # of one part of a head; float64 scores of all rows would take longer than the benchmark
NEAR = 1.1
"""How far our error may be above the larger one of the backends."""


def sampled(length: int) -> list[slice]:
    """The first, middle and last rows of so many, or all of a few."""
    if length <= 3 * ROWS:
        return [slice(0, length)]
    middle = (length - ROWS) // 2
    return [slice(start, start + ROWS) for start in (0, middle, length - ROWS)]


@dataclass(frozen=True)
class Part:
    """Some rows of a problem: their exact output and log-sum-exp, and how far off each element may be."""

    rows: slice
    exact: Any
    bound: Any


def parts_of(q: Any, k: Any, v: Any, scale: float, causal: bool) -> list[Part]:
    """What sampled rows of a problem come to, whatever computes it.

    Parameters
    ----------
    q, k, v : array, (batch, heads, length, head dim), fp16, bf16 or fp32
        The problem.
    scale : float
        Of the scores.
    causal : bool
        Whether row m sees keys up to m only.
    """
    from aotriton.flash.error_model import forward_bound
    from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Window, forward

    found = []
    window = Window(TOP_LEFT, BOTTOM_RIGHT) if causal else None
    for rows in sampled(q.shape[2]):
        # The last of these rows sees the last of these keys, so that the mask is the whole problem's.
        keys = slice(0, rows.stop if causal else k.shape[2])
        given = q[:, :, rows], k[:, :, keys], v[:, :, keys], scale
        found.append(Part(rows, forward(*given, window=window), forward_bound(*given, window=window)))
    return found


def excess(parts: Sequence[Part], out: Any, lse: Any) -> float:
    """The largest error of sampled rows over its bound; above 1 it is wrong.

    Parameters
    ----------
    parts : sequence of Part
        The problem's.
    out : array, (batch, heads, length, head dim), of the problem's type
        What was computed.
    lse : array, (batch, heads, length), fp32
        The log-sum-exp that was computed.

    Returns
    -------
    float
        Infinite where one of `out` or `lse`, of any row, is not finite.
    """
    if not all(np.isfinite(found.astype(np.float64)).all() for found in (out, lse)):
        return math.inf
    largest = 0.0
    for part in parts:
        exact, bound = part.exact, part.bound
        for found, wanted, limit in ((out, exact.out, bound.out), (lse, exact.lse, bound.lse)):
            error = np.abs(found[:, :, part.rows].astype(np.float64) - wanted)
            largest = max(largest, float((error / limit).max()))
    return largest


def failures(results: Sequence[Measured], ours: Sequence[str]) -> Iterator[str]:
    """What of our columns is wrong, a line each, with the row's name.

    Ours has to be finite and within the error model's bounds, and its error at most 1.1 times the larger one of the
    backends; a backend whose error isn't finite was not measured.
    """
    for one in results:
        peers = [error for name in PEER_NAMES if math.isfinite(error := one.errors.get(name, math.nan))]
        most = NEAR * max(peers, default=math.inf)
        for name in ours:
            error, over = one.errors.get(name, math.nan), one.excess.get(name, math.nan)
            mask = "causal" if one.row.causal else "not causal"
            row = f"hdim {one.row.hdim}, seqlen {one.row.seqlen}, {mask}: {name}"
            if not math.isfinite(error):
                yield f"{row} is not finite, or was not checked"
            elif not error <= most:
                yield f"{row} is off by {error:.2e}, more than {NEAR} times the backends' {max(peers):.2e}"
            if not over <= 1:
                yield f"{row} is off by {over:.3g} times its bound"
