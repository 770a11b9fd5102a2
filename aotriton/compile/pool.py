"""Compile workers: processes that live long, one task each at a time; what goes wrong costs one task and one worker."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from aotriton.compile.cache import Entry
from aotriton.compile.environment import Environment
from aotriton.compile.objects import Status
from aotriton.errors import BuildError

__all__ = ["Broken", "Job", "run_jobs"]

# A worker that holds more than this after a task is replaced: compilers leak.
_RECYCLE_ABOVE = 2 << 30
# The program that a worker runs.
WORKER = Path(__file__).with_name("worker.py")
# How long a worker may take to import Triton before its first task; not part of the task's own limit.
_START = 120.0
# A compiler's temporary files take less than this.
_ROOM = 16 << 20


@dataclass(frozen=True)
class Job:
    """One compile as plain data: what a worker is told, and where its log goes."""

    key: str
    spec: Mapping[str, Any] = field(hash=False)
    environment: Environment
    line_information: bool
    log: Path

    @property
    def setting(self) -> tuple[Environment, bool]:
        """What a worker must have been started with to take this job."""
        return (self.environment, self.line_information)


@dataclass(frozen=True)
class Broken:
    """A job that gave no binary: how it failed, and why in words."""

    status: Status
    reason: str


def run_jobs(
    jobs: Iterable[Job], *, workers: int, timeout: float, memory: int, work: Path
) -> Generator[tuple[Job, Entry | Broken], None, None]:
    """Compile all jobs, and give each with its outcome as it is done.

    Parameters
    ----------
    jobs : iterable of Job
        What to compile.
    workers : int
        How many processes at once.
    timeout : float
        Seconds that one job may take.
    memory : int
        Bytes that a worker may take beyond what the compiler itself occupies.
    work : Path
        A folder for temporary files.

    Raises
    ------
    BuildError
        A compiler failed where there is no room for its files.
    """
    waiting = deque(jobs)
    running: list[_Worker] = []
    try:
        while waiting or any(worker.job for worker in running):
            _start(waiting, running, workers, lambda job: _Worker(job, work, timeout, memory))
            for worker in _ready(running):
                job, outcome = worker.outcome()
                if isinstance(outcome, Broken):
                    _check_room(work, outcome)
                if not worker.usable:
                    running.remove(worker)
                    worker.stop()
                yield job, outcome
    finally:
        for worker in running:
            worker.stop()


def _check_room(work: Path, broken: Broken) -> None:
    """A compiler without room fails in many ways, of SIGBUS among them, and none is the code object's fault."""
    disk = os.statvfs(work)
    free = disk.f_bavail * disk.f_frsize
    if broken.status in ("ExitWithError", "Exception") and free < _ROOM:
        raise BuildError(
            f"no space left on device: a compiler failed where {work} has {free >> 10} KiB left ({broken.reason})",
            "make room, or choose another folder with --cache; what was compiled so far is kept",
        )


def _start(waiting: deque[Job], running: list[_Worker], workers: int, make: Callable[[Job], _Worker]) -> None:
    """Give each idle worker a job, and start workers while there are fewer than there may be."""
    while waiting:
        idle = [worker for worker in running if worker.job is None]
        fitting = next((worker for worker in idle if worker.setting == waiting[0].setting), None)
        if fitting is None and len(running) >= workers:
            if not idle:
                return
            running.remove(idle[0])
            idle[0].stop()
        if fitting is None:
            fitting = make(waiting[0])
            running.append(fitting)
        fitting.give(waiting.popleft())


def _ready(running: list[_Worker]) -> list[_Worker]:
    """Wait until a worker answers, dies, or is past its deadline."""
    busy = [worker for worker in running if worker.job is not None]
    rest = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
    events = set(wait([thing for worker in busy for thing in (worker.incoming, worker.death)], rest))
    for worker in busy:
        if worker.incoming in events and worker.greets():
            events.remove(worker.incoming)
    now = time.monotonic()
    return [w for w in busy if w.incoming in events or w.death in events or now >= w.deadline]


