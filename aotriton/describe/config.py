"""Configs: one point of the performance choices and compiler options, which decides speed only."""

from __future__ import annotations

from dataclasses import dataclass

from aotriton.describe.choices import Value
from aotriton.targets import TARGETS, Target

__all__ = ["AMD_OPTIONS", "NVIDIA_OPTIONS", "Config"]

AMD_OPTIONS = frozenset({"waves_per_eu", "matrix_instr_nonkdim", "kpack"})
"""Compiler options that only AMD's compiler has."""

NVIDIA_OPTIONS = frozenset({"num_ctas", "launch_pdl", "launch_cooperative_grid", "maxnreg", "ptx_options"})
"""Those that only NVIDIA's has, and those that say how its code is launched."""


@dataclass(frozen=True)
class Config:
    """One point of the performance choices and compiler options of a kernel.

    Attributes
    ----------
    performance : tuple of (str, value)
        The performance arguments in the order that the description declares.
    options : tuple of (str, value)
        The compiler options, likewise.
    """

    performance: tuple[tuple[str, Value], ...]
    options: tuple[tuple[str, Value], ...]

    @property
    def performance_text(self) -> str:
        """`BLOCK_M=64;BLOCK_N=32`."""
        return ";".join(f"{name}={value!r}" for name, value in self.performance)

    @property
    def options_text(self) -> str:
        """`waves_per_eu=2;num_warps=4;num_stages=1`."""
        return ";".join(f"{name}={value!r}" for name, value in self.options)

    def for_target(self, target: Target | str) -> Config:
        """The same without the options that this target's compiler doesn't have, so that equal code has equal names."""
        known = target if isinstance(target, Target) else TARGETS.get(target)
        if known is None:
            return self
        foreign = {"amd": NVIDIA_OPTIONS, "nvidia": AMD_OPTIONS}.get(known.vendor, AMD_OPTIONS | NVIDIA_OPTIONS)
        return Config(self.performance, tuple(pair for pair in self.options if pair[0] not in foreign))
