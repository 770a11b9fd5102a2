"""The third version of the original's interface: parameters in structs."""

from pyaotriton.v3 import flash

__all__ = ["flash"]
