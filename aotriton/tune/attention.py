"""What attention kernels are timed on and checked with: problems, their arguments in GPU memory, and the reference."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from aotriton.describe import Functional
from aotriton.flash.error_model import ForwardBound, forward_bound
from aotriton.flash.reference import BOTTOM_RIGHT, TOP_LEFT, Forward, Window, forward
from aotriton.tune.gpu import Gpu, GpuArray

__all__ = ["AttentionForward"]

_DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
_BLOCK = 1 << 20  # random numbers that large inputs repeat
# Rows and columns: no multiples of blocks, few blocks and many, so that every stage of a pipeline is filled.
_CHECKED = ((200, 300), (257, 1100))


@dataclass(frozen=True)
class _Shape:
    batch: int
    heads: int
    kv_heads: int
    rows: int
    columns: int
    dim: int

    @property
    def query(self) -> tuple[int, ...]:
        return self.batch, self.heads, self.rows, self.dim

    @property
    def key(self) -> tuple[int, ...]:
        return self.batch, self.kv_heads, self.columns, self.dim

    @property
    def scale(self) -> float:
        return float(self.dim**-0.5)


@dataclass(frozen=True)
class _Check:
    """A small problem with its inputs, what float64 makes of them, and how far from it a right kernel may be."""

    shape: _Shape
    values: Mapping[str, Any]
    exact: Forward
    bound: ForwardBound


@dataclass
class AttentionForward:
    """`flash.attn_fwd` on so many tokens of so large a hidden size, as a model has them.

    Attributes
    ----------
    tokens, hidden : int
        A problem of S rows or columns has `tokens / S` sequences of `hidden / head dim` heads, at least one of each.

    Where the functional has a window, it is causal: aligned at the bottom right where there are fewer queries than
    keys, else at the top left. The log-sum-exp is asked for.
    """

    tokens: int = 16384
    hidden: int = 2048
    _memory: dict[str, GpuArray] = field(default_factory=dict, repr=False)
    _checks: dict[Functional, list[_Check]] = field(default_factory=dict, repr=False)

    def describe(self) -> dict[str, Any]:
        """What the results say of it."""
        return {"tokens": self.tokens, "hidden": self.hidden}

    def timed(self, gpu: Gpu, functional: Functional, keys: Mapping[str, int]) -> dict[str, Any]:
        """The arguments of a problem that is timed; good until the next one is asked for."""
        rows, columns, dim = keys["Max_seqlen_q"], keys["Max_seqlen_k"], _head_dim(functional)
        heads = max(1, self.hidden // dim)
        shape = _Shape(max(1, self.tokens // max(rows, columns)), heads, heads, rows, columns, dim)
        arrays = {}
        for number, (name, sizes) in enumerate({"Q": shape.query, "K": shape.key, "V": shape.key}.items()):
            dtype = _dtype(functional)
            count = int(np.prod(sizes))
            block = _random_block(number).astype(dtype)
            arrays[name] = self._array(gpu, functional, name, sizes)
            gpu.upload(arrays[name], np.resize(block, count))
        arrays["Out"] = self._array(gpu, functional, "Out", shape.query)
        return _arguments(gpu, functional, shape, arrays, self._lse(gpu, shape))

    def poison(self, gpu: Gpu, arguments: Mapping[str, Any]) -> None:
        """Fill the outputs with NaN."""
        for name in ("Out", "L"):
            gpu.poison(arguments[name])

    def written(self, gpu: Gpu, arguments: Mapping[str, Any]) -> bool:
        """Whether the first and last numbers of a timed problem's output, poisoned before, were written."""
        out = arguments["Out"]
        count = min(4096, int(np.prod(out.shape)))
        last = out.address + out.nbytes - count * out.dtype.itemsize
        ends = [gpu.download(GpuArray(address, (count,), out.dtype)) for address in (out.address, last)]
        return not any(np.isnan(values.astype(np.float32)).any() for values in ends)

    def errors(self, gpu: Gpu, functional: Functional, launch: Any) -> dict[str, float]:
        """The largest error of each output over its bound, on small problems with fresh random inputs.

        Parameters
        ----------
        launch : callable
            Launches with these arguments.

        Returns
        -------
        dict
            By output; above 1, or infinite where it isn't written, it is wrong.
        """
        if functional not in self._checks:
            shapes = [_Shape(2, 4, 2, rows, columns, _head_dim(functional)) for rows, columns in _CHECKED]
            self._checks = {functional: [_check_of(functional, shape) for shape in shapes]}
        found = [self._errors_of(gpu, functional, check, launch) for check in self._checks[functional]]
        return {name: max(one[name] for one in found) for name in ("out", "lse")}

    def _errors_of(self, gpu: Gpu, functional: Functional, check: _Check, launch: Any) -> dict[str, float]:
        shape, arrays = check.shape, {}
        for name, values in check.values.items():
            arrays[name] = self._array(gpu, functional, name, values.shape)
            gpu.upload(arrays[name], values)
        arrays["Out"] = self._array(gpu, functional, "Out", shape.query)
        arguments = _arguments(gpu, functional, shape, arrays, self._lse(gpu, shape))
        self.poison(gpu, arguments)
        launch(arguments)
        gpu.synchronise()
        lse = gpu.download(arguments["L"]).reshape(check.exact.lse.shape)
        return {
            "out": _excess(gpu.download(arguments["Out"]), check.exact.out, check.bound.out),
            "lse": _excess(lse, check.exact.lse, check.bound.lse),
        }

    def _array(self, gpu: Gpu, functional: Functional, name: str, shape: tuple[int, ...]) -> GpuArray:
        """Memory that is used again, aligned as the functional takes it and no better."""
        array = GpuArray(0, shape, _dtype(functional))
        offset = 0 if functional.choice("Q").alignment >= 16 else array.dtype.itemsize
        array.address = self._room(gpu, name, array.nbytes + offset) + offset
        return array

    def _lse(self, gpu: Gpu, shape: _Shape) -> GpuArray:
        array = GpuArray(0, (shape.batch * shape.heads, shape.rows), np.float32)
        array.address = self._room(gpu, "L", array.nbytes)
        return array

    def _room(self, gpu: Gpu, name: str, size: int) -> int:
        found = self._memory.get(name)
        if found is None or found.nbytes < size:
            if found is not None:
                gpu.synchronise()
                gpu.free(found)
            found = self._memory[name] = gpu.allocate(size)
        return found.address


