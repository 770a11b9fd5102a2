"""A kernel for the workers: a matrix product in two files, small enough to compile often."""

from __future__ import annotations

from pathlib import Path

from aotriton.compile import Task
from aotriton.describe import Kernel, Performance
from aotriton.targets import parse_target

PRODUCT = """
import triton
import triton.language as tl
from .offsets import tile


@triton.jit
def product(A, B, C, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, BLOCK):
        a = tl.load(A + tile(i[:, None], k + i[None, :], N))
        b = tl.load(B + tile(k + i[:, None], i[None, :], N))
        total = tl.dot(a, b, total)
    tl.store(C + tile(i[:, None], i[None, :], N), total.to(C.dtype.element_ty))
"""

OFFSETS = """
import triton


@triton.jit
def tile(row, column, N):
    return row * N + column
"""


def write_product(folder: Path, text: str = PRODUCT) -> Kernel:
    """A matrix product with a helper in another file; blocks of 64 take some hundred milliseconds to compile."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "product.py").write_text(text)
    (folder / "offsets.py").write_text(OFFSETS)
    return Kernel(
        family="sample",
        name="product",
        source=folder / "product.py",
        choices={("A", "B", "C"): ["*fp16:16", "*bf16:16", "*fp32"], "N": "i32"},
        performance={"BLOCK": Performance(32, [16, 32, 64, 128])},
        options={"waves_per_eu": 1, "num_warps": 4, "num_stages": 2},
    )


def task(kernel: Kernel, target: str, number: int = 0, line_information: bool = False, **config: int) -> Task:
    found = parse_target(target)
    functional = kernel.functional(number)
    return Task(kernel, functional, kernel.config(config).for_target(found), found, line_information)
