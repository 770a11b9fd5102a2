"""`aotriton targets`: what code can be compiled for."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from aotriton.cli.output import print_json, print_table
from aotriton.errors import AotritonError
from aotriton.runtime import drivers
from aotriton.targets import TARGETS

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser("targets", help="list what code can be compiled for")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def _simulated() -> set[str]:
    """The targets that the simulator runs; none where there is no library yet."""
    try:
        names = [name for driver in drivers() if driver.name == "sim" for name in driver.devices]
    except AotritonError:
        return set()
    return {name.removeprefix("sim:") for name in names}


def run(arguments: argparse.Namespace) -> int:
    """List the targets."""
    simulated = _simulated()
    if arguments.json:
        print_json([asdict(target) | {"simulated": name in simulated} for name, target in TARGETS.items()])
        return 0
    head = ("target", "family", "pack", "threads of a wave", "shared memory", "tables of", "simulated")
    rows = []
    for t in TARGETS.values():
        memory = "any" if t.vendor == "host" else t.shared_memory
        device = f"sim:{t.name}" if t.name in simulated else ""
        rows.append((t.name, t.family, t.pack, t.warp_size, memory, t.tables_of, device))
    print_table(head, rows)
    return 0
