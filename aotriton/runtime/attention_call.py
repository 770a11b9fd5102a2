"""One call of attention in words of the C API: what its arguments mean, and where it goes."""

from __future__ import annotations

import ctypes
import math
from contextlib import nullcontext
from operator import index
from typing import Any

from aotriton.errors import ArgumentError
from aotriton.runtime import host
from aotriton.runtime.abi import (
    CAUSAL_NONE,
    CAUSAL_WINDOWED,
    DTYPES,
    WINDOW_BOTTOM_RIGHT,
    WINDOW_TOP_LEFT,
    AttnFwdParams,
    write_tensor,
)
from aotriton.runtime.device import Device, device_for, stream_handle
from aotriton.runtime.tensors import empty_like, view_of
from aotriton.runtime.view import TensorSpec

__all__ = ["Call", "made_outputs", "resolve_window"]

_OFFSETS = {name: getattr(AttnFwdParams, name).offset for name in ("q", "k", "v", "lse", "out")}
_ALIGNMENTS = {True: WINDOW_TOP_LEFT, "top_left": WINDOW_TOP_LEFT, "bottom_right": WINDOW_BOTTOM_RIGHT}


def _alignment(causal: Any) -> bool | str:
    """What was given as `causal`, as one of the values that it takes."""
    if causal is None or type(causal).__name__ in ("bool_", "bool"):  # NumPy's too
        return bool(causal)
    if not isinstance(causal, str) or causal not in _ALIGNMENTS:
        raise ArgumentError(f"causal is {causal!r}; it is False, True, 'top_left' or 'bottom_right'")
    return causal


def _within(least: int, value: int, most: int) -> int:
    return most if value > most else least if value < least else value


def resolve_window(
    causal: bool | str, window: tuple[int, int] | None, seqlen_q: int, seqlen_k: int
) -> tuple[int, int, int]:
    """What `causal` and `window` mean to the C API: (causal_type, window_left, window_right).

    Examples
    --------
    >>> resolve_window(False, None, 8, 8)
    (0, 0, 0)
    >>> resolve_window(False, (2, -1), 8, 16)
    (3, 2, 16)
    """
    if causal is not True and causal is not False:
        causal = _alignment(causal)
    if window is None:
        if causal is False:
            return CAUSAL_NONE, 0, 0
        return CAUSAL_WINDOWED, _ALIGNMENTS[causal], _ALIGNMENTS[causal]
    try:
        if len(window) != 2:
            raise ValueError
        left, right = index(window[0]), index(window[1])  # by position: an iterator would be used up by the first look
    except (TypeError, ValueError, LookupError):
        raise ArgumentError(f"window is {window!r}; it is a pair of integers (left, right), -1 for no limit") from None
    if causal is False and left == right == -1:
        return CAUSAL_NONE, 0, 0
    if causal is not False and right > 0:
        raise ArgumentError(
            f"causal={causal!r} and window={window!r} contradict each other on the right side",
            "give -1 or 0 on the right: causal is the limit there",
        )
    shift = seqlen_k - seqlen_q if causal == "bottom_right" else 0
    last = right if causal is False or right < -1 else 0
    # No limit is a limit that no element reaches; larger ones are cut to it, so that no sum overflows in the kernel.
    wide_left = seqlen_q if left == -1 else left - shift
    wide_right = seqlen_k if causal is False and right == -1 else last + shift
    return CAUSAL_WINDOWED, _within(-seqlen_k, wide_left, seqlen_q), _within(-seqlen_q, wide_right, seqlen_k)


def made_outputs(q: Any, shape: tuple[int, ...], out: Any, lse: Any) -> tuple[Any, Any]:
    """The outputs of a call: those that were given, and new ones of q's library where they weren't.

    Parameters
    ----------
    q : tensor
        The model of new ones.
    shape : tuple of int
        That of out.
    out : tensor, optional
        None makes it.
    lse : tensor or True, optional
        True makes it; None and False are none.

    Raises
    ------
    ArgumentError
        How q's library makes tensors isn't known here.
    """
    if out is None:
        out = empty_like(q, shape, None, "out")
    if lse is True:
        lse = empty_like(q, shape[:3], "fp32", "lse")
    return out, None if lse is False else lse


class Call:
    """One call: views of its tensors, its device, its parameters.

    Parameters
    ----------
    tensors : (q, k, v)
        As the caller gave them.
    scale, causal, window, outputs, device, stream
        Those of `attn_fwd`; outputs are out and lse.
    query : bool
        Whether it is only asked about: outputs that aren't given are specs then.

    Raises
    ------
    ArgumentError, DeviceError
        An argument isn't what the operation takes, or there is no such device.
    """

    __slots__ = ("device", "lse", "named", "out", "params", "stream")

    def __init__(
        self,
        tensors: tuple[Any, Any, Any],
        scale: float | None,
        causal: bool | str,
        window: tuple[int, int] | None,
        outputs: tuple[Any, Any],
        device: str | Device | None,
        stream: Any,
        query: bool,
    ) -> None:
        q, k, v = (view_of(tensors[number], "qkv"[number], number) for number in range(3))
        for name, view in (("q", q), ("k", k), ("v", v)):
            if len(view.shape) != 4:
                raise ArgumentError(
                    f"{name} has {len(view.shape)} dimension(s), {view.shape}; it is (batch, heads, length, head dim)"
                )
        shape = (*q.shape[:3], v.shape[3])
        if query:
            out, lse = outputs
            outputs = (
                TensorSpec(shape, q.dtype) if out is None else out,
                TensorSpec(shape[:3], "fp32") if lse is True else lse,
            )
        self.out, self.lse = made_outputs(tensors[0], shape, *outputs)
        self.named = [("q", q), ("k", k), ("v", v), ("out", view_of(self.out, "out", 3))]
        if self.lse is not None:
            self.named.append(("lse", view_of(self.lse, "lse", 4)))
        for name, view in self.named[3:]:
            if view.read_only:
                raise ArgumentError(f"{name} is read-only; the call writes it")
            # Where there are no elements there may be no address, which the C API would take for no tensor.
            if name == "lse" and not view.data and 0 in view.shape and 0 not in shape:
                raise ArgumentError(f"lse has shape {view.shape}, and out {shape}; it takes (batch, heads, length)")
        self.device = device_for(self.named, device)
        self.stream = stream_handle(stream, tensors[0], q)
        self.params = params = AttnFwdParams()
        params.size = ctypes.sizeof(AttnFwdParams)
        try:
            params.scale = 1 / math.sqrt(max(q.shape[3], 1)) if scale is None else float(scale)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"scale is {scale!r}; it is a number, or None for 1/sqrt(head dim)") from None
        for name, view in self.named:
            write_tensor(params, _OFFSETS[name], view.data, DTYPES[view.dtype][0], view.shape, view.strides, name)
        params.causal_type, params.window_left, params.window_right = resolve_window(
            causal, window, q.shape[2], k.shape[2]
        )

    def bounds(self) -> Any:
        """Where a launch on `host` may read and write; costs nothing on other devices."""
        if self.device.driver != "host":
            return nullcontext()
        return host.bounded([view.extent() for _, view in self.named])
