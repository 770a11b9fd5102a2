"""The Python binding of the C library: devices, packs, kernels, attention. Imports neither Triton nor PyTorch."""

from aotriton.runtime.attention import attn_fwd, can_attn_fwd, explain_attn_fwd
from aotriton.runtime.capability import Capability
from aotriton.runtime.device import Device, DriverInfo, devices, drivers, open_device
from aotriton.runtime.kernels import Kernel, add_pack_path, open_kernel, pack_paths
from aotriton.runtime.library import library_path
from aotriton.runtime.view import TensorSpec
from aotriton.runtime.zips import index_of, verify_zip

__all__ = [
    "Capability",
    "Device",
    "DriverInfo",
    "Kernel",
    "TensorSpec",
    "add_pack_path",
    "attn_fwd",
    "can_attn_fwd",
    "devices",
    "drivers",
    "explain_attn_fwd",
    "index_of",
    "library_path",
    "open_device",
    "open_kernel",
    "pack_paths",
    "verify_zip",
]
