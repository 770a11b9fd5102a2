"""A view of memory that somebody else owns: where it is, and how a tensor lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotriton.runtime.abi import DTYPES

__all__ = ["TensorSpec", "View", "contiguous_strides"]


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a tensor in row-major order.

    Examples
    --------
    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class View:
    """The memory of one tensor.

    Attributes
    ----------
    data : int
        Address of the first element; 0 is an absent tensor.
    dtype : str
        `fp16`, `bf16`, `fp32`, `i32`, ….
    shape, strides : tuple of int
        Sizes, and steps in elements.
    device : tuple of int
        DLPack's kind and number of the device whose memory it is.
    owner : object
        What keeps the memory alive.
    read_only : bool
        Whether the library that owns it forbids writing.
    """

    __slots__ = ("data", "device", "dtype", "owner", "read_only", "shape", "strides")

    def __init__(
        self,
        data: int,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        device: tuple[int, int],
        owner: Any = None,
        read_only: bool = False,
    ) -> None:
        self.data = data
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.device = device
        self.owner = owner
        self.read_only = read_only

    def __repr__(self) -> str:
        return f"View({self.dtype}, {self.shape}, strides={self.strides}, device={self.device}, at {self.data:#x})"

    def extent(self) -> tuple[int, int]:
        """The bytes from its lowest to past its highest element, [begin, end); empty without elements."""
        if 0 in self.shape:
            return self.data, self.data
        steps = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        size = DTYPES[self.dtype][1]
        low = sum(step for step in steps if step < 0)
        return self.data + low * size, self.data + (sum(steps) - low + 1) * size


class TensorSpec:
    """A tensor that isn't there, for asking: shape, type and strides without memory.

    Parameters
    ----------
    shape : sequence of int
        Its sizes.
    dtype : str
        `fp16`, `bf16`, `fp32`, ….
    strides : sequence of int, optional
        Steps in elements; row-major order unless given.
    alignment : int, optional
        What its address would be a multiple of, in bytes.

    Examples
    --------
    >>> q = TensorSpec((1, 2, 128, 64), "fp16")
    >>> q.strides
    (16384, 8192, 64, 1)
    """

    __slots__ = ("alignment", "dtype", "shape", "strides")

    def __init__(
        self, shape: Sequence[int], dtype: str, strides: Sequence[int] | None = None, alignment: int = 256
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.strides = contiguous_strides(self.shape) if strides is None else tuple(strides)
        self.alignment = alignment

    def __repr__(self) -> str:
        return f"TensorSpec({self.shape}, {self.dtype!r}, strides={self.strides}, alignment={self.alignment})"
