"""How far a right kernel may be from float64: bounds for each element, from the types and the problem alone.

The bounds hold for any kernel that computes as follows, whatever its blocks and its hardware:

1. scores: products of inputs summed in fp32 in any order, then scaled, in fp32;
2. weights: ``w_j = exp(s_j - m)`` in base 2 with a running maximum m, old sums multiplied by ``exp(m_old - m_new)``;
3. their sum in fp32, from the unrounded weights; the weighted sum of values in fp32, from weights rounded to V's type;
4. one division, and one rounding to the output's type.

With e = 2^-24 (fp32's unit roundoff), u the unit roundoff of the tensors' type, D the head dim, S the number of keys,
s_j the scaled scores, P_j the probabilities:

* A sum of n terms in fp32 is off by at most ``2 e n`` times the sum of magnitudes. The 2 covers matrix units, which cut
  off addends below the largest one instead of rounding to nearest.
* The natural score is off by ``2 e (D + 2) |scale| sum_d |q_d k_jd|`` from the sum, by ``4 e |s_j|`` from the scale
  (itself rounded, and multiplied with log2 e), the product and its rounding.
* The exponent ``s_j - m`` is rounded, and so is each ``m_old - m_new`` that the weight is multiplied with later; they
  add up to ``max_i s_i - s_j``: ``2 e (max_i s_i - s_j)``.
* Each exp2 is within 2^-22 of itself (the worst of the hardware's approximations); a weight meets one of its own, and
  at most one for each later block. Blocks have at least 16 keys: ``2^-22 (1 + ceil(S / 16))``.

The sum of these three is h_j, the relative error of the weight j, the same in numerator and denominator. Therefore

    |out error| <= sum_j P_j (exp(h_j) - 1) (|v_j| + |out|)     weights, numerator and denominator
                 + (u_p + 2 e n) sum_j P_j |v_j| + 2 e n |out|  rounding of weights; the sums, of depth n
                 + t sum_{j seen} |v_j| / sum_j w_j             weights below the type's normal range
                 + u |out| + t                                  the output's rounding
    |lse error| <= sum_j P_j (exp(h_j) - 1) + 2 e n + 2^-21 + 4 e (|lse| + max_j |s_j|)

where ``n = min(S, 256) + ceil(S / 16)`` (the sum inside of a block, then over blocks), u_p = u for 16-bit types and 0
for fp32, whose weights are not rounded again, and t is half the spacing of the type's subnormal numbers. A bias b adds
``4 e |b_j|`` to h_j. Second-order terms are covered by one factor 1.01. No bound exceeds what a mean of values can be
off at all: twice the largest.

A row that sees no key is exact: 0 and -inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aotriton.flash.reference import Array, Window, row_softmax, scaled_scores, share_heads, visibility

__all__ = ["PRECISIONS", "ForwardBound", "Precision", "forward_bound"]

_E = 2.0**-24
_EXP2 = 2.0**-22
_LOG2 = 2.0**-21
_SMALLEST_BLOCK = 16
_LARGEST_BLOCK = 256
_SECOND_ORDER = 1.01
_LIMIT = 300.0  # where nothing is known any more, and exp and its products are still finite


@dataclass(frozen=True)
class Precision:
    """What rounding to an element type costs.

    Attributes
    ----------
    roundoff : float
        Half the spacing of numbers, relative.
    subnormal : float
        Half the spacing of the smallest numbers, absolute.
    weights : float
        Relative rounding of the weights before they meet the values.
    """

    roundoff: float
    subnormal: float
    weights: float


PRECISIONS = {
    "float16": Precision(2.0**-11, 2.0**-25, 2.0**-11),
    "bfloat16": Precision(2.0**-8, 2.0**-134, 2.0**-8),
    "float32": Precision(2.0**-24, 2.0**-150, 0.0),
}
"""By the names that NumPy and ml_dtypes give the types."""


@dataclass(frozen=True)
class ForwardBound:
    """The most that each element of the output and of the log-sum-exp may be off."""

    out: Array
    lse: Array


def forward_bound(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    *,
    window: Window | None = None,
    bias: Array | None = None,
) -> ForwardBound:
    """The bounds of the module's text for one problem; arguments as of `reference.forward`.

    The element type of `q` is taken for all tensors.
    """
    precision = PRECISIONS[q.dtype.name]
    keys = k.shape[2]
    scores = scaled_scores(q, k, scale, bias)
    visible = visibility(q.shape[2], keys, window)
    softmax = row_softmax(scores, visible)
    values = share_heads(v.astype(np.float64), q.shape[1])
    seen = np.where(visible, scores, -np.inf)
    largest = seen.max(axis=-1, keepdims=True, initial=-np.inf)
    largest = np.where(np.isneginf(largest), 0.0, largest)

    relative = np.where(visible, np.expm1(np.minimum(_weight_error(q, k, scale, bias, scores, largest), _LIMIT)), 0.0)
    depth = 2.0 * _E * (min(keys, _LARGEST_BLOCK) + _blocks(keys))
    total = np.exp(seen - largest).sum(axis=-1, keepdims=True)
    out = np.abs(softmax.probability @ values)
    weighted = softmax.probability * relative
    error = weighted @ np.abs(values) + weighted.sum(axis=-1, keepdims=True) * out
    error += (precision.weights + depth) * (softmax.probability @ np.abs(values)) + depth * out
    tail = visible.astype(np.float64) @ np.abs(values) / np.maximum(total, 1.0)
    error += (precision.subnormal if precision.weights else 0.0) * tail
    error += precision.roundoff * out + precision.subnormal
    ceiling = 2.0 * np.abs(values).max(axis=-2, keepdims=True, initial=0.0) + precision.subnormal
    empty: Array = np.logical_not(visible.any(axis=-1))
    error = np.where(empty[:, None], 0.0, np.minimum(_SECOND_ORDER * error, ceiling))

    magnitude = np.where(visible, np.abs(scores), 0.0).max(axis=-1, initial=0.0)
    lse = weighted.sum(axis=-1) + depth + _LOG2
    lse += 4.0 * _E * (np.abs(np.where(empty, 0.0, softmax.lse)) + magnitude)
    return ForwardBound(error, np.where(empty, 0.0, _SECOND_ORDER * lse))


def _blocks(keys: int) -> int:
    return -(-keys // _SMALLEST_BLOCK)


def _weight_error(q: Array, k: Array, scale: float, bias: Array | None, scores: Array, largest: Array) -> Array:
    """h_j of the module's text, for every query and key."""
    magnitude = scaled_scores(np.abs(q.astype(np.float64)), np.abs(k.astype(np.float64)), abs(scale))
    error: Array = 2.0 * _E * (q.shape[3] + 2) * magnitude + 4.0 * _E * np.abs(scores)
    error += 2.0 * _E * np.maximum(largest - scores, 0.0) + _EXP2 * (1 + _blocks(k.shape[2]))
    return error if bias is None else error + 4.0 * _E * np.abs(bias.astype(np.float64))
