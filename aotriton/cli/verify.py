"""`aotriton verify`: are packs whole? Every byte is read, by the library's own reader."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from aotriton.cli.output import print_json, print_table, size_text
from aotriton.cli.zips import find_zips, label
from aotriton.runtime import verify_zip

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify",
        help="check packs whole: structure, checksums, hashes",
        description="Check packs whole: directories, checksums, indexes, every cluster, every image's hash.",
    )
    parser.add_argument("path", type=Path, nargs="+", help="a kernel's ZIP, a pack, or a folder of packs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check all ZIPs that were named; 1 if any is damaged."""
    reports = [(path, verify_zip(path)) for where in arguments.path for path in find_zips(where)]
    if arguments.json:
        print_json([report for _, report in reports])
    else:
        print_table(
            ("kernel", "functionals", "images", "size", "result"),
            [
                (
                    label(path),
                    *(report.get(key, "?") for key in ("functionals", "images")),
                    size_text(report.get("bytes", 0)),
                    f"{len(report['problems'])} problem(s)" if report["problems"] else "sound",
                )
                for path, report in reports
            ],
        )
        for path, report in reports:
            for problem in report["problems"]:
                print(f"{path}: {problem}")
    return 1 if any(report["problems"] for _, report in reports) else 0
