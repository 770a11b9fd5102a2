"""Problems without memory, put to the library: tensors get addresses that nothing reads."""

from __future__ import annotations

import argparse
import ctypes
import json
from typing import Any

from aotriton.cli.arguments import TensorText, parse_argument, parse_shape
from aotriton.errors import ArgumentError
from aotriton.runtime import abi
from aotriton.runtime.library import check, library, take_text

__all__ = ["explain_attention", "explain_kernel"]

_FIRST_ADDRESS, _APART = 1 << 32, 1 << 28


def _open_device(name: str) -> ctypes.c_void_p:
    device = ctypes.c_void_p()
    check(library().aotriton_device_open(name.encode(), ctypes.byref(device)))
    return device


def _trace(status: int, text: ctypes.c_void_p) -> dict[str, Any]:
    trace = take_text(text)
    if not trace:
        check(status)
    result: dict[str, Any] = json.loads(trace)
    return result


def _write(struct: ctypes.Structure, offset: int, tensor: TensorText, number: int) -> None:
    """Puts a tensor into a struct; the `number`th of a problem, so that no two overlap."""
    if tensor.dtype not in abi.DTYPES:
        raise ArgumentError(f"there is no type `{tensor.dtype}`; the types are {', '.join(abi.DTYPES)}")
    if len(tensor.sizes) > abi.MAX_RANK:
        raise ArgumentError(f"a tensor has at most {abi.MAX_RANK} dimensions, not {len(tensor.sizes)}")
    address = _FIRST_ADDRESS + number * _APART + tensor.offset
    abi.write_tensor(struct, offset, address, abi.DTYPES[tensor.dtype][0], tensor.sizes, tensor.strides)


# ---- attention ----


def _window(arguments: argparse.Namespace) -> tuple[int, int, int]:
    """Causal type, left and right window."""
    if arguments.causal and arguments.window:
        raise ArgumentError("--causal and --window exclude each other", "a causal window is --window LEFT,0")
    if arguments.window:
        left, right = parse_shape(arguments.window, 2)
        return abi.CAUSAL_WINDOWED, left, right
    if arguments.causal:
        side = abi.WINDOW_TOP_LEFT if arguments.causal == "top-left" else abi.WINDOW_BOTTOM_RIGHT
        return abi.CAUSAL_WINDOWED, side, side
    return abi.CAUSAL_NONE, 0, 0


def explain_attention(arguments: argparse.Namespace, device: str) -> dict[str, Any]:
    """The trace of `attn_fwd` for the problem that the options describe."""
    if not arguments.shape:
        raise ArgumentError("attn_fwd needs --shape", "--shape 2,8,512,64 is batch, heads, sequence length, head dim")
    batch, heads, seqlen, dim = parse_shape(arguments.shape, 4)
    kv_heads, seqlen_k = arguments.kv_heads or heads, seqlen if arguments.seqlen_k is None else arguments.seqlen_k
    dim_v = arguments.head_dim_v or dim
    shapes = {
        "q": (batch, heads, seqlen, dim),
        "k": (batch, kv_heads, seqlen_k, dim),
        "v": (batch, kv_heads, seqlen_k, dim_v),
        "out": (batch, heads, seqlen, dim_v),
    }
    params = abi.AttnFwdParams(size=ctypes.sizeof(abi.AttnFwdParams))
    for number, (name, sizes) in enumerate(shapes.items()):
        field = getattr(abi.AttnFwdParams, name)
        _write(params, field.offset, TensorText.contiguous(arguments.dtype, sizes), number)
    if arguments.lse:
        lse = TensorText.contiguous("fp32", (batch * heads, seqlen))
        _write(params, abi.AttnFwdParams.lse.offset, lse, len(shapes))
    params.scale = max(dim, 1) ** -0.5
    params.max_seqlen_q, params.max_seqlen_k = seqlen, seqlen_k
    params.causal_type, params.window_left, params.window_right = _window(arguments)
    options = abi.AttnOptions(size=ctypes.sizeof(abi.AttnOptions), force_backend=-1, query_only=1)
    if arguments.packs:
        check(library().aotriton_add_pack_path(arguments.packs.encode()))
    text = ctypes.c_void_p()
    handle = _open_device(device)
    status = library().aotriton_attn_fwd(ctypes.byref(params), handle, None, ctypes.byref(options), ctypes.byref(text))
    return _trace(status, text)


# ---- any kernel ----


def _arguments(texts: list[str]) -> Any:
    array = (abi.Argument * len(texts))()
    for number, text in enumerate(texts):
        name, value = parse_argument(text)
        argument = array[number]
        argument.name = name.encode()
        if isinstance(value, TensorText):
            argument.kind = abi.ArgumentKind.TENSOR
            _write(argument, abi.Argument.tensor.offset, value, number)
        elif isinstance(value, int):
            argument.kind, argument.integer = abi.ArgumentKind.INTEGER, value
        else:
            argument.kind, argument.real = abi.ArgumentKind.REAL, value
    return array


def explain_kernel(what: str, texts: list[str], packs: str | None, device: str) -> dict[str, Any]:
    """The trace of the kernel FAMILY/KERNEL for arguments as the command line writes them."""
    family, slash, name = what.partition("/")
    if not slash:
        raise ArgumentError(f"`{what}` is no operator", "attn_fwd is one; a kernel is named FAMILY/KERNEL")
    arguments = _arguments(texts)
    kernel, text = ctypes.c_void_p(), ctypes.c_void_p()
    folder = packs.encode() if packs else None
    handle = _open_device(device)
    check(library().aotriton_kernel_open(folder, family.encode(), name.encode(), handle, ctypes.byref(kernel)))
    try:
        options = abi.LaunchOptions(size=ctypes.sizeof(abi.LaunchOptions), config=-1)
        status = library().aotriton_kernel_explain(
            kernel, arguments, len(texts), ctypes.byref(options), ctypes.byref(text)
        )
        return _trace(status, text)
    finally:
        library().aotriton_kernel_close(kernel)
