"""Triton kernels, compiled ahead of time for AMD and NVIDIA GPUs, run from packs.

`import aotriton` gives the run-time names; it needs neither Triton nor PyTorch, and opens the library on first use.
"""

from aotriton.errors import (
    AotritonError,
    ArgumentError,
    BuildError,
    BusyError,
    CompileError,
    DescriptionError,
    DeviceError,
    PackError,
    UnsupportedError,
)
from aotriton.runtime import (
    Capability,
    Device,
    DriverInfo,
    Kernel,
    TensorSpec,
    add_pack_path,
    attn_fwd,
    can_attn_fwd,
    devices,
    drivers,
    explain_attn_fwd,
    open_device,
    open_kernel,
    pack_paths,
)

__version__ = "0.1.0"

__all__ = [
    "AotritonError",
    "ArgumentError",
    "BuildError",
    "BusyError",
    "Capability",
    "CompileError",
    "DescriptionError",
    "Device",
    "DeviceError",
    "DriverInfo",
    "Kernel",
    "PackError",
    "TensorSpec",
    "UnsupportedError",
    "__version__",
    "add_pack_path",
    "attn_fwd",
    "can_attn_fwd",
    "devices",
    "drivers",
    "explain_attn_fwd",
    "open_device",
    "open_kernel",
    "pack_paths",
]
