"""Parameters: the choices of each argument with their links, and the arguments and axes that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from aotriton.describe.choices import Choice, Like, When, same
from aotriton.describe.declaration import Descriptor
from aotriton.describe.expressions import Expression

__all__ = [
    "Argument",
    "Axis",
    "Conditional",
    "Group",
    "Parameter",
    "Spec",
    "branch",
    "possible",
    "references",
    "resolve",
]


@dataclass(frozen=True)
class Argument:
    """One argument of the Triton function.

    Attributes
    ----------
    name : str
        As the source has it.
    role : str
        `tensor`, `descriptor`, `stride`, `scalar`, `choice` or `performance`, as in the index's schema.
    type : str, optional
        Element type of a tensor or descriptor, type of a scalar or constant; None where an axis decides.
    tensor : str, optional
        Of a stride: the tensor that it belongs to.
    dimension : int
        Of a stride: the dimension.
    rank : int
        Of a tensor or descriptor: its dimensions.
    optional : bool
        Of a tensor: may be null at launch.
    dense : int
        Of a tensor: how many of its last dimensions the source takes as contiguous, having no stride arguments.
    unit : int, optional
        Of a tensor: the dimension whose stride argument is 1 in every launch.
    descriptor : Descriptor, optional
        Of a descriptor: its block and what belongs to it.
    """

    name: str
    role: str
    type: str | None = None
    tensor: str | None = None
    dimension: int = 0
    rank: int = 0
    optional: bool = False
    dense: int = 0
    unit: int | None = None
    descriptor: Descriptor | None = field(default=None, repr=False)  # `repr` is what descriptions are hashed by


@dataclass(frozen=True)
class Axis:
    """One digit of a functional's number: a parameter with more than one choice.

    Attributes
    ----------
    label : str
        The first of its arguments in the function's order.
    arguments : tuple of str
        All that take this choice.
    choices : tuple of Choice
        The digit's values in order.
    stride : int
        The digit's weight.
    rule : str
        `exact` or `at_least`: how a request becomes a choice.
    request : Expression, optional
        What to ask for; None: the argument's own value or element type.
    substitutes : tuple of tuple of int
        For each choice, those that may serve instead, best first; or empty.
    """

    label: str
    arguments: tuple[str, ...]
    choices: tuple[Choice, ...]
    stride: int
    rule: str = "exact"
    request: Expression | None = None
    substitutes: tuple[tuple[int, ...], ...] = ()

    @property
    def radix(self) -> int:
        """How many values the digit has."""
        return len(self.choices)

    def digit(self, value: object) -> int | None:
        """The number of the choice with this value; None: there is none."""
        for number, choice in enumerate(self.choices):
            if isinstance(value, bool | int | float | str) and same(choice.value, value):
                return number
        return None


@dataclass(frozen=True)
class Parameter:
    """An argument that one functional's code takes at launch: its type (`*fp16`, `u64`) and the alignment assumed."""

    argument: str
    type: str
    alignment: int = 1


@dataclass(frozen=True)
class Conditional:
    """A linked `When`."""

    when: When
    then: Spec
    otherwise: Spec


Spec: TypeAlias = tuple[Choice, ...] | Like | Conditional


@dataclass(frozen=True)
class Group:
    """Arguments that move together, in the function's order, and what they may be."""

    label: str
    arguments: tuple[str, ...]
    spec: Spec


def references(spec: Spec) -> list[str]:
    """The parameters that a choice depends on directly."""
    if isinstance(spec, Like):
        return [spec.parameter]
    if isinstance(spec, Conditional):
        return [spec.when.parameter, *references(spec.then), *references(spec.otherwise)]
    return []


def possible(groups: Mapping[str, Group], spec: Spec, *, declared: bool = False) -> tuple[Choice, ...]:
    """All choices that a parameter may come to, each once; `declared`: those too that no functional reaches.

    The links are known to be free of cycles.
    """
    if isinstance(spec, Like):
        return possible(groups, groups[spec.parameter].spec, declared=declared)
    if not isinstance(spec, Conditional):
        return spec
    deciding = possible(groups, groups[spec.when.parameter].spec)
    holds = {spec.when.holds(choice.value) for choice in deciding}
    branches = [
        branch for branch, outcome in ((spec.then, True), (spec.otherwise, False)) if declared or outcome in holds
    ]
    return tuple(dict.fromkeys(choice for branch in branches for choice in possible(groups, branch, declared=declared)))


def branch(groups: Mapping[str, Group], name: str, digits: Mapping[str, int]) -> tuple[Choice, ...] | Like:
    """What an argument's conditions come to where the axes have these digits."""
    spec = groups[name].spec
    while isinstance(spec, Conditional):
        spec = spec.then if spec.when.holds(resolve(groups, spec.when.parameter, digits).value) else spec.otherwise
    return spec


def resolve(groups: Mapping[str, Group], name: str, digits: Mapping[str, int]) -> Choice:
    """What an argument is in the functional whose axes have these digits."""
    spec = branch(groups, name, digits)
    if isinstance(spec, Like):
        return resolve(groups, spec.parameter, digits)
    return spec[digits[groups[name].label]] if len(spec) > 1 else spec[0]
