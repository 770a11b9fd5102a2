"""The original's Python binding, name for name, on the library of `aotriton`.

Tensors come in as views that the caller makes: an address, sizes, strides, an element type. Functions return a
`hipError_t`; `last_error()` has the reason in words. The device is what AOTRITON_DEVICE names, else that of the stream.
"""

from pyaotriton import v3
from pyaotriton.errors import hipError_t, last_error
from pyaotriton.runtime import Stream, get_name_suffix, hipDeviceSynchronize, hipGetLastError
from pyaotriton.tensors import T0, T1, T2, T4, DType

__all__ = [
    "DType",
    "Stream",
    "T0",
    "T1",
    "T2",
    "T4",
    "get_name_suffix",
    "hipDeviceSynchronize",
    "hipError_t",
    "hipGetLastError",
    "last_error",
    "v3",
]

# The original exports the values of its enumerations at module level too.
for _values in (DType.__members__, hipError_t.__members__):
    globals().update(_values)
    __all__ += list(_values)
