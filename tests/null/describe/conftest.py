"""A small kernel to describe well and badly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aotriton.describe import Kernel, Performance

SOURCE = """
import triton
import triton.language as tl

@triton.jit
def scale_rows(X, Y, W, stride_xm, stride_xn, stride_yz, stride_ym, stride_yn, rows, eps, HDIM: tl.constexpr,
               HAS_W: tl.constexpr, BLOCK: tl.constexpr):
    pass

def plain(X):
    pass

@triton.jit
def variadic(*X):
    pass
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "scale_rows.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def declare(source: Path) -> Callable[..., Kernel]:
    """Declares a good kernel; keyword arguments replace parts, those of `choices` and the like by their keys."""

    def kernel(**changes: Any) -> Kernel:
        from aotriton.describe import Like, When

        parts: dict[str, Any] = {
            "family": "demo",
            "name": "scale_rows",
            "source": source,
            "choices": {
                ("X", "Y"): ["*fp16:16", "*fp16", "*fp32"],
                "W": When("HAS_W", [True], then=Like("X"), otherwise=0),
                "rows": "i32",
                "eps": "fp32",
                ("HDIM",): [16, 32, 48, 64],
                "HAS_W": [False, True],
            },
            "strides": {"X": ("stride_xm", "stride_xn"), "Y": ("stride_yz", "stride_ym", "stride_yn")},
            "performance": {"BLOCK": Performance(64, [32, 64, 128])},
            "options": {"num_warps": 4},
            "grid": ("cdiv(rows, BLOCK)",),
        }
        for name, change in changes.items():
            if isinstance(change, dict) and isinstance(parts.get(name), dict):
                merged = {**parts[name], **change}
                parts[name] = {key: value for key, value in merged.items() if value is not None}
            else:
                parts[name] = change
        return Kernel(**parts)

    return kernel
