"""`aotriton build`: compile kernels and pack them."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotriton.cli.output import HelpText, note, print_json
from aotriton.errors import ArgumentError
from aotriton.targets import parse_targets

if TYPE_CHECKING:
    from aotriton.compile import Plan
    from aotriton.pack.build import Report

__all__ = ["add", "run"]

_EXAMPLES = """examples:
  aotriton build --set demo --out build/packs
  aotriton build --set full --target gfx942 --target sm_90 --out build/packs --dry-run
  aotriton build --family my/description.py --target "gfx942;host" --out build/packs"""


_KINDS = 5  # of reasons, the commonest ones are printed


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "build",
        help="compile kernels and pack them",
        description="Compile kernels and pack them. The estimate is printed first; what is done is kept, so an "
        "interrupted build goes on where it stopped. The exit code is 1 if code objects are missing.",
        epilog=_EXAMPLES,
        formatter_class=HelpText,
    )
    what = parser.add_argument_group("what")
    what.add_argument("--set", metavar="NAME", help="a build set: demo, ci, h200, full, or the path of a JSON file")
    what.add_argument(
        "--target", action="append", default=[], metavar="NAME", help="only these targets; repeat it, or join by , or ;"
    )
    what.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="WHERE",
        help="a family's module or the path of its description; default: aotriton.flash.description",
    )
    what.add_argument("--out", type=Path, metavar="FOLDER", help="where the packs go")
    what.add_argument("--dry-run", action="store_true", help="print the estimate and stop")
    how = parser.add_argument_group("how")
    how.add_argument("--workers", type=int, metavar="N", help="processes that compile; default: one for each core")
    how.add_argument("--timeout", type=float, metavar="SECONDS", help="limit for a code object, 0: none; default: 600")
    how.add_argument("--memory", type=float, metavar="GB", help="limit for one worker; default: 8")
    how.add_argument("--cache", type=Path, metavar="FOLDER", help="where compiled code is kept")
    how.add_argument("--allow-failures", action="store_true", help="pack the rest if some fail, and record why")
    parser.add_argument("--json", action="store_true", help="print the estimate or the report as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Estimate, compile, pack, report."""
    from aotriton.compile import MEMORY, TIMEOUT, default_cache, default_workers, load_set, make_progress, plan
    from aotriton.describe import load_family
    from aotriton.pack.build import build

    _check(arguments)
    targets = parse_targets(arguments.target) if arguments.target else None
    families = [load_family(where) for where in arguments.family or ["aotriton.flash.description"]]
    # Of a family of the user's own everything is small enough; flash is not.
    build_set = load_set(arguments.set or ("full" if arguments.family else "demo"))
    cache, workers = arguments.cache or default_cache(), arguments.workers or default_workers()
    if arguments.dry_run:
        return _estimate(plan(families, build_set, targets), cache, workers, arguments.json)
    report = build(
        families,
        build_set,
        targets,
        arguments.out,
        cache=cache,
        workers=workers,
        timeout=TIMEOUT if arguments.timeout is None else arguments.timeout or math.inf,
        memory=MEMORY if arguments.memory is None else int(arguments.memory * (1 << 30)),
        allow_failures=arguments.allow_failures,
        progress=make_progress(),
        tell=note,
    )
    if arguments.json:
        print_json(report.to_json())
    else:
        _print(report)
    return 1 if report.compiled.failures else 0


def _estimate(planned: Plan, cache: Path, workers: int, as_json: bool) -> int:
    from aotriton.compile import estimate

    cost = estimate(planned, cache)
    if as_json:
        print_json(asdict(cost))
    else:
        print(cost.describe(workers))
    return 0


def _print(report: Report) -> None:
    from rich.console import Console

    # Away from a terminal there is no width to keep to.
    Console(width=None if sys.stdout.isatty() else 160).print(report.compiled)
    made = sum(row.objects for row in report.compiled.rows)
    share = made / max(sum(report.full.values()), 1)
    files = f"{len(report.written)} file(s) written, {len(report.unchanged)} unchanged"
    print(f"{files}; {made} code objects, {share:.1%} of all that these targets can have")
    kinds = Counter(re.sub(r"\d+", "…", one.reason, count=1) for one in report.dropped)
    for kind, count in kinds.most_common(_KINDS):
        print(f"{count} candidate(s) dropped: {kind}")
    if report.dropped:
        print(f"{len(report.dropped)} candidate(s) dropped in all; `__signature__` of the pack has the reasons")


def _check(arguments: argparse.Namespace) -> None:
    if arguments.out is None and not arguments.dry_run:
        raise ArgumentError("a build needs --out FOLDER", "or --dry-run, to see what it would cost")
    for name in ("workers", "memory"):
        value = getattr(arguments, name)
        if value is not None and value <= 0:
            raise ArgumentError(f"--{name} {value} is not above zero")
    if arguments.timeout is not None and arguments.timeout < 0:
        raise ArgumentError(f"--timeout {arguments.timeout} is below zero")
