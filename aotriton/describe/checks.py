"""Checks of a linked declaration that need the whole of it; each notes problems and gives back what it made."""

from __future__ import annotations

import difflib
from dataclasses import replace

from aotriton.describe.choices import same
from aotriton.describe.expressions import Expression, parse_expression
from aotriton.describe.link import Linked
from aotriton.describe.parameters import Axis, possible
from aotriton.targets import TARGETS

__all__ = [
    "COMPILER_OPTIONS",
    "check_axes",
    "check_constexpr",
    "check_exclusions",
    "check_grid",
    "check_keys",
    "check_options",
]


def check_constexpr(linked: Linked) -> None:
    """What the source takes as a constant must be one in every functional."""
    constexpr = linked.function.constexpr
    for name in linked.performance:
        if name in linked.positions and name not in constexpr:
            linked.problems.append(f"performance {name!r} is not tl.constexpr in the source")
    for name, group in linked.groups.items():
        runtime = [choice.text for choice in possible(linked.groups, group.spec) if not choice.constant]
        if name in constexpr and runtime:
            texts = ", ".join(runtime)
            linked.problems.append(
                f"argument {name!r} is tl.constexpr in the source, but its choices have the type {texts}"
            )
    for name, (tensor, dimension) in linked.strides.items():
        if name in constexpr and linked.units.get(tensor) != dimension:
            linked.problems.append(f"stride {name!r} is tl.constexpr in the source, but it is known at launch only")
    for name in linked.declaration.optional:
        if name in linked.groups and _always_null(linked, name):
            linked.problems.append(f"optional names {name!r}, which is null in every functional")


def _always_null(linked: Linked, name: str) -> bool:
    return all(choice.constant for choice in possible(linked.groups, linked.groups[name].spec))


# Options that decide speed only, of Triton 3.9.0's HIPOptions and CUDAOptions. Triton drops names that it doesn't know
# without a word, and a vendor's compiler those of the other.
COMPILER_OPTIONS = frozenset(
    [
        "num_warps",
        "num_stages",
        "num_ctas",
        "waves_per_eu",
        "matrix_instr_nonkdim",
        "kpack",
        "schedule_hint",
        "llvm_fn_attrs",
        "wgp_cu_mode",
        "maxnreg",
        "ptx_options",
        "sched4reg",
        "launch_pdl",
        "launch_cooperative_grid",
        "min_shared_mem",
    ]
)


def check_options(linked: Linked) -> None:
    """Compiler options are names that the compiler knows, with plain values."""
    for name, value in linked.declaration.options.items():
        if name not in COMPILER_OPTIONS:
            near = difflib.get_close_matches(name, COMPILER_OPTIONS, 1)
            known = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(sorted(COMPILER_OPTIONS))}"
            linked.problems.append(f"option {name!r} is none of the compiler's; {known}")
        elif type(value) not in (bool, int, float, str):
            linked.problems.append(f"option {name!r} is {value!r}; options are numbers, booleans or texts")
        elif name in ("launch_pdl", "launch_cooperative_grid") and not isinstance(value, bool):
            linked.problems.append(f"option {name!r} is {value!r}; it is True or False")
        elif name == "num_ctas" and (type(value) is not int or value not in (1, 2, 4, 8, 16)):
            linked.problems.append(f"option 'num_ctas' is {value!r}; a cluster has 1, 2, 4, 8 or 16 blocks")
        elif name == "num_warps" and (not isinstance(value, int) or value < 1 or value & (value - 1)):
            linked.problems.append(f"option 'num_warps' is {value!r}; it is a power of two")
        if name in linked.positions:
            linked.problems.append(f"option {name!r} has the name of an argument; performance is for those")


def _real(linked: Linked, name: str) -> bool:
    types: list[str] = [choice.type for choice in linked.performance.get(name, ())]
    if linked.whole and name in linked.groups and not linked.tensor(name):
        types = [choice.type for choice in possible(linked.groups, linked.groups[name].spec)]
    return any(kind.startswith(("fp", "bf")) for kind in types)


def _expression(linked: Linked, owner: str, text: object) -> Expression | None:
    if not isinstance(text, str):
        linked.problems.append(f"{owner} is {text!r}; expressions are texts")
        return None
    expression, problems = parse_expression(text, linked.positions)
    linked.problems.extend(f"{owner}: {problem}" for problem in problems)
    for name in expression.names if expression else ():
        if _real(linked, name):
            linked.problems.append(f"{owner} reads {name!r}, which is no integer")
    return expression


def check_grid(linked: Linked) -> tuple[Expression, ...]:
    """Three expressions; or none where the caller gives the grid."""
    texts: object = linked.declaration.grid
    if not isinstance(texts, tuple) or len(texts) > 3:
        linked.problems.append(f"the grid is {texts!r}; it is a tuple of up to three expressions")
        return ()
    padded = (*texts, "1", "1")[:3] if texts else ()
    names = ("x", "y", "z")
    made = [_expression(linked, f"grid {name}", text) for name, text in zip(names, padded, strict=False)]
    return tuple(expression for expression in made if expression is not None)


