"""What benchmarks/attention.py measures, and how it is shown: rows of the table, ratios, geometric means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["AGAIN", "CHECKED_HEADS", "PEER_NAMES", "Measured", "Row", "geometric_mean", "report"]

TOKENS, HIDDEN = 16384, 2048
PEER_NAMES = ("FLASH", "cuDNN")
AGAIN = "again"
CHECKED_HEADS = 2  # a float64 reference of all heads would take longer than the rest


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    hdim: int
    seqlen: int
    causal: bool

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batch, heads, length, head dim."""
        return TOKENS // self.seqlen, HIDDEN // self.hdim, self.seqlen, self.hdim

    @property
    def operations(self) -> float:
        """Floating-point operations of the two products; half of them where the mask is causal."""
        return 4.0 * TOKENS * HIDDEN * self.seqlen * (0.5 if self.causal else 1.0)


@dataclass
class Measured:
    """What came of a row: by name, TFLOP/s, all samples in microseconds, relative error, the config that ran, and the
    largest error over its bound (1 is the most).
    """

    row: Row
    tflops: dict[str, float]
    samples: dict[str, list[float]]
    errors: dict[str, float]
    configs: dict[str, str] = field(default_factory=dict)
    excess: dict[str, float] = field(default_factory=dict)


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def ratios(results: list[Measured], name: str, other: str) -> list[float]:
    return [one.tflops[name] / one.tflops[other] for one in results]


def report(results: list[Measured], names: list[str], facts: dict[str, Any]) -> Iterator[str]:
    """The table as Markdown: TFLOP/s, then the relative error in parentheses."""
    yield "# Attention forward against PyTorch's backends\n"
    versions = ", ".join(f"{name} {text}" for name, text in facts["versions"].items())
    yield f"{facts['date'][:10]}, commit {facts['commit']}, {facts['device']}, driver {facts['driver']}, {versions},"
    yield f"cuDNN {facts['cuDNN']}; packs by Triton {facts['compiler'] or 'unknown'}; {facts['type']};"
    yield f"the same run's 8192³ bf16 product: {facts['product']} TFLOP/s.\n"
    yield f"TFLOP/s (‖out - exact‖ / ‖exact‖ of {CHECKED_HEADS} heads); {TOKENS:,} tokens, hidden size {HIDDEN}.\n"
    columns = list(results[0].tflops)
    yield "| hdim | seqlen | causal | " + " | ".join(columns) + f" | {names[0]} / FLASH | {names[0]} / cuDNN |"
    yield "|" + "---|" * (len(columns) + 5)
    for one in results:
        figures = [f"{one.tflops[name]:.0f} ({one.errors[name]:.2e})" for name in columns]
        figures += [f"{one.tflops[names[0]] / one.tflops[other]:.2f}" for other in PEER_NAMES]
        row = [str(one.row.hdim), str(one.row.seqlen), "yes" if one.row.causal else "no"]
        yield "| " + " | ".join([*row, *figures]) + " |"
    yield "\n| geometric mean | " + " | ".join(f"over {other}" for other in [*PEER_NAMES, *names[1:]]) + " |"
    yield "|" + "---|" * (len(PEER_NAMES) + len(names))
    for label, some in groups(results):
        means = (f"{geometric_mean(ratios(some, names[0], other)):.3f}" for other in [*PEER_NAMES, *names[1:]])
        yield f"| {label} | " + " | ".join(means) + " |"


def groups(results: list[Measured]) -> Iterator[tuple[str, list[Measured]]]:
    yield "all rows", results
    for hdim in sorted({one.row.hdim for one in results}):
        yield f"hdim {hdim}", [one for one in results if one.row.hdim == hdim]
    for causal in sorted({one.row.causal for one in results}):
        yield "causal" if causal else "not causal", [one for one in results if one.row.causal == causal]