def _check_of(functional: Functional, shape: _Shape) -> _Check:
    chance, values = np.random.default_rng(), {}
    for name, sizes in {"Q": shape.query, "K": shape.key, "V": shape.key}.items():
        values[name] = chance.standard_normal(sizes, np.float32).astype(_dtype(functional))
    given, window = (values["Q"], values["K"], values["V"], shape.scale), _window(functional, shape)
    return _Check(shape, values, forward(*given, window=window), forward_bound(*given, window=window))


def _dtype(functional: Functional) -> Any:
    return np.dtype(_DTYPES[functional.choice("Q").type])


def _head_dim(functional: Functional) -> int:
    width = int(functional["BLOCK_DMODEL"])
    return width - 8 if functional["PADDED_HEAD"] else width


def _window(functional: Functional, shape: _Shape) -> Window | None:
    if functional["CAUSAL_TYPE"] == 0:
        return None
    side = BOTTOM_RIGHT if shape.rows < shape.columns else TOP_LEFT
    return Window(side, side)


def _arguments(
    gpu: Gpu, functional: Functional, shape: _Shape, arrays: Mapping[str, GpuArray], lse: GpuArray
) -> dict[str, Any]:
    window = _window(functional, shape)
    return {
        **arrays,
        "L": lse,
        "Sm_scale": shape.scale,
        "Num_head_q": shape.heads,
        "Num_head_k": shape.kv_heads,
        "Num_seqlens": 0,
        "Max_seqlen_q": shape.rows,
        "Max_seqlen_k": shape.columns,
        "Hdim_qk": shape.dim,
        "Hdim_vo": shape.dim,
        "ENABLE_DROPOUT": False,
        "dropout_p": 0.0,
        "philox_offset2": 0,
        "CAUSAL_TYPE": int(functional["CAUSAL_TYPE"]),
        "Window_left": window.left if window else 0,
        "Window_right": window.right if window else 0,
        "Num_CU": gpu.compute_units,
        "Batch": shape.batch,
    }


def _excess(found: Any, exact: Any, bound: Any) -> float:
    """The largest error over its bound; infinite for a NaN, or where an infinity is missed."""
    found = found.astype(np.float64)
    same = found == exact
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(same, 0.0, np.abs(found - exact) / bound)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max(initial=0.0))


@functools.cache
def _random_block(number: int) -> Any:
    return np.random.default_rng(number).standard_normal(_BLOCK, np.float32)
