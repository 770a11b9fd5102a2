"""Where a test's tensors lie: the host's memory for devices that read it, else a GPU's, which PyTorch holds.

Problems are written as NumPy arrays. `place` gives the tensor of an array, at the same strides and with the same memory
around it; `fetch` brings it back; `view` is what the binding takes.
"""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np

from pyaotriton import Stream
from tests.tools import attention

__all__ = ["GpuMemory", "HostMemory"]


class HostMemory:
    """The memory that `host`, simulated and recording devices read."""

    def place(self, array: Any) -> Any:
        """The array itself."""
        return array

    def fetch(self, tensor: Any) -> Any:
        """The array itself."""
        return tensor

    def view(self, array: Any) -> Any:
        """The binding's view."""
        return attention.view(array)

    def stream(self) -> Stream:
        """The default stream."""
        return Stream()

    def finish(self) -> None:
        """Nothing runs behind the caller's back."""


class GpuMemory:
    """The memory of the GPU that PyTorch works on."""

    def __init__(self, device: str = "cuda") -> None:
        self.torch, self.device = sys.modules["torch"], device

    def place(self, array: Any) -> Any:
        """A tensor at the array's strides, in a copy of the whole memory that the array is a view of."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not root.flags.c_contiguous or min(array.strides, default=0) < 0:
            root = array = np.ascontiguousarray(array)
        torch, size = self.torch, array.itemsize
        dtype = getattr(torch, str(array.dtype))
        if array.size == 0:
            return torch.empty(array.shape, dtype=dtype, device=self.device)
        bits = torch.from_numpy(root.reshape(-1).view(np.uint8)).to(self.device, copy=True)
        elements = bits[array.ctypes.data - root.ctypes.data :].view(dtype)
        return torch.as_strided(elements, array.shape, [step // size for step in array.strides])

    def fetch(self, tensor: Any) -> Any:
        """The values, as a contiguous array."""
        contiguous = tensor.contiguous()
        if tensor.dtype == self.torch.bfloat16:  # NumPy's is ml_dtypes'
            return contiguous.view(self.torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
        return contiguous.cpu().numpy()

    def view(self, tensor: Any) -> Any:
        """The binding's view."""
        rank = {2: attention.T2, 4: attention.T4}[tensor.dim()]
        kind = attention.KINDS[str(tensor.dtype).removeprefix("torch.")]
        return rank(tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), kind)

    def stream(self) -> Stream:
        """The one that PyTorch works on."""
        return Stream(self.torch.cuda.current_stream().cuda_stream)

    def finish(self) -> None:
        """Waits for all that was enqueued."""
        self.torch.cuda.synchronize()
