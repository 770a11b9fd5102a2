"""The core type of the build side, the code object, and what stands in its place when a compile fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from aotriton.compile.environment import Compiler

if TYPE_CHECKING:
    from aotriton.compile.task import Task
    from aotriton.describe import Config, Functional

__all__ = ["CodeObject", "Failure", "Resources", "Status", "TensorMap"]

Status = Literal["Timeout", "ExitWithError", "Exception", "Memory"]
"""How a compile failed: hung, died, refused, or took more memory than it may."""


@dataclass(frozen=True)
class TensorMap:
    """What the driver builds for a descriptor argument of a code object.

    Attributes
    ----------
    block : tuple of int
        What one access moves, by dimension. The compiler may split what the description asks for.
    swizzle : int
        Bytes of a row that shared memory swizzles: 0, 32, 64 or 128.
    """

    block: tuple[int, ...]
    swizzle: int


@dataclass(frozen=True)
class Resources:
    """What one launch of a code object takes.

    Attributes
    ----------
    shared : int
        Dynamic shared memory (LDS) of a block in bytes.
    threads : int
        Threads of a block.
    num_warps, num_ctas : int
        Warps (waves) of a block, blocks of a cluster.
    registers : int
        Vector registers of a thread (AMD: VGPRs, with AGPRs counted in); -1: unknown.
    spills : int
        Bytes of scratch (AMD) or local memory (NVIDIA) of a thread; -1: unknown.
    symbol : str
        The entry function's name in the binary.
    seconds : float
        What the compiler itself took.
    details : tuple of (name, number)
        What else the binary says of itself (`sgpr_count`, `vgpr_spill_count`, `kernarg_segment_size`, …).
    tensor_maps : tuple of TensorMap
        One for each descriptor argument; none where the code takes descriptors as pointers, sizes and strides.
    dependent : bool
        NVIDIA: it may start before the kernel before it in the stream has ended (the option `launch_pdl`).
    cooperative : bool
        NVIDIA: all its blocks run at the same time (the option `launch_cooperative_grid`).
    """

    shared: int
    threads: int
    num_warps: int
    num_ctas: int
    registers: int
    spills: int
    symbol: str
    seconds: float
    details: tuple[tuple[str, int], ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()
    dependent: bool = False
    cooperative: bool = False


@dataclass(frozen=True)
class CodeObject:
    """The binary of one functional with one config for one target, and all that is known about it.

    Attributes
    ----------
    image : bytes
        The binary: an hsaco, a cubin, or the source bundle of `host`.
    target : str
        The target's name.
    functional, config
        What was compiled.
    compiler : Compiler
        Who compiled it.
    sha256 : str
        The image's hash.
    resources : Resources
        What a launch takes.
    compiled_for : str or None
        The target that the compiler was asked for, where the image was stamped from another target's.
    cached : bool
        It came from the cache, nothing was compiled.
    """

    image: bytes = field(repr=False)
    target: str
    functional: Functional
    config: Config
    compiler: Compiler
    sha256: str
    resources: Resources
    compiled_for: str | None = None
    cached: bool = False


@dataclass(frozen=True)
class Failure:
    """A task for which there is no code object, and why.

    Attributes
    ----------
    task : Task
        What was to be compiled.
    status : str
        `Timeout`, `ExitWithError` (the worker died), `Exception` (the compiler or a check refused), `Memory`.
    reason : str
        One line in words.
    log : Path
        All that the compiler printed.
    """

    task: Task
    status: Status
    reason: str
    log: Path
