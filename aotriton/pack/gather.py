"""From a plan and what was compiled to the contents of each ZIP, holes closed or named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aotriton.compile.objects import CodeObject, Failure
from aotriton.describe import Functional, Kernel
from aotriton.pack.index import Contents, Exclusion, Packed, Part
from aotriton.targets import Target

if TYPE_CHECKING:
    from aotriton.compile.planning import Plan
    from aotriton.compile.tables import LookupTable
    from aotriton.compile.task import Task

__all__ = ["Job", "contents_of", "make_jobs", "order_targets", "pack_functional"]


@dataclass(frozen=True, eq=False)
class Job:
    """One ZIP that a build makes: a kernel in a pack.

    Attributes
    ----------
    pack : str
        The pack's name.
    kernel : Kernel
        The kernel.
    tasks : mapping of Target to mapping of Functional to tasks
        What is compiled for it. Targets stand in the order of images; each config is there once, those of the
        look-up table first.
    exclusions : mapping of Target to tuple of Exclusion
        What the description excludes.
    """

    pack: str
    kernel: Kernel
    tasks: Mapping[Target, Mapping[Functional, tuple[Task, ...]]]
    exclusions: Mapping[Target, tuple[Exclusion, ...]]

    @property
    def path(self) -> str:
        """Where the ZIP lies below the pack."""
        return f"{self.kernel.family}/{self.kernel.name}.zip"

    @property
    def all_tasks(self) -> tuple[Task, ...]:
        """Every task of it."""
        return tuple(task for rows in self.tasks.values() for tasks in rows.values() for task in tasks)


def make_jobs(plan: Plan) -> list[Job]:
    """The ZIPs that a plan makes, pack by pack; a target for which nothing of a kernel is planned is left out."""
    grouped: dict[Kernel, dict[Target, dict[Functional, dict[Task, None]]]] = {}
    for task in plan.tasks:
        functionals = grouped.setdefault(task.kernel, {}).setdefault(task.target, {})
        functionals.setdefault(task.functional, {})[task] = None
    reasons: dict[tuple[Kernel, str], dict[str, list[int]]] = {}
    for one in plan.exclusions:
        described = reasons.setdefault((one.functional.kernel, one.target.name), {})
        described.setdefault(one.reason, []).append(one.functional.number)
    jobs = []
    for pack in dict.fromkeys(target.pack for target in plan.targets):
        for kernel, by_target in grouped.items():
            targets = order_targets((t for t in by_target if t.pack == pack), plan.build_set.image_order)
            tasks = {t: {one: tuple(found) for one, found in by_target[t].items()} for t in targets}
            exclusions = {t: _described(reasons.get((kernel, t.name), {})) for t in targets}
            if targets:
                jobs.append(Job(pack, kernel, tasks, exclusions))
    return jobs


def _described(reasons: Mapping[str, Sequence[int]]) -> tuple[Exclusion, ...]:
    return tuple(Exclusion(reason, "described", tuple(numbers)) for reason, numbers in reasons.items())


def order_targets(targets: Iterable[Target], image_order: Sequence[str] = ()) -> tuple[Target, ...]:
    """The order of images in a cluster: as a build set gives it by names, families or vendors, else by number."""

    def place(target: Target) -> tuple[int, int]:
        words = (target.name, target.family, target.vendor)
        places = [image_order.index(word) for word in words if word in image_order]
        return (min(places, default=len(image_order)), target.number)

    return tuple(sorted(targets, key=place))


def contents_of(job: Job, plan: Plan, results: Mapping[Task, CodeObject | Failure]) -> Contents:
    """What the ZIP of a job holds, given what came of each of its tasks.

    A functional of which some configs failed goes on with the others; one of which all failed becomes an exclusion.
    Tasks that have no result were dropped on purpose.
    """
    parts = []
    for target, functionals in job.tasks.items():
        packed, failed = [], dict[str, list[int]]()
        for functional, tasks in functionals.items():
            there = [task for task in tasks if task in results]
            found = pack_functional(functional, plan.tables[functional, target.name], there, results)
            if isinstance(found, str):
                failed.setdefault(found, []).append(functional.number)
            else:
                packed.append(found)
        failures = [Exclusion(reason, "failed", tuple(numbers)) for reason, numbers in failed.items()]
        parts.append(Part(target, tuple(packed), (*job.exclusions[target], *failures)))
    return Contents(job.kernel, tuple(parts))


def pack_functional(
    functional: Functional, table: LookupTable, tasks: Sequence[Task], results: Mapping[Task, CodeObject | Failure]
) -> Packed | str:
    """A functional with the code objects that there are; where there are none, why.

    A cell whose config failed takes the config of the nearest cell, and the table's source says so.
    """
    outcomes = [results[task] for task in tasks]
    objects = [one for one in outcomes if isinstance(one, CodeObject)]
    if not objects:
        return "; ".join(dict.fromkeys(f"{one.status}: {one.reason}" for one in outcomes if isinstance(one, Failure)))
    numbers = {one.config: number for number, one in enumerate(objects)}
    target = tasks[0].target
    wanted = [numbers.get(table.configs[cell].for_target(target)) for cell in table.cells]
    cells = [_nearest(wanted, place) for place in range(len(wanted))]
    lost = len(tasks) - len(objects)
    note = f"; {lost} config(s) of it failed to compile, their neighbours serve" if lost and None in wanted else ""
    return Packed(functional, table.keys, tuple(cells), table.source + note, tuple(objects))


def _nearest(cells: Sequence[int | None], place: int) -> int:
    there = [(abs(other - place), cell) for other, cell in enumerate(cells) if cell is not None]
    return min(there)[1] if there else 0
