"""Baking: a database's rows become look-up tables, as rules that builds read (aotriton.compile.tables).

A functional's bins are the lengths that were tuned. A cell that was not takes the config of the nearest one, by the
logarithms of its keys, and the rule's note says how many such cells there are. Bins that make no difference are left
out.
Functionals with the same table share a rule, where a product of values says which they are.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from aotriton.describe import Functional, Kernel, Value
from aotriton.errors import ArgumentError, BuildError
from aotriton.pack.files import Staged
from aotriton.targets import TARGETS
from aotriton.tune.child import find_kernel
from aotriton.tune.database import RUNS, connect, rows_of
from aotriton.tune.schema import Schema, schema_of

__all__ = ["Baked", "Table", "bake", "make_table", "merge_rules", "rules_text"]

Point: TypeAlias = tuple[int, ...]
Where: TypeAlias = dict[str, tuple[Value, ...]]


@dataclass(frozen=True)
class Table:
    """A functional's look-up table.

    Attributes
    ----------
    bins : tuple of tuple of int
        For each key.
    cells : tuple of int
        Numbers of configs, row-major.
    configs : tuple of str
        As JSON, so that tables compare.
    note : str
        What else is to be known of it.
    """

    bins: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...]
    configs: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Baked:
    """How many rules were made, of how many rows."""

    rules: int
    rows: int


def make_table(points: Mapping[Point, str]) -> Table:
    """The table of the tuned problems of one functional.

    Parameters
    ----------
    points : mapping of key values to config
        What was tuned.

    Examples
    --------
    >>> make_table({(512,): "a", (1024,): "b", (2048,): "b"})
    Table(bins=((512, 2048),), cells=(0, 1), configs=('a', 'b'), note='')
    """
    bins = tuple(tuple(sorted(set(values))) for values in zip(*points, strict=True))
    every = list(itertools.product(*bins))
    filled = {point: points[point] if point in points else points[_nearest(points, point)] for point in every}
    missing = len(every) - len(points)
    note = f"{missing} of {len(every)} cells from the nearest tuned" if missing else ""
    for number in range(len(bins)):
        bins = (*bins[:number], _needed(bins, number, filled), *bins[number + 1 :])
    cells = [filled[point] for point in itertools.product(*bins)]
    configs = tuple(dict.fromkeys(cells))
    return Table(bins, tuple(configs.index(config) for config in cells), configs, note)


def _nearest(points: Mapping[Point, str], wanted: Point) -> Point:
    def distance(point: Point) -> float:
        return sum((math.log2(a) - math.log2(b)) ** 2 for a, b in zip(point, wanted, strict=True))

    return min(sorted(points, reverse=True), key=distance)  # of those as near the larger problem


def _needed(bins: Sequence[tuple[int, ...]], number: int, filled: Mapping[Point, str]) -> tuple[int, ...]:
    """The bins of one key but those whose cells are all as the next one's, and so serve no purpose of their own."""

    def cells(value: int) -> list[str]:
        axes = [(value,) if place == number else one for place, one in enumerate(bins)]
        return [filled[point] for point in itertools.product(*axes)]

    kept = list(bins[number])
    for value in bins[number][:-1]:
        place = kept.index(value)
        if cells(value) == cells(kept[place + 1]):
            kept.remove(value)
    return tuple(kept)


def merge_rules(tables: Sequence[tuple[Where, Table]]) -> list[tuple[Where, Table]]:
    """Join rules of equal tables whose `where` differ in the values of one axis, until none can be joined."""
    rules = list(tables)
    joined = True
    while joined:
        joined = False
        for one, other in itertools.combinations(rules, 2):
            differing = [name for name in one[0] if one[0][name] != other[0][name]]
            if one[1] == other[1] and len(differing) == 1:
                name = differing[0]
                rules[rules.index(one)] = ({**one[0], name: one[0][name] + other[0][name]}, one[1])
                rules.remove(other)
                joined = True
                break
    return rules


def bake(
    database: Path, family: str, title: str, out: Path, skip_unknown: bool, note: Callable[[str], None]
) -> Baked:
    """Write the rules of a kernel's rows.

    Raises
    ------
    BuildError
        There are no rows, the database is of another schema, or the file can't be written.
    ArgumentError
        Rows have functionals or configs that the description doesn't have.
    """
    kernel = find_kernel(family, title)
    schema, memory = schema_of(kernel), connect(database)
    if not database.exists():
        raise BuildError(f"there is no database {database}", "`aotriton tune store` makes one")
    rows = rows_of(memory, schema)
    if not rows:
        raise BuildError(f"{database} has no rows of {kernel.title}, whose table is {schema.table}")
    tuned = _tuned(schema, rows, skip_unknown, note)
    rules = [rule for target, by_functional in tuned.items() for rule in _rules_of(kernel, target, by_functional)]
    text = rules_text(kernel, _source(memory, kernel, database), rules)
    with Staged() as staged:
        with staged.open(out) as file:
            file.write(text.encode())
        staged.commit()
    return Baked(len(rules), sum(len(points) for by in tuned.values() for points in by.values()))


