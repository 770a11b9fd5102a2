"""`aotriton sim`: run a program on the simulator, and report what its kernels executed."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from aotriton.cli.output import HelpText, note, print_json, print_table, size_text
from aotriton.errors import AotritonError, ArgumentError
from aotriton.runtime import open_device

__all__ = ["add", "run"]

_EXAMPLES = """\
Run a program with AOTRITON_DEVICE set to a simulated GPU, and say what each launch executed.

  aotriton sim --report -- python examples/sentence_search.py
  aotriton sim --device sim:gfx90a --report --json -- ./program > counts.json

The program's own output goes to stderr where --report prints to stdout."""


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "sim",
        help="run a program on a simulated GPU, and report what its kernels executed",
        description=_EXAMPLES,
        formatter_class=HelpText,
    )
    parser.add_argument("--device", default="sim:gfx942", help="the simulated GPU (default: %(default)s)")
    parser.add_argument("--report", action="store_true", help="say what each launch executed")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--memory", type=int, default=5, metavar="N", help="memory instructions to show (default: 5)")
    words = "the program and its arguments"
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM …", help=words)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the program; its exit code is ours."""
    words = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not words:
        raise ArgumentError("no program to run; give it after `--`, as in aotriton sim --report -- python program.py")
    if not arguments.device.startswith("sim:"):
        raise ArgumentError(f"device {arguments.device!r} is not simulated; name one such as sim:gfx942")
    open_device(arguments.device)
    environment = os.environ | {"AOTRITON_DEVICE": arguments.device}
    if not arguments.report:
        return _call(words, environment, None)
    with tempfile.TemporaryDirectory(prefix="aotriton-sim-") as folder:
        file = Path(folder) / "report"
        code = _call(words, environment | {"AOTRITON_SIM_REPORT": str(file)}, 2)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    launches = [json.loads(line) for line in lines]
    if arguments.json:
        print_json(launches)
    else:
        _print(launches, arguments.memory)
    return code


def _call(words: list[str], environment: dict[str, str], stdout: int | None) -> int:
    try:
        return subprocess.run(words, env=environment, stdout=stdout, check=False).returncode
    except OSError as error:
        raise AotritonError(f"{words[0]} can't be run: {error.strerror}") from error


def _print(launches: list[dict[str, Any]], memory: int) -> None:
    if not launches:
        note("nothing was launched on the simulator")
    for i, launch in enumerate(launches):
        if i:
            print()
        _print_launch(launch, memory)


def _print_launch(launch: dict[str, Any], memory: int) -> None:
    size = f"grid {' x '.join(map(str, launch['grid']))}, {launch['threads']} threads, {launch['waves']} waves"
    print(f"{launch['kernel']} on {launch['target']}: {size}")
    total, loop = launch["instructions"], launch["hottest_loop"]
    inside = loop.get("classes", {})
    rows = [
        (name, count, f"{100 * count / total:.1f}", inside.get(name, 0), count - inside.get(name, 0))
        for name, count in sorted(launch["classes"].items(), key=lambda item: -item[1])
    ]
    rows.append(("all", total, "100.0", sum(inside.values()), total - sum(inside.values())))
    print_table(("instructions", "executed", "%", "in the hottest loop", "outside"), rows)
    if loop:
        print(f"hottest loop: 0x{loop['first']:x} to 0x{loop['last']:x}, {loop['rounds']} rounds of all waves")
    print(f"matrix share {100 * launch['matrix_share']:.1f} %; lanes on {100 * launch['vector_lanes_on']:.1f} %")
    held = launch["occupancy"]
    print(
        f"registers: {launch['vector_registers']} vector, {launch['accumulation_registers']} of them for accumulation, "
        f"{launch['scalar_registers']} scalar; scratch {launch['scratch_bytes']} B; LDS {launch['lds_bytes']} B; "
        f"{held['waves_of_a_simd']} of {held['most']} waves of a SIMD, by {held['limited_by']}"
    )
    conflicts = launch["lds_cycles"] - launch["lds_cycles_without_conflicts"]
    print(f"LDS: {launch['lds_cycles']} cycles, {conflicts} of them by bank conflicts")
    scratch = f", {size_text(launch['scratch_traffic'])} of it scratch" if launch["scratch_traffic"] else ""
    print(f"memory: {size_text(launch['bytes'])} asked for{scratch}, {launch['cache_lines']} cache lines touched")
    if memory and launch["memory"]:
        print_table(
            ("instruction", "executed", "cache lines", "LDS cycles", "without conflicts"),
            [
                (one["text"], one["executed"], *(one.get(key, "–") for key in _COSTS))
                for one in launch["memory"][:memory]
            ],
        )


_COSTS = ("cache_lines", "cycles", "cycles_without_conflicts")
