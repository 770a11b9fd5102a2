"""Operators: what a caller calls, with the backends that can do it. Declared and validated; they run later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aotriton.describe.choices import Value
from aotriton.describe.declaration import Key
from aotriton.describe.expressions import Expression, parse_expression
from aotriton.describe.kernel import Kernel
from aotriton.describe.parameters import Axis
from aotriton.errors import DescriptionError
from aotriton.targets import TARGETS

__all__ = ["Affine", "Backend", "Limit", "Metro", "Operator", "Step"]


@dataclass(frozen=True, eq=False)
class Step:
    """One launch of a metro.

    Parameters
    ----------
    kernel : Kernel
        What is launched.
    when : str, optional
        An expression over the operator's arguments; zero skips the step. A tensor counts as its address.
    names : mapping of str to str
        Where an argument of the kernel has another name in the operator: the kernel's name → the operator's.
    """

    kernel: Kernel
    when: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Metro:
    """A sequence of kernels that together do one operator."""

    name: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class Limit:
    """What an affine kernel asks of the problem.

    Parameters
    ----------
    reason : str
        Shown where the limit turns a problem down.
    accepts : str
        An expression over the operator's arguments; zero turns the problem down.
    """

    reason: str
    accepts: str


@dataclass(frozen=True, eq=False)
class Affine:
    """Code from elsewhere that can do an operator, within limits.

    Parameters
    ----------
    name : str
        The folder of its code objects in the pack's `affine_kernels.zip`.
    targets : sequence of str
        The targets that it has code for.
    types : mapping of str to sequence of str
        For an axis of the operator: the choices that it serves; an axis that isn't named is not limited.
    limits : sequence of Limit
        What else it asks.
    deterministic : bool
        Whether equal inputs give equal bits.
    """

    name: str
    targets: Sequence[str]
    types: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    limits: Sequence[Limit] = ()
    deterministic: bool = True


@dataclass(frozen=True, eq=False)
class Backend:
    """One way to do an operator: a kernel, a metro, or an affine kernel. Its index is part of the interface."""

    index: int
    name: str
    does: Kernel | Metro | Affine

    @property
    def steps(self) -> tuple[Step, ...]:
        """The launches of Triton kernels, in order."""
        if isinstance(self.does, Kernel):
            return (Step(self.does),)
        return tuple(self.does.steps) if isinstance(self.does, Metro) else ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Operator:
    """What a caller calls.

    Parameters
    ----------
    family, name : str
        Where its tables are kept in packs: `<family>/op_<name>.zip`.
    arguments : sequence of str, optional
        What a caller gives, in order; by default what the kernel `like` asks of one.
    backends : sequence of Backend
        The ways to do it.
    like : Kernel, optional
        The kernel whose axes are the operator's; by default the one of the first backend with the most functionals.
    keys : sequence of Key, optional
        Arguments by which the backend is looked up; by default those of `like`.
    fallback : int
        The backend where no table says otherwise; it must serve every problem.
    partially_tuned : mapping of str to value, optional
        As in `Kernel`; by default that of `like`.

    Raises
    ------
    DescriptionError
        The declaration contradicts itself; all problems are listed.
    """

    family: str
    name: str
    backends: Sequence[Backend]
    arguments: Sequence[str] = ()
    like: Kernel | None = None
    keys: Sequence[Key] | None = None
    fallback: int = 0
    partially_tuned: Mapping[str, Value] | None = None

    def __post_init__(self) -> None:
        problems = _backend_problems(self)
        if not problems or self.like is not None or _main_kernel(self) is not None:
            main = self.like or _main_kernel(self)
            if main is None:
                problems.append("none of its backends is made of kernels; the fallback must be")
            else:
                self._fill(main)
                problems += [problem for backend in self.backends for problem in _argument_problems(self, backend)]
                problems += _table_problems(self)
        if problems:
            raise DescriptionError(f"{self.family}.{self.name}", list(dict.fromkeys(problems)))

    def _fill(self, main: Kernel) -> None:
        filled = {
            "like": main,
            "arguments": tuple(self.arguments) or main.caller_arguments,
            "keys": tuple(main.keys if self.keys is None else self.keys),
            "partially_tuned": dict(main.partially_tuned if self.partially_tuned is None else self.partially_tuned),
            "backends": tuple(self.backends),
        }
        for name, value in filled.items():
            object.__setattr__(self, name, value)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of its tables: those of `like`."""
        return self.like.axes if self.like else ()

    @property
    def total(self) -> int:
        """How many functionals its tables have."""
        return self.like.total if self.like else 1

    def condition(self, text: str) -> Expression:
        """A checked expression over its arguments: a step's `when`, a limit's `accepts`."""
        expression, problems = parse_expression(text, {name: place for place, name in enumerate(self._readable)})
        if expression is None:
            raise DescriptionError(f"{self.family}.{self.name}", problems)
        return expression

    @property
    def _readable(self) -> tuple[str, ...]:
        """What conditions may read: the arguments, and the strides and choices that follow from them."""
        kernel = self.like
        more = [argument.name for argument in kernel.arguments if argument.role != "performance"] if kernel else []
        return tuple(dict.fromkeys([*self.arguments, *more]))


