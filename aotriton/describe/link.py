"""Links a declaration to its source: groups, roles, arguments and axes; every problem on the way is noted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aotriton.describe.choices import Choice, Like, When, parse_choices
from aotriton.describe.declaration import Declaration, Descriptor, Performance, Strides
from aotriton.describe.parameters import Argument, Axis, Conditional, Group, Spec, possible, references
from aotriton.describe.source import Function, read_function

__all__ = ["Linked", "link"]


@dataclass
class Linked:
    """What linking found. With problems, the rest is only good for finding more of them."""

    declaration: Declaration
    function: Function
    problems: list[str] = field(default_factory=list)
    whole: bool = False  # all links between parameters can be followed
    groups: dict[str, Group] = field(default_factory=dict)  # by each of their arguments
    strides: dict[str, tuple[str, int]] = field(default_factory=dict)  # name → tensor, dimension
    units: dict[str, int | None] = field(default_factory=dict)
    dense: dict[str, int] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    performance: dict[str, tuple[Choice, ...]] = field(default_factory=dict)
    descriptors: dict[str, Descriptor] = field(default_factory=dict)
    arguments: tuple[Argument, ...] = ()
    axes: tuple[Axis, ...] = ()

    @property
    def positions(self) -> dict[str, int]:
        """The position of each argument of the function."""
        return {name: position for position, name in enumerate(self.function.arguments)}

    def tensor(self, name: str) -> bool:
        """Whether an argument is a tensor: one of its choices is a pointer, or it is declared like one."""
        declaration = self.declaration
        if name not in self.groups:
            return False
        homes = (declaration.strides, declaration.ranks, declaration.optional, declaration.descriptors)
        if any(name in home for home in homes):
            return True
        return any(choice.kind == "pointer" for choice in possible(self.groups, self.groups[name].spec, declared=True))


def link(declaration: Declaration) -> Linked:
    """Reads the source, resolves the links between parameters, and builds arguments and axes."""
    function, problems = read_function(declaration.source, declaration.function)
    linked = Linked(declaration, function or Function(declaration.function, (), frozenset()), list(problems))
    if function is None:
        return linked
    _performance(linked)
    _strides(linked)
    _groups(linked)
    _descriptors(linked)
    _names(linked)
    linked.whole = _links(linked)
    if linked.whole:
        _ranks(linked)
        _arguments(linked)
        _axes(linked)
    return linked


def _performance(linked: Linked) -> None:
    declared: Mapping[str, object] = linked.declaration.performance
    for name, performance in declared.items():
        if not isinstance(performance, Performance):
            linked.problems.append(
                f"performance {name!r} is {performance!r}; it is written Performance(default, values)"
            )
            continue
        choices = parse_choices(performance.values)
        if isinstance(choices, str):
            linked.problems.append(f"performance {name!r}: {choices}")
            continue
        linked.performance[name] = choices
        if not all(choice.constant for choice in choices):
            linked.problems.append(f"performance {name!r} has a type among its values; they are constants")
        if repr(performance.default) not in [choice.text for choice in choices]:
            texts = ", ".join(choice.text for choice in choices)
            linked.problems.append(f"performance {name!r}: the default {performance.default!r} is not among {texts}")


def _strides(linked: Linked) -> None:
    for tensor, declared in linked.declaration.strides.items():
        strides = declared if isinstance(declared, Strides) else Strides(declared)
        names = tuple(strides.names) if not isinstance(strides.names, str) else (strides.names,)
        named = [name for name in names if name is not None]
        linked.dense[tensor] = len(names) - len(named)
        if names[: len(named)] != tuple(named):
            linked.problems.append(f"strides of {tensor!r}: only the last dimensions can do without an argument")
        unit = strides.unit
        if unit is not None and not -len(names) <= unit < len(names):
            linked.problems.append(f"strides of {tensor!r}: there is no dimension {unit} among {len(names)}")
            unit = None
        unit = None if unit is None else unit % len(names)
        linked.units[tensor] = unit if unit is not None and unit < len(named) else None
        linked.ranks[tensor] = len(names)
        for dimension, name in enumerate(names):
            if name is None:
                continue
            if name in linked.strides:
                linked.problems.append(
                    f"stride {name!r} is named twice: for {linked.strides[name][0]!r} and {tensor!r}"
                )
            linked.strides[name] = (tensor, dimension)


def _groups(linked: Linked) -> None:
    order = linked.positions
    for key, value in linked.declaration.choices.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        if not names:
            linked.problems.append(f"choices {value!r} are for no argument")
            continue
        ordered = tuple(sorted(names, key=lambda name: order.get(name, len(order))))
        spec = _spec(linked, ", ".join(names), value)
        for name in names:
            if name in linked.groups:
                linked.problems.append(f"argument {name!r} has choices twice")
            linked.groups[name] = Group(ordered[0], ordered, spec)


def _descriptors(linked: Linked) -> None:
    for name, declared in linked.declaration.descriptors.items():
        descriptor = declared if isinstance(declared, Descriptor) else Descriptor(declared)
        block: object = descriptor.block
        if isinstance(block, str) or not isinstance(block, Sequence):
            linked.problems.append(f"the block of descriptor {name!r} is {block!r}; it has one size for each dimension")
            continue
        linked.descriptors[name] = replace(descriptor, block=tuple(block))


def _spec(linked: Linked, owner: str, value: Any, branch: bool = False) -> Spec:
    """What an author wrote as a parameter's choices; `branch`: inside of a `When`, where there is one choice."""
    if isinstance(value, Like):
        return value
    if isinstance(value, When):
        if not value.accepted:
            linked.problems.append(f"choices of {owner}: When({value.parameter!r}, …) has no values, so it never holds")
        then, otherwise = (_spec(linked, owner, part, True) for part in (value.then, value.otherwise))
        return Conditional(value, then, otherwise)
    choices = parse_choices(value)
    if isinstance(choices, str):
        linked.problems.append(f"choices of {owner}: {choices}")
        return (Choice("0", "integer", 0, "i8"),)
    if branch and len(choices) > 1:
        texts = ", ".join(choice.text for choice in choices)
        linked.problems.append(
            f"choices of {owner}: a branch of When has one choice, not {texts}; Like(…) can follow an axis"
        )
    return choices


