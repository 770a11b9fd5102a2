"""Compile tasks to code objects: what the cache has is taken from it, the rest goes to the workers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from aotriton.compile.cache import Cache, Entry, default_cache, explained
from aotriton.compile.host import host_object
from aotriton.compile.objects import CodeObject, Failure
from aotriton.compile.pool import Broken, Job, run_jobs
from aotriton.compile.resources import read_resources
from aotriton.compile.stamp import stamp
from aotriton.compile.task import Task
from aotriton.errors import CompileError

__all__ = ["MEMORY", "TIMEOUT", "Outcome", "Progress", "compile_tasks", "default_workers"]

Outcome: TypeAlias = CodeObject | Failure

TIMEOUT = 600.0
"""Seconds that one compile may take."""

MEMORY = 8 << 30
"""Bytes that a worker may take beyond what the compiler itself occupies."""


class Progress(Protocol):
    """Who watches a build; `aotriton.compile.progress` has those that print."""

    def start(self, total: int, workers: int) -> None:
        """So many code objects are to be made."""

    def advance(self, task: Task, outcome: Outcome) -> None:
        """One is made, or failed."""

    def note(self, text: str) -> None:
        """Something that people should know."""

    def stop(self) -> None:
        """All is done, or the build was interrupted."""


def default_workers() -> int:
    """One worker for each core that this process may use."""
    return len(os.sched_getaffinity(0))


def compile_tasks(
    tasks: Sequence[Task],
    *,
    cache: Path | None = None,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> dict[Task, Outcome]:
    """Compile tasks; a failure of one doesn't stop the others.

    What is done is in the cache at once: after an interrupt (`KeyboardInterrupt` passes through) or a kill, the same
    call goes on where it stopped.

    Parameters
    ----------
    tasks : sequence of Task
        What to compile. Equal binaries, of targets with identical code too, are compiled once.
    cache : Path, optional
        The cache's folder.
    workers : int, optional
        Processes at once; by default one for each core.
    timeout : float
        Seconds that one compile may take.
    memory : int
        Bytes that a worker may take beyond what the compiler itself occupies.
    progress : Progress, optional
        Told of every outcome.

    Returns
    -------
    dict
        An outcome for each task, in the tasks' order.

    Raises
    ------
    BuildError
        The cache can't be written.
    """
    watcher = progress or _Silent()
    workers = workers or default_workers()
    store = Cache(cache or default_cache())
    results: dict[Task, Outcome] = {}

    def settle(group: Iterable[Task], outcomes: Iterable[Outcome]) -> None:
        for task, outcome in zip(group, outcomes, strict=True):
            results[task] = outcome
            watcher.advance(task, outcome)

    watcher.start(len(dict.fromkeys(tasks)), workers)
    try:
        due: dict[str, list[Task]] = {}
        for task in dict.fromkeys(tasks):
            if task.target.vendor == "host":
                settle([task], [host_object(task)])
            else:
                due.setdefault(task.compiled_as.key, []).append(task)
        missing = []
        for key, group in due.items():
            entry = store.get(key)
            if entry is None:
                missing.append(key)
            else:
                settle(group, _finish(group, entry, store, cached=True))
        for path in store.damaged:
            watcher.note(f"the cache entry {path} was damaged; it is compiled again")
        _compile(missing, due, store, workers, timeout, memory, settle)
    finally:
        watcher.stop()
    return {task: results[task] for task in tasks}


def _compile(
    missing: Sequence[str],
    due: Mapping[str, Sequence[Task]],
    store: Cache,
    workers: int,
    timeout: float,
    memory: int,
    settle: _Settle,
) -> None:
    if not missing:
        return
    # The last numbers are the largest kernels: begun first, none of them is left over for one worker at the end.
    jobs = [_job(due[key][0].compiled_as, store) for key in reversed(missing)]
    with store.work() as work:
        outcomes = run_jobs(jobs, workers=workers, timeout=timeout, memory=memory, work=work)
        for job, outcome in _stepwise(outcomes, store.root):
            group = due[job.key]
            if isinstance(outcome, Broken):
                store.add_to_log(job.key, _last_words(job, outcome))
                settle(group, [Failure(task, outcome.status, outcome.reason, job.log) for task in group])
            else:
                store.put(job.key, outcome, {name: value for name, value in job.spec.items() if name != "folder"})
                settle(group, _finish(group, outcome, store, cached=False))


class _Settle(Protocol):
    def __call__(self, group: Iterable[Task], outcomes: Iterable[Outcome]) -> None: ...


def _stepwise(
    outcomes: Generator[tuple[Job, Entry | Broken], None, None], folder: Path
) -> Iterator[tuple[Job, Entry | Broken]]:
    """The outcomes one by one, with the system's errors in words, and the workers stopped whatever happens."""
    with contextlib.closing(outcomes):
        while True:
            with explained(folder):
                step = next(outcomes, None)
            if step is None:
                return
            yield step


def _last_words(job: Job, outcome: Broken) -> str:
    """What a log ends with, be it all that there is: how it failed, and what was to be compiled."""
    return f"\n{outcome.status}: {outcome.reason}\n{json.dumps(job.spec, indent=1)}\n"


def _job(task: Task, store: Cache) -> Job:
    sources = task.sources
    folder = store.add_sources(sources.package, dict(sources.files))
    spec = {**task.spec, "folder": str(folder)}
    return Job(task.key, spec, task.environment, task.line_information, store.log(task.key))


def _finish(group: Sequence[Task], entry: Entry, store: Cache, *, cached: bool) -> list[Outcome]:
    """The code objects that a binary gives, stamped where it was compiled for another target."""
    outcomes: list[Outcome] = []
    for task in group:
        asked = task.compiled_as.target.name
        # The time is counted once, for the first task that the compile served.
        seconds = 0.0 if outcomes else entry.seconds
        try:
            image = entry.image if asked == task.target.name else stamp(entry.image, asked, task.target.name)
            resources = read_resources(image, entry.metadata, task.target, seconds)
        except CompileError as error:
            store.add_to_log(task.compiled_as.key, f"{error}\n")
            outcomes.append(Failure(task, "Exception", error.message, store.log(task.compiled_as.key)))
            continue
        outcomes.append(
            CodeObject(
                image=image,
                target=task.target.name,
                functional=task.functional,
                config=task.config,
                compiler=task.environment.compiler(task.target, task.line_information),
                sha256=hashlib.sha256(image).hexdigest(),
                resources=resources,
                compiled_for=None if asked == task.target.name else asked,
                cached=cached,
            )
        )
    return outcomes


class _Silent:
    def start(self, total: int, workers: int) -> None:
        pass

    def advance(self, task: Task, outcome: Outcome) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def stop(self) -> None:
        pass
