"""How what benchmarks/launch.py measures is shown and judged: the table, what is over its bar, what has no figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["STEPS", "over", "show", "unmeasured", "verdict"]

STEPS = {
    "context": "driver's context (not counted)",
    "package": "Python package imported (not counted)",
    "library": "library opened",
    "device": "device opened",
    "index": "pack found, index checked, choice made",
    "decoding": "code object decoded",
    "module": "module loaded by the driver",
    "launch": "launch",
}
"""The steps of a first launch."""
Row = dict[str, Any]


def verdict(value: float, bar: float | None) -> str:
    """`pass`, `over`, or nothing where there is no bar."""
    return "" if bar is None else "pass" if value <= bar else "over"


def unmeasured(rows: list[Row], wanted: Mapping[str, str]) -> list[Row]:
    """Which of the rows with a bar have no figure to hold against it.

    Parameters
    ----------
    rows : list of dict
        What was measured.
    wanted : mapping of str to str
        By the row's title, its bar in words.
    """
    held = {row["what"] for row in rows if row.get("bar") is not None}
    return [{"what": what, "bar": bar} for what, bar in wanted.items() if what not in held]


def show(found: dict[str, Any]) -> list[str]:
    """The lines of the table, what is over, and what was not measured."""
    lines = [f"{'µs of host time a call':<42}{'median':>9}{'p10':>9}{'p90':>9}{'bar':>9}"]
    for row in found["rows"]:
        bar = row.get("bar")
        numbers = "".join(f"{row[key]:>9.2f}" for key in ("median", "p10", "p90"))
        lines.append(f"{row['what']:<42}{numbers}{'' if bar is None else f'{bar:>9.2f}'} {verdict(row['median'], bar)}")
    lines += [f"{row['what']:<42}{row['bar']:>36} NOT MEASURED" for row in found.get("not_measured", [])]
    first = found["first_launch"]
    lines += ["", f"{'first launch in a new process, ms':<42}{'median':>9}"]
    for name, meaning in STEPS.items():
        bar = first["decoding_bar"] if name == "decoding" else None
        said = "" if bar is None else f"{'':18}{bar:>9.2f} {verdict(first['steps'][name], bar)}"
        lines.append(f"{meaning:<42}{first['steps'][name]:>9.2f}{said}")
    for what, key in (("from library to launch, in steps", "sum"), ("the same in one call", "whole")):
        said = f"{'':18}{first['bar']:>9.2f} {verdict(first[key], first['bar'])}"
        lines.append(f"{what:<42}{first[key]:>9.2f}{said}")
    return [*lines, *(f"left out: {what}" for what in found["left_out"])]


def over(found: dict[str, Any]) -> list[str]:
    """What is over its bar."""
    rows = [row["what"] for row in found["rows"] if verdict(row["median"], row.get("bar")) == "over"]
    first = found["first_launch"]
    rows += ["first launch"] if verdict(first["whole"], first["bar"]) == "over" else []
    return rows + (["decoding"] if verdict(first["steps"]["decoding"], first["decoding_bar"]) == "over" else [])
