"""The build's own cost on a real build: wall time x workers over the sum of the compilers' own seconds.

    python benchmarks/compile.py [--family FAMILY] [--set SET] [--objects N] [--workers N] [--alone N]

Compiles code objects of a build set into an empty cache, then some of the same ones with one process each, as a build
without long-lived workers does. Prints one JSON object; the exit status is 1 where the cost is above the bar.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aotriton.compile import Cache, CodeObject, Task, compile_tasks, default_workers, load_set, make_progress, plan
from aotriton.describe import load_family

BAR = 1.1

# What a process of its own does for one object: import Triton, compile, write the binary; Triton's cache is as it is.
ALONE = """
import importlib, json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
spec = json.load(open(sys.argv[1]))
sys.path.insert(0, spec["folder"])
function = getattr(importlib.import_module(f"{spec['package']}.{spec['module']}"), spec["function"])
places = {name: place for place, name in enumerate(function.arg_names)}
hints = {(places[name],): [["tt.divisibility", value]] for name, value in spec["attributes"].items()}
source = ASTSource(function, spec["signature"], spec["constants"], hints)
target = GPUTarget(spec["target"]["backend"], spec["target"]["arch"], spec["target"]["warp_size"])
open(sys.argv[2], "wb").write(triton.compile(source, target=target, options=spec["options"]).kernel)
"""


def binaries(tasks: tuple[Task, ...], count: int) -> list[Task]:
    """So many different binaries of GPUs, spread evenly over the plan."""
    different = list(
        {task.compiled_as.key: task.compiled_as for task in tasks if task.target.vendor != "host"}.values()
    )
    step = max(1, len(different) // count)
    return different[::step][:count]


def together(tasks: list[Task], workers: int, cache: Path) -> tuple[float, dict[Task, CodeObject]]:
    start = time.perf_counter()
    found = compile_tasks(tasks, cache=cache, workers=workers, progress=make_progress())
    wall = time.perf_counter() - start
    failed = [outcome for outcome in found.values() if not isinstance(outcome, CodeObject)]
    if failed:
        sys.exit(f"{len(failed)} of {len(found)} code objects failed, the first: {failed[0]}")
    return wall, {task: outcome for task, outcome in found.items() if isinstance(outcome, CodeObject)}


def alone(tasks: list[Task], workers: int, folder: Path) -> float:
    """Wall time with one process for each object, as many at once as there are workers."""
    cache = Cache(folder / "sources-only")

    def compile_one(number: int) -> None:
        task = tasks[number]
        sources = cache.add_sources(task.sources.package, dict(task.sources.files))
        spec = folder / f"{number}.json"
        spec.write_text(json.dumps({**task.spec, "folder": str(sources)}))
        variables = {**task.environment.variables(), "TRITON_CACHE_DIR": str(folder / f"triton-{number}")}
        command = [task.environment.python, "-c", ALONE, spec, folder / f"{number}.bin"]
        subprocess.run(command, env=variables, check=True)

    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(compile_one, range(len(tasks))))
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default="aotriton.flash.description", help="a module's name or a path")
    parser.add_argument("--set", default="ci", dest="build_set", help="a build set's name or path")
    parser.add_argument("--objects", type=int, default=60, help="how many to compile (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=default_workers())
    parser.add_argument("--alone", type=int, default=8, help="how many with a process each (default: %(default)s)")
    arguments = parser.parse_args()
    planned = plan([load_family(arguments.family)], load_set(arguments.build_set))
    tasks = binaries(planned.tasks, arguments.objects)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wall, objects = together(tasks, arguments.workers, folder / "cache")
        compiler = sum(one.resources.seconds for one in objects.values())
        sample = tasks[:: max(1, len(tasks) // max(arguments.alone, 1))][: arguments.alone]
        again, same = together(sample, arguments.workers, folder / "again")
        single = alone(sample, arguments.workers, folder)
        equal = all((folder / f"{number}.bin").read_bytes() == same[task].image for number, task in enumerate(sample))
    cost = wall * arguments.workers / compiler
    result = {
        "benchmark": "compile",
        "objects": len(tasks),
        "workers": arguments.workers,
        "load_before": round(os.getloadavg()[1], 2),
        "wall_s": round(wall, 2),
        "compiler_s": round(compiler, 2),
        "cost": round(cost, 3),
        "bar": BAR,
        "met": cost <= BAR,
        "sample": {
            "objects": len(sample),
            "workers_wall_s": round(again, 2),
            "process_each_wall_s": round(single, 2),
            "ratio": round(single / again, 2),
            "same_bytes": equal,
        },
    }
    print(json.dumps(result, indent=2))
    return 0 if cost <= BAR and equal else 1


if __name__ == "__main__":
    sys.exit(main())
