"""The driver of a build: plan → estimate → compile → pack → index, into a folder of packs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import aotriton
from aotriton.compile import (
    MEMORY,
    TIMEOUT,
    BuildSet,
    Dropped,
    Environment,
    Failure,
    Outcome,
    Plan,
    Progress,
    Row,
    Task,
    compile_tasks,
    default_cache,
    default_workers,
    drop_unfit,
    estimate,
    load_set,
    make_report,
    plan,
    table_for,
)
from aotriton.compile import Report as CompileReport
from aotriton.compile.report import describe_failure
from aotriton.describe import Family, Functional, load_family
from aotriton.errors import CompileError, PackError
from aotriton.pack.clusters import write_kernel
from aotriton.pack.files import Staged, folder_lock, remove_leftovers
from aotriton.pack.gather import Job, contents_of, make_jobs
from aotriton.pack.index import Contents, compilers, index_of
from aotriton.pack.signature import SIGNATURE, build_date, file_sha256, make_signature, read_signature
from aotriton.targets import Target

__all__ = ["Report", "build"]

_BATCH = 4000  # code objects that are held in memory at once; small builds are one batch


@dataclass(frozen=True)
class Report:
    """What a build made.

    Attributes
    ----------
    compiled : compile.Report
        The table of kernels and targets, and all failures.
    full : mapping of (kernel's title, target's name) to int
        How many code objects a build of everything would have.
    written, unchanged : tuple of Path
        ZIPs that were written, and those that were already what they should be.
    dropped : tuple of Dropped
        Candidates of a tuning build that are unfit, and why.
    """

    compiled: CompileReport
    full: Mapping[tuple[str, str], int]
    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    dropped: tuple[Dropped, ...] = ()

    def fraction(self, kernel: str, target: str) -> float:
        """Which part of all code objects of a kernel on a target is there."""
        made = sum(row.objects for row in self.compiled.rows if (row.kernel, row.target) == (kernel, target))
        return made / self.full[kernel, target] if self.full.get((kernel, target)) else 0.0

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        full = [
            {"kernel": kernel, "target": target, "objects": count, "fraction": self.fraction(kernel, target)}
            for (kernel, target), count in self.full.items()
        ]
        files = {"written": [str(path) for path in self.written], "unchanged": [str(path) for path in self.unchanged]}
        return {**self.compiled.to_json(), "full": full, **files, "dropped": [asdict(one) for one in self.dropped]}


def build(
    families: Sequence[Family | str | Path],
    build_set: BuildSet | str | Path,
    targets: Sequence[Target] | None,
    out: Path,
    *,
    cache: Path | None = None,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    memory: int = MEMORY,
    allow_failures: bool = False,
    wait: float = 0.0,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Report:
    """Build packs into a folder.

    Each ZIP appears whole or not at all, and what is already as it should be is left alone. A build that was
    interrupted or killed is gone on with by calling this again.

    Parameters
    ----------
    families : sequence of Family, module name or Path
        Whose kernels.
    build_set : BuildSet, name or Path
        Which functionals and configs.
    targets : sequence of Target, optional
        Only these of the set's targets.
    out : Path
        The folder of packs; one build at a time may write into it.
    cache : Path, optional
        Where compiled code is kept.
    workers, timeout, memory
        As for `compile_tasks`.
    allow_failures : bool
        Go on without the code objects that the compiler fails for; the index says which are missing and why.
    wait : float
        Seconds to wait for another build that holds the folder.
    progress : Progress, optional
        Told of every code object.
    tell : callable
        Given the estimate before compiling, and other single lines for people.

    Returns
    -------
    Report
        What was made.

    Raises
    ------
    CompileError
        Code objects are missing; the message lists them. Kernels without holes were written nevertheless.
    BusyError
        Another build holds the folder.
    BuildError
        The set is wrong, the disk is full, or the like.
    """
    start = time.monotonic()
    loaded = [one if isinstance(one, Family) else load_family(one) for one in families]
    build_set = build_set if isinstance(build_set, BuildSet) else load_set(build_set)
    cache, workers = cache or default_cache(), workers or default_workers()
    planned = plan(loaded, build_set, targets)
    with folder_lock(out, wait, tell):
        for path in remove_leftovers(out):
            tell(f"removed {path}, which a build that was killed left behind")
        state = _State(planned, out, allow_failures)
        state.look()
        todo = tuple(task for job in state.changed for task in job.all_tasks)
        if todo:
            tell(estimate(replace(planned, tasks=todo), cache).describe(workers))
        watcher = _Joined(progress, len(todo))
        try:
            for batch in _batches(state.changed):
                tasks = [task for job in batch for task in job.all_tasks]
                options = {"cache": cache, "workers": workers, "timeout": timeout, "memory": memory}
                state.write(batch, compile_tasks(tasks, **options, progress=watcher))  # type: ignore[arg-type]
        finally:
            watcher.finish()
    report = state.report(time.monotonic() - start, workers)
    if report.compiled.failures and not allow_failures:
        raise _failed(report)
    return report


def _failed(report: Report) -> CompileError:
    failures = report.compiled.failures
    lines = "\n".join(f"  - {describe_failure(one)}" for one in failures)
    return CompileError(
        f"{len(failures)} code object(s) could not be compiled:\n{lines}",
        "allow failures to build packs without them, or leave them out of the build set",
    )


class _State:
    """A build on its way: what is planned, what the folder has, what was made."""

    def __init__(self, planned: Plan, out: Path, allow_failures: bool) -> None:
        self.plan, self.out, self.allow_failures = planned, out, allow_failures
        self.properties = {"build_set": planned.build_set.name, "project_version": aotriton.__version__}
        self.jobs = make_jobs(planned)
        self.kernels: dict[str, dict[str, Any]] = {}  # by pack: the signature's part of the same name
        self.changed: list[Job] = []
        self.identities: dict[Job, str] = {}
        self.written: list[Path] = []
        self.failures: list[Failure] = []
        self.rows: dict[Job, list[dict[str, Any]]] = {}
        self.dropped: dict[Job, list[dict[str, Any]]] = {}

    def file(self, job: Job) -> Path:
        return self.out / job.pack / job.path

    def look(self) -> None:
        """Find out which ZIPs are not yet what the plan asks for."""
        for job in self.jobs:
            if job.pack not in self.kernels:
                self.kernels[job.pack] = _known(self.out / job.pack)
            entry = self.kernels[job.pack].get(job.path, {})
            self.identities[job] = identity = _identity(self.plan, job, self.properties)
            same = entry.get("plan") == identity and entry.get("failed") == 0
            if same and file_sha256(self.file(job)) == entry["sha256"]:
                self.rows[job] = [{**row, "cached": row["objects"]} for row in entry["rows"]]
                self.dropped[job] = entry.get("dropped", [])
            else:
                self.changed.append(job)

    def write(self, batch: Sequence[Job], results: Mapping[Task, Outcome]) -> None:
        """Write the ZIPs of some packs, and their signatures after them."""
        results, dropped = self._fit(results)
        self.failures += [one for one in results.values() if isinstance(one, Failure)]
        for pack in dict.fromkeys(job.pack for job in batch):
            with Staged() as staged:
                for job in (job for job in batch if job.pack == pack):
                    self.dropped[job] = [asdict(dropped[task]) for task in job.all_tasks if task in dropped]
                    self._write_job(job, results, staged)
                if staged:
                    with staged.open(self.out / pack / SIGNATURE) as file:
                        file.write(self._signature(pack))
                    staged.commit()

    def _fit(self, results: Mapping[Task, Outcome]) -> tuple[Mapping[Task, Outcome], Mapping[Task, Dropped]]:
        """What is packed; only a tuning build drops anything."""
        if isinstance(self.plan.build_set.configs, str):
            return results, {}
        chosen = {which: table.configs for which, table in self.plan.tables.items()}
        return drop_unfit(results, chosen, self.plan.build_set.spill_limit)

    def _write_job(self, job: Job, results: Mapping[Task, Outcome], staged: Staged) -> None:
        outcomes = {task: results[task] for task in job.all_tasks if task in results}
        report = make_report(self.plan, outcomes, 0.0, 0)
        full = {row.target: _full_objects(job, row.target) for row in report.rows}
        self.rows[job] = [{**asdict(row), "full_objects": full[row.target]} for row in report.rows]
        if report.failures and not self.allow_failures:
            return
        contents = contents_of(job, self.plan, results)
        path = self.file(job)
        with staged.open(path) as file:
            write_kernel(file, contents, self.properties)
        temporary = staged.staged(path)
        self.kernels[job.pack][job.path] = {
            "sha256": file_sha256(temporary),
            "bytes": temporary.stat().st_size,
            "plan": self.identities[job],
            "build_set": self.plan.build_set.name,
            "date": build_date(),
            "failed": len(report.failures),
            "compiler": compilers(contents),
            "tables": _table_hashes(contents),
            "rows": self.rows[job],
            **({"dropped": self.dropped[job]} if self.dropped[job] else {}),
        }
        self.written.append(path)

    def _signature(self, pack: str) -> bytes:
        kernels = self.kernels[pack]
        compiled = any(entry.get("compiler", {}).get("triton") != "none" for entry in kernels.values())
        triton = Environment.current().triton_version if compiled else "none"
        return make_signature(pack, kernels, version=aotriton.__version__, triton_version=triton)

    def report(self, seconds: float, workers: int) -> Report:
        """What came of it."""
        rows, full = [], {}
        for job in self.jobs:
            for stored in self.rows.get(job, []):
                full[stored["kernel"], stored["target"]] = stored["full_objects"]
                rows.append(Row(**{name: value for name, value in stored.items() if name != "full_objects"}))
        rows.sort(key=lambda row: row.kernel)
        compiled = CompileReport(self.plan.build_set.name, tuple(rows), tuple(self.failures), seconds, workers)
        unchanged = tuple(self.file(job) for job in self.jobs if job not in self.changed)
        dropped = tuple(Dropped(**one) for job in self.jobs for one in self.dropped.get(job, []))
        return Report(compiled, full, tuple(self.written), unchanged, dropped)


class _Joined:
    """One progress over several calls of the compiler."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._begun = progress, total, False

    def start(self, total: int, workers: int) -> None:
        if self._progress and not self._begun:
            self._begun = True
            self._progress.start(self._total, workers)

    def advance(self, task: Task, outcome: Outcome) -> None:
        if self._progress:
            self._progress.advance(task, outcome)

    def note(self, text: str) -> None:
        if self._progress:
            self._progress.note(text)

    def stop(self) -> None:
        """Nothing yet: another call may follow."""

    def finish(self) -> None:
        if self._progress and self._begun:
            self._progress.stop()