class _Worker:
    """One process: its pipes, and the job that it has."""

    def __init__(self, first: Job, work: Path, timeout: float, memory: int) -> None:
        self.setting = first.setting
        self.usable = True
        self.job: Job | None = None
        self.deadline = time.monotonic() + _START
        self._timeout = timeout
        self._greeted = False
        self._folder = work / f"worker-{time.monotonic_ns()}"
        self._folder.mkdir()
        variables = {
            **first.environment.variables(first.line_information),
            "TRITON_CACHE_DIR": str(self._folder / "triton"),
            "TRITON_HOME": str(self._folder),
            "TMPDIR": str(self._folder),
        }
        task_read, task_write = os.pipe()
        answer_read, answer_write = os.pipe()
        with (self._folder / "start.log").open("wb") as log:
            self._process = subprocess.Popen(
                [first.environment.python, "-P", WORKER, str(task_read), str(answer_write), str(memory)],
                pass_fds=(task_read, answer_write),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that the assembler dies with it, and Ctrl-C reaches the parent only
            )
        os.close(task_read)
        os.close(answer_write)
        self._outgoing = Connection(task_write, readable=False)
        self.incoming = Connection(answer_read, writable=False)
        self.death = os.pidfd_open(self._process.pid)

    def give(self, job: Job) -> None:
        """Send a job."""
        self.job = job
        if self._greeted:
            self.deadline = time.monotonic() + self._timeout
        # A worker that died meanwhile is noticed by its pidfd.
        with contextlib.suppress(BrokenPipeError):
            self._outgoing.send_bytes(json.dumps({**job.spec, "log": str(job.log)}).encode())

    def greets(self) -> bool:
        """Take the first message of a process, which says that Triton is imported; a job's time starts then."""
        if self._greeted:
            return False
        with contextlib.suppress(EOFError, ConnectionResetError):
            self.incoming.recv_bytes()
            self._greeted = True
            self.deadline = time.monotonic() + self._timeout
        return self._greeted

    def outcome(self) -> tuple[Job, Entry | Broken]:
        """The answer to its job, or what became of the process."""
        job, self.job = self.job, None
        assert job is not None
        if self.incoming.poll():
            # A worker that dies while it answers: the end of the pipe says so.
            with contextlib.suppress(EOFError, ConnectionResetError):
                return job, self._answer(job)
        elif not wait([self.death], 0):
            self.usable = False
            return job, Broken("Timeout", f"the compiler took longer than {self._timeout:g} s")
        self.usable = False
        self._kill()
        code = self._process.wait()
        if not job.log.exists():
            shutil.copyfile(self._folder / "start.log", job.log)
        return job, _death(code, job.log)

    def _answer(self, job: Job) -> Entry | Broken:
        answer = json.loads(self.incoming.recv_bytes())
        self.usable = answer["resident"] < _RECYCLE_ABOVE
        if answer["status"] != "Complete":
            return Broken(answer["status"], answer["reason"])
        image = self.incoming.recv_bytes()
        job.log.unlink(missing_ok=True)
        return Entry(image, answer["metadata"], answer["seconds"])

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the process with all that it started, and remove its temporary files."""
        self._kill()
        self._process.wait()
        os.close(self.death)
        self._outgoing.close()
        self.incoming.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _death(code: int, log: Path) -> Broken:
    text = log.read_text(errors="replace")[-4000:].lower() if log.exists() else ""
    if any(sign in text for sign in ("out of memory", "bad_alloc", "memoryerror", "cannot allocate memory")):
        return Broken("Memory", "the compiler took more memory than it may, and died")
    if code == -signal.SIGKILL:
        return Broken("Memory", "the compiler was killed by SIGKILL, which the system does when memory runs out")
    if code < 0:
        return Broken("ExitWithError", f"the compiler died of {signal.Signals(-code).name}")
    return Broken("ExitWithError", f"the compiler's process ended with status {code}")