def check_keys(linked: Linked) -> None:
    """Look-up keys are integers that are known at launch."""
    seen = set()
    roles = {argument.name: argument for argument in linked.arguments}
    for key in linked.declaration.keys:
        argument = roles.get(key.argument)
        if argument is None:
            linked.problems.append(f"key {key.argument!r} is no argument")
        elif argument.role not in ("scalar", "stride", "choice") or _real(linked, key.argument):
            linked.problems.append(f"key {key.argument!r} is no integer that is known at launch")
        if key.binning != "le":
            linked.problems.append(f"key {key.argument!r} has the binning {key.binning!r}; there is 'le'")
        if key.argument in seen:
            linked.problems.append(f"key {key.argument!r} stands twice")
        seen.add(key.argument)


def check_axes(linked: Linked) -> tuple[Axis, ...]:
    """The axes with their requests, rules and substitutes; the fallback of partly tuned functionals too."""
    declaration = linked.declaration
    axes = {axis.label: axis for axis in linked.axes}
    for home, names in (
        ("request", declaration.request),
        ("at_least", declaration.at_least),
        ("substitutes", declaration.substitutes),
        ("partially_tuned", declaration.partially_tuned),
    ):
        linked.problems.extend(_no_axis(linked, home, name) for name in names if name not in axes)
    for name, value in declaration.partially_tuned.items():
        if name in axes:
            _digit(linked, f"partially_tuned[{name!r}]", axes[name], value)
    return tuple(_complete(linked, axis) for axis in linked.axes)


def _no_axis(linked: Linked, home: str, name: str) -> str:
    if name not in linked.groups:
        return f"{home} names {name!r}, which has no choices"
    label = linked.groups[name].label
    if label != name and label in {axis.label for axis in linked.axes}:
        return f"{home} names {name!r}, which moves with {label!r}: name that"
    return f"{home} names {name!r}, which has not more than one choice of its own"


def _complete(linked: Linked, axis: Axis) -> Axis:
    declaration = linked.declaration
    rule = "at_least" if axis.label in declaration.at_least else "exact"
    if rule == "at_least" and axis.choices[0].kind != "integer":
        linked.problems.append(f"at_least names {axis.label!r}, whose choices are no integers")
    request = None
    if axis.label in declaration.request:
        request = _request(linked, axis, declaration.request[axis.label])
    return replace(axis, rule=rule, request=request, substitutes=_substitutes(linked, axis))


def _request(linked: Linked, axis: Axis, text: str) -> Expression | None:
    owner = f"request of {axis.label!r}"
    if axis.choices[0].kind in ("pointer", "scalar", "real"):
        linked.problems.append(f"{owner}: its choices are no integers or booleans")
    expression = _expression(linked, owner, text)
    # Dispatch decides axis by axis in canonical order, so a request sees what stands before it, and what callers give.
    labels = [other.label for other in linked.axes]
    later = [label for label in labels[labels.index(axis.label) :] if label in linked.declaration.request]
    for name in expression.names if expression else ():
        if name in linked.performance:
            linked.problems.append(f"{owner} reads {name!r}, which is a performance argument and decided later")
        elif name in linked.groups and linked.groups[name].label in later:
            linked.problems.append(f"{owner} reads {name!r}, which is decided later or by itself")
    return expression


def _digit(linked: Linked, owner: str, axis: Axis, value: object) -> int | None:
    digit = axis.digit(value)
    if digit is None:
        texts = ", ".join(choice.text for choice in axis.choices)
        linked.problems.append(f"{owner}: {value!r} is not among the choices {texts}")
    return digit


def _substitutes(linked: Linked, axis: Axis) -> tuple[tuple[int, ...], ...]:
    declared = linked.declaration.substitutes.get(axis.label)
    if not declared:
        return ()
    owner = f"substitutes of {axis.label!r}"
    table: dict[int, tuple[int, ...]] = {}
    for value, others in declared.items():
        digit = _digit(linked, owner, axis, value)
        if isinstance(others, str):
            linked.problems.append(f"{owner}: {value!r} has {others!r}; substitutes are a list, best first")
            continue
        digits = [_digit(linked, owner, axis, other) for other in others]
        if any(same(value, other) for other in others):
            linked.problems.append(f"{owner}: {value!r} stands for itself")
        if digit is not None:
            table[digit] = tuple(other for other in digits if other is not None)
    return tuple(table.get(digit, ()) for digit in range(axis.radix))


def check_exclusions(linked: Linked) -> None:
    """Exclusions have a reason, and name targets that exist."""
    known = {name for target in TARGETS.values() for name in (target.name, target.family, target.vendor)}
    for exclusion in linked.declaration.exclude:
        if not exclusion.reason.strip():
            linked.problems.append("an exclusion has no reason; it is what users will read")
        for name in exclusion.targets or ():
            if name not in known:
                linked.problems.append(
                    f"the exclusion {exclusion.reason!r} names {name!r}, which is no target, family or vendor"
                )
