"""The compiler options that a description may name are those that the pinned Triton knows."""

from dataclasses import fields

import pytest

from aotriton.describe.checks import COMPILER_OPTIONS

amd = pytest.importorskip("triton.backends.amd.compiler", reason="Triton is not installed")
nvidia = pytest.importorskip("triton.backends.nvidia.compiler", reason="Triton is not installed")


def test_triton_knows_each_option():
    known = {field.name for options in (amd.HIPOptions, nvidia.CUDAOptions) for field in fields(options)}
    assert known >= COMPILER_OPTIONS
