"""Measuring what a pack offers: what is not in the file of results yet is measured, and appended as it comes."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Protocol

import aotriton
from aotriton.describe import Value
from aotriton.errors import ArgumentError, DeviceError, PackError
from aotriton.pack.signature import read_signature
from aotriton.runtime import Device, open_device
from aotriton.targets import parse_target
from aotriton.tune.child import find_kernel
from aotriton.tune.gpu import driver_version
from aotriton.tune.packs import Offer, offers
from aotriton.tune.results import Result, Run, append, group_of, locked, read_results
from aotriton.tune.supervise import Supervised
from aotriton.tune.timing import Effort
from aotriton.tune.workload import load_workload

__all__ = ["Order", "Summary", "Watcher", "measure", "problems_of"]


@dataclass(frozen=True)
class Order:
    """What is measured.

    Attributes
    ----------
    packs : Path
        The folder with the pack of a tuning build.
    kernel : str
        The kernel's title or name.
    family : str
        Its family's module or the path of its description.
    device : str, optional
        Where; the current GPU unless given.
    lengths : tuple of int
        Values of the look-up keys.
    grid : bool
        Every combination of them, instead of all keys alike.
    problems : tuple of mappings
        Values of the keys, instead of lengths.
    workload : str, optional
        A Python file with a WORKLOAD, instead of the kernel's own.
    sizes : mapping of str to int
        What the workload takes.
    where : mapping of str to value
        Only functionals that have these values on their axes.
    effort : Effort
        How often each is timed.
    patience : float
        Seconds after which a step counts as hung.
    """

    packs: Path
    kernel: str
    family: str = "aotriton.flash.description"
    device: str | None = None
    lengths: tuple[int, ...] = (512, 2048, 8192, 16384)
    grid: bool = False
    problems: tuple[Mapping[str, int], ...] = ()
    workload: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict, hash=False)
    where: Mapping[str, Value] = field(default_factory=dict, hash=False)
    effort: Effort = field(default_factory=Effort)
    patience: float = 120.0


@dataclass
class Summary:
    """How many results came, and of which kind; how many groups were there already."""

    ok: int = 0
    wrong: list[Result] = field(default_factory=list)
    failed: list[Result] = field(default_factory=list)
    groups: int = 0
    skipped: int = 0


class Watcher(Protocol):
    """Who watches."""

    def start(self, groups: int, configs: int) -> None:
        """So many functionals' problems are to be measured, with so many configs over all functionals."""

    def group(self, functional: str, problem: Mapping[str, int], results: Sequence[Result]) -> None:
        """One functional's configs on one problem are measured."""

    def note(self, text: str) -> None:
        """Something that people should know."""

    def stop(self) -> None:
        """All is done, or it was interrupted."""


def problems_of(keys: Sequence[str], order: Order) -> tuple[dict[str, int], ...]:
    """The problems of an order, by look-up key; one with no keys for a kernel that has none.

    Raises
    ------
    ArgumentError
        One of the order's problems has other keys.
    """
    for problem in order.problems:
        if set(problem) != set(keys) or not all(type(value) is int and value > 0 for value in problem.values()):
            raise ArgumentError(f"the problem {dict(problem)} is wrong; it has a number above 0 for {', '.join(keys)}")
    if order.problems:
        return tuple({key: problem[key] for key in keys} for problem in order.problems)
    found: list[dict[str, int]] = [{}]
    for key in keys:
        found = [{**one, key: length} for one in found for length in order.lengths]
    return tuple(one for one in found if order.grid or len(set(one.values())) <= 1)


