"""Flash attention, forward: tensors in, one call of the library, tensors out."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from aotriton.errors import AotritonError, ArgumentError, DeviceError, PackError, UnsupportedError
from aotriton.runtime import objects
from aotriton.runtime.abi import AttnOptions
from aotriton.runtime.attention_call import Call, made_outputs, resolve_window
from aotriton.runtime.capability import Capability
from aotriton.runtime.device import Device, device_address, stream_address
from aotriton.runtime.library import check, library, take_text
from aotriton.runtime.view import TensorSpec

__all__ = ["attn_fwd", "can_attn_fwd", "explain_attn_fwd"]

_TOP_LEFT = resolve_window(True, None, 0, 0)


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
    made, rows = out, lse
    try:
        if out is None or lse is True or lse is False:
            made, rows = made_outputs(q, (*q.shape[:3], v.shape[3]), out, lse)
        mask = None
        if causal is True and window is None:
            mask = _TOP_LEFT
        elif causal is not False or window is not None:
            mask = resolve_window(causal, window, q.shape[2], k.shape[2])
        where = None if device is None else device_address(device)
        queue = stream if stream is None or type(stream) is int else stream_address(stream)
        status = objects.attn_fwd(q, k, v, made, rows, scale, mask, where, queue)
    except Exception:  # found again on the general path, which says which argument it is about
        status = objects.DECLINED
    if status == objects.DECLINED:
        made, rows = _attn_fwd((q, k, v), scale, causal, window, (out, lse), device, stream)
    elif status:
        check(status)
    return made if rows is None else (made, rows)


def _attn_fwd(
    tensors: tuple[Any, Any, Any],
    scale: float | None,
    causal: bool | str,
    window: tuple[int, int] | None,
    outputs: tuple[Any, Any],
    device: str | Device | None,
    stream: Any,
) -> tuple[Any, Any]:
    """The general path of `attn_fwd`, for tensors of any library and all devices; the outputs."""
    for name, tensor in zip(("q", "k", "v", "out", "lse"), (*tensors, *outputs), strict=True):
        if type(tensor) is TensorSpec:
            raise ArgumentError(f"{name} is a TensorSpec, which has no memory; it can only be asked about")
    call = Call(tensors, scale, causal, window, outputs, device, stream, query=False)
    with call.bounds():
        check(library().aotriton_attn_fwd(ctypes.byref(call.params), call.device.handle, call.stream, None, None))
    return call.out, call.lse


def _ask(call: Call) -> tuple[int, dict[str, Any]]:
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
        call = Call((q, k, v), scale, causal, window, (out, lse), device, None, query=True)
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
    call = Call((q, k, v), scale, causal, window, (out, lse), device, None, query=True)
    status, trace = _ask(call)
    try:
        check(status)
    except AotritonError:
        if not trace:
            raise
    return trace
