"""Choices: the values that an argument of a kernel may take, as an author writes them and as they are used."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

__all__ = ["TYPES", "Choice", "Like", "Value", "When", "numeric_choices", "parse_choices", "same", "type_choice"]

Value: TypeAlias = bool | int | float | str

TYPES = ("fp16", "bf16", "fp32", "fp64", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
"""Element types of tensors and types of scalars, by the names that Triton's signatures use."""

_TYPE = re.compile(r"(?P<pointer>\*?)(?P<type>\w+)(?::(?P<hint>\d+))?")
_NUMPY = {
    np.dtype(np.bool_): "i1",
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint8): "u8",
    np.dtype(np.uint16): "u16",
    np.dtype(np.uint32): "u32",
    np.dtype(np.uint64): "u64",
    np.dtype(np.float16): "fp16",
    np.dtype(np.float32): "fp32",
    np.dtype(np.float64): "fp64",
}


@dataclass(frozen=True)
class Choice:
    """One value that an argument may take.

    Attributes
    ----------
    text : str
        As it stands in a functional's signature: `True`, `16`, `'*fp16:16'` with its quotes.
    kind : str
        `pointer` or `scalar` (a type; the value comes at launch), or `integer`, `real`, `boolean` (a constant).
    value : bool or int or float or str
        The constant, or the type's text.
    type : str
        Element type of a pointer, type of a scalar or of a constant.
    alignment : int
        What the code may assume: bytes of a pointer, divisor of a scalar; 1 is nothing.
    rank : int, optional
        Dimensions of a pointer's tensor, once it is known for which argument the choice stands.
    """

    text: str
    kind: str
    value: Value
    type: str
    alignment: int = 1
    rank: int | None = None

    @property
    def constant(self) -> bool:
        """Whether the value is compiled into the code."""
        return self.kind in ("integer", "real", "boolean")

    @property
    def settled(self) -> bool:
        """Whether nothing about it is open: a pointer's is its rank until it is specialised."""
        return self.kind != "pointer" or self.rank is not None

    def specialise(self, rank: int) -> Choice:
        """The same choice for an argument of this rank; anything but a pointer is settled as it is."""
        return _with_rank(self, rank) if self.kind == "pointer" else self


@cache  # every functional asks for the same few
def _with_rank(choice: Choice, rank: int) -> Choice:
    return replace(choice, rank=rank)


@dataclass(frozen=True)
class Like:
    """The choice that another parameter takes."""

    parameter: str


@dataclass(frozen=True)
class When:
    """A choice that depends on another parameter's.

    Parameters
    ----------
    parameter : str
        The parameter that decides. It may be declared later.
    values : value or sequence of values
        With one of these, the choice is `then`.
    then, otherwise
        A type, a constant, `Like(parameter)`, or another `When`.
    """

    parameter: str
    values: Any
    then: Any
    otherwise: Any = 0

    @cached_property
    def accepted(self) -> tuple[Value, ...]:
        """`values` as a tuple of plain Python values."""
        many = isinstance(self.values, Sequence) and not isinstance(self.values, str)
        values = self.values if many or isinstance(self.values, np.ndarray) else [self.values]
        return tuple(value.item() if isinstance(value, np.generic) else value for value in values)

    def holds(self, value: Value) -> bool:
        """Whether that value of the parameter selects `then`."""
        return any(same(value, accepted) for accepted in self.accepted)


def same(left: Value, right: Value) -> bool:
    """Equality that tells True from 1 and 1 from 1.0."""
    return type(left) is type(right) and left == right


def type_choice(text: str) -> Choice | str:
    """The choice that a type's text means (`*fp16:16`, `fp32`, `u64:8`), or what is wrong with it."""
    match = _TYPE.fullmatch(text)
    if match is None or match["type"] not in TYPES:
        return f"unknown type {text!r}; types are {', '.join(TYPES)}, with * before a pointer's and :8 or :16 after"
    hint = int(match["hint"] or 1)
    if hint not in (1, 8, 16):
        return f"type {text!r} has the hint {hint}; hints are 1, 8 and 16"
    if match["pointer"]:
        if match["hint"] == "1":
            return f"type {text!r} has the hint 1, which is for scalars; leave it out"
        return Choice(repr(text), "pointer", text, match["type"], hint)
    if match["hint"] == "1":
        # Triton's own notation for an argument that is always 1.
        return Choice("1", "integer", 1, match["type"])
    if hint > 1 and match["type"][0] not in "iu":
        return f"type {text!r} has a hint of divisibility, which is for integers"
    return Choice(repr(text), "scalar", text, match["type"], hint)


