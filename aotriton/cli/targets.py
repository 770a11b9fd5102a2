"""`aotriton targets`: what code can be compiled for."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from aotriton.cli.output import print_json, print_table
from aotriton.targets import TARGETS

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser("targets", help="list what code can be compiled for")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the targets."""
    if arguments.json:
        print_json([asdict(target) for target in TARGETS.values()])
        return 0
    head = ("target", "family", "pack", "threads of a wave", "shared memory", "tables of")
    print_table(
        head,
        [
            (t.name, t.family, t.pack, t.warp_size, "any" if t.vendor == "host" else t.shared_memory, t.tables_of)
            for t in TARGETS.values()
        ],
    )
    return 0
