"""Values as the command line writes them: `fp16[37,1000]` for a tensor, numbers, pairs of numbers."""

from __future__ import annotations

import re

from aotriton.errors import ArgumentError
from aotriton.runtime import TensorSpec
from aotriton.runtime.abi import DTYPES

__all__ = ["parse_argument", "parse_numbers", "parse_tensor"]

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d*)\[(?P<sizes>[\d,]*)\](?::(?P<strides>-?\d+(?:,-?\d+)*))?(?:@(?P<alignment>[1-9]\d*))?"
)


def parse_tensor(text: str) -> TensorSpec:
    """`fp16[37,1000]`, with strides `fp16[37,1000]:2000,1`, with an address aligned to 2 bytes only `fp16[8]@2`."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise ArgumentError(
            f"`{text}` is no tensor", "write its type, its sizes, and if need be strides: fp16[37,1000]:2000,1"
        )
    if match["dtype"] not in DTYPES:
        raise ArgumentError(f"there is no type `{match['dtype']}`; the types are {', '.join(DTYPES)}")
    sizes = [int(size) for size in match["sizes"].split(",") if size]
    strides = None if match["strides"] is None else [int(stride) for stride in match["strides"].split(",")]
    if strides is not None and len(strides) != len(sizes):
        raise ArgumentError(f"`{text}` has {len(sizes)} sizes and {len(strides)} strides")
    return TensorSpec(sizes, match["dtype"], strides, int(match["alignment"] or 256))


def parse_argument(text: str) -> tuple[str, TensorSpec | int | float]:
    """`NAME=VALUE`, the value a tensor, an integer, a boolean, or a real number."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentError(f"`{text}` is no argument", "write NAME=VALUE, such as Rows=37 or X=fp16[37,1000]")
    if "[" in value:
        return name, parse_tensor(value)
    if value in ("True", "False"):
        return name, value == "True"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    raise ArgumentError(f"the value of `{text}` is neither a tensor nor a number")


def parse_numbers(text: str, count: int) -> tuple[int, ...]:
    """`count` whole numbers joined by commas."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise ArgumentError(f"`{text}` is not {count} whole numbers joined by commas")
    return numbers