def measure(order: Order, out: Path, watcher: Watcher) -> Summary:
    """Measure all that an order says and the file doesn't have yet.

    Raises
    ------
    AotritonError
        There is no pack, no GPU, no workload, or the file can't be written. What was measured is kept.
    """
    device = open_device(order.device)
    if device.driver != "cuda":
        raise DeviceError(
            f"measuring needs an NVIDIA GPU; {device.name} is none",
            "run it on a machine with one: --device cuda:0. Nothing is timed on host or on recording devices, and "
            "measuring on AMD GPUs is not written yet",
        )
    kernel = find_kernel(order.family, order.kernel)
    load_workload(kernel, order.workload, order.sizes)
    offered = _wanted(offers(order.packs, kernel, parse_target(device.target)), order.where)
    problems = problems_of([key.argument for key in kernel.keys], order)
    run = _run(order, device, kernel.title)
    summary = Summary()
    with locked(out) as file:
        todo = _todo(offered, problems, out, run)
        summary.skipped = len(offered) * len(problems) - sum(len(rest) for _, rest in todo)
        if not todo:
            return summary
        append(file, [run])
        watcher.start(sum(len(rest) for _, rest in todo), sum(len(offer.candidates) for offer, _ in todo))
        try:
            for offer, rest in todo:
                for problem, results in Supervised(_told(order, device), offer, rest, run.run, watcher.note).groups():
                    _keep(file, summary, results)
                    watcher.group(offer.functional.signature, problem, results)
        finally:
            watcher.stop()
    return summary


def _wanted(offered: Sequence[Offer], where: Mapping[str, Value]) -> list[Offer]:
    """The functionals that match, of which there must be some."""
    found = [one for one in offered if all(one.functional.values.get(name) == value for name, value in where.items())]
    if not found:
        there = "; ".join(one.functional.signature for one in offered[:3])
        raise ArgumentError(f"no functional of the pack has {dict(where)}; it has {len(offered)}, such as {there}")
    return found


def _told(order: Order, device: Device) -> dict[str, Any]:
    """What the processes are told of an order."""
    return {
        "family": order.family,
        "kernel": order.kernel,
        "packs": str(order.packs),
        "device": device.name,
        "workload": order.workload,
        "sizes": dict(order.sizes),
        "effort": asdict(order.effort),
        "patience": order.patience,
    }


def _keep(file: FileIO, summary: Summary, results: Sequence[Result]) -> None:
    append(file, results)
    summary.groups += 1
    summary.ok += sum(one.status == "ok" for one in results)
    summary.wrong += [one for one in results if one.status == "wrong"]
    summary.failed += [one for one in results if one.status == "failed"]


def _run(order: Order, device: Device, kernel: str) -> Run:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    workload = load_workload(find_kernel(order.family, order.kernel), order.workload, order.sizes)
    facts = {
        "date": now,
        "commit": _commit(order.packs / parse_target(device.target).pack),
        "aotriton": aotriton.__version__,
        "python": platform.python_version(),
        "compute_units": device.compute_units,
        "driver": driver_version(device.ordinal),
        "workload": workload.describe(),
        "effort": asdict(order.effort),
    }
    return Run(f"{now} {os.getpid()}", kernel, f"{device.target}_mod0", device.description, facts)


def _commit(pack: Path) -> str:
    """The commit that a pack was built from; empty where it doesn't say."""
    try:
        return str(read_signature(pack).get("AOTRITON_GIT_SHA1", ""))
    except PackError:
        return ""


def _todo(
    offered: Sequence[Offer], problems: Sequence[Mapping[str, int]], out: Path, run: Run
) -> list[tuple[Offer, list[Mapping[str, int]]]]:
    """What isn't in the file: a problem counts as measured where the last run of it has each image of the pack."""
    there: dict[tuple[str, str], dict[str, set[str]]] = {}
    found = read_results(out)
    for result in found.results:
        known = found.runs[result.run]
        if (known.gpu, known.kernel, known.facts.get("workload")) == (run.gpu, run.kernel, run.facts["workload"]):
            which = group_of(result.functional), group_of(result.problem)
            there.setdefault(which, {}).setdefault(result.run, set()).add(result.image)
    todo = []
    for offer in offered:
        wanted, values = {one.image for one in offer.candidates}, group_of(offer.functional.values)
        by_problem = {group_of(one): there.get((values, group_of(one)), {}).values() for one in problems}
        rest = [one for one in problems if not any(wanted <= images for images in by_problem[group_of(one)])]
        if rest:
            todo.append((offer, rest))
    return todo
