"""From a plan and what was compiled to the contents of each ZIP, holes closed or named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from aotriton.compile.objects import CodeObject, Failure
from aotriton.describe import Functional, Kernel
from aotriton.pack.index import Contents, Exclusion, Packed, Part
from aotriton.targets import Target

if TYPE_CHECKING:
    from aotriton.compile.planning import Plan
    from aotriton.compile.tables import LookupTable
    from aotriton.compile.task import Task

__all__ = ["contents_of", "group_tasks", "order_targets", "pack_functional"]


def order_targets(targets: Iterable[Target], image_order: Sequence[str] = ()) -> tuple[Target, ...]:
    """The order of images in a cluster: as a build set gives it by names, families or vendors, else by number."""

    def place(target: Target) -> tuple[int, int]:
        words = (target.name, target.family, target.vendor)
        places = [image_order.index(word) for word in words if word in image_order]
        return (min(places, default=len(image_order)), target.number)

    return tuple(sorted(targets, key=place))


def group_tasks(plan: Plan) -> dict[Kernel, dict[Target, dict[Functional, tuple[Task, ...]]]]:
    """The tasks of a plan by kernel, target and functional; each config once, those of the table first."""
    grouped: dict[Kernel, dict[Target, dict[Functional, dict[Task, None]]]] = {
        kernel: {target: {} for target in plan.targets} for kernel in plan.kernels
    }
    for task in plan.tasks:
        grouped[task.kernel][task.target].setdefault(task.functional, {})[task] = None
    return {
        kernel: {target: {one: tuple(found) for one, found in rows.items()} for target, rows in by_target.items()}
        for kernel, by_target in grouped.items()
    }


def contents_of(
    plan: Plan,
    kernel: Kernel,
    targets: Sequence[Target],
    tasks: Mapping[Target, Mapping[Functional, Sequence[Task]]],
    results: Mapping[Task, CodeObject | Failure],
) -> Contents:
    """What the ZIP of a kernel for the targets of one pack holds.

    Parameters
    ----------
    plan : Plan
        What was planned: tables and exclusions are taken from it.
    kernel : Kernel
        The kernel.
    targets : sequence of Target
        The pack's, in the order of images.
    tasks : mapping
        The kernel's tasks by target and functional.
    results : mapping
        What came of each task. A functional of which some configs failed goes on with the others; one of which all
        failed becomes an exclusion.
    """
    parts = []
    for target in targets:
        packed, failed = [], dict[str, list[int]]()
        for functional, wanted in tasks[target].items():
            found = pack_functional(functional, plan.tables[functional, target.name], wanted, results)
            if isinstance(found, str):
                failed.setdefault(found, []).append(functional.number)
            else:
                packed.append(found)
        failures = [Exclusion(reason, "failed", tuple(numbers)) for reason, numbers in failed.items()]
        parts.append(Part(target, tuple(packed), (*_described(plan, kernel, target), *failures)))
    return Contents(kernel, tuple(parts))


def _described(plan: Plan, kernel: Kernel, target: Target) -> list[Exclusion]:
    reasons: dict[str, list[int]] = {}
    for one in plan.exclusions:
        if one.target == target and one.functional.kernel is kernel:
            reasons.setdefault(one.reason, []).append(one.functional.number)
    return [Exclusion(reason, "described", tuple(numbers)) for reason, numbers in reasons.items()]


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