def _batches(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Whole packs together, up to so many code objects."""
    batch: list[Job] = []
    for pack in dict.fromkeys(job.pack for job in jobs):
        mine = [job for job in jobs if job.pack == pack]
        if batch and sum(len(job.all_tasks) for job in (*batch, *mine)) > _BATCH:
            yield batch
            batch = []
        batch += mine
    if batch:
        yield batch


def _known(folder: Path) -> dict[str, Any]:
    """The kernels of a pack's signature that are still there; none where the signature is missing or damaged."""
    try:
        kernels: dict[str, Any] = read_signature(folder)["kernels"]
    except PackError:
        return {}
    return {path: entry for path, entry in kernels.items() if (folder / path).is_file()}


def _identity(planned: Plan, job: Job, properties: Mapping[str, str]) -> str:
    """A hash of all that decides the ZIP, but for whether a compile fails."""
    description = index_of(Contents(job.kernel, ()), properties)
    wanted = []
    for target, functionals in job.tasks.items():
        exclusions = [[one.reason, one.numbers] for one in job.exclusions[target]]
        wanted.append([target.name, exclusions, [_planned(planned, one, tasks) for one, tasks in functionals.items()]])
    return hashlib.sha256(json.dumps([description, wanted]).encode()).hexdigest()


def _planned(planned: Plan, functional: Functional, tasks: Sequence[Task]) -> list[Any]:
    table = planned.tables[functional, tasks[0].target.name]
    keys = [(task.stem, task.compiled_as.target.name, task.compiled_as.key) for task in tasks]
    limit = planned.build_set.spill_limit
    return [functional.number, table.keys, table.cells, table.source, keys, *([] if limit is None else [limit])]


def _full_objects(job: Job, target_name: str) -> int:
    """How many code objects the kernel has on a target when everything is built."""
    target = next(target for target in job.tasks if target.name == target_name)
    return sum(
        len({config.for_target(target) for config in table_for(job.kernel, one, target).configs})
        for one in job.kernel.functionals()
        if one.excluded(target) is None
    )


def _table_hashes(contents: Contents) -> dict[str, str]:
    """By target: a hash of all its look-up tables."""
    hashes = {}
    for part in contents.parts:
        rows = [[one.functional.number, one.keys, one.cells, one.source] for one in part.functionals]
        hashes[part.target.name] = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return hashes
