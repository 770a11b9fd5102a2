"""`aotriton demo`: what the packs hold, and attention from them on a device, against float64."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotriton.cli.inspect import print_summaries
from aotriton.cli.output import print_table
from aotriton.errors import PackError
from aotriton.runtime import attn_fwd, explain_attn_fwd, pack_paths

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="show the packs, and run attention from them",
        description="Show what the packs on the search path hold, and run flash attention from them on a few problems, "
        "with the largest error against float64. The exit code is 1 if an error is too large.",
    )
    parser.add_argument("--device", default="host", help="where to run (default: %(default)s)")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _Problem:
    title: str
    query: tuple[int, int, int, int]
    key: tuple[int, int, int, int]
    options: dict[str, Any]
    window: tuple[int, int] | None  # what the options mean: the sides of the reference's window


# Head dims of at most 32 are what the build set `demo` has.
_PROBLEMS = (
    _Problem("37 rows, head dim 32", (1, 2, 37, 32), (1, 2, 37, 32), {}, None),
    _Problem("causal, 4 heads on 2", (1, 4, 50, 32), (1, 2, 50, 32), {"causal": True}, (50, 0)),
    _Problem("1 row, 70 keys", (1, 2, 1, 32), (1, 2, 70, 32), {"causal": "bottom_right"}, (70, 69)),
    _Problem("window of 8, head dim 20", (1, 2, 37, 20), (1, 2, 37, 20), {"window": (8, 0)}, (8, 0)),
)


def run(arguments: argparse.Namespace) -> int:
    """Show and run."""
    folders = [Path(folder) for folder in pack_paths() if any(Path(folder).glob("*/*/*.zip"))]
    if not folders:
        raise PackError(
            f"no packs lie in {', '.join(pack_paths())}", "`make demo` builds them, or `aotriton build --set demo`"
        )
    print(f"Packs in {folders[0]}, compiled ahead of time on this machine:\n")
    print_summaries(folders[0])
    print(f"\nAttention in fp16 from them on {arguments.device}, against float64:\n")
    solved = [_solve(problem, arguments.device) for problem in _PROBLEMS]
    print_table(
        ("problem", "largest error", "seconds", "config"),
        [(one.title, f"{one.error:.1e}", f"{one.seconds:.2f}", one.config) for one in solved],
    )
    return 0 if all(one.error < _TOLERANCE for one in solved) else 1


# Outputs are means of values that fp16 holds to 2⁻¹¹ of their size, which stays below 4; P is rounded to fp16 as well.
_TOLERANCE = 4e-3


@dataclass(frozen=True)
class _Solved:
    title: str
    error: float
    seconds: float
    config: str


def _solve(problem: _Problem, device: str) -> _Solved:
    import numpy as np

    from aotriton.flash.reference import Window, forward

    random = np.random.default_rng(20)
    shapes = (problem.query, problem.key, problem.key)
    q, k, v = (random.standard_normal(shape).astype(np.float16) for shape in shapes)
    trace = explain_attn_fwd(q, k, v, device=device, **problem.options)
    out = np.full(problem.query, np.nan, np.float16)
    started = time.perf_counter()
    attn_fwd(q, k, v, out=out, device=device, **problem.options)
    seconds = time.perf_counter() - started
    window = Window(*problem.window) if problem.window else None
    exact = forward(q, k, v, q.shape[-1] ** -0.5, window=window).out
    error = float(np.abs(out - exact).max())
    return _Solved(problem.title, error, seconds, trace["config"]["performance"])
