"""`aotriton verify`: are packs whole? Every byte is read, by the library's own reader."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aotriton.cli.output import note, print_json, print_table, size_text
from aotriton.cli.zips import find_zips, label
from aotriton.errors import PackError
from aotriton.runtime import index_of, verify_zip
from aotriton.targets import TARGETS

__all__ = ["add", "run"]

_PACKS = {target.pack for target in TARGETS.values()}


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify",
        help="check packs whole: structure, checksums, hashes",
        description="Check packs whole: directories, checksums, indexes, every cluster, every image's hash; and, of a "
        "folder, each pack's signature.",
    )
    parser.add_argument("path", type=Path, nargs="+", help="a kernel's ZIP, a pack, or a folder of packs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check all ZIPs that were named, and the signatures of packs; 1 if anything is wrong."""
    reports = [(label(path), _check_zip(path)) for where in arguments.path for path in find_zips(where)]
    for where in arguments.path:
        reports += [(f"{folder.name}/__signature__", report) for folder, report in _check_signatures(where)]
    if arguments.json:
        print_json([report for _, report in reports])
    else:
        print_table(("what", "functionals", "images", "size", "result"), [_row(*report) for report in reports])
        for _, report in reports:
            for problem in report["problems"]:
                print(f"{report['file']}: {problem}")
    return 1 if any(report["problems"] for _, report in reports) else 0


def _row(name: str, report: dict[str, Any]) -> tuple[object, ...]:
    """One line of the table."""
    size = size_text(report["bytes"]) if "bytes" in report else ""
    result = f"{len(report['problems'])} problem(s)" if report["problems"] else "sound"
    return (name, report.get("functionals", ""), report.get("images", ""), size, result)


def _check_zip(path: Path) -> dict[str, Any]:
    """The library's report of a ZIP, with what is wrong about the place where it lies."""
    report = {"file": str(path), **verify_zip(path)}
    pack = path.resolve().parent.parent.name
    if pack not in _PACKS:
        return report
    try:
        targets = [target["name"] for target in index_of(path)["targets"]]
    except PackError:  # the report says so already
        return report
    strange = [name for name in targets if name not in TARGETS or TARGETS[name].pack != pack]
    if strange:
        text = f"it has code for {', '.join(strange)}, which belongs elsewhere than in the pack {pack}"
        report["problems"] = [*report["problems"], text]
    return report


def _check_signatures(where: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A report for the signature of each pack below a folder, and for each pack of a known name without one."""
    if where.is_file():
        return
    try:
        from aotriton.pack.signature import check_signature
    except ModuleNotFoundError:  # an installed prefix has no build-time stages
        note("signatures were not checked: the stage that writes packs is not installed here")
        return
    folders = {path.parent.parent for path in where.rglob("*.zip")}
    for folder in sorted(folders | {path.parent for path in where.rglob("__signature__")}):
        if (folder / "__signature__").exists() or folder.resolve().name in _PACKS:
            yield folder, {"file": str(folder / "__signature__"), "problems": check_signature(folder)}
