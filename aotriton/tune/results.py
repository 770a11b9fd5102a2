"""Results of measuring: one JSON object a line, appended as they come, so that a run goes on where it stopped.

    {"kind": "run", "format": 1, "run": "…", "kernel": "flash.attn_fwd", "gpu": "sm_90_mod0", "device": "…", …}
    {"kind": "result", "run": "…", "functional": {…}, "problem": {…}, "config": {…}, "image": "…", "status": "ok", …}

A run says on what and with what was measured; a result belongs to the run that it names. The results of one functional
and problem are written together, because only what was timed in turns may be compared.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Literal, get_args

from aotriton.describe import Value
from aotriton.errors import AotritonError, ArgumentError, BusyError
from aotriton.tune.timing import Times

__all__ = ["FORMAT", "Damage", "Result", "Results", "Run", "append", "group_of", "locked", "read_results"]

FORMAT = 1
Status = Literal["ok", "wrong", "failed"]


@dataclass(frozen=True)
class Run:
    """On what, with what and when was measured.

    Attributes
    ----------
    run : str
        Its name: the date in UTC with the process, unique in a file.
    kernel : str
        The kernel's title.
    gpu : str
        As tuning databases name it: `sm_90_mod0`.
    device : str
        The driver's own name of the device.
    facts : mapping
        Versions, the commit that the pack was built from, the driver, the problems' sizes, the effort.
    """

    run: str
    kernel: str
    gpu: str
    device: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Result:
    """What came of one config on one problem of one functional.

    Attributes
    ----------
    run : str
        The name of its run.
    functional, problem, config : mapping
        Values of the axes; of the look-up keys; of performance arguments and options.
    image : str
        SHA-256 of the code.
    status : str
        `ok`; `wrong`: an output is further from float64 than its bound; `failed`: it faulted, hung, or wasn't launched.
    reason : str
        Why not ok.
    errors : mapping of str to float
        The largest error over its bound, by output.
    times : Times or None
        Microseconds of the device.
    resources : mapping of str to int
        `registers`, `spills`, `shared`.
    clocks : mapping of str to int
        The GPU's clocks in MHz and its temperature right after the problem was timed, as far as known.
    """

    run: str
    functional: Mapping[str, Value] = field(hash=False)
    problem: Mapping[str, int] = field(hash=False)
    config: Mapping[str, Value] = field(hash=False)
    image: str
    status: Status
    reason: str = ""
    errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    times: Times | None = None
    resources: Mapping[str, int] = field(default_factory=dict, hash=False)
    clocks: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Damage:
    """A line that is no result: its number, what is wrong, and whether it is only the cut-off end of the file."""

    line: int
    problem: str
    cut_off: bool


@dataclass(frozen=True)
class Results:
    """All that a file holds."""

    runs: Mapping[str, Run]
    results: tuple[Result, ...]
    damage: tuple[Damage, ...]


def group_of(values: Mapping[str, Any]) -> str:
    """A mapping as a text that is equal for equal mappings."""
    return json.dumps(values, sort_keys=True)


def read_results(path: Path) -> Results:
    """The results of a file; lines that are none are listed.

    Raises
    ------
    ArgumentError
        It can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArgumentError(f"{path} can't be read: {error.strerror}") from error
    runs: dict[str, Run] = {}
    results, damage = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _parsed(json.loads(line), runs)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            damage.append(Damage(number, f"{type(error).__name__}: {error}", number == len(lines)))
            continue
        if isinstance(found, Run):
            runs[found.run] = found
        else:
            results.append(found)
    return Results(runs, tuple(results), tuple(damage))


def _parsed(row: Any, runs: Mapping[str, Run]) -> Run | Result:
    if not isinstance(row, dict) or row.get("kind") not in ("run", "result"):
        raise ValueError("it is neither a run nor a result")
    fields = {name: value for name, value in row.items() if name not in ("kind", "format")}
    if row["kind"] == "run":
        if row.get("format") != FORMAT:
            raise ValueError(f"its format is {row.get('format')!r}; this version reads format {FORMAT}")
        return _checked_run(Run(**fields))
    if fields["run"] not in runs:
        raise ValueError(f"its run {fields['run']!r} is not in the file before it")
    if fields["status"] not in get_args(Status):
        raise ValueError(f"its status is {fields['status']!r}")
    times = fields.pop("times", None)
    result = Result(**fields, times=None if times is None else Times(**times))
    if (result.status == "ok") != (result.times is not None) or (result.times and not result.times.median > 0):
        raise ValueError("a result that is ok has a time, and no other has one")
    for name in ("functional", "problem", "config", "errors"):
        if not isinstance(getattr(result, name), dict):
            raise TypeError(f"its {name} is no object")
    return result


def _checked_run(run: Run) -> Run:
    for name in ("run", "kernel", "gpu", "device"):
        if not isinstance(getattr(run, name), str):
            raise TypeError(f"its {name} is no text")
    if not isinstance(run.facts, dict):
        raise TypeError("its facts are no object")
    return run


@contextmanager
def locked(path: Path) -> Iterator[FileIO]:
    """The file, open to be appended to by this process alone; what is cut off at its end is ended by a newline.

    Raises
    ------
    BusyError
        Another process is writing to it.
    AotritonError
        It can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)  # what can't be written must not come later
    except OSError as error:
        raise AotritonError(f"{path} can't be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another process is writing to {path}", "wait, or give another file") from None
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                _write(file, b"\n")
        yield file


def append(file: FileIO, rows: Iterable[Run | Result]) -> None:
    """Write lines at once.

    Raises
    ------
    AotritonError
        The disk is full, or the like; the file ends where it did before.
    """
    _write(file, b"".join(json.dumps(_row(row)).encode() + b"\n" for row in rows))


def _row(row: Run | Result) -> dict[str, Any]:
    if isinstance(row, Run):
        return {"kind": "run", "format": FORMAT, **asdict(row)}
    return {"kind": "result", **asdict(row)}


def _write(file: FileIO, data: bytes) -> None:
    size = file.seek(0, os.SEEK_END)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError as error:
        os.ftruncate(file.fileno(), size)
        raise AotritonError(
            f"{file.name} can't be written: {error.strerror}", "make room and measure again; what was written is kept"
        ) from error
