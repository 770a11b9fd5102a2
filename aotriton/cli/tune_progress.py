"""How measuring looks while it runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from aotriton.tune.measure import Watcher
    from aotriton.tune.results import Result

__all__ = ["LiveWatcher", "PlainWatcher", "make_watcher"]


def make_watcher(stream: TextIO | None = None) -> Watcher:
    """The watcher that suits a stream, by default standard error."""
    stream = stream or sys.stderr
    return LiveWatcher(stream) if stream.isatty() else PlainWatcher(stream)


def _line(functional: str, problem: Mapping[str, int], results: Sequence[Result]) -> str:
    """The best of a group, and how far the others are."""
    where = f"{functional} {', '.join(f'{name}={value}' for name, value in problem.items())}"
    timed = sorted((one for one in results if one.times), key=lambda one: one.times.median if one.times else 0.0)
    if not timed or not timed[0].times:
        return f"{where}: no config could be timed"
    best = timed[0]
    config = ";".join(f"{name}={value}" for name, value in best.config.items())
    return f"{where}: {timed[0].times.median:.1f} µs, the best of {len(timed)}: {config}"


class PlainWatcher:
    """A line for each group."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._done, self._total, self._start = stream, 0, 0, time.monotonic()

    def start(self, groups: int, configs: int) -> None:
        """Say what is to come."""
        self._total = groups
        self.note(f"{groups} problems of functionals to measure, {configs} configs of all functionals together")

    def group(self, functional: str, problem: Mapping[str, int], results: Sequence[Result]) -> None:
        """Say what came of one."""
        self._done += 1
        left = (time.monotonic() - self._start) / self._done * (self._total - self._done)
        self.note(f"{self._done}/{self._total}, {left:.0f} s left; {_line(functional, problem, results)}")

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, file=self._stream, flush=True)

    def stop(self) -> None:
        """Nothing is left to do."""


class LiveWatcher:
    """A bar, and the groups above it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(file=stream))
        self._task = self._bar.add_task("measuring", total=None)

    def start(self, groups: int, configs: int) -> None:
        """Show the bar."""
        self._bar.update(self._task, total=groups)
        self._bar.start()

    def group(self, functional: str, problem: Mapping[str, int], results: Sequence[Result]) -> None:
        """Move the bar on."""
        self._bar.advance(self._task)
        self.note(_line(functional, problem, results))

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def stop(self) -> None:
        """Leave the bar as it stands."""
        self._bar.stop()
