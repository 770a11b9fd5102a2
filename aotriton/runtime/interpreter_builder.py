"""What the host device corrects in Triton's interpreter: bf16 arithmetic, and memory that a launch may not touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

__all__ = ["narrow", "overrides", "widen"]

_NULL_PAGE = 4096  # what no allocation contains


def widen(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """The values of bf16 bit patterns."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """The bit patterns of the nearest bf16 values, ties to even, as GPUs round; Triton's interpreter cuts bits off."""
    values = np.ascontiguousarray(values, dtype=np.float32).reshape(values.shape)
    bits = values.view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def _is_bf16(dtype: Any) -> bool:
    return bool(dtype.scalar == tl.bfloat16)


def _values(handle: Any) -> Any:
    """A handle of bf16 as one of fp32; any other as it is."""
    return TensorHandle(widen(handle.data), tl.float32) if _is_bf16(handle.dtype) else handle


def _bf16(handle: Any) -> Any:
    """A result of fp32 arithmetic on bf16 operands; a comparison's stays boolean."""
    return TensorHandle(handle.data if handle.data.dtype == np.bool_ else narrow(handle.data), tl.bfloat16)


def _arithmetic(builder: Any) -> dict[str, Callable[..., Any]]:
    """The builder keeps bf16 as 16-bit integers and computes with these: here they are values."""
    plain = type(builder)

    def cast_impl(src: Any, dst_type: Any) -> Any:
        if _is_bf16(src.dtype) == _is_bf16(dst_type):
            return plain.cast_impl(builder, src, dst_type)
        if _is_bf16(dst_type):
            return TensorHandle(narrow(src.data), tl.bfloat16)
        return TensorHandle(widen(src.data).astype(_get_np_dtype(dst_type)), dst_type.scalar)

    def binary_op(lhs: Any, rhs: Any, op: Any) -> Any:
        if _is_bf16(lhs.dtype) and lhs.data.dtype == np.uint16:
            return _bf16(plain.binary_op(builder, _values(lhs), _values(rhs), op))
        return plain.binary_op(builder, lhs, rhs, op)

    def unary_op(arg: Any, op: Any) -> Any:
        if _is_bf16(arg.dtype):
            return _bf16(plain.unary_op(builder, _values(arg), op))
        return plain.unary_op(builder, arg, op)

    def create_dot(a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Any:
        return plain.create_dot(builder, _values(a), _values(b), d, input_precision, max_num_imprecise_acc)

    return {"cast_impl": cast_impl, "binary_op": binary_op, "unary_op": unary_op, "create_dot": create_dot}


def _guard(extents: Sequence[tuple[int, int]] | None) -> Callable[[Any, Any], None]:
    """A check of addresses: none in the null page, all inside one of the extents where these are known."""

    def check(pointers: Any, mask: Any) -> None:
        active = pointers.data if mask is None else pointers.data[np.broadcast_to(mask, pointers.data.shape)]
        if not active.size:
            return
        size = _get_np_dtype(pointers.get_element_ty()).itemsize
        low, high = int(active.min()), int(active.max()) + size
        if low < _NULL_PAGE:
            raise RuntimeError(f"an access through a null pointer (address {low:#x})")
        if extents is None or any(begin <= low and high <= end for begin, end in extents):
            return
        inside = np.zeros(active.shape, dtype=bool)
        for begin, end in extents:
            inside |= (active >= begin) & (active + size <= end)
        if not inside.all():
            stray = int(active[~inside].min())
            near = min(extents, key=lambda e: min(abs(stray - e[0]), abs(stray - e[1])), default=(0, 0))
            text = f"{stray - near[1]} bytes after the end" if stray >= near[1] else f"{near[0] - stray} bytes before"
            raise RuntimeError(f"a stray access of {size} bytes at {stray:#x}: {text} of the nearest tensor")

    return check


def _memory(builder: Any, extents: Sequence[tuple[int, int]] | None) -> dict[str, Callable[..., Any]]:
    plain = type(builder)
    check = _guard(extents)

    def create_masked_load(ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        check(ptrs, mask.data)
        return plain.create_masked_load(builder, ptrs, mask, other, *rest, **named)

    def create_masked_store(ptrs: Any, value: Any, mask: Any, cache_policy: Any) -> Any:
        check(ptrs, mask.data)
        return plain.create_masked_store(builder, ptrs, value, mask, cache_policy)

    def create_atomic_cas(ptr: Any, *rest: Any) -> Any:
        check(ptr, None)
        return plain.create_atomic_cas(builder, ptr, *rest)

    def create_atomic_rmw(op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
        check(ptr, mask.data)
        return plain.create_atomic_rmw(builder, op, ptr, val, mask, *rest)

    return {
        "create_masked_load": create_masked_load,
        "create_masked_store": create_masked_store,
        "create_atomic_cas": create_atomic_cas,
        "create_atomic_rmw": create_atomic_rmw,
    }


def overrides(builder: Any, extents: Sequence[tuple[int, int]] | None) -> dict[str, Callable[..., Any]]:
    """Methods that replace the builder's own during a launch, by name."""
    return {**_arithmetic(builder), **_memory(builder, extents)}