def _tuned(
    schema: Schema, rows: Sequence[Mapping[str, Any]], skip_unknown: bool, note: Callable[[str], None]
) -> dict[str, dict[Functional, dict[Point, str]]]:
    """The configs of all rows: by target, functional and key values."""
    tuned: dict[str, dict[Functional, dict[Point, str]]] = {}
    unknown: dict[str, int] = {}
    excluded: dict[str, int] = {}
    for row in rows:
        try:
            target = _target(row["gpu"])
            functional = schema.functional(row)
            config = _text_of(schema.kernel, schema.config(row))
            point = tuple(_length(row, key) for key in schema.keys)
        except ArgumentError as error:
            unknown[error.message] = unknown.get(error.message, 0) + 1
            continue
        reason = functional.excluded(TARGETS[target])
        if reason is None:
            tuned.setdefault(target, {}).setdefault(functional, {})[point] = config
        else:
            excluded[reason] = excluded.get(reason, 0) + 1
    for reason, count in excluded.items():
        note(f"{count} rows are not used: {reason}")
    lines = [f"{count} rows: {reason}" for reason, count in unknown.items()]
    if lines and not skip_unknown:
        listed = "\n".join(f"  - {line}" for line in lines[:10])
        raise ArgumentError(f"the description doesn't know what rows say:\n{listed}", "leave them out: --skip-unknown")
    for line in lines:
        note(f"left out {line}")
    if not tuned:
        raise BuildError("no row is left to bake")
    return tuned


def _target(gpu: Any) -> str:
    """`sm_90` of `sm_90_mod0`; other variants of a target have no tables of their own."""
    name, separator, variant = str(gpu).rpartition("_mod")
    if not separator or name not in TARGETS:
        raise ArgumentError(f"there is no GPU {gpu!r}")
    if variant != "0":
        raise ArgumentError(f"{gpu}: tables are for the first variant of a target")
    return name


def _length(row: Mapping[str, Any], key: str) -> int:
    value = row[f"inputs${key}"]
    if not isinstance(value, int) or value < 1:
        raise ArgumentError(f"{key} is {value!r}, no number above 0")
    return value


def _text_of(kernel: Kernel, given: Mapping[str, Value]) -> str:
    """A config as JSON, without what the description says anyway."""
    config, default = kernel.config(given), kernel.default_config
    standard = {**dict(default.performance), **dict(default.options)}
    chosen = {**dict(config.performance), **dict(config.options)}
    kept = {name: value for name, value in chosen.items() if value != standard[name] or name in kernel.options}
    return json.dumps({name: value for name, value in kept.items() if name in given})


def _rules_of(
    kernel: Kernel, target: str, tuned: Mapping[Functional, Mapping[Point, str]]
) -> list[tuple[str, Where, Table]]:
    tables = {functional: make_table(points) for functional, points in tuned.items()}
    ordered = sorted(tables.items(), key=lambda item: item[0].number)
    rules = merge_rules([({name: (value,) for name, value in one.values.items()}, table) for one, table in ordered])
    return [(target, _narrowed(kernel, where), table) for where, table in rules]


def _narrowed(kernel: Kernel, where: Where) -> Where:
    """`where` without the axes of which it has every value."""
    every = {axis.label: len(axis.choices) for axis in kernel.axes}
    return {name: values for name, values in where.items() if len(values) < every[name]}


def _source(memory: sqlite3.Connection, kernel: Kernel, database: Path) -> str:
    """Where the numbers come from, in words: devices, drivers and dates of the runs that rows name."""
    try:
        found = memory.execute(f"SELECT device, facts FROM {RUNS} WHERE kernel = ?", (kernel.title,)).fetchall()
    except sqlite3.OperationalError:  # the original's databases have no such table
        found = []
    devices = ", ".join(sorted({str(row["device"]) for row in found}))
    dates = sorted({str(json.loads(row["facts"]).get("date", ""))[:10] for row in found} - {""})
    if not devices:
        return f"baked from {database.name}"
    when = "" if not dates else f", {dates[0]}" if len(dates) < 2 else f", {dates[0]} to {dates[-1]}"
    return f"measured on {devices}{when}; baked from {database.name}"


def rules_text(kernel: Kernel, source: str, rules: Sequence[tuple[str, Where, Table]]) -> str:
    """The file of rules: one rule a line, so that differences can be read."""
    lines = []
    for target, where, table in rules:
        rule: dict[str, Any] = {"targets": [target], "where": {name: list(values) for name, values in where.items()}}
        configs = [json.loads(config) for config in table.configs]
        if len(configs) == 1:
            rule["config"] = configs[0]
        else:
            rule["bins"] = {key.argument: list(bins) for key, bins in zip(kernel.keys, table.bins, strict=True)}
            rule |= {"configs": configs, "cells": list(table.cells)}
        if table.note:
            rule["note"] = table.note
        lines.append(f"    {json.dumps(rule, ensure_ascii=False)}")
    head = f'{{\n  "kernel": {json.dumps(kernel.title)},\n  "source": {json.dumps(source, ensure_ascii=False)},\n'
    return head + '  "rules": [\n' + ",\n".join(lines) + "\n  ]\n}\n"
