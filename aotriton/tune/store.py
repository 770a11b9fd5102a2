"""Winners: which config of what was measured goes into the database, for each functional and problem."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aotriton.describe import Functional, Kernel
from aotriton.errors import ArgumentError
from aotriton.tune.child import find_kernel
from aotriton.tune.database import RUNS, connect, create, rows_of, save, upsert
from aotriton.tune.results import Result, Results, Run, group_of, read_results
from aotriton.tune.schema import Schema, schema_of

__all__ = ["Stored", "Winner", "choose", "store"]


@dataclass(frozen=True)
class Winner:
    """The config that serves one problem of one functional on one GPU.

    Attributes
    ----------
    run : Run
        By which it was measured.
    functional : Functional
        The functional.
    result : Result
        The winner's.
    fastest : Result
        The fastest's, which isn't the winner where another is as fast.
    slowest : float
        Microseconds of the slowest config that is right.
    """

    run: Run
    functional: Functional
    result: Result
    fastest: Result
    slowest: float


@dataclass(frozen=True)
class Stored:
    """What was written: all winners, how many rows are new, and how many changed their config."""

    winners: tuple[Winner, ...]
    new: int
    changed: int

    def lines(self) -> Sequence[tuple[str, ...]]:
        """For people: functional, problem, config, microseconds, the slowest config over the winner."""
        found: list[tuple[str, ...]] = []
        for one in self.winners:
            median = one.result.times.median if one.result.times else 0.0
            config = ";".join(f"{name}={value}" for name, value in one.result.config.items())
            problem = ", ".join(map(str, one.result.problem.values()))
            found.append((one.functional.signature, problem, config, f"{median:.1f}", f"{one.slowest / median:.2f}"))
        return found


def choose(
    groups: Mapping[str, Sequence[Result]], chosen_before: Sequence[Mapping[str, Any]], tie: float
) -> dict[str, Result]:
    """The winner of each problem of one functional: of those as fast as the fastest, one that serves most problems.

    Parameters
    ----------
    groups : mapping of str to sequence of Result
        By problem: the results that are right. Problems without any are left out.
    chosen_before : sequence of configs
        What the functional has already for other problems.
    tie : float
        Medians within this part of the fastest are as fast.
    """
    fast: dict[str, dict[str, Result]] = {}
    for problem, results in groups.items():
        timed = [(one.times.median, one) for one in results if one.times is not None]
        limit = min((median for median, _ in timed), default=0.0) * (1 + tie)
        fast[problem] = {group_of(one.config): one for median, one in timed if median <= limit}
    fast = {problem: found for problem, found in fast.items() if found}
    winners: dict[str, Result] = {}
    known = {group_of(config) for config in chosen_before}
    while len(winners) < len(fast):
        rest = {problem: found for problem, found in fast.items() if problem not in winners}
        config = min({one for found in rest.values() for one in found}, key=lambda one: _worth(one, rest, known))
        winners |= {problem: found[config] for problem, found in rest.items() if config in found}
        known.add(config)
    return winners


def _worth(config: str, rest: Mapping[str, Mapping[str, Result]], known: set[str]) -> tuple[int, bool, float, str]:
    """Least for the config that serves most problems; then one that is known, then the faster one."""
    served = [problem for problem, found in rest.items() if config in found]
    slower = 0.0
    for problem in served:
        medians = {name: one.times.median for name, one in rest[problem].items() if one.times}
        slower += medians[config] / min(medians.values())
    return -len(served), config not in known, slower / len(served), config


def store(
    files: Sequence[Path],
    database: Path,
    family: str,
    tie: float,
    skip_damaged: bool,
    note: Callable[[str], None],
) -> Stored:
    """Write the winners of files of results into a database.

    Raises
    ------
    ArgumentError
        `tie` is outside of 0 to 1; a file can't be read, has damaged lines, or results of functionals or configs that
        the description doesn't have.
    BuildError
        The database is none, is of another schema, or can't be written. It is then what it was.
    """
    if not 0 <= tie <= 1:
        raise ArgumentError(f"the tie is {tie}; it is a part of the fastest median, from 0 to 1", "such as --tie 0.02")
    winners: list[Winner] = []
    memory = connect(database)
    new = changed = 0
    titles: dict[str, list[Results]] = {}
    for path in files:
        found = _read(path, skip_damaged, note)
        for title in dict.fromkeys(run.kernel for run in found.runs.values()):
            titles.setdefault(title, []).append(found)
    for title, held in titles.items():
        kernel = find_kernel(family, title)
        schema = schema_of(kernel)
        create(memory, schema)
        before = {_identity(schema, row): row for row in rows_of(memory, schema)}
        mine = _winners(kernel, schema, held, list(before.values()), tie, note)
        rows = [_row(schema, one) for one in mine]
        new += sum(_identity(schema, row) not in before for row in rows)
        changed += sum(_changed(schema, before.get(_identity(schema, row)), row) for row in rows)
        upsert(memory, schema.table, schema.unique, rows)
        upsert(memory, RUNS, ("run",), [_run_row(run) for run in dict.fromkeys(one.run for one in mine)])
        winners += mine
    if not winners:
        raise ArgumentError(f"no config in {', '.join(map(str, files))} is right and timed: nothing is written")
    save(memory, database)
    return Stored(tuple(winners), new, changed)


def _read(path: Path, skip_damaged: bool, note: Callable[[str], None]) -> Results:
    found = read_results(path)
    bad = [one for one in found.damage if not one.cut_off]
    if bad and not skip_damaged:
        lines = "\n".join(f"  - line {one.line}: {one.problem}" for one in bad[:10])
        raise ArgumentError(
            f"{path} has {len(bad)} damaged line(s):\n{lines}", "measure again, or leave them out: --skip-damaged"
        )
    for one in found.damage:
        note(f"{path}: line {one.line} is left out: {'it is cut off' if one.cut_off else one.problem}")
    return found


def _winners(
    kernel: Kernel,
    schema: Schema,
    held: Sequence[Results],
    before: Sequence[Mapping[str, Any]],
    tie: float,
    note: Callable[[str], None],
) -> list[Winner]:
    groups: dict[tuple[str, int], dict[str, dict[str, list[Result]]]] = {}
    runs: dict[str, Run] = {}
    for results in held:
        runs |= {name: run for name, run in results.runs.items() if run.kernel == kernel.title}
        for one in (one for one in results.results if one.run in runs):
            functional = _functional(kernel, one)
            by_problem = groups.setdefault((runs[one.run].gpu, functional.number), {})
            by_problem.setdefault(group_of(one.problem), {}).setdefault(one.run, []).append(one)
    winners = []
    for (gpu, number), by_problem in groups.items():
        functional = kernel.functional(number)
        try:
            schema.inputs(functional, dict.fromkeys(schema.keys, 1))
        except ArgumentError as error:
            note(f"left out: {error.message}")
            continue
        # What other runs measured of a problem is not comparable with its last run: clocks differ.
        last = {problem: list(by_run.values())[-1] for problem, by_run in by_problem.items()}
        right = {problem: [one for one in found if _right(one)] for problem, found in last.items()}
        for problem in (problem for problem, found in right.items() if not found):
            note(f"no config is right and timed: {functional.signature}, {problem}")
        chosen = choose(right, _others(schema, before, gpu, functional, set(last)), tie)
        winners += [_winner(runs[one.run], functional, one, right[problem]) for problem, one in chosen.items()]
    return winners


def _functional(kernel: Kernel, one: Result) -> Functional:
    functional = kernel.functional(kernel.number_of(one.functional))
    kernel.config(one.config)
    if set(one.problem) != {key.argument for key in kernel.keys}:
        raise ArgumentError(f"a result of {kernel.title} has the problem {dict(one.problem)}: those are not its keys")
    return functional


def _right(one: Result) -> bool:
    checked = bool(one.errors) and all(error <= 1 for error in one.errors.values())
    return one.status == "ok" and one.times is not None and checked


def _winner(run: Run, functional: Functional, result: Result, group: Sequence[Result]) -> Winner:
    timed = sorted((one for one in group if one.times), key=lambda one: one.times.median if one.times else 0.0)
    return Winner(run, functional, result, timed[0], timed[-1].times.median if timed[-1].times else 0.0)


def _others(
    schema: Schema, before: Sequence[Mapping[str, Any]], gpu: str, functional: Functional, measured: set[str]
) -> list[dict[str, Any]]:
    """The configs that the database has for other problems of a functional, as full configs."""
    found = []
    for row in before:
        problem = {key: row[f"inputs${key}"] for key in schema.keys}
        if row["gpu"] == gpu and group_of(problem) not in measured:
            inputs = schema.inputs(functional, problem)
            if all(row.get(name) == value for name, value in inputs.items()):
                found.append(schema.config(row))
    return found


def _row(schema: Schema, one: Winner) -> dict[str, Any]:
    inputs = schema.inputs(one.functional, one.result.problem)
    median = one.result.times.median if one.result.times else None
    measured = {"measured$microseconds": median and round(median, 2), "measured$run": one.run.run}
    tuned = {name: None for name in schema.columns if name.startswith(("tuned_kernel$", "compiler_options$"))}
    return {"gpu": one.run.gpu, **inputs, **tuned, **schema.tuned(one.result.config), **measured}


def _run_row(run: Run) -> dict[str, Any]:
    return {**asdict(run), "facts": json.dumps(dict(run.facts), sort_keys=True)}


def _identity(schema: Schema, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in schema.unique)


def _changed(schema: Schema, before: Mapping[str, Any] | None, row: Mapping[str, Any]) -> bool:
    names = [name for name in schema.columns if name.startswith(("tuned_kernel$", "compiler_options$"))]
    return before is not None and any(before.get(name) != row[name] for name in names)
