"""What came out of a build, as data and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from aotriton.compile.build import Outcome
from aotriton.compile.cost import duration
from aotriton.compile.objects import CodeObject, Failure
from aotriton.compile.planning import Plan
from aotriton.compile.task import Task

__all__ = ["Report", "Row", "describe_failure", "failure_json", "make_report"]


@dataclass(frozen=True)
class Row:
    """One kernel on one target.

    Attributes
    ----------
    kernel, target : str
        Which.
    functionals, possible : int
        Functionals that have a code object, of those that the description allows.
    objects, bytes : int
        Code objects and their size.
    registers : int
        The most registers of a thread.
    spilling, spills : int
        Code objects that spill, and the most bytes of scratch of a thread.
    seconds : float
        What the compiler took, in this build or when what is cached was made.
    cached, failed : int
        Code objects that came from the cache, and those that are missing.
    """

    kernel: str
    target: str
    functionals: int
    possible: int
    objects: int
    bytes: int
    registers: int
    spilling: int
    spills: int
    seconds: float
    cached: int
    failed: int


@dataclass(frozen=True)
class Report:
    """A build's outcome.

    Attributes
    ----------
    build_set : str
        The set's name.
    rows : tuple of Row
        By kernel and target.
    failures : tuple of Failure
        What is missing and why.
    seconds : float
        How long the build took.
    workers : int
        With how many workers.
    """

    build_set: str
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    seconds: float
    workers: int

    @property
    def total(self) -> Row:
        """The sum over all rows; of registers and scratch the most."""
        sums = {name: sum(getattr(row, name) for row in self.rows) for name in _SUMMED}
        most = {name: max((getattr(row, name) for row in self.rows), default=0) for name in ("registers", "spills")}
        return Row(kernel="all", target=f"{len({row.target for row in self.rows})} targets", **sums, **most)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "build_set": self.build_set,
            "seconds": self.seconds,
            "workers": self.workers,
            "rows": [asdict(row) for row in self.rows],
            "total": asdict(self.total),
            "failures": [failure_json(failure) for failure in self.failures],
        }

    def __rich__(self) -> RenderableType:
        title = f"build set {self.build_set}: {duration(self.seconds)} with {self.workers} workers"
        table = Table(title=title, show_footer=len(self.rows) > 1, footer_style="bold")
        for (heading, right), footer in zip(_COLUMNS, _cells(self.total), strict=True):
            table.add_column(heading, footer=footer, justify="right" if right else "left")
        for row in self.rows:
            table.add_row(*_cells(row), style="red" if row.failed else None)
        return Group(table, *(f"[red]failed[/red] {escape(describe_failure(one))}" for one in self.failures))


_SUMMED = ("functionals", "possible", "objects", "bytes", "spilling", "seconds", "cached", "failed")
_COLUMNS = (
    ("kernel", False),
    ("target", False),
    ("functionals", True),
    ("code objects", True),
    ("bytes", True),
    ("registers", True),
    ("spills", True),
    ("compiler", True),
    ("cached", True),
    ("failed", True),
)


def _cells(row: Row) -> tuple[str, ...]:
    spills = f"{row.spilling} × ≤ {row.spills} B" if row.spilling else "0"
    return (
        row.kernel,
        row.target,
        f"{row.functionals} of {row.possible}",
        str(row.objects),
        f"{row.bytes:,}",
        str(row.registers) if row.registers else "–",
        spills,
        duration(row.seconds) if row.seconds else "–",
        str(row.cached),
        str(row.failed),
    )


def describe_failure(failure: Failure) -> str:
    """A failure in words: what, how, why, and where its log is."""
    task = failure.task
    what = f"{task.kernel.title} for {task.target.name}: {task.functional.signature}; {task.config.performance_text}"
    return f"{what}\n  {failure.status}: {failure.reason}\n  log: {failure.log}"


def failure_json(failure: Failure) -> dict[str, Any]:
    """A failure as plain data."""
    task = failure.task
    return {
        "kernel": task.kernel.title,
        "target": task.target.name,
        "functional": task.functional.signature,
        "performance": task.config.performance_text,
        "options": task.config.options_text,
        "status": failure.status,
        "reason": failure.reason,
        "log": str(failure.log),
    }


def make_report(plan: Plan, outcomes: Mapping[Task, Outcome], seconds: float, workers: int) -> Report:
    """The report of a plan whose tasks had these outcomes."""
    groups: dict[tuple[str, str], list[tuple[Task, Outcome]]] = {}
    for task, outcome in outcomes.items():
        groups.setdefault((task.kernel.title, task.target.name), []).append((task, outcome))
    excluded: dict[tuple[str, str], int] = {}
    for one in plan.exclusions:
        kind = (one.functional.kernel.title, one.target.name)
        excluded[kind] = excluded.get(kind, 0) + 1
    rows = tuple(_row(kind, group, excluded.get(kind, 0)) for kind, group in groups.items())
    failures = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, Failure))
    return Report(plan.build_set.name, rows, failures, seconds, workers)


def _row(kind: tuple[str, str], group: list[tuple[Task, Outcome]], excluded: int) -> Row:
    objects = [outcome for _, outcome in group if isinstance(outcome, CodeObject)]
    return Row(
        kernel=kind[0],
        target=kind[1],
        functionals=len({one.functional.number for one in objects}),
        possible=group[0][0].kernel.total - excluded,
        objects=len(objects),
        bytes=sum(len(one.image) for one in objects),
        registers=max((one.resources.registers for one in objects), default=0),
        spilling=sum(one.resources.spills > 0 for one in objects),
        spills=max((one.resources.spills for one in objects), default=0),
        seconds=sum(one.resources.seconds for one in objects),
        cached=sum(one.cached for one in objects),
        failed=len(group) - len(objects),
    )
