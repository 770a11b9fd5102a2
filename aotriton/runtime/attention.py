"""Flash attention, forward: tensors in, one call of the library, tensors out."""

from __future__ import annotations

import ctypes
import json
import math
from contextlib import nullcontext
from typing import Any

from aotriton.errors import AotritonError, ArgumentError, DeviceError, PackError, UnsupportedError
from aotriton.runtime import host
from aotriton.runtime.abi import (
    CAUSAL_NONE,
    CAUSAL_WINDOWED,
    DTYPES,
    WINDOW_BOTTOM_RIGHT,
    WINDOW_TOP_LEFT,
    AttnFwdParams,
    AttnOptions,
    write_tensor,
)
from aotriton.runtime.capability import Capability
from aotriton.runtime.device import Device, device_for, stream_handle
from aotriton.runtime.library import check, library, take_text
from aotriton.runtime.tensors import empty_like, view_of
from aotriton.runtime.view import TensorSpec

__all__ = ["attn_fwd", "can_attn_fwd", "explain_attn_fwd", "resolve_window"]

_OFFSETS = {name: getattr(AttnFwdParams, name).offset for name in ("q", "k", "v", "lse", "out")}
_ALIGNMENTS = {True: WINDOW_TOP_LEFT, "top_left": WINDOW_TOP_LEFT, "bottom_right": WINDOW_BOTTOM_RIGHT}


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
    if causal is None or type(causal).__name__ in ("bool_", "bool"):  # NumPy's too
        causal = bool(causal)
    if causal is not False and (not isinstance(causal, bool | str) or causal not in _ALIGNMENTS):
        raise ArgumentError(f"causal is {causal!r}; it is False, True, 'top_left' or 'bottom_right'")
    if window is None:
        if causal is False:
            return CAUSAL_NONE, 0, 0
        return CAUSAL_WINDOWED, _ALIGNMENTS[causal], _ALIGNMENTS[causal]
    try:
        left, right = (int(side.__index__()) for side in window)
    except (TypeError, ValueError, AttributeError):
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
    return CAUSAL_WINDOWED, max(-seqlen_k, min(wide_left, seqlen_q)), max(-seqlen_q, min(wide_right, seqlen_k))


class _Call:
    """One call: views of its tensors, its device, its parameters."""

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
        self.out, self.lse = outputs
        shape = (*q.shape[:3], v.shape[3])
        if self.out is None:
            self.out = TensorSpec(shape, q.dtype) if query else empty_like(tensors[0], shape, None, "out")
        if self.lse is True:
            self.lse = TensorSpec(shape[:3], "fp32") if query else empty_like(tensors[0], shape[:3], "fp32", "lse")
        self.named = [("q", q), ("k", k), ("v", v), ("out", view_of(self.out, "out", 3))]
        if self.lse is not None and self.lse is not False:
            self.named.append(("lse", view_of(self.lse, "lse", 4)))
        for name, view in self.named[3:]:
            if view.read_only:
                raise ArgumentError(f"{name} is read-only; the call writes it")
        self.device = device_for(self.named, device)
        self.stream = stream_handle(stream, tensors[0], q)
        self.params = params = AttnFwdParams()
        params.size = ctypes.sizeof(AttnFwdParams)
        try:
            params.scale = 1 / math.sqrt(max(q.shape[3], 1)) if scale is None else float(scale)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"scale is {scale!r}; it is a number, or None for 1/sqrt(head dim)") from None
        for name, view in self.named:
            write_tensor(params, _OFFSETS[name], view.data, DTYPES[view.dtype][0], view.shape, view.strides)
        params.causal_type, params.window_left, params.window_right = resolve_window(
            causal, window, q.shape[2], k.shape[2]
        )

    def bounds(self) -> Any:
        """Where a launch on `host` may read and write; costs nothing on other devices."""
        if self.device.driver != "host":
            return nullcontext()
        return host.bounded([view.extent() for _, view in self.named])


