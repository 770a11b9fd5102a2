"""Timing calls that enqueue work, and the facts that stand beside every figure."""

from __future__ import annotations

import ctypes
import datetime
import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["facts", "library_on_path", "sample", "spread"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def library_on_path() -> None:
    """Has `import aotriton` find the package of this tree, or of the prepared folder that this file lies in."""
    sys.path.insert(0, str(ROOT / "lib" if (ROOT / "facts.json").exists() else ROOT))


def spread(times: list[float]) -> dict[str, float]:
    """Median, 10th and 90th percentile, and the number of times."""
    ordered = sorted(times)
    at = [ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))] for part in (0.5, 0.1, 0.9)]
    return {"median": round(at[0], 3), "p10": round(at[1], 3), "p90": round(at[2], 3), "calls": len(ordered)}


def sample(call: Callable[[], Any], drain: Callable[[], Any], calls: int = 5000, batch: int = 100) -> dict[str, float]:
    """Host time of one call in microseconds, each call by itself.

    The queue is drained between batches, so that a call never waits for room in it; the first batch is thrown away.
    """
    now, times = time.perf_counter_ns, []
    collects = gc.isenabled()
    gc.disable()
    try:
        for number in range(max(1, calls // batch) + 1):
            drain()
            for _ in range(batch):
                start = now()
                call()
                end = now()
                if number:
                    times.append((end - start) / 1000)
        drain()
    finally:
        if collects:
            gc.enable()
    return spread(times)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _output(*words: str) -> str:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _driver() -> str | None:
    """The version of NVIDIA's driver, and the CUDA that it serves."""
    text = ""
    if shutil.which("nvidia-smi"):
        text = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0]
    try:
        number = ctypes.c_int()
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    except OSError:
        return text or None
    return f"{text or 'unknown'}, CUDA {number.value // 1000}.{number.value % 1000 // 10}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def facts(benchmark: str, device: str) -> dict[str, Any]:
    """Date, device, driver, versions and commit."""
    prepared = ROOT / "facts.json"
    made = json.loads(prepared.read_text(encoding="utf-8")) if prepared.exists() else {}
    changed = _output("git", "status", "--porcelain", "--untracked-files=no") if not made else ""
    commit = made.get("commit") or _output("git", "rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    found = {name: _version(name) for name in ("torch", "triton", "numpy")}
    return {
        "benchmark": benchmark,
        "date": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "device": device,
        "driver": _driver(),
        "cpu": f"{_cpu()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{name: text for name, text in found.items() if text}},
        "compiler": made.get("versions", {}).get("triton"),
    }
