"""Tensors of several libraries for calls on host memory, and what a call is refused with."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aotriton.runtime.dlpack import CPU
from tests.tools.exchange import exchanging

SHAPE, KEYS = (2, 4, 37, 64), (2, 2, 50, 64)


class CudaStream:
    """A stream as PyTorch has them."""

    def __init__(self, handle):
        self.cuda_stream = handle


def numpy_tensors(dtype: Any = np.float16) -> tuple[Any, ...]:
    """q, k, v, out and lse of one problem."""
    q, k, v, out = (np.zeros(shape, dtype) for shape in (SHAPE, KEYS, KEYS, SHAPE))
    return q, k, v, out, np.zeros(SHAPE[:3], np.float32)


class Exchanged:
    """Tensors of a library with the exchange API over NumPy's memory."""

    kind = exchanging((CPU, 0), True)

    @classmethod
    def of(cls, array, code=2):
        strides = [step // array.itemsize for step in array.strides]
        tensor = cls.kind(array.ctypes.data - 4, array.shape, strides, code, array.itemsize * 8)
        tensor.memory = array
        return tensor


def exchanged_tensors(code: int = 2) -> tuple[Any, ...]:
    """The same of a library with the exchange API: fp16, or bf16 with the code 4."""
    dtype = np.float16 if code == 2 else ml_dtypes.bfloat16
    *tensors, lse = numpy_tensors(dtype)
    return *(Exchanged.of(tensor, code) for tensor in tensors), Exchanged.of(lse)


TENSORS = {
    "numpy fp16": numpy_tensors,
    "numpy bf16": lambda: numpy_tensors(ml_dtypes.bfloat16),
    "exchanged fp16": exchanged_tensors,
    "exchanged bf16": lambda: exchanged_tensors(4),
    "of two libraries": lambda: tuple(
        Exchanged.of(tensor) if i % 2 else tensor for i, tensor in enumerate(numpy_tensors())
    ),
}


def kernel_arguments(q: Any, k: Any, v: Any, out: Any, lse: Any) -> dict[str, Any]:
    """The same problem in words of the kernel."""
    return {
        "Q": q, "K": k, "V": v, "Out": out, "L": lse.reshape(8, 37) if isinstance(lse, np.ndarray) else lse, "B": None,
        "Sm_scale": 0.125, "Num_head_q": 4, "Num_head_k": 2, "Num_seqlens": 0, "Max_seqlen_q": 37, "Max_seqlen_k": 50,
        "Hdim_qk": 64, "Hdim_vo": 64, "ENABLE_DROPOUT": False, "dropout_p": 0.0, "philox_offset2": 0, "CAUSAL_TYPE": 0,
        "Window_left": -3, "Window_right": -1, "Num_CU": 132, "Batch": 2,
    }  # fmt: skip


def failure(call: Any, *arguments: Any, **named: Any) -> tuple[type[Exception], str]:
    """What a call fails with."""
    try:
        call(*arguments, **named)
    except Exception as error:
        return type(error), str(error)
    pytest.fail(f"no error with {({name: value for name, value in named.items() if not hasattr(value, 'shape')})}")