def _main_kernel(operator: Operator) -> Kernel | None:
    first = min(operator.backends, key=lambda backend: backend.index, default=None)
    kernels = [step.kernel for step in first.steps] if first else []
    return max(kernels, key=lambda kernel: kernel.total, default=None)


def _backend_problems(operator: Operator) -> list[str]:
    problems = []
    if not operator.backends:
        problems.append("it has no backends")
    for what in ("index", "name"):
        given = [getattr(backend, what) for backend in operator.backends]
        problems += [f"the backend {what} {one!r} stands twice" for one in dict.fromkeys(given) if given.count(one) > 1]
    for backend in operator.backends:
        if backend.index < 0:
            problems.append(f"backend {backend.name!r} has the index {backend.index}; -1 means that the table decides")
        if isinstance(backend.does, Metro) and not backend.does.steps:
            problems.append(f"metro {backend.does.name!r} of backend {backend.name!r} has no steps")
        for step in backend.steps:
            if step.kernel.family != operator.family:
                problems.append(f"backend {backend.name!r} launches {step.kernel.title}, which is of another family")
    fallback = {backend.index: backend for backend in operator.backends}.get(operator.fallback)
    if operator.backends and fallback is None:
        problems.append(f"the fallback is backend {operator.fallback}, which there is not")
    if fallback is not None and isinstance(fallback.does, Affine):
        problems.append(f"the fallback {fallback.name!r} is an affine kernel, which doesn't serve every problem")
    return problems


def _argument_problems(operator: Operator, backend: Backend) -> list[str]:
    where = f"backend {backend.name!r}"
    if isinstance(backend.does, Affine):
        return _affine_problems(operator, where, backend.does)
    problems = []
    for step in backend.steps:
        title = step.kernel.name
        known = {argument.name for argument in step.kernel.arguments}
        problems += [f"{where}: {name!r} is no argument of {title}" for name in step.names if name not in known]
        for name in step.kernel.caller_arguments:
            if step.names.get(name, name) not in operator._readable:
                problems.append(
                    f"{where}: argument {step.names.get(name, name)!r} of {title} is none of the operator's"
                )
        if step.when is not None:
            problems += _condition_problems(operator, f"{where}: the condition of {title}", step.when)
    if backend.steps and all(step.when is not None for step in backend.steps):
        problems.append(f"{where}: every step has a condition, so it may do nothing and call it a success")
    return problems


def _condition_problems(operator: Operator, owner: str, text: str) -> list[str]:
    _, problems = parse_expression(text, {name: place for place, name in enumerate(operator._readable)})
    return [f"{owner}: {problem}" for problem in problems]


def _affine_problems(operator: Operator, where: str, affine: Affine) -> list[str]:
    problems = []
    if not affine.targets:
        problems.append(f"{where}: {affine.name!r} has no targets")
    problems += [f"{where}: there is no target {name!r}" for name in affine.targets if name not in TARGETS]
    axes = {axis.label: axis for axis in operator.axes}
    for label, values in affine.types.items():
        if label not in axes:
            problems.append(f"{where}: {label!r} is no axis of the operator; its axes are {', '.join(axes) or 'none'}")
            continue
        texts = ", ".join(choice.text for choice in axes[label].choices)
        wrong = [value for value in values if axes[label].digit(value) is None]
        problems += [f"{where}: {value!r} is not among the choices {texts} of {label!r}" for value in wrong]
    for limit in affine.limits:
        if not limit.reason.strip():
            problems.append(f"{where}: the limit {limit.accepts!r} has no reason; it is what users will read")
        problems += _condition_problems(operator, f"{where}: the limit {limit.reason!r}", limit.accepts)
    return problems


def _table_problems(operator: Operator) -> list[str]:
    problems = [
        f"key {key.argument!r} is none of its arguments"
        for key in operator.keys or ()
        if key.argument not in operator.arguments
    ]
    axes = {axis.label: axis for axis in operator.axes}
    for name, value in (operator.partially_tuned or {}).items():
        if name not in axes or axes[name].digit(value) is None:
            problems.append(f"partially_tuned has {name}={value!r}, which is no choice of an axis")
    return problems