def attn_fwd(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    window: tuple[int, int] | None = None,
    out: Any = None,
    lse: Any = None,
    device: str | Device | None = None,
    stream: Any = None,
) -> Any:
    """Attention: `softmax(scale * q kᵀ) v` over the visible keys.

    Runs a code object from the packs; nothing is compiled. Enqueues one launch and doesn't wait for it.

    Parameters
    ----------
    q : tensor
        Queries, (B, Hq, Sq, D). fp16, bf16 or fp32, any strides with a last one of 1.
    k, v : tensor
        Keys (B, Hk, Sk, D) and values (B, Hk, Sk, Dv), of q's element type. Hq is a multiple of Hk.
    scale : float, optional
        1/√D unless given.
    causal : bool or str
        True or "top_left": query m sees key n where n <= m. "bottom_right": where n <= m + Sk - Sq.
    window : (int, int), optional
        Query m sees key n where m - left <= n <= m + right; -1 is no limit on that side. With `causal` the right side
        is the diagonal (give -1 or 0 there), and with "bottom_right" both sides move with it.
    out : tensor, optional
        Where the result goes, (B, Hq, Sq, Dv); made by q's library unless given (NumPy, PyTorch, CuPy).
    lse : tensor or True, optional
        Where the natural logarithm of the rows' sums goes, fp32, (B, Hq, Sq) or (B·Hq, Sq), contiguous. True makes it.
        A row that sees no key has out 0 and lse -inf.
    device : str, optional
        Tensors in GPU memory run where they are. For host memory: "host", "sim:gfx942", …, or what
        AOTRITON_DEVICE names.
    stream : int or object, optional
        A native handle, or a stream of your library. None: the stream that q's library works on at present where it
        says (DLPack's C exchange API), else the device's default stream.

    Returns
    -------
    out : tensor
        Or `(out, lse)` where lse was asked for.

    Raises
    ------
    ArgumentError
        An argument is not what the operation takes. Outputs are untouched.
    DeviceError, PackError, UnsupportedError
        There is no such device, no pack for it, or no code object for the problem. Outputs are untouched.

    Examples
    --------
    >>> import numpy as np
    >>> import aotriton
    >>> q = k = v = np.eye(16, dtype=np.float16).reshape(1, 1, 16, 16)
    >>> out, lse = aotriton.attn_fwd(q, k, v, lse=True, device="host")
    >>> out.shape, round(float(lse[0, 0, 0]), 4)
    ((1, 1, 16, 16), 2.7902)
    """
    for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out), ("lse", lse)):
        if type(tensor) is TensorSpec:
            raise ArgumentError(f"{name} is a TensorSpec, which has no memory; it can only be asked about")
    call = _Call((q, k, v), scale, causal, window, (out, lse), device, stream, query=False)
    with call.bounds():
        check(library().aotriton_attn_fwd(ctypes.byref(call.params), call.device.handle, call.stream, None, None))
    return call.out if lse is None or lse is False else (call.out, call.lse)


def _ask(call: _Call) -> tuple[int, dict[str, Any]]:
    """The status of the launch that would follow, and the trace of the choice."""
    options = AttnOptions(ctypes.sizeof(AttnOptions), -1, 0, 1, 0)
    text = ctypes.c_void_p()
    status = library().aotriton_attn_fwd(
        ctypes.byref(call.params), call.device.handle, call.stream, ctypes.byref(options), ctypes.byref(text)
    )
    trace = take_text(text)
    return status, json.loads(trace) if trace else {}


def can_attn_fwd(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    window: tuple[int, int] | None = None,
    out: Any = None,
    lse: Any = None,
    device: str | Device | None = None,
) -> Capability:
    """Whether a device can run this attention, with what, or why not. Launches nothing and reads no tensor.

    Parameters are those of `attn_fwd`; tensors may be `TensorSpec`, and the device `target:gfx942`, which need not be
    there.

    Raises
    ------
    ArgumentError
        The arguments are wrong for every device.

    Examples
    --------
    >>> from aotriton import TensorSpec, can_attn_fwd
    >>> q = TensorSpec((1, 2, 64, 64), "fp16")
    >>> can_attn_fwd(q, q, q, device="host").supported
    True
    """
    try:
        call = _Call((q, k, v), scale, causal, window, (out, lse), device, None, query=True)
    except DeviceError as error:
        return Capability(False, str(error), {})
    status, trace = _ask(call)
    try:
        check(status)
    except (DeviceError, PackError, UnsupportedError) as error:
        return Capability(False, str(error), trace)
    return Capability(True, "", trace)


def explain_attn_fwd(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    causal: bool | str = False,
    window: tuple[int, int] | None = None,
    out: Any = None,
    lse: Any = None,
    device: str | Device | None = None,
) -> dict[str, Any]:
    """The trace of the choice that `attn_fwd` would make: pack, functional, table, config, image, grid.

    The very function that a launch calls gives it. Parameters are those of `can_attn_fwd`.

    Raises
    ------
    ArgumentError, DeviceError, PackError
        There is no choice to explain: the arguments are wrong, or there is no device or pack.
    """
    call = _Call((q, k, v), scale, causal, window, (out, lse), device, None, query=True)
    status, trace = _ask(call)
    try:
        check(status)
    except AotritonError:
        if not trace:
            raise
    return trace
