"""First look-up tables: rules as data that say which configs a functional has on a target, and for which problems.

A file holds rules for one kernel, the first that matches wins:

    {"kernel": "flash.attn_fwd", "source": "where the numbers come from", "rules": [
      {"targets": ["gfx942", "CDNA", "amd"], "where": {"BLOCK_DMODEL": [16, 32]}, "config": {"BLOCK_M": 128}},
      {"targets": ["sm_90"], "bins": {"Max_seqlen_q": [512, 8192]}, "configs": [{…}, {…}], "cells": [0, 1],
       "note": "what else is to be known of these numbers"}]}

`targets` are names, architecture families or vendors (none: all targets); `where` are values of axes or constants.
Values that a config doesn't give are the defaults of the description. Tables of the package's own families stand in
aotriton/data/tables/, those that `aotriton tune bake` made in tuned/ below it, which is read first; those of somebody
else's stand beside the kernel's source, in `<kernel>.tables.json`.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotriton.describe import Config, Functional, Kernel
from aotriton.errors import ArgumentError, BuildError
from aotriton.targets import Target, parse_target

__all__ = ["LookupTable", "load_rules", "table_for"]

_DATA = Path(__file__).resolve().parents[1] / "data" / "tables"


@dataclass(frozen=True)
class LookupTable:
    """Which config serves which problem.

    Attributes
    ----------
    keys : tuple of (argument, bins)
        By what is looked up; the first bin that is not below the value counts, the last one for larger values.
    cells : tuple of int
        Numbers of configs, row-major over the keys; one cell where there are no keys.
    configs : tuple of Config
        What the cells mean; each is used.
    source : str
        Where the numbers come from.
    """

    keys: tuple[tuple[str, tuple[int, ...]], ...]
    cells: tuple[int, ...]
    configs: tuple[Config, ...]
    source: str


def table_for(kernel: Kernel, functional: Functional, target: Target) -> LookupTable:
    """The look-up table of a functional on a target.

    Its own row is taken; else that of the functional which `partially_tuned` names; so file by file, since what was
    measured of a near functional is worth more than a guess; the same for the neighbour that an untuned target
    declares; else the kernel's default config.

    Raises
    ------
    BuildError
        A rule contradicts the description.
    """
    twin = _twin(kernel, functional)
    for tuned in dict.fromkeys((target.name, target.tables_of)):
        for file, other in itertools.product(load_rules(kernel), dict.fromkeys((functional, twin))):
            rule = _first(file, other, parse_target(tuned))
            if rule is not None:
                notes = [str(rule["note"])] if "note" in rule else []
                notes += [f"tables of {tuned}"] if tuned != target.name else []
                notes += [f"tuned for {other.signature}"] if other != functional else []
                return _table(kernel, rule, target, "; ".join([file["source"], *notes]))
    return LookupTable((), (0,), (kernel.default_config.for_target(target),), "default")


def _twin(kernel: Kernel, functional: Functional) -> Functional:
    if not kernel.partially_tuned:
        return functional
    return kernel.functional(kernel.number_of({**functional.values, **kernel.partially_tuned}))


def _first(file: Mapping[str, Any], functional: Functional, target: Target) -> Mapping[str, Any] | None:
    names = {target.name, target.family, target.vendor}
    for rule in file["rules"]:
        targets = rule.get("targets")
        if (targets is None or names & set(targets)) and _matches(functional, rule.get("where", {}), file["path"]):
            return {**rule, "path": file["path"]}
    return None


def _matches(functional: Functional, where: Mapping[str, Any], path: str) -> bool:
    for name, wanted in where.items():
        try:
            value = functional[name]
        except ArgumentError as error:
            raise BuildError(f"{path}: a rule asks for {name!r}: {error.message}") from error
        accepted = wanted if isinstance(wanted, list) else [wanted]
        if not any(type(value) is type(one) and value == one for one in accepted):
            return False
    return True


def _table(kernel: Kernel, rule: Mapping[str, Any], target: Target, source: str) -> LookupTable:
    try:
        rows = [rule["config"]] if "config" in rule else rule["configs"]
        configs = [kernel.config(row).for_target(target) for row in rows]
        keys = tuple((str(name), tuple(bins)) for name, bins in rule.get("bins", {}).items())
        cells = _flat(rule["cells"]) if keys else [0]
        _check(kernel, keys, cells, configs)
    except (ArgumentError, KeyError, TypeError, ValueError) as error:
        raise BuildError(f"{rule['path']}: the rule for {rule.get('where', 'all functionals')}: {error}") from error
    used = list(dict.fromkeys(configs[cell] for cell in cells))
    return LookupTable(keys, tuple(used.index(configs[cell]) for cell in cells), tuple(used), source)


def _flat(cells: Sequence[Any]) -> list[int]:
    return [number for cell in cells for number in (_flat(cell) if isinstance(cell, list) else [int(cell)])]


def _check(
    kernel: Kernel, keys: tuple[tuple[str, tuple[int, ...]], ...], cells: list[int], configs: list[Config]
) -> None:
    declared = [key.argument for key in kernel.keys]
    if any(name not in declared for name, _ in keys):
        raise ValueError(f"its keys {[name for name, _ in keys]} are not all among the kernel's, {declared}")
    if any(not bins or list(bins) != sorted(set(bins)) for _, bins in keys):
        raise ValueError("its bins don't rise")
    if len(cells) != math.prod(len(bins) for _, bins in keys):
        raise ValueError(f"it has {len(cells)} cells for bins {[len(bins) for _, bins in keys]}")
    if any(not 0 <= cell < len(configs) for cell in cells):
        raise ValueError(f"a cell names none of its {len(configs)} configs")


def load_rules(kernel: Kernel) -> tuple[Mapping[str, Any], ...]:
    """The rule files of a kernel: those beside its source first."""
    beside = kernel.source.with_name(f"{kernel.name}.tables.json")
    files = [beside] if beside.exists() else []
    files += [*sorted(_DATA.glob("tuned/*.json")), *sorted(_DATA.glob("*.json"))]
    loaded = [_load(path, path.stat().st_mtime_ns) for path in files]
    return tuple(file for group in loaded for file in group if file["kernel"] == kernel.title)


@functools.lru_cache(maxsize=64)
def _load(path: Path, _changed: int) -> tuple[Mapping[str, Any], ...]:
    """One file: an object for one kernel, or a list of them."""
    try:
        data = json.loads(path.read_text())
        tables = data if isinstance(data, list) else [data]
        return tuple(
            {"kernel": table["kernel"], "source": table["source"], "rules": table["rules"], "path": str(path)}
            for table in tables
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{path} is no table file: {type(error).__name__}: {error}") from error
