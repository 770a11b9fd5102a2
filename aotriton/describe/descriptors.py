"""Checks of descriptors: what a declaration of one must be, and which targets it is not for."""

from __future__ import annotations

from aotriton.describe.declaration import Descriptor
from aotriton.describe.link import Linked
from aotriton.describe.parameters import Argument, possible
from aotriton.targets import Target

__all__ = ["MOST_DESCRIPTORS", "check_descriptors", "descriptor_bar"]

MOST_DESCRIPTORS = 16
"""Of one kernel: each takes 128 bytes of an argument block, which has room for 4096."""

_MOST_DIMENSIONS = 5
_LEAST_BYTES = 16  # of the block's last dimension: what the hardware moves at least
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def descriptor_bar(arguments: tuple[Argument, ...], gluon: bool, target: Target) -> str | None:
    """Why a kernel with these arguments can't be compiled for the target, whatever its functional; None: it can."""
    if gluon and target.vendor == "host":
        return "Gluon functions have no interpreter"
    if not any(argument.role == "descriptor" for argument in arguments):
        return None
    if target.family == "gfx1250":
        return "descriptors of gfx1250 are of another form, which no launch builds so far"
    if gluon and (target.vendor != "nvidia" or target.number < 90):
        return "Gluon's descriptors are for sm_90 and later"
    return None


def check_descriptors(linked: Linked) -> None:
    """Each is a tensor that is always there, with a block of powers of two that the hardware can move."""
    if len(linked.descriptors) > MOST_DESCRIPTORS:
        linked.problems.append(f"{len(linked.descriptors)} descriptors; a kernel has at most {MOST_DESCRIPTORS}")
    for name, descriptor in linked.descriptors.items():
        owner = f"descriptor {name!r}"
        if name not in linked.groups:
            linked.problems.append(f"descriptors name {name!r}, which has no choices")
            continue
        if name in linked.declaration.strides:
            linked.problems.append(f"{owner} has strides declared; it holds its tensor's own")
        if name in linked.declaration.optional:
            linked.problems.append(f"{owner} is optional; a descriptor of no tensor can't be built")
        if not 1 <= len(descriptor.block) <= _MOST_DIMENSIONS:
            linked.problems.append(f"{owner} has {len(descriptor.block)} dimensions; there are 1 to {_MOST_DIMENSIONS}")
        sizes = [_sizes(linked, owner, size) for size in descriptor.block]
        _check_elements(linked, name, owner, min(sizes[-1], default=0) if sizes else 0)
        _check_rest(linked, owner, descriptor)


def _sizes(linked: Linked, owner: str, size: object) -> list[int]:
    """All that one size of a block may come to; nothing where it is wrong."""
    values: list[object]
    if isinstance(size, str):
        group = linked.groups.get(size)
        choices = linked.performance.get(size) or (possible(linked.groups, group.spec) if group else ())
        if not choices or any(choice.kind != "integer" for choice in choices):
            linked.problems.append(f"the block of {owner} names {size!r}, which is no compile-time integer")
            return []
        values = [choice.value for choice in choices]
    else:
        values = [size]
    wrong = [value for value in values if not _is_power_of_two(value)]
    of = f" of {size!r}" if isinstance(size, str) else ""
    linked.problems += [f"the block of {owner} has the size {value!r}{of}; sizes are powers of two" for value in wrong]
    return [value for value in values if isinstance(value, int) and value not in wrong]


def _is_power_of_two(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and value & (value - 1) == 0


def _check_elements(linked: Linked, name: str, owner: str, last: int) -> None:
    """`last`: the smallest size of the block's last dimension, or 0 where that is wrong already."""
    choices = possible(linked.groups, linked.groups[name].spec, declared=True)
    types = dict.fromkeys(choice.type for choice in choices if choice.kind == "pointer")
    for kind in types:
        if kind == "i1":
            linked.problems.append(f"{owner} has elements of type i1; descriptors have none of these")
            continue
        moved = last * _element_bytes(kind)
        if last and moved < _LEAST_BYTES:
            linked.problems.append(
                f"the block of {owner} has {last} elements of {kind} in its last dimension, {moved} bytes; "
                f"{_LEAST_BYTES} is the least"
            )
    fills_nan = linked.descriptors[name].fill == "nan"
    whole = [kind for kind in types if kind[0] in "iu"]
    if fills_nan and whole:
        linked.problems.append(f"{owner} fills with nan, which {whole[0]} doesn't have")


def _element_bytes(kind: str) -> int:
    return _BYTES[kind.lstrip("abcdefghijklmnopqrstuvwxyz")]


def _check_rest(linked: Linked, owner: str, descriptor: Descriptor) -> None:
    if descriptor.fill not in ("zero", "nan"):
        linked.problems.append(f"{owner} fills with {descriptor.fill!r}; it is 'zero' or 'nan'")
    if descriptor.swizzle is None:
        return
    if not linked.function.gluon:
        linked.problems.append(f"{owner} has a swizzle; that is for Gluon functions, elsewhere the compiler decides it")
    if descriptor.swizzle not in (0, 32, 64, 128):
        linked.problems.append(f"{owner} has the swizzle {descriptor.swizzle!r}; it is 0, 32, 64 or 128 bytes")
