"""How a build looks while it runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from aotriton.compile.build import Outcome, Progress
from aotriton.compile.cost import duration
from aotriton.compile.objects import Failure
from aotriton.compile.report import describe_failure
from aotriton.compile.task import Task

__all__ = ["LiveProgress", "PlainProgress", "make_progress"]

_EVERY = 10.0


def make_progress(stream: TextIO | None = None) -> Progress:
    """The watcher that suits a stream, by default standard error."""
    stream = stream or sys.stderr
    return LiveProgress(stream) if stream.isatty() else PlainProgress(stream)


class _Counts:
    """What both count: done, cached, failed, rate, and the time that is left."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.cached, self.failed = total, 0, 0, 0
        self.start = time.monotonic()

    def add(self, outcome: Outcome) -> None:
        self.done += 1
        if isinstance(outcome, Failure):
            self.failed += 1
        elif outcome.cached or outcome.target == "host":
            self.cached += 1

    @property
    def text(self) -> str:
        made = self.done - self.cached
        rate = made / max(time.monotonic() - self.start, 1e-3)
        left = f", {rate:.2f}/s, {duration((self.total - self.done) / rate)} left" if made else ""
        return f"{self.done} of {self.total} done, {self.cached} at no cost, {self.failed} failed{left}"


class PlainProgress:
    """Lines: one every ten seconds, one for each failure."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._counts = _Counts(0)
        self._next = 0.0

    def start(self, total: int, workers: int) -> None:
        """Say what begins."""
        self._counts = _Counts(total)
        self._next = time.monotonic() + _EVERY
        self._print(f"compiling {total} code objects with {workers} workers")

    def advance(self, task: Task, outcome: Outcome) -> None:
        """Count, and print a line now and then."""
        self._counts.add(outcome)
        if isinstance(outcome, Failure):
            self._print(f"failed: {describe_failure(outcome)}")
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            self._print(self._counts.text)

    def note(self, text: str) -> None:
        """Print it."""
        self._print(text)

    def stop(self) -> None:
        """Say how far it came."""
        self._print(self._counts.text)

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class LiveProgress:
    """One line that moves, with failures printed above it."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._task = self._bar.add_task("starting")
        self._counts = _Counts(0)

    def start(self, total: int, workers: int) -> None:
        """Show the bar."""
        self._counts = _Counts(total)
        self._bar.update(self._task, total=total, description=f"{workers} workers")
        self._bar.start()

    def advance(self, task: Task, outcome: Outcome) -> None:
        """Move the bar."""
        self._counts.add(outcome)
        if isinstance(outcome, Failure):
            self.note(f"failed: {describe_failure(outcome)}")
        self._bar.update(self._task, completed=self._counts.done, description=self._counts.text)

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self._console.print(escape(text), highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Leave the bar as it stands."""
        self._bar.stop()
