"""Attention in float64, written from its definition: what every kernel of the family is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "BOTTOM_RIGHT",
    "TOP_LEFT",
    "Array",
    "Forward",
    "Softmax",
    "Window",
    "forward",
    "row_softmax",
    "scaled_scores",
    "share_heads",
    "visibility",
]

Array: TypeAlias = np.ndarray[Any, Any]

TOP_LEFT = -2147483647
"""As a side of a window: the causal diagonal starts in the top left corner."""
BOTTOM_RIGHT = -2147483646
"""As a side of a window: the causal diagonal ends in the bottom right corner."""


@dataclass(frozen=True)
class Window:
    """Row m sees key n where `m - left <= n <= m + right`.

    Both sides may be negative, and either may be `TOP_LEFT` or `BOTTOM_RIGHT`, each on its own.
    """

    left: int
    right: int

    def resolve(self, rows: int, columns: int) -> tuple[int, int]:
        """The two sides as numbers for one sequence of so many queries and keys."""
        left = rows if self.left in (TOP_LEFT, BOTTOM_RIGHT) else self.left
        right = {TOP_LEFT: 0, BOTTOM_RIGHT: columns - rows}.get(self.right, self.right)
        return left, right


@dataclass(frozen=True)
class Softmax:
    """Each row's softmax.

    Attributes
    ----------
    probability : array
        Of every query and key; rows that see nothing are 0.
    lse : array
        ln of the sum of the exponentials; rows that see nothing are -inf.
    """

    probability: Array
    lse: Array


@dataclass(frozen=True)
class Forward:
    """The output (B, Hq, Sq, Dv) and the log-sum-exp (B, Hq, Sq), in float64."""

    out: Array
    lse: Array


def visibility(rows: int, columns: int, window: Window | None) -> Array:
    """Which keys (columns) each query (row) sees; without a window, all."""
    if window is None:
        return np.ones((rows, columns), dtype=bool)
    left, right = window.resolve(rows, columns)
    m = np.arange(rows)[:, None]
    n = np.arange(columns)[None, :]
    return (n >= m - left) & (n <= m + right)


def share_heads(tensor: Array, heads: int) -> Array:
    """Keys or values (B, Hk, S, D) as each of the query heads meets them: (B, Hq, S, D), neighbours sharing one."""
    return np.repeat(tensor, heads // tensor.shape[1], axis=1)


def scaled_scores(q: Array, k: Array, scale: float, bias: Array | None = None) -> Array:
    """`scale * <q_m, k_n> + bias`, in float64."""
    keys = share_heads(k.astype(np.float64), q.shape[1])
    scores = np.float64(scale) * (q.astype(np.float64) @ keys.swapaxes(-1, -2))
    return scores if bias is None else scores + bias.astype(np.float64)


def row_softmax(scores: Array, visible: Array) -> Softmax:
    """Softmax over the visible keys of each row."""
    masked = np.where(visible, scores, -np.inf)
    maximum = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    # A row that sees nothing, or only -inf, has no finite maximum to subtract; nor does it need one.
    maximum = np.where(np.isneginf(maximum), 0.0, maximum)
    exponential = np.exp(masked - maximum)
    total = exponential.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (maximum + np.log(total))[..., 0]
    return Softmax(exponential / np.where(total == 0.0, 1.0, total), lse)


def forward(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    *,
    window: Window | None = None,
    bias: Array | None = None,
) -> Forward:
    """Attention's output and log-sum-exp.

    Parameters
    ----------
    q, k, v : array
        (B, Hq, Sq, D), (B, Hk, Sk, D) and (B, Hk, Sk, Dv) of any floating-point type; Hk divides Hq.
    scale : float
        Multiplies the scores; may be 0 or negative.
    window : Window, optional
        What each row sees.
    bias : array, optional
        Added to the scaled scores; broadcasts to (B, Hq, Sq, Sk).

    Examples
    --------
    >>> rows = np.arange(1.0, 3.0).reshape(1, 1, 2, 1)
    >>> forward(rows * 0, rows * 0, rows, 1.0, window=Window(TOP_LEFT, TOP_LEFT)).out.ravel().tolist()
    [1.0, 1.5]
    """
    scores = scaled_scores(q, k, scale, bias)
    softmax = row_softmax(scores, visibility(q.shape[2], k.shape[2], window))
    return Forward(softmax.probability @ share_heads(v.astype(np.float64), q.shape[1]), softmax.lse)
