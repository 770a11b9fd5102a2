"""Runs everything that this machine can run, and keeps what came out in benchmarks/results/.

    python benchmarks/test_all.py [STEP …]

`make test-all` calls it after the set-up. Each step runs whether or not those before it passed; the exit code is 1 if
one failed. A step that this machine can't run is skipped with a reason, in the file too. Only whole runs are kept.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = "torch==2.13.0"
PREFIX = ROOT / "build" / "install"


def gpus() -> list[str]:
    """Names of this machine's GPUs, by the library's own word."""
    from aotriton import drivers

    return [name for driver in drivers() if driver.name in ("hip", "cuda") for name in driver.devices]


def sanitized(kind: str) -> list[list[str]]:
    folder = f"build/cmake-{kind}"
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DAOTRITON_NOIMAGE_MODE=ON", f"-DAOTRITON_SANITIZE={kind}"]
    return [
        ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", *options],
        ["cmake", "--build", folder],
        ["ctest", "--test-dir", folder, "--output-on-failure"],
    ]


def consumer() -> list[list[str]]:
    """What takes PyTorch, in an environment of its own, for it is large: tests, and the original's users' program."""
    python = ROOT / "build" / "torch" / "bin" / "python"
    requirements = ["-r", "requirements.txt", "-r", "requirements-dev.txt"]
    settings = ["env", f"PYTHONPATH={PREFIX / 'lib'}", "AOTRITON_DEVICE=host"]
    return [
        [sys.executable, "-m", "venv", ROOT / "build" / "torch"],
        [python, "-m", "pip", "install", "--quiet", *requirements, TORCH],
        [python, "-m", "pytest", "tests/compile/host/test_torch_tensors.py", "tests/compile/host/test_host_device.py"],
        [*settings, python, "tests/consumer/python/attn_fwd_v3.py", "cpu"],
    ]


def steps() -> Iterator[tuple[str, list[list[str]] | str]]:
    """Each step's name, and its commands or why it can't run."""
    yield "ruff", [["ruff", "check", "."]]
    yield "mypy", [["mypy"]]
    yield "library", [["ctest", "--test-dir", "build/cmake", "--output-on-failure"]]
    yield "address", sanitized("address")
    yield "thread", sanitized("thread")
    yield "tests", [["pytest", "-n", str(os.cpu_count()), "-m", "not gpu", "tests/null", "tests/compile"]]
    yield "examples", [[sys.executable, "examples/sentence_search.py", "--dtype", dtype] for dtype in ("fp16", "fp32")]
    yield "pytorch", consumer()
    python = ROOT / "build" / "torch" / "bin" / "python"
    yield "gpu", [["make", "packs-gpu"], ["make", "test-gpu", f"GPU_PYTHON={python}"]] if gpus() else "there is no GPU"


def output_of(*words: str) -> str:
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def run(name: str, commands: list[list[str]] | str) -> dict[str, object]:
    print(f"==== {name}", flush=True)
    if isinstance(commands, str):
        print(f"skipped: {commands}")
        return {"step": name, "result": "skipped", "reason": commands}
    started, lines = time.monotonic(), []
    for command in commands:
        done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr, sep="", flush=True)
        lines += done.stdout.splitlines()[-3:]
        if done.returncode:
            break
    result = "passed" if done.returncode == 0 else "failed"
    # The runners' closing lines, and the examples' figures, without this machine's paths.
    kept = [line.replace(str(ROOT), ".") for line in lines if re.search(r"passed|error|launches", line)]
    return {"step": name, "result": result, "seconds": round(time.monotonic() - started), "lines": kept}


def main() -> int:
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    wanted = sys.argv[1:]
    results = [run(name, commands) for name, commands in steps() if not wanted or name in wanted]
    now = datetime.datetime.now(tz=datetime.UTC)
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "commit": output_of("git", "rev-parse", "--short", "HEAD"),
        "devices": gpus() or ["none"],
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            "python": platform.python_version(),
            "g++": output_of("g++", "-dumpfullversion"),
            **{name: version(name) for name in ("triton", "numpy", "flatc")},
        },
        "steps": results,
    }
    for one in results:
        print(f"{one['result']:<8} {one['step']}")
    if not wanted:
        path = ROOT / "benchmarks" / "results" / f"test-all-{now:%Y-%m-%d}.json"
        path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        print(f"kept in {path.relative_to(ROOT)}")
    return 1 if any(one["result"] == "failed" for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
