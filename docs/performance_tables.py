"""Writes the tables of docs/performance.md from the files of results that its markers name.

    python docs/performance_tables.py [--check]

A table stands between `<!-- KIND benchmarks/results/FILE.json -->` and `<!-- end -->`. With --check nothing is written,
and the exit code is 1 if the page is not what the files say.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from launch_report import STEPS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
BLOCK = re.compile(r"(<!-- (launch|first-launch|attention) (\S+\.json) -->\n).*?(<!-- end -->)", re.DOTALL)


def verdict(value: float, bar: float | None) -> str:
    return " | " if bar is None else f"{bar:.2f} | {'pass' if value <= bar else '**over**'}"


def source(facts: dict[str, Any], path: str) -> str:
    """Where figures come from, in a line."""
    versions = facts.get("versions") or {"torch": facts.get("torch", "")}
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    parts = [facts["date"][:10], f"commit {facts['commit']}", facts["device"], f"driver {facts['driver']}", named]
    return f"{'; '.join(parts)}. `{path}`\n"


def launch_table(found: dict[str, Any], path: str) -> Iterator[str]:
    yield source(found, path)
    yield "| µs of host time a call | median | p10 | p90 | bar | |"
    yield "|---|---|---|---|---|---|"
    for row in found["rows"]:
        numbers = " | ".join(f"{row[key]:.2f}" for key in ("median", "p10", "p90"))
        yield f"| {row['what']} | {numbers} | {verdict(row['median'], row.get('bar'))} |"
    for row in found.get("not_measured", []):  # files from before have none
        yield f"| {row['what']} |  |  |  | {row['bar']} | **not measured** |"
    if found["left_out"]:
        yield f"\nLeft out: {'; '.join(found['left_out'])}."


def first_launch_table(found: dict[str, Any], path: str) -> Iterator[str]:
    first = found["first_launch"]
    yield source(found, path)
    yield f"| step, median of {first['processes']} processes | ms | bar | |"
    yield "|---|---|---|---|"
    for name, meaning in STEPS.items():
        value = first["steps"][name]
        yield f"| {meaning} | {value:.2f} | {verdict(value, first['decoding_bar'] if name == 'decoding' else None)} |"
    for meaning, key in (("from library to launch, in steps", "sum"), ("the same in one call", "whole")):
        yield f"| {meaning} | {first[key]:.2f} | {verdict(first[key], first['bar'])} |"


def attention_table(found: dict[str, Any], path: str) -> Iterator[str]:
    yield source(found["facts"], path)
    rows = found["rows"]
    ours = next(name for name in rows[0]["tflops"] if name not in ("FLASH", "cuDNN", "again"))
    yield "| head dim | length | causal | aotriton | FLASH | cuDNN | of FLASH | of cuDNN | error | FLASH's error |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in rows:
        row, speed, error = one["row"], one["tflops"], one["errors"]
        ratios = " | ".join(f"{speed[ours] / speed[name]:.2f}" for name in ("FLASH", "cuDNN"))
        speeds = " | ".join(f"{speed[name]:.0f}" for name in (ours, "FLASH", "cuDNN"))
        shape = f"{row['hdim']} | {row['seqlen']} | {'yes' if row['causal'] else 'no'}"
        yield f"| {shape} | {speeds} | {ratios} | {error[ours]:.1e} | {error['FLASH']:.1e} |"
    means = []
    for name in ("FLASH", "cuDNN"):
        logs = [math.log(one["tflops"][ours] / one["tflops"][name]) for one in rows]
        means.append(f"{math.exp(statistics.fmean(logs)):.3f} of {name}")
    yield f"\nGeometric mean over the table: {', '.join(means)}."


TABLES = {"launch": launch_table, "first-launch": first_launch_table, "attention": attention_table}


def filled(text: str) -> str:
    """The page with its tables made anew."""

    def block(match: re.Match[str]) -> str:
        begin, kind, path, end = match.groups()
        found = json.loads((ROOT / path).read_text(encoding="utf-8"))
        return begin + "\n".join(TABLES[kind](found, path)) + "\n" + end

    return BLOCK.sub(block, text)


def main() -> int:
    check = "--check" in sys.argv[1:]
    text = PAGE.read_text(encoding="utf-8")
    made = filled(text)
    if made == text:
        print("docs/performance.md is up to date")
        return 0
    if not check:
        PAGE.write_text(made, encoding="utf-8")
    print(f"docs/performance.md is {'stale' if check else 'written'}")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
