"""The generated argument structs: they fill what dispatch takes, and a forgotten argument doesn't compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aotriton.describe import Kernel, load_family
from aotriton.generate.shims import arguments_header, main, write_if_changed

ROOT = Path(__file__).resolve().parents[3]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or "c++"
KERNEL_SOURCE = """
import triton
import triton.language as tl

@triton.jit
def scale(X, W, L, stride_xm, stride_xn, stride_wk, rows, count, eps, new, HDIM: tl.constexpr, PADDED: tl.constexpr,
          MODE: tl.constexpr, BLOCK: tl.constexpr):
    pass
"""
DESCRIPTION = """
from pathlib import Path
from aotriton.describe import Kernel, Like, Performance, When

SCALE = Kernel(
    family="demo",
    name="scale",
    source=Path(__file__).with_name("kernel.py"),
    choices={
        "X": ["*fp16", "*fp32"],
        "W": When("MODE", [3], then=Like("X")),
        "L": "*fp32",
        ("rows", "new"): "i32",
        "count": "u64",
        "eps": "fp32",
        "HDIM": [16, 32],
        "PADDED": [False, True],
        "MODE": [0, 3],
    },
    ranks={"L": 2},
    strides={"X": ("stride_xm", "stride_xn"), "W": ("stride_wk",)},
    performance={"BLOCK": Performance(64, [64])},
    request={"HDIM": "rows"},
    at_least=("HDIM",),
)
KERNELS = (SCALE,)
"""
# {members} is an initialiser of the struct; the checks print nothing and give their line as the exit code.
PROGRAM = """
#include "scale_arguments.h"
#include <cstring>
using namespace aotriton;
template <typename To, typename From>
constexpr bool takes = std::is_constructible_v<To, From>;
static_assert(takes<dispatch::Scalar<std::int32_t>, short> && !takes<dispatch::Scalar<std::int32_t>, std::int64_t>);
static_assert(!takes<dispatch::Scalar<std::int32_t>, double> && !takes<dispatch::Scalar<float>, double>);
static_assert(!takes<dispatch::Scalar<bool>, int> && !takes<dispatch::Scalar<std::uint64_t>, int>);
static_assert(takes<dispatch::Tensor<2>, aotriton_tensor&> && takes<dispatch::Tensor<2>, std::nullptr_t>);
static_assert(!takes<dispatch::Tensor<2>, aotriton_tensor>);
static_assert(!std::is_default_constructible_v<dispatch::Tensor<2>>);
static_assert(!std::is_default_constructible_v<dispatch::Scalar<bool>>);
#define CHECK(what) do { if (!(what)) return __LINE__ - FIRST_LINE; } while (0)
constexpr int FIRST_LINE = __LINE__;
int main() {
  int element = 0;
  aotriton_tensor x{&element, AOTRITON_FP16, 2, {3, 5}, {77, 1}};
  aotriton_tensor w{nullptr, 0, 0, {}, {}};
  aotriton_tensor l{&element, AOTRITON_FP32, 2, {1, 4}, {999, 1}};
  demo::ScaleArguments given{MEMBERS};
  std::array<dispatch::Value, 14> values;
  values[10].given = true;
  CHECK(demo::fill(given, values).ok());
  CHECK(values[0].bits == reinterpret_cast<std::uintptr_t>(&element) && values[0].dtype == AOTRITON_FP16);
  CHECK(values[1].given && values[1].bits == 0 && values[1].dtype == AOTRITON_NONE);
  CHECK(values[3].bits == 77 && values[4].bits == 1);
  CHECK(values[5].given && values[5].bits == 1);
  CHECK(static_cast<std::int64_t>(values[6].bits) == -2 && values[7].bits == ~0ull);
  CHECK(values[8].real == 0.5 && values[9].bits == 9);
  CHECK(!values[10].given && values[11].given && values[11].bits == 1 && values[12].bits == 300);
  CHECK(!values[13].given);
  CHECK(std::strcmp(demo::kScaleArgumentNames[3], "stride_xm") == 0 && demo::kScaleArgumentNames.size() == 14);
  x.sizes[0] = 1;
  x.sizes[1] = 0;
  x.strides[1] = 88;
  CHECK(demo::fill(given, values).ok() && values[3].bits == 0 && values[4].bits == 1);
  x.rank = 3;
  core::Status rank = demo::fill(given, values);
  CHECK(!rank.ok() && rank.text() == "X has rank 3; the kernel takes rank 2");
  x.rank = 2;
  l.sizes[0] = 2;
  core::Status dense = demo::fill(given, values);
  CHECK(dense.code() == AOTRITON_INVALID_ARGUMENT);
  CHECK(dense.text() == "L has stride 999 in dimension 0, where the kernel takes it as contiguous with stride 4; "
                        "make it contiguous");
  l.strides[0] = 4;
  CHECK(demo::fill(given, values).ok());
  return 0;
}
"""
MEMBERS = [
    ".X = x", ".W = w", ".L = l", ".rows = -2", ".count = ~std::uint64_t{0}", ".eps = 0.5f", ".new_ = 9",
    ".PADDED = true", ".MODE = std::int64_t{300}",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shims")
    (folder / "kernel.py").write_text(KERNEL_SOURCE)
    (folder / "description.py").write_text(DESCRIPTION)
    (folder / "aotriton").mkdir()
    # The public header asks for CMake's config.h, of which it needs the macro only.
    (folder / "aotriton" / "config.h").write_text("#pragma once\n#define AOTRITON_API\n")
    assert main(["--out", str(folder), "--family", str(folder / "description.py")]) == 0
    return folder


def compile_program(folder: Path, members: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    source = folder / "program.cc"
    source.write_text(PROGRAM.replace("MEMBERS", ", ".join(members)))
    includes = [f"-I{path}" for path in (folder, ROOT / "csrc", ROOT / "include")]
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", *options]
    return subprocess.run([COMPILER, *flags, *includes, str(source)], capture_output=True, text=True, check=False)


def test_the_header_compiles_and_fills_the_values(folder: Path) -> None:
    program = folder / "program"
    compiled = compile_program(folder, MEMBERS, "-o", str(program))
    assert compiled.returncode == 0, compiled.stderr
    assert subprocess.run([program], check=False).returncode == 0


# A tensor, one that may be null, a scalar, a choice: each has a type without a default.
@pytest.mark.parametrize("place", [0, 1, 5, 7])
def test_a_forgotten_argument_does_not_compile(folder: Path, place: int) -> None:
    forgotten = [*MEMBERS[:place], *MEMBERS[place + 1 :]]
    compiled = compile_program(folder, forgotten, "-fsyntax-only")
    assert compiled.returncode != 0
    assert MEMBERS[place].split()[0].lstrip(".") in compiled.stderr


def test_what_dispatch_decides_is_no_member(folder: Path) -> None:
    assert compile_program(folder, [*MEMBERS, ".HDIM = 16"], "-fsyntax-only").returncode != 0


def test_headers_are_written_only_where_they_differ(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "header.h"
    assert write_if_changed(path, "one")
    before = path.stat().st_mtime_ns
    assert not write_if_changed(path, "one")
    assert path.stat().st_mtime_ns == before
    assert write_if_changed(path, "two")
    assert [file.name for file in path.parent.iterdir()] == ["header.h"]


def test_every_kernel_of_the_original_has_a_header() -> None:
    kernels: tuple[Kernel, ...] = load_family(ROOT / "tests" / "null" / "describe" / "original.py").kernels
    for kernel in kernels:
        text = arguments_header(kernel)
        assert f"std::array<const char*, {len(kernel.arguments)}>" in text
        assert "stride_qz;" not in text
    forward = arguments_header(kernels[0])
    assert "dispatch::Tensor<4> Q;" in forward
    assert "dispatch::Tensor<2, 2> L;" in forward
    assert "BLOCK_DMODEL;" not in forward
    assert "dispatch::Scalar<bool> ENABLE_DROPOUT;" in forward


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aotriton.generate.shims", "--out", str(tmp_path), "--family", "absent.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert "there is no such Python file" in done.stderr
    assert not list(tmp_path.iterdir())
