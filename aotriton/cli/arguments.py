"""Values as the command line writes them: `fp16[37,1000]` for a tensor, numbers, pairs of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aotriton.errors import ArgumentError

__all__ = ["TensorText", "parse_argument", "parse_pair", "parse_shape", "parse_tensor"]

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d*)\[(?P<sizes>[\d,]*)\](?::(?P<strides>-?\d+(?:,-?\d+)*))?(?:@(?P<offset>\d+))?"
)


@dataclass(frozen=True)
class TensorText:
    """A tensor that a problem speaks of; there is no memory behind it.

    Attributes
    ----------
    dtype : str
        `fp16`, `i32`, …
    sizes, strides : tuple of int
        By dimension; strides in elements, contiguous unless given.
    offset : int
        Bytes by which its address misses a multiple of 256.
    """

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def contiguous(cls, dtype: str, sizes: tuple[int, ...]) -> TensorText:
        """A tensor with the last dimension's stride 1, and each other's the size of what it steps over."""
        strides = [1] * len(sizes)
        for i in reversed(range(len(sizes) - 1)):
            strides[i] = strides[i + 1] * max(sizes[i + 1], 1)
        return cls(dtype, sizes, tuple(strides))


def parse_tensor(text: str) -> TensorText:
    """`fp16[37,1000]`, with strides `fp16[37,1000]:2000,1`, with an address off by some bytes `fp16[8]@2`."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise ArgumentError(
            f"`{text}` is no tensor", "write its type, sizes, and if need be strides: fp16[37,1000]:2000,1"
        )
    sizes = tuple(int(size) for size in match["sizes"].split(",") if size)
    offset = int(match["offset"] or 0)
    if match["strides"] is None:
        plain = TensorText.contiguous(match["dtype"], sizes)
        return TensorText(plain.dtype, plain.sizes, plain.strides, offset)
    strides = tuple(int(stride) for stride in match["strides"].split(","))
    if len(strides) != len(sizes):
        raise ArgumentError(f"`{text}` has {len(sizes)} sizes and {len(strides)} strides")
    return TensorText(match["dtype"], sizes, strides, offset)


def parse_argument(text: str) -> tuple[str, TensorText | int | float]:
    """`NAME=VALUE`, the value a tensor, an integer, a boolean, or a real number."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentError(f"`{text}` is no argument", "write NAME=VALUE, such as Rows=37 or X=fp16[37,1000]")
    if "[" in value:
        return name, parse_tensor(value)
    if value in ("True", "False"):
        return name, int(value == "True")
    try:
        return name, int(value, 0)
    except ValueError:
        pass
    try:
        return name, float(value)
    except ValueError:
        raise ArgumentError(f"the value of `{text}` is neither a tensor nor a number") from None


def parse_shape(text: str, count: int) -> tuple[int, ...]:
    """`count` numbers joined by commas."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise ArgumentError(f"`{text}` is not {count} whole numbers joined by commas")
    return numbers


def parse_pair(text: str) -> tuple[int, int]:
    """One number that counts for both, or two."""
    first, second = parse_shape(text if "," in text else f"{text},{text}", 2)
    return first, second
