"""A family of one small kernel, and workers that compile nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aotriton.compile import Environment, Task, pool
from aotriton.compile import task as task_module
from aotriton.describe import Exclude, Family, Kernel, Key, Performance
from aotriton.targets import parse_target

SOURCE = """
import triton
import triton.language as tl
from .helpers import double

@triton.jit
def axpy(X, Y, Z, N, CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    pass
"""


@pytest.fixture
def family(tmp_path: Path) -> Family:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "axpy.py").write_text(SOURCE)
    (folder / "helpers.py").write_text("def double(x):\n    return 2 * x\n")
    kernel = Kernel(
        family="sample",
        name="axpy",
        source=folder / "axpy.py",
        choices={
            ("X", "Y", "Z"): ["*fp16:16", "*bf16:16", "*fp32"],
            "N": "i32",
            "CAUSAL": [False, True],
            "WIDTH": [16, 32, 64],
        },
        performance={"BLOCK": Performance(64, [16, 32, 64, 128, 256])},
        options={"waves_per_eu": 2, "num_warps": 4, "num_stages": 1},
        keys=(Key("N"),),
        partially_tuned={"CAUSAL": False},
        exclude=(Exclude("64 is too wide", when=lambda f, target: f["WIDTH"] == 64, targets=["RDNA3"]),),
    )
    return Family("sample", (kernel,), ())


@pytest.fixture
def kernel(family: Family) -> Kernel:
    return family.kernels[0]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[list[str]]]:
    """Workers that compile nothing; what it gives back tells what they were asked: pid, architecture, block."""
    environment = Environment(Path(sys.executable), "3.9.0", "made up")
    monkeypatch.setattr(pool, "WORKER", Path(__file__).with_name("fake_worker.py"))
    monkeypatch.setattr(task_module.Environment, "current", classmethod(lambda cls: environment))
    count = tmp_path / "count"
    monkeypatch.setenv("FAKE_WORKER_COUNT", str(count))
    return lambda: [line.split() for line in count.read_text().splitlines()] if count.exists() else []


@pytest.fixture
def make(kernel: Kernel) -> Callable[..., Task]:
    """A task for a target with some block: the block says how the fake worker behaves."""

    def task(target: str = "gfx942", block: int = 64, number: int = 0) -> Task:
        found = parse_target(target)
        return Task(kernel, kernel.functional(number), kernel.config({"BLOCK": block}).for_target(found), found)

    return task
