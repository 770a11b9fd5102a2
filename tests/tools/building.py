"""A build of the sample kernel without a compiler, for tests that build in this process or kill another one.

    python tests/tools/building.py OUT CACHE [point number]

builds; with a point (`write`, `fsync`, `replace`, `compile`) it kills itself at that call of it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from aotriton.compile import BuildSet, CodeObject, Environment, Failure, Selection, Task
from aotriton.describe import Family
from aotriton.pack import build as build_module
from aotriton.pack import files, flatzip
from aotriton.pack.build import Report, build
from aotriton.targets import Target, parse_targets
from tests.tools import sample_pack

TARGETS = "gfx942,gfx1150,gfx1151,host"
ENVIRONMENT = Environment(Path(sys.executable), "3.9.0", "made up")


def build_set(targets: str = TARGETS, name: str = "sample", **where: tuple[Any, ...]) -> BuildSet:
    """A set of all functionals of the sample that match."""
    return BuildSet(name, "tests", parse_targets([targets]), (Selection("tests", "sample.*", "all", None, where),))


def compile_nothing(tasks: Sequence[Task], **options: Any) -> dict[Task, CodeObject | Failure]:
    """Made-up code objects, the same for the same task."""
    progress = options["progress"]
    progress.start(len(tasks), options["workers"])
    results: dict[Task, CodeObject | Failure] = {}
    for task in tasks:
        results[task] = sample_pack.make(task.kernel, task.functional, task.config, task.target)
        progress.advance(task, results[task])
    progress.stop()
    return results


def run(out: Path, cache: Path, wanted: BuildSet | None = None, **options: Any) -> Report:
    """Build the sample; the caller has replaced the compiler."""
    family = Family("sample", (sample_pack.axpy(),), ())
    targets: Sequence[Target] | None = options.pop("targets", None)
    return build([family], wanted or build_set(), targets, out, cache=cache, workers=1, **options)


def replace_compiler(set_attribute: Callable[[Any, str, Any], None] = setattr) -> None:
    """Put the made-up compiler in the place of the real one."""
    set_attribute(build_module, "compile_tasks", compile_nothing)
    set_attribute(Environment, "current", classmethod(lambda cls: ENVIRONMENT))


def kill_at(point: str, number: int) -> None:
    """Have the process killed at the n-th time that it comes to a point."""
    owner, name = {
        "write": (flatzip, "_padding"),
        "fsync": (files.os, "fsync"),
        "replace": (Path, "replace"),
        "compile": (build_module, "compile_tasks"),
    }[point]
    original, left = getattr(owner, name), [number]

    def counted(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)

    setattr(owner, name, counted)


def main(words: list[str]) -> int:
    """The program."""
    replace_compiler()
    if len(words) > 2:
        kill_at(words[2], int(words[3]))
    report = run(Path(words[0]), Path(words[1]))
    print(len(report.written), len(report.unchanged))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