def _names(linked: Linked) -> None:
    """Every argument is declared once, and everything that is declared is an argument."""
    homes: dict[str, Collection[str]] = {
        "choices": linked.groups,
        "strides": linked.strides,
        "performance": linked.declaration.performance,
    }
    known = set(linked.function.arguments)
    where = f"the function {linked.function.name!r}"
    for home, names in homes.items():
        unknown = [name for name in names if name not in known]
        linked.problems.extend(f"{home} name {name!r}, which is no argument of {where}" for name in unknown)
    for name in linked.function.arguments:
        places = [home for home, names in homes.items() if name in names]
        if not places:
            linked.problems.append(
                f"argument {name!r} of {where} is not declared: choices, strides or performance must name it"
            )
        elif len(places) > 1:
            linked.problems.append(f"argument {name!r} is declared more than once: in {' and '.join(places)}")


def _links(linked: Linked) -> bool:
    """Whether all links between parameters can be followed; notes those that can't."""
    good = True
    unique = {group.label: group for group in linked.groups.values()}
    for group in unique.values():
        for name in references(group.spec):
            if name not in linked.groups:
                what = (
                    "a performance argument" if name in linked.declaration.performance else "no parameter with choices"
                )
                linked.problems.append(f"choices of {group.label!r} depend on {name!r}, which is {what}")
                good = False
    if not good:
        return False
    rounds: dict[frozenset[str], list[str]] = {}
    for label in unique:
        for path in _cycles(linked.groups, [label]):
            rounds.setdefault(frozenset(path), path)
    for path in rounds.values():
        linked.problems.append(f"conditional choices go round: {' → '.join([*path, path[0]])}")
    if rounds:
        return False
    for group in unique.values():
        _check_conditions(linked, group.label, group.spec)
    return True


def _cycles(groups: dict[str, Group], path: list[str]) -> Iterator[list[str]]:
    for name in references(groups[path[-1]].spec):
        label = groups[name].label
        if label == path[0]:
            yield list(path)
        elif label not in path:
            yield from _cycles(groups, [*path, label])


def _check_conditions(linked: Linked, owner: str, spec: Spec) -> None:
    if not isinstance(spec, Conditional):
        return
    choices = possible(linked.groups, linked.groups[spec.when.parameter].spec)
    texts = [choice.text for choice in choices]
    for value in spec.when.accepted:
        # A feature that is settled off has one choice; what depends on it may still say what it would be.
        settled = len(choices) == 1 and type(choices[0].value) is type(value)
        if repr(value) not in texts and not settled:
            linked.problems.append(
                f"choices of {owner!r} depend on {spec.when.parameter!r} being {value!r}, "
                f"which is not among its choices {', '.join(texts)}"
            )
    _check_conditions(linked, owner, spec.then)
    _check_conditions(linked, owner, spec.otherwise)


