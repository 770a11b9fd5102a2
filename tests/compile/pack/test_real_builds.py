"""Packs of a small kernel compiled by the real compiler for every target."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aotriton.describe import Family, Kernel, Performance
from aotriton.errors import CompileError
from aotriton.pack.aks2 import Image, decode
from aotriton.pack.build import Report, build
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import INDEX, open_zip
from aotriton.pack.signature import check_signature, read_signature
from aotriton.runtime import verify_zip
from aotriton.targets import TARGETS
from tests.tools import building, sample_pack

MACHINES = {"amd": 224, "nvidia": 190}  # EM_AMDGPU, EM_CUDA
ALIGNED_AND_NOT = building.build_set(",".join(TARGETS), "every target", X=("*fp32:16", "*fp32"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs")


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    family = Family("sample", (sample_pack.axpy(),), ())
    return build([family], ALIGNED_AND_NOT, None, folder / "images", cache=folder / "cache", workers=2)


def images(path: Path) -> Iterator[tuple[str, dict[str, Any], Image]]:
    """Target, line of the index, and image for all that a ZIP holds."""
    with open_zip(path) as archive:
        archive.check()
        for target in read_index(archive.read(INDEX))["targets"]:
            for functional in target["functionals"]:
                cluster = {image.name: image for image in decode(archive.read(functional["text"]))}
                for row in functional["images"]:
                    yield target["name"], row, cluster[row["name"]]


def test_every_target_has_its_code(report: Report) -> None:
    seen: dict[str, int] = {}
    for path in report.written:
        for name, row, image in images(path):
            target = TARGETS[name]
            assert target.pack == path.parts[-3]
            assert row["name"].endswith(f";;arch={name}")
            assert hashlib.sha256(image.data).digest() == bytes(row["sha256"])
            assert (row["bytes"], row["shared"], row["threads"]) == (len(image.data), image.shared, image.threads)
            if name == "host":
                assert json.loads(image.data)["entry"] == "axpy"
            else:
                assert image.data[:4] == b"\x7fELF"
                assert struct.unpack_from("<H", image.data, 18)[0] == MACHINES[target.vendor]
                assert image.threads == 4 * target.warp_size
                assert row["registers"] > 0
            seen[name] = seen.get(name, 0) + 1
    assert seen == dict.fromkeys(TARGETS, 2)


def test_what_was_stamped_says_so(report: Report) -> None:
    stamped = {
        name: row["compiled_for"] for path in report.written for name, row, _ in images(path) if row["compiled_for"]
    }
    assert stamped["gfx1152"] == "gfx1150"
    assert set(stamped) <= {"gfx1152", "gfx1153", "gfx1201", "gfx1200"}


def test_the_library_finds_nothing_wrong(report: Report) -> None:
    for path in report.written:
        found = verify_zip(path)
        assert found["problems"] == []
        assert found["images"] == sum(1 for _ in images(path))


def test_signatures_agree(report: Report) -> None:
    for path in report.written:
        assert check_signature(path.parents[1]) == []
    content = read_signature(report.written[0].parents[1])
    assert content["TRITON_VERSION"] == content["kernels"]["sample/axpy.zip"]["compiler"]["triton"]


def test_the_same_build_again_takes_no_time(report: Report, folder: Path) -> None:
    family = Family("sample", (sample_pack.axpy(),), ())
    start = time.perf_counter()
    again = build([family], ALIGNED_AND_NOT, None, folder / "images", cache=folder / "cache", workers=2)
    assert time.perf_counter() - start < 2
    assert again.written == ()
    assert again.unchanged == report.written


def test_a_build_from_the_cache_gives_the_same_bytes(report: Report, folder: Path) -> None:
    family = Family("sample", (sample_pack.axpy(),), ())
    other = build([family], ALIGNED_AND_NOT, None, folder / "other", cache=folder / "cache", workers=2)
    assert other.compiled.total.cached == other.compiled.total.objects - 2  # the host's are made, not compiled
    for one, two in zip(report.written, other.written, strict=True):
        assert one.read_bytes() == two.read_bytes()


BROKEN = """
import triton
import triton.language as tl

@triton.jit
def broken(X, MODE: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(MODE != 1, "mode one is not written yet")
    tl.store(X + tl.arange(0, BLOCK), MODE)
"""


def test_what_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "broken.py"
    source.write_text(BROKEN)
    kernel = Kernel(
        family="sample",
        name="broken",
        source=source,
        choices={"X": "*fp32", "MODE": [0, 1]},
        performance={"BLOCK": Performance(64, [64])},
        options={"num_warps": 4},
        grid=("1",),
    )
    families, wanted = [Family("sample", (kernel,), ())], building.build_set("gfx942,sm_90")
    options: dict[str, Any] = {"cache": tmp_path / "cache", "workers": 1}
    with pytest.raises(CompileError) as caught:
        build(families, wanted, None, tmp_path / "images", **options)
    text = str(caught.value)
    assert "2 code object(s) could not be compiled" in text
    assert "MODE=1" in text
    assert str(tmp_path / "cache") in text
    assert not list((tmp_path / "images").rglob("*.zip"))
    report = build(families, wanted, None, tmp_path / "images", allow_failures=True, **options)
    assert [row.failed for row in report.compiled.rows] == [1, 1]
    for path in report.written:
        with open_zip(path) as archive:
            (target,) = read_index(archive.read(INDEX))["targets"]
        assert [one["text"] for one in target["functionals"]] == ["MODE=0"]
        (exclusion,) = target["exclusions"]
        assert (exclusion["kind"], exclusion["numbers"]) == ("failed", [1])
        assert exclusion["reason"].startswith("Exception: ")
        assert verify_zip(path)["problems"] == []
