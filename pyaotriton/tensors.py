"""Element types and non-owning views of tensors, by rank, as the original's binding has them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import ClassVar

__all__ = ["DType", "T0", "T1", "T2", "T4", "TensorView"]


class DType(enum.IntEnum):
    """Element types, with the values of the C++ `DType`."""

    __str__ = enum.Enum.__str__

    kUnknown = 0
    kFloat32 = 1
    kFloat16 = 2
    kBFloat16 = 3
    kInt8 = 10
    kInt16 = 11
    kInt32 = 12
    kInt64 = 13
    kUInt8 = 20
    kUInt16 = 21
    kUInt32 = 22
    kUInt64 = 23


class TensorView:
    """A view of memory that the caller owns; a null address is an absent tensor.

    Attributes
    ----------
    data_ptr : int
        Address of the first element.
    sizes, strides : list of int
        By dimension, strides in elements.
    dtype : DType
        Of its elements.
    """

    RANK: ClassVar[int] = 0
    __slots__ = ("_data_ptr", "_dtype", "_sizes", "_strides")

    def __init__(self, data_ptr: int, sizes: Sequence[int], strides: Sequence[int], dtype: DType) -> None:
        sizes, strides = [int(size) for size in sizes], [int(stride) for stride in strides]
        if len(sizes) != self.RANK or len(strides) != self.RANK:
            name, rank = type(self).__name__, self.RANK
            raise TypeError(f"{name} takes {rank} sizes and {rank} strides, not {len(sizes)} and {len(strides)}")
        if any(value < 0 for value in sizes + strides):
            raise TypeError(f"{type(self).__name__} takes no negative sizes or strides: {sizes}, {strides}")
        self._data_ptr = int(data_ptr)
        self._sizes = sizes
        self._strides = strides
        self._dtype = DType(dtype)

    def size(self, i: int) -> int:
        """The size of dimension `i`."""
        return self._sizes[i]

    def stride(self, i: int) -> int:
        """The stride of dimension `i`, in elements."""
        return self._strides[i]

    @property
    def sizes(self) -> list[int]:
        """The sizes by dimension."""
        return list(self._sizes)

    @property
    def strides(self) -> list[int]:
        """The strides by dimension, in elements."""
        return list(self._strides)

    @property
    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._data_ptr

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data_ptr:#x}, {self._sizes}, {self._strides}, DType.{self._dtype.name})"


class T4(TensorView):
    """A view of rank 4."""

    RANK = 4
    __slots__ = ()


class T2(TensorView):
    """A view of rank 2."""

    RANK = 2
    __slots__ = ()


class T1(TensorView):
    """A view of rank 1."""

    RANK = 1
    __slots__ = ()


class T0(TensorView):
    """A view of one element."""

    __slots__ = ()

    def __init__(self, data_ptr: int, dtype: DType) -> None:
        super().__init__(data_ptr, (), (), dtype)

    def size(self, i: int) -> int:
        """1 for dimension 0, else 0, as in C++."""
        return 1 if i == 0 else 0

    def stride(self, i: int) -> int:
        """1 for dimension 0, else 0, as in C++."""
        return 1 if i == 0 else 0
