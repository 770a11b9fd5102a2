"""What a build will cost, told before it starts: code objects, those that the cache has, core-hours."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aotriton.compile.cache import Cache
from aotriton.compile.planning import Plan

__all__ = ["Estimate", "duration", "estimate"]

_DATA = Path(__file__).resolve().parents[1] / "data" / "compiler" / "seconds.json"


@dataclass(frozen=True)
class Estimate:
    """The cost of a build.

    Attributes
    ----------
    objects : int
        Code objects in all.
    host : int
        Those of the target `host`, which need no compiler.
    cached : int
        Those that the cache has.
    shared : int
        Those that are stamped from another target's.
    compiled : int
        What is left: those that are compiled.
    core_seconds : float
        What the compiler will take for them, in all.
    """

    objects: int
    host: int
    cached: int
    shared: int
    compiled: int
    core_seconds: float

    def describe(self, workers: int) -> str:
        """The estimate in one line for people."""
        parts = [f"{self.objects} code objects: {self.compiled} to compile"]
        parts += [f"{count} {what}" for count, what in self._rest() if count]
        if not self.compiled:
            return f"{', '.join(parts)}; nothing to wait for"
        alone, together = duration(self.core_seconds), duration(self.core_seconds / workers)
        return f"{', '.join(parts)}; about {alone} of one core, {together} with {workers} workers"

    def _rest(self) -> list[tuple[int, str]]:
        return [(self.cached, "cached"), (self.shared, "shared by targets with identical code"), (self.host, "host")]


def estimate(plan: Plan, cache: Path) -> Estimate:
    """The cost of a plan, given what a cache has.

    The compiler's seconds come from aotriton/data/compiler/seconds.json, and from the cache's own entries where it has
    some of the same kernel and vendor.
    """
    store = Cache(cache)
    host = sum(task.target.vendor == "host" for task in plan.tasks)
    groups = {task.compiled_as.key: task for task in plan.tasks if task.target.vendor != "host"}
    found = {key: store.seconds(key) for key in groups}
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for key, task in groups.items():
        if (seconds := found[key]) is not None:
            measured[task.kernel.title, task.target.vendor].append(seconds)
    total = 0.0
    for key, task in groups.items():
        if found[key] is None:
            kind = (task.kernel.title, task.target.vendor)
            total += sum(measured[kind]) / len(measured[kind]) if measured[kind] else _assumed(*kind)
    cached = sum(seconds is not None for seconds in found.values())
    return Estimate(
        objects=len(plan.tasks),
        host=host,
        cached=cached,
        shared=len(plan.tasks) - host - len(groups),
        compiled=len(groups) - cached,
        core_seconds=total,
    )


def duration(seconds: float) -> str:
    """`40 s`, `7 min`, `3.2 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@lru_cache
def _seconds() -> dict[str, dict[str, float]]:
    data: dict[str, dict[str, float]] = json.loads(_DATA.read_text())["seconds"]
    return data


def _assumed(kernel: str, vendor: str) -> float:
    table = _seconds()
    return table.get(kernel, table["*"])[vendor]
