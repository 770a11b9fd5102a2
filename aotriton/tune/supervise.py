"""The processes that measure functionals, watched: what one of them dies of is blamed on a config or a problem."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from aotriton import errors
from aotriton.errors import AotritonError, DeviceError
from aotriton.tune.packs import Candidate, Offer
from aotriton.tune.results import Result
from aotriton.tune.timing import Times

__all__ = ["Group", "Supervised"]

# Seconds that a process may take to its first answer: it opens the driver, the library and the pack.
_START = 120.0
# The program that measures one functional.
COMMAND = [sys.executable, "-m", "aotriton.tune.child"]

Group: TypeAlias = tuple[Mapping[str, int], list[Result]]
"""A problem with the results of all configs of a functional."""


class Supervised:
    """The processes that measure one functional, each begun where the last one died."""

    def __init__(
        self,
        told: Mapping[str, Any],
        offer: Offer,
        problems: Sequence[Mapping[str, int]],
        run: str,
        note: Callable[[str], None],
    ) -> None:
        self.told, self.offer, self.run, self.note = told, offer, run, note
        self.problems = [dict(problem) for problem in problems]
        self.bad: dict[int, tuple[str, str]] = {}  # by position: wrong or failed, and why
        self.errors: dict[int, dict[str, float]] = {}
        self.at: Mapping[str, Any] = {}

    def groups(self) -> Iterator[Group]:
        """Each problem with the results of all configs, as it is done."""
        while self.problems:
            ended = yield from self._one_process()
            if ended is not None:
                yield from self._blame(ended)
            if all(one.position in self.bad for one in self.offer.candidates):
                for problem in self.problems:
                    yield problem, self._results(problem, {}, {})
                return

    def _blame(self, ended: str) -> Iterator[Group]:
        """Sort out what a process died of: a config, else a problem, else all is at an end."""
        position, problem = self.at.get("position"), self.at.get("problem")
        if position is None:
            if problem is None:
                what = f"measuring {self.offer.functional.signature}"
                raise DeviceError(f"{what} came to no launch: its process {ended}")
            self.note(f"{problem} of {self.offer.functional.signature}: {ended}")
            self.problems.remove(problem)
            reason = f"the process that timed this problem {ended}"
            yield problem, self._results(problem, {}, {one.position: reason for one in self.offer.candidates})
            return
        self.bad[position] = ("failed", f"the launch {ended}")
        config = next(one.config for one in self.offer.candidates if one.position == position)
        self.note(f"failed: {config} of {self.offer.functional.signature}: {ended}")

    def _one_process(self) -> Generator[Group, None, str | None]:
        """Run a process to its end; what it died of, or nothing."""
        self.at = {}
        positions = [one.position for one in self.offer.candidates if one.position not in self.bad]
        mine = {"number": self.offer.functional.number, "positions": positions, "problems": self.problems}
        with _Child({**self.told, **mine}, self.told["patience"]) as child:
            for answer in child.answers():
                match answer["event"]:
                    case "at":
                        self.at = answer
                    case "checked":
                        self._checked(answer["position"], answer["errors"])
                    case "timed":
                        self.problems.remove(answer["problem"])
                        yield answer["problem"], self._timed(answer)
                    case "error" if self.at and answer["kind"] == "DeviceError":
                        return f"failed: {answer['message']}"
                    case "error":
                        raise getattr(errors, answer["kind"], AotritonError)(answer["message"], answer["hint"])
                    case "done":
                        return None
            return child.death()

    def _checked(self, position: int, found: Mapping[str, float]) -> None:
        self.errors[position] = dict(found)
        wrong = [f"{name} is off by {error:.3g} times its bound" for name, error in found.items() if not error <= 1]
        if not found:
            wrong = ["its workload checked no output"]
        if wrong:
            self.bad[position] = ("wrong", "; ".join(wrong))
            config = next(one.config for one in self.offer.candidates if one.position == position)
            self.note(f"WRONG: {config} of {self.offer.functional.signature}: {'; '.join(wrong)}")

    def _timed(self, answer: Mapping[str, Any]) -> list[Result]:
        times = {int(position): Times(**found) for position, found in answer["times"].items()}
        failed = {int(position): why for position, why in answer["failed"].items()}
        return [replace(one, clocks=answer["clocks"]) for one in self._results(answer["problem"], times, failed)]

    def _results(
        self, problem: Mapping[str, int], times: Mapping[int, Times], failed: Mapping[int, str]
    ) -> list[Result]:
        return [self._result(one, problem, times, failed) for one in self.offer.candidates]

    def _result(
        self, one: Candidate, problem: Mapping[str, int], times: Mapping[int, Times], failed: Mapping[int, str]
    ) -> Result:
        status, reason = self.bad.get(one.position, ("ok", ""))
        if status == "ok" and one.position not in times:
            status, reason = "failed", failed.get(one.position, "it was not timed")
        return Result(
            run=self.run,
            functional=dict(self.offer.functional.values),
            problem=dict(problem),
            config=dict(one.config),
            image=one.image,
            status=status,  # type: ignore[arg-type]  # one of three texts
            reason=reason,
            errors=self.errors.get(one.position, {}),
            times=times.get(one.position) if status == "ok" else None,
            resources={"registers": one.registers, "spills": one.spills, "shared": one.shared},
        )


class _Child:
    """A process that measures: its answers, and what became of it."""

    def __init__(self, told: Mapping[str, Any], patience: float) -> None:
        self._patience, self._hung = patience, False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed in __exit__
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C reaches the parent only, which ends it
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(told).encode())
            self._process.stdin.close()

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def answers(self) -> Iterator[dict[str, Any]]:
        """What it says, until it ends or says nothing for too long."""
        assert self._process.stdout is not None
        descriptor, rest = self._process.stdout.fileno(), b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            deadline = time.monotonic() + max(self._patience, _START)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self._hung = True
                    return
                data = os.read(descriptor, 1 << 16)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                deadline = time.monotonic() + self._patience
                for line in lines:
                    yield json.loads(line)

    def death(self) -> str:
        """What it died of."""
        if self._hung:
            return f"took longer than {self._patience:g} s"
        code = self._process.wait()
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
        how = f"ended the process with {signal.Signals(-code).name}" if code < 0 else f"ended it with status {code}"
        return f"{how}: {last[0]}" if last else how
