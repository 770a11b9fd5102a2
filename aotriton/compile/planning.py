"""From families and a build set to compile tasks: what is made, what isn't and why, and what it will cost."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aotriton.compile.candidates import candidate_configs
from aotriton.compile.cover import cover_pairs, cover_values
from aotriton.compile.sets import BuildSet, Selection
from aotriton.compile.tables import LookupTable, table_for
from aotriton.compile.task import Task
from aotriton.describe import Config, Family, Functional, Kernel
from aotriton.errors import BuildError
from aotriton.targets import Target

__all__ = ["Excluded", "Plan", "plan"]


@dataclass(frozen=True)
class Excluded:
    """A functional that the description excludes for a target, and the reason that it gives."""

    functional: Functional
    target: Target
    reason: str


@dataclass(frozen=True)
class Plan:
    """What a build makes.

    Attributes
    ----------
    build_set : BuildSet
        What was asked for.
    families : tuple of Family
        Of which kernels.
    targets : tuple of Target
        What for.
    tasks : tuple of Task
        All code objects; by kernel, target, functional, config.
    tables : mapping of (functional, target's name) to LookupTable
        The look-up table of each planned functional.
    exclusions : tuple of Excluded
        All that the descriptions exclude, whether the set asks for it or not.
    """

    build_set: BuildSet
    families: tuple[Family, ...]
    targets: tuple[Target, ...]
    tasks: tuple[Task, ...]
    tables: Mapping[tuple[Functional, str], LookupTable] = field(repr=False)
    exclusions: tuple[Excluded, ...] = field(repr=False)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels of the families."""
        return tuple(kernel for family in self.families for kernel in family.kernels)


def plan(families: Sequence[Family], build_set: BuildSet, targets: Sequence[Target] | None = None) -> Plan:
    """Enumerate what a build set selects.

    Parameters
    ----------
    families : sequence of Family
        Whose kernels.
    build_set : BuildSet
        Which functionals and configs.
    targets : sequence of Target, optional
        Only these of the set's targets.

    Raises
    ------
    BuildError
        Nothing is selected, or a selection names what isn't there.
    """
    wanted = tuple(t for t in build_set.targets if targets is None or t in targets)
    if not wanted:
        there = ", ".join(target.name for target in build_set.targets)
        raise BuildError(
            f"none of the targets that were asked for is in the build set {build_set.name}; it has {there}"
        )
    kernels = [kernel for family in families for kernel in family.kernels]
    _check(build_set, kernels)
    allowed, exclusions = _allowed(kernels, wanted)
    tasks: list[Task] = []
    tables: dict[tuple[Functional, str], LookupTable] = {}
    for kernel in kernels:
        chosen = _chosen(kernel, build_set.selections, {t: allowed[kernel, t] for t in wanted})
        for target, functionals in chosen.items():
            for functional in functionals:
                table = tables[functional, target.name] = table_for(kernel, functional, target)
                configs = _configs(build_set, functional, table, target)
                line = build_set.line_information
                tasks += [Task(kernel, functional, config, target, line) for config in configs]
    if not tasks:
        raise BuildError(f"the build set {build_set.name} selects no functional of {_titles(kernels)}")
    return Plan(build_set, tuple(families), wanted, tuple(tasks), tables, tuple(exclusions))


def _titles(kernels: Sequence[Kernel]) -> str:
    return ", ".join(kernel.title for kernel in kernels)


def _allowed(
    kernels: Sequence[Kernel], targets: Sequence[Target]
) -> tuple[dict[tuple[Kernel, Target], list[Functional]], list[Excluded]]:
    """What the descriptions allow, and what they exclude with which reasons."""
    allowed: dict[tuple[Kernel, Target], list[Functional]] = {}
    exclusions = []
    for kernel in kernels:
        functionals = list(kernel.functionals())
        for target in targets:
            allowed[kernel, target] = kept = []
            for functional in functionals:
                reason = functional.excluded(target)
                if reason is None:
                    kept.append(functional)
                else:
                    exclusions.append(Excluded(functional, target, reason))
    return allowed, exclusions


def _chosen(
    kernel: Kernel, selections: Sequence[Selection], allowed: Mapping[Target, Sequence[Functional]]
) -> dict[Target, list[Functional]]:
    """The functionals of all selections by target, each once, in the order of their numbers."""
    chosen: dict[Target, set[Functional]] = {target: set() for target in allowed}
    for selection in selections:
        if not fnmatch.fnmatchcase(kernel.title, selection.kernels):
            continue
        offered = {
            target: [one for one in functionals if _matches(one, selection.where)]
            for target, functionals in allowed.items()
            if selection.concerns(target)
        }
        for target, functionals in _covered(selection, offered):
            chosen[target].update(functionals)
    return {target: sorted(functionals, key=lambda one: one.number) for target, functionals in chosen.items()}


def _covered(
    selection: Selection, offered: Mapping[Target, Sequence[Functional]]
) -> Iterator[tuple[Target, Sequence[Functional]]]:
    if selection.cover == "values":
        by_name = {target.name: target for target in offered}
        chosen = cover_values({target.name: functionals for target, functionals in offered.items()})
        yield from ((by_name[name], functionals) for name, functionals in chosen.items())
        return
    for target, functionals in offered.items():
        match selection.cover:
            case "one":
                yield target, functionals[:1]
            case "pairs":
                yield target, cover_pairs(functionals)
            case _:
                yield target, functionals


def _matches(functional: Functional, where: Mapping[str, tuple[object, ...]]) -> bool:
    values = functional.values
    return all(
        any(type(values[name]) is type(one) and values[name] == one for one in accepted)
        for name, accepted in where.items()
    )


def _check(build_set: BuildSet, kernels: Sequence[Kernel]) -> None:
    """Every name and value of a `where` exists in the kernels that it means."""
    problems = []
    entries = () if isinstance(build_set.configs, str) else build_set.configs
    wheres = [(f"selections[{place}]", one.kernels, one.where) for place, one in enumerate(build_set.selections)]
    wheres += [(f"configs[{place}]", one.kernels, one.where) for place, one in enumerate(entries)]
    for place, pattern, where in wheres:
        for kernel in (one for one in kernels if fnmatch.fnmatchcase(one.title, pattern)):
            axes = {axis.label: axis for axis in kernel.axes}
            for name, accepted in where.items():
                if name not in axes:
                    problems.append(f"{place}: {kernel.title} has no axis {name!r}; it has {', '.join(axes)}")
                    continue
                wrong = [one for one in accepted if axes[name].digit(one) is None]
                texts = ", ".join(choice.text for choice in axes[name].choices)
                problems += [f"{place}: {name} of {kernel.title} is never {one!r}, but {texts}" for one in wrong]
    if problems:
        raise BuildError(f"the build set {build_set.name} is wrong:\n" + "\n".join(f"  - {line}" for line in problems))


def _configs(
    build_set: BuildSet, functional: Functional, table: LookupTable, target: Target
) -> tuple[Config, ...]:
    """What is compiled for a functional; what its table chooses stands first."""
    kernel = functional.kernel
    match build_set.configs:
        case "chosen":
            return table.configs
        case "all":
            return _all_configs(kernel, table, target)
        case entries:
            return tuple(dict.fromkeys((*table.configs, *candidate_configs(kernel, entries, functional, target))))


def _all_configs(kernel: Kernel, table: LookupTable, target: Target) -> tuple[Config, ...]:
    """Every point of the performance choices, each with the options of each config that the table chooses."""
    names = list(kernel.performance)
    points = list(itertools.product(*([choice.value for choice in kernel.performance[name]] for name in names)))
    every = (
        kernel.config({**dict(config.options), **dict(zip(names, point, strict=True))}).for_target(target)
        for config in table.configs
        for point in points
    )
    return tuple(dict.fromkeys((*table.configs, *every)))