def _integer_type(values: Sequence[int]) -> str | None:
    # The thresholds are the original's: BLOCK_DMODEL's 16 is an int16 since 512 stands beside it, and 16 alone is too.
    largest = max(abs(value) for value in values)
    for limit, name in ((16, "i8"), (8192, "i16"), (2**31, "i32"), (2**63, "i64")):
        if largest < limit:
            return name
    return None


def numeric_choices(values: Sequence[Any]) -> tuple[Choice, ...] | str:
    """Constants of one kind, typed together; or what is wrong with them."""
    if all(isinstance(value, bool) for value in values):
        return tuple(Choice(repr(value), "boolean", value, "i1") for value in values)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        name = _integer_type(values)
        if name is None:
            return f"{max(values, key=abs)} doesn't fit an int64"
        return tuple(Choice(repr(value), "integer", value, name) for value in values)
    if all(isinstance(value, float) for value in values):
        return tuple(Choice(repr(value), "real", value, "fp32") for value in values)
    return f"choices of different kinds can't stand together: {', '.join(map(repr, values))}"


def _numpy_choices(values: np.ndarray[Any, Any]) -> tuple[Choice, ...] | str:
    name = _NUMPY.get(values.dtype)
    if name is None:
        return f"no argument has NumPy's type {values.dtype}"
    if values.ndim != 1:
        return f"choices are a list; the array has {values.ndim} dimensions"
    kind = "boolean" if name == "i1" else "real" if name.startswith("fp") else "integer"
    return tuple(Choice(repr(value), kind, value, name) for value in values.tolist())


def parse_choices(value: Any) -> tuple[Choice, ...] | str:
    """The choices that an author wrote as one value, a list or a NumPy array; or what is wrong with them."""
    if isinstance(value, np.generic):
        value = np.array([value])
    if isinstance(value, np.ndarray):
        parsed = _numpy_choices(value)
    else:
        values = list(value) if isinstance(value, list | tuple | range) else [value]
        if all(isinstance(item, np.generic) for item in values) and len({item.dtype for item in values}) == 1:
            parsed = _numpy_choices(np.array(values))
        else:
            parsed = _python_choices(values)
    return parsed if isinstance(parsed, str) else _sound(parsed)


def _python_choices(values: list[Any]) -> tuple[Choice, ...] | str:
    unknown = [item for item in values if not isinstance(item, bool | int | float | str)]
    if unknown:
        return f"{unknown[0]!r} is no choice; choices are types, numbers, booleans and NumPy arrays"
    texts = [item for item in values if isinstance(item, str)]
    if not texts:
        return numeric_choices(values) if values else ()
    if len(texts) < len(values):
        return f"types and constants can't stand together ({', '.join(map(repr, values))}); When(…) can join them"
    choices: list[Choice] = []
    for text in texts:
        choice = type_choice(text)
        if isinstance(choice, str):
            return choice
        choices.append(choice)
    if len({choice.kind for choice in choices}) > 1:
        return f"pointers and scalars can't stand together: {', '.join(texts)}"
    return tuple(choices)


def _sound(choices: tuple[Choice, ...]) -> tuple[Choice, ...] | str:
    if not choices:
        return "there are no choices"
    endless = [one.text for one in choices if isinstance(one.value, float) and not math.isfinite(one.value)]
    if endless:
        return f"{endless[0]} is no choice; a constant is a finite number"
    texts = [choice.text for choice in choices]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        return f"the choice {', '.join(twice)} stands twice"
    if len(choices) > 255:
        return f"{len(choices)} choices; at most 255 have a number in the index"
    return choices
