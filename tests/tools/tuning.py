"""Made-up results of tuning, for the tests of what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aotriton.flash.description import ATTN_FWD
from aotriton.tune.results import Result, Run, append, locked
from aotriton.tune.timing import Times

FEATURES = {
    "Q": "*fp16:16", "BLOCK_DMODEL": 64, "PADDED_HEAD": False, "ENABLE_DROPOUT": False, "CAUSAL_TYPE": 0,
    "BIAS_TYPE": 0, "VARLEN": False,
}  # fmt: skip
DEFAULTS = {**dict(ATTN_FWD.default_config.performance), "num_warps": 4, "num_stages": 1}


def run(name: str = "first", **facts: Any) -> Run:
    """A run on a made-up device."""
    return Run(name, "flash.attn_fwd", "sm_90_mod0", "NVIDIA Test", {"date": "2026-12-01T10:00:00+00:00", **facts})


def result(length: int, config: Mapping[str, Any], median: float | None, **more: Any) -> Result:
    """One of attn_fwd on a square problem; `functional` says what is not as in FEATURES."""
    functional = {**FEATURES, **more.pop("functional", {})}
    times = None if median is None else Times(median, 0.9 * median, 1.1 * median, 5)
    facts: dict[str, Any] = {"run": "first", "image": repr(sorted(config.items())), "errors": {"out": 0.5}, **more}
    facts.setdefault("status", "failed" if times is None else "ok")
    problem = {"Max_seqlen_q": length, "Max_seqlen_k": length}
    return Result(functional=functional, problem=problem, config={**DEFAULTS, **config}, times=times, **facts)


def write(path: Path, *rows: Run | Result) -> Path:
    """A file of results; with a run unless there is one."""
    with locked(path) as file:
        append(file, rows if rows and isinstance(rows[0], Run) else (run(), *rows))
    return path
