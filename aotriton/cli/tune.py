"""`aotriton tune`: measure a tuning build's configs on a GPU, store the winners, bake look-up tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotriton.cli.output import HelpText, note, print_table
from aotriton.cli.tune_progress import make_watcher
from aotriton.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aotriton.tune.measure import Summary

__all__ = ["add", "run"]

_EXAMPLES = """examples:
  aotriton build --set candidates.json --target sm_90 --out build/candidates
  aotriton tune measure --packs build/candidates --kernel flash.attn_fwd --out results.jsonl
  aotriton tune store results.jsonl --database tuning.sqlite3
  aotriton tune bake --database tuning.sqlite3 --kernel flash.attn_fwd --out tables.json"""
_FAMILY = "aotriton.flash.description"
_LENGTHS = "512,2048,8192,16384"


def add(commands: Any) -> None:
    """Add the command's parser, with its parts."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune",
        help="measure configs on a GPU, and make look-up tables of the winners",
        description="Measure the configs of a tuning build on a GPU, keep the winners in a database, and bake look-up "
        "tables, which builds use from then on.",
        epilog=_EXAMPLES,
        formatter_class=HelpText,
    )
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    _add_measure(parts)
    _add_store(parts)
    _add_bake(parts)


def _add_measure(parts: Any) -> None:
    parser = parts.add_parser(
        "measure",
        help="check and time the configs of a pack",
        description="Check every config of a pack against float64, and time those that are right in turns. Results are "
        "appended line by line; what the file has already is not measured again. Needs a GPU, but neither Triton nor "
        "PyTorch. The exit code is 1 if a config is wrong or failed.",
    )
    parser.add_argument("--packs", type=Path, required=True, metavar="FOLDER", help="what a tuning build wrote")
    _add_kernel(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file of results (JSON lines)")
    parser.add_argument("--device", metavar="NAME", help="where to measure; default: the current GPU")
    what = parser.add_argument_group("what")
    what.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="only functionals with this value on an axis: BLOCK_DMODEL=64, Q=*fp16:16, PADDED_HEAD=False",
    )
    what.add_argument(
        "--lengths", default=_LENGTHS, metavar="N,N,…", help="values of the look-up keys (default: %(default)s)"
    )
    what.add_argument("--grid", action="store_true", help="every combination of lengths, not only all keys alike")
    what.add_argument("--problems", type=Path, metavar="FILE", help="a JSON list of objects: a number for each key")
    what.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a size that keys don't say; for attention tokens=16384 and hidden=2048",
    )
    what.add_argument("--workload", metavar="FILE", help="a Python file with a WORKLOAD, for a kernel of your own")
    how = parser.add_argument_group("how")
    how.add_argument("--rounds", type=int, default=20, metavar="N", help="samples of near winners (default: 20)")
    how.add_argument("--seconds", type=float, default=3.0, metavar="S", help="for one problem, about (default: 3)")
    how.add_argument("--near", type=float, default=1.15, metavar="X", help="drop what is slower than X × the best "
                     "after three samples (default: 1.15)")  # fmt: skip
    how.add_argument("--patience", type=float, default=120.0, metavar="S", help="a step hangs after S (default: 120)")
    parser.set_defaults(run=run)


def _add_store(parts: Any) -> None:
    parser = parts.add_parser(
        "store",
        help="write the winners into a database",
        description="Write the winner of each functional and problem into a database: the fastest config whose errors "
        "are all within their bounds; among those as fast, one that other problems chose too.",
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="FILE", help="files of `tune measure`")
    _add_database(parser)
    _add_family(parser)
    parser.add_argument("--tie", type=float, default=0.02, metavar="X", help="medians this close are as fast as each "
                        "other, from 0 to 1 (default: 0.02)")  # fmt: skip
    parser.add_argument("--skip-damaged", action="store_true", help="leave out lines that can't be read")
    parser.set_defaults(run=run)


