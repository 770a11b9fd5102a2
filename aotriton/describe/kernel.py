"""Kernels: one Triton function with its description, linked and checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from aotriton.describe import checks
from aotriton.describe.choices import Choice, Like, Value
from aotriton.describe.config import Config
from aotriton.describe.declaration import Declaration, Descriptor, Exclude, Key, Performance, Strides
from aotriton.describe.descriptors import check_descriptors
from aotriton.describe.expressions import Expression
from aotriton.describe.functional import Functional
from aotriton.describe.link import Linked, link
from aotriton.describe.parameters import Argument, Axis, Group, branch, possible, resolve
from aotriton.errors import ArgumentError, DescriptionError
from aotriton.targets import TARGETS

__all__ = ["Kernel"]


class Kernel:
    """One Triton function with its description. Immutable; equal only to itself.

    Parameters
    ----------
    family, name : str
        Where its code is kept in packs: `<family>/<name>.zip`.
    source : Path
        The file with the function. It is read as a syntax tree.
    function : str, optional
        The function in it; by default the kernel's name.
    choices : mapping
        For an argument, or a tuple of arguments that move together: a type (`"*fp16:16"`, `"fp32"`), a constant, a list
        of either, a NumPy array (which fixes the type of its constants), `When(…)` or `Like(…)`.
    ranks : mapping of str to int
        Dimensions of tensors; by default as many as they have strides, else 1. 0 is a scalar in memory.
    strides : mapping of str to names
        A tensor's stride arguments by dimension; the last one is the unit stride (`Strides` says otherwise).
    optional : sequence of str
        Tensors that may be null at launch.
    performance : mapping of str to Performance
        Compile-time constants that decide speed only.
    options : mapping of str to value
        Compiler options in canonical order, with their defaults.
    keys : sequence of Key
        Arguments by which configs are looked up.
    grid : sequence of str
        Up to three expressions; none: the caller gives the grid.
    request : mapping of str to str
        For an axis: the expression that says what to ask for, in place of the caller.
    at_least : sequence of str
        Axes where a larger choice serves too.
    substitutes : mapping
        For an axis: which choices may serve instead of which, best first.
    exclude : sequence of Exclude
        Functionals that are not compiled, with reasons.
    partially_tuned : mapping of str to value
        Where a functional has no tuned configs, those of the functional with these values are used.
    descriptors : mapping of str to block
        Tensors that the function takes as descriptors, with the block of one access: a size for each dimension, a
        number or the name of a compile-time constant (`Descriptor` says more).

    Raises
    ------
    DescriptionError
        The declaration contradicts itself or the source; all problems are listed.
    """

    def __init__(
        self,
        *,
        family: str,
        name: str,
        source: Path | str,
        function: str | None = None,
        choices: Mapping[str | tuple[str, ...], Any] | Mapping[str, Any] | Mapping[tuple[str, ...], Any],
        ranks: Mapping[str, int] | None = None,
        strides: Mapping[str, Sequence[str | None] | Strides] | None = None,
        optional: Sequence[str] = (),
        performance: Mapping[str, Performance] | None = None,
        options: Mapping[str, Value] | None = None,
        keys: Sequence[Key] = (),
        grid: Sequence[str] = (),
        request: Mapping[str, str] | None = None,
        at_least: Sequence[str] = (),
        substitutes: Mapping[str, Mapping[Any, Sequence[Any]]] | None = None,
        exclude: Sequence[Exclude] = (),
        partially_tuned: Mapping[str, Value] | None = None,
        descriptors: Mapping[str, Sequence[int | str] | Descriptor] | None = None,
    ) -> None:
        declaration = Declaration(
            family,
            name,
            Path(source).resolve(),
            function or name,
            dict(choices),  # type: ignore[arg-type]  # a mapping is invariant in its keys
            ranks or {},
            strides or {},
            tuple(optional),
            performance or {},
            options or {},
            tuple(keys),
            grid if isinstance(grid, str) else tuple(grid),  # type: ignore[arg-type]  # the check names the mistake
            request or {},
            tuple(at_least),
            substitutes or {},
            tuple(exclude),
            partially_tuned or {},
            descriptors or {},
        )
        self._adopt(declaration)

    def _adopt(self, declaration: Declaration) -> None:
        linked, grid, axes = _checked(declaration)
        attributes: dict[str, Any] = {
            "declaration": declaration,
            "family": declaration.family,
            "name": declaration.name,
            "source": declaration.source,
            "symbol": declaration.function,
            "gluon": linked.function.gluon,
            "grid": grid,
            "keys": declaration.keys,
            "exclude": declaration.exclude,
            "partially_tuned": MappingProxyType(dict(declaration.partially_tuned)),
            "arguments": linked.arguments,
            "axes": axes,
            "total": axes[0].stride * axes[0].radix if axes else 1,
            "performance": MappingProxyType(linked.performance),
            "options": MappingProxyType(dict(declaration.options)),
            "_groups": linked.groups,
            "_axis_of": {name: axis for axis in axes for name in axis.arguments},
            "_arguments": {argument.name: argument for argument in linked.arguments},
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        self._probe()

    declaration: Declaration
    family: str
    name: str
    source: Path
    symbol: str
    gluon: bool
    grid: tuple[Expression, ...]
    keys: tuple[Key, ...]
    exclude: tuple[Exclude, ...]
    partially_tuned: Mapping[str, Value]
    arguments: tuple[Argument, ...]
    axes: tuple[Axis, ...]
    total: int
    performance: Mapping[str, tuple[Choice, ...]]
    options: Mapping[str, Value]
    _groups: dict[str, Group]
    _axis_of: dict[str, Axis]
    _arguments: dict[str, Argument]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} is immutable; declare another Kernel")

    def __repr__(self) -> str:
        return f"<Kernel {self.title}>"

    @property
    def title(self) -> str:
        """`flash.attn_fwd`."""
        return f"{self.family}.{self.name}"

    def _probe(self) -> None:
        """A predicate with a misspelt name fails here, at the declaration, where it can."""
        first = self.functional(0)
        for target in TARGETS.values():
            first.excluded(target)

    def argument(self, name: str) -> Argument:
        """The argument of that name."""
        if name not in self._arguments:
            raise ArgumentError(f"{self.title} has no argument {name!r}; it has {', '.join(self._arguments)}")
        return self._arguments[name]

    def choice(self, argument: str, digits: Mapping[str, int]) -> Choice:
        """What a tensor, scalar or choice argument is where the axes have these digits, settled for that argument."""
        found = self.argument(argument)
        if argument not in self._groups:
            raise ArgumentError(f"{argument!r} of {self.title} has no choices: it is a {found.role} argument")
        return resolve(self._groups, argument, digits).specialise(found.rank)

    def choices_of(self, argument: str) -> tuple[Choice, ...]:
        """All choices that a tensor, scalar or choice argument may come to, settled for that argument."""
        found = self.argument(argument)
        if argument not in self._groups:
            return self.performance.get(argument, ())
        choices = possible(self._groups, self._groups[argument].spec)
        return tuple(choice.specialise(found.rank) for choice in choices)

    def conditional(self, argument: str) -> bool:
        """Whether an argument's choice follows from others."""
        return argument in self._groups and not isinstance(self._groups[argument].spec, tuple)

    def follows(self, argument: str, digits: Mapping[str, int]) -> bool:
        """Whether an argument takes another's choice where the axes have these digits."""
        return isinstance(branch(self._groups, argument, digits), Like)

    @property
    def axis_of(self) -> Mapping[str, Axis]:
        """The axis that decides an argument in every functional, by argument."""
        return self._axis_of

    @property
    def caller_arguments(self) -> tuple[str, ...]:
        """What a caller gives: not strides or performance, nothing that follows from others or has one value only."""
        return tuple(argument.name for argument in self.arguments if self._asked_for(argument))

    def _asked_for(self, argument: Argument) -> bool:
        if argument.role in ("tensor", "descriptor"):
            return any(not choice.constant for choice in self.choices_of(argument.name))
        if argument.role == "choice":
            axis = self.axis_of.get(argument.name)
            return axis is not None and axis.request is None
        return argument.role == "scalar"

    def functional(self, number: int) -> Functional:
        """The functional of that number."""
        if not 0 <= number < self.total:
            raise ArgumentError(f"{self.title} has the functionals 0 to {self.total - 1}, not {number}")
        return Functional(self, number)

    def functionals(self) -> Iterator[Functional]:
        """All functionals in the order of their numbers."""
        return (Functional(self, number) for number in range(self.total))

    def number_of(self, values: Mapping[str, Value]) -> int:
        """The number of the functional that has these values on its axes; every axis must have one.

        Raises
        ------
        ArgumentError
            A label or value is unknown, or an axis has no value.
        """
        labels = [axis.label for axis in self.axes]
        unknown, missing = sorted(set(values) - set(labels)), [label for label in labels if label not in values]
        if unknown or missing:
            wrong = [f"{name!r} is no axis" for name in unknown] + [f"{name!r} has no value" for name in missing]
            raise ArgumentError(f"functional of {self.title}: {'; '.join(wrong)}; its axes are {', '.join(labels)}")
        number = 0
        for axis in self.axes:
            digit = axis.digit(values[axis.label])
            if digit is None:
                texts = ", ".join(choice.text for choice in axis.choices)
                raise ArgumentError(f"{axis.label} of {self.title} is {values[axis.label]!r}; its choices are {texts}")
            number += digit * axis.stride
        return number

    def config(self, values: Mapping[str, Value] | None = None) -> Config:
        """The config with these performance arguments and options, the defaults elsewhere.

        Raises
        ------
        ArgumentError
            A name or value is unknown.
        """
        given = dict(values or {})
        unknown = sorted(set(given) - set(self.performance) - set(self.options))
        if unknown:
            there = ", ".join([*self.performance, *self.options])
            raise ArgumentError(
                f"config of {self.title}: no performance argument or option {unknown[0]!r}; there are {there}"
            )
        for name, choices in self.performance.items():
            texts = [choice.text for choice in choices]
            if name in given and repr(given[name]) not in texts:
                raise ArgumentError(
                    f"config of {self.title}: {name} is {given[name]!r}; its values are {', '.join(texts)}"
                )
        defaults = {name: performance.default for name, performance in self.declaration.performance.items()}
        return Config(
            tuple((name, given.get(name, default)) for name, default in defaults.items()),
            tuple((name, given.get(name, default)) for name, default in self.options.items()),
        )

    @property
    def default_config(self) -> Config:
        """All defaults."""
        return self.config()

    @property
    def description_hash(self) -> str:
        """SHA-256 over what dispatch relies on: arguments, axes with all choices, grid, keys, configs."""
        facts: dict[str, Any] = {
            "kernel": [self.family, self.name, self.symbol],
            "arguments": [repr(argument) for argument in self.arguments],
            "axes": [repr(axis) for axis in self.axes],
            "choices": {name: [choice.text for choice in self.choices_of(name)] for name in self._arguments},
            "grid": [expression.text for expression in self.grid],
            "keys": [[key.argument, key.binning] for key in self.keys],
            "options": [[name, repr(value)] for name, value in self.options.items()],
            "exclude": [exclusion.reason for exclusion in self.exclude],
        }
        descriptors = [[one.name, repr(one.descriptor)] for one in self.arguments if one.descriptor is not None]
        if descriptors:
            facts["descriptors"] = descriptors
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _checked(declaration: Declaration) -> tuple[Linked, tuple[Expression, ...], tuple[Axis, ...]]:
    """Links and checks a declaration; all its problems are raised at once."""
    linked = link(declaration)
    for what, text in (("family", declaration.family), ("name", declaration.name)):
        if not text.isidentifier():
            linked.problems.append(f"the {what} {text!r} is no identifier; it names folders, files and C++ types")
    grid: tuple[Expression, ...] = ()
    axes: tuple[Axis, ...] = ()
    if linked.function.arguments:
        grid = checks.check_grid(linked)
    if linked.whole:
        checks.check_constexpr(linked)
        checks.check_keys(linked)
        check_descriptors(linked)
        axes = checks.check_axes(linked)
    checks.check_options(linked)
    checks.check_exclusions(linked)
    if linked.problems:
        raise DescriptionError(f"{declaration.family}.{declaration.name}", list(dict.fromkeys(linked.problems)))
    return linked, grid, axes