def _ranks(linked: Linked) -> None:
    for name, rank in linked.declaration.ranks.items():
        if name not in linked.groups:
            linked.problems.append(f"ranks name {name!r}, which has no choices")
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank <= 8:
            linked.problems.append(f"the rank of {name!r} is {rank!r}; ranks go from 0 to 8")
        elif name in linked.ranks and linked.ranks[name] != rank:
            linked.problems.append(f"{name!r} has rank {rank} and {linked.ranks[name]} strides")
        linked.ranks.setdefault(name, rank)
    for name, descriptor in linked.descriptors.items():
        sizes = len(descriptor.block)
        if linked.ranks.setdefault(name, sizes) != sizes:
            linked.problems.append(f"{name!r} has rank {linked.ranks[name]} and a block of {sizes} sizes")
    for name in linked.declaration.strides:
        if name not in linked.groups:
            linked.problems.append(f"strides are declared for {name!r}, which has no choices")
    for name in linked.declaration.optional:
        if name not in linked.groups:
            linked.problems.append(f"optional names {name!r}, which has no choices")


def _arguments(linked: Linked) -> None:
    linked.arguments = tuple(_argument(linked, name) for name in linked.function.arguments if _declared(linked, name))


def _declared(linked: Linked, name: str) -> bool:
    return name in linked.groups or name in linked.strides or name in linked.performance


def _argument(linked: Linked, name: str) -> Argument:
    if name in linked.performance:
        return Argument(name, "performance", linked.performance[name][0].type)
    if name in linked.strides and name not in linked.groups:
        tensor, dimension = linked.strides[name]
        return Argument(name, "stride", "u64", tensor, dimension)
    choices = possible(linked.groups, linked.groups[name].spec, declared=True)
    if linked.tensor(name):
        return _tensor(linked, name, choices)
    scalars = [choice for choice in choices if choice.kind == "scalar"]
    used = scalars or choices
    kind = used[0].type if len({choice.type for choice in used}) == 1 else None
    return Argument(name, "scalar" if scalars else "choice", kind)


def _tensor(linked: Linked, name: str, choices: tuple[Choice, ...]) -> Argument:
    wrong = [choice.text for choice in choices if choice.kind != "pointer" and choice.text != "0"]
    if wrong:
        linked.problems.append(
            f"tensor {name!r} has the choice {', '.join(wrong)}; a tensor is a pointer, or 0 for null"
        )
    types = {choice.type for choice in choices if choice.kind == "pointer"}
    rank = linked.ranks.get(name, 1)
    if name in linked.descriptors:
        kind = types.pop() if len(types) == 1 else None
        return Argument(name, "descriptor", kind, rank=rank, descriptor=linked.descriptors[name])
    return Argument(
        name,
        "tensor",
        types.pop() if len(types) == 1 else None,
        rank=rank,
        optional=name in linked.declaration.optional,
        dense=linked.dense.get(name, rank),
        unit=linked.units.get(name),
    )


def _axes(linked: Linked) -> None:
    unique = {group.label: group for group in linked.groups.values() if isinstance(group.spec, tuple)}
    order = linked.positions
    axes = []
    stride = 1
    for group in sorted(unique.values(), key=lambda group: order.get(group.label, len(order)), reverse=True):
        if not isinstance(group.spec, tuple) or len(group.spec) < 2:
            continue
        followers = [name for name in linked.groups if _follows(linked, name) == group.label]
        arguments = tuple(sorted({*group.arguments, *followers}, key=lambda name: order.get(name, len(order))))
        axes.append(Axis(group.label, arguments, group.spec, stride))
        stride *= len(group.spec)
    linked.axes = tuple(reversed(axes))
    if stride >= 2**32:
        linked.problems.append(f"{stride} functionals; their numbers have 32 bits")


def _follows(linked: Linked, name: str) -> str | None:
    """The label of the axis whose choice an argument takes in every functional."""
    group = linked.groups[name]
    while isinstance(group.spec, Like):
        group = linked.groups[group.spec.parameter]
    return group.label if isinstance(group.spec, tuple) else None