def _add_bake(parts: Any) -> None:
    parser = parts.add_parser(
        "bake",
        help="make look-up tables of a database",
        description="Make look-up tables of a database's rows, as rules that `aotriton build` reads from "
        "aotriton/data/tables/tuned/, or beside a kernel's source as <kernel>.tables.json.",
    )
    _add_database(parser)
    _add_kernel(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file of rules")
    parser.add_argument("--skip-unknown", action="store_true", help="leave out rows that no functional or config has")
    parser.set_defaults(run=run)


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", required=True, metavar="NAME", help="the kernel, such as flash.attn_fwd")
    _add_family(parser)


def _add_family(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--family", default=_FAMILY, metavar="WHERE", help="its family's module or description (default: %(default)s)"
    )


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database", type=Path, required=True, metavar="FILE", help="SQLite (.sqlite3), or its text (.sql)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do one part."""
    return {"measure": _measure, "store": _store, "bake": _bake}[arguments.part](arguments)


def _measure(arguments: argparse.Namespace) -> int:
    from aotriton.tune.measure import Order, measure
    from aotriton.tune.timing import Effort

    order = Order(
        packs=arguments.packs,
        kernel=arguments.kernel,
        family=arguments.family,
        device=arguments.device,
        lengths=_numbers(arguments.lengths, "--lengths"),
        grid=arguments.grid,
        problems=_problems(arguments.problems),
        workload=arguments.workload,
        sizes=dict(_size(text) for text in arguments.size),
        where=dict(_value(text) for text in arguments.where),
        effort=Effort(rounds=arguments.rounds, seconds=arguments.seconds, near=arguments.near),
        patience=arguments.patience,
    )
    summary = measure(order, arguments.out, make_watcher())
    _tell(summary, arguments.out)
    return 1 if summary.wrong or summary.failed else 0


def _tell(summary: Summary, out: Path) -> None:
    counts = f"{summary.ok} timed, {len(summary.wrong)} wrong, {len(summary.failed)} failed"
    print(f"{summary.groups} problems of functionals measured, {summary.skipped} were there already; {counts}: {out}")
    for result in dict.fromkeys((*summary.wrong, *summary.failed)):
        note(f"{result.status}: {dict(result.config)} of {dict(result.functional)}: {result.reason}")


def _store(arguments: argparse.Namespace) -> int:
    from aotriton.tune.store import store

    stored = store(arguments.results, arguments.database, arguments.family, arguments.tie, arguments.skip_damaged, note)
    print_table(("functional", "problem", "config", "µs", "slowest / it"), stored.lines())
    print(f"{len(stored.winners)} rows in {arguments.database}: {stored.new} new, {stored.changed} changed")
    return 0


def _bake(arguments: argparse.Namespace) -> int:
    from aotriton.tune.bake import bake

    baked = bake(arguments.database, arguments.family, arguments.kernel, arguments.out, arguments.skip_unknown, note)
    print(f"{baked.rules} rules from {baked.rows} rows: {arguments.out}")
    return 0


def _numbers(text: str, option: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ArgumentError(f"{option} is `{text}`; it is numbers above 0 joined by commas")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name.isidentifier() or not value.isdigit():
        raise ArgumentError(f"`--size {text}` is no size", "write NAME=N, such as tokens=16384")
    return name, int(value)


def _value(text: str) -> tuple[str, bool | int | str]:
    name, _, value = text.partition("=")
    if not name.isidentifier() or not value:
        raise ArgumentError(f"`--where {text}` is no value of an axis", "write NAME=VALUE, such as BLOCK_DMODEL=64")
    if value in ("True", "False"):
        return name, value == "True"
    return name, int(value) if value.isdigit() else value


def _problems(path: Path | None) -> tuple[Mapping[str, int], ...]:
    if path is None:
        return ()
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ArgumentError(f"the problems {path} are no JSON file: {error}") from error
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise ArgumentError(f"{path} is no list of problems", '[{"Max_seqlen_q": 512, "Max_seqlen_k": 512}, …]')
    return tuple(found)
