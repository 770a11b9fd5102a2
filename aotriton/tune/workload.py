"""Workloads: what a kernel is timed on and checked with. A kernel's own, or the user's from a file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from aotriton.describe import Functional, Kernel
from aotriton.errors import ArgumentError
from aotriton.tune.attention import AttentionForward
from aotriton.tune.gpu import Gpu

__all__ = ["Launch", "Workload", "load_workload"]

Launch = Callable[[Mapping[str, Any]], None]
"""Launches a kernel with arguments by name."""


class Workload(Protocol):
    """What one kernel is timed on and checked with."""

    def describe(self) -> dict[str, Any]:
        """What results say of it: sizes that the look-up keys don't have."""

    def timed(self, gpu: Gpu, functional: Functional, keys: Mapping[str, int]) -> dict[str, Any]:
        """The launch's arguments of a problem; they select this very functional. Good until the next is asked for."""

    def poison(self, gpu: Gpu, arguments: Mapping[str, Any]) -> None:
        """Fill the outputs of a timed problem with NaN."""

    def written(self, gpu: Gpu, arguments: Mapping[str, Any]) -> bool:
        """Whether a launch wrote the outputs of a timed problem; a sample of them is enough."""

    def errors(self, gpu: Gpu, functional: Functional, launch: Launch) -> dict[str, float]:
        """Each output's largest error over its bound, on small problems; above 1, or with none, the config is wrong."""


_OWN: dict[str, Callable[..., Workload]] = {"flash.attn_fwd": AttentionForward}


def load_workload(kernel: Kernel, where: str | None, sizes: Mapping[str, int]) -> Workload:
    """The workload of a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    where : str, optional
        A Python file that has a `WORKLOAD`, a class, in place of the kernel's own.
    sizes : mapping of str to int
        What the class takes, such as `tokens` and `hidden`.

    Raises
    ------
    ArgumentError
        There is none, or it doesn't take these sizes.
    """
    make = _OWN.get(kernel.title) if where is None else _imported(Path(where))
    if make is None:
        raise ArgumentError(
            f"how {kernel.title} is timed and checked isn't known; known are {', '.join(_OWN)}",
            "give a Python file with a class WORKLOAD: --workload FILE (docs/guides/tuning.md)",
        )
    try:
        return make(**sizes)
    except TypeError as error:
        raise ArgumentError(f"the workload of {kernel.title} can't be made with {dict(sizes)}: {error}") from error


def _imported(path: Path) -> Callable[..., Workload]:
    spec = importlib.util.spec_from_file_location(f"_aotriton_workload_{path.stem}", path.resolve())
    if not path.is_file() or spec is None or spec.loader is None:
        raise ArgumentError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        found: Callable[..., Workload] = module.WORKLOAD
    except Exception as error:
        raise ArgumentError(f"the workload {path} can't be used: {type(error).__name__}: {error}") from error
    return found
