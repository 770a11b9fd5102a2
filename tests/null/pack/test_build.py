"""Builds without a compiler: what is written and what is left alone, failures, kills, two at once, a full disk."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aotriton.compile import CodeObject, Failure, Task
from aotriton.errors import BuildError, BusyError, CompileError
from aotriton.pack import build as build_module
from aotriton.pack.aks2 import decode
from aotriton.pack.files import folder_lock
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import INDEX, open_zip
from aotriton.pack.signature import SIGNATURE, check_signature, read_signature
from tests.tools import building, sample_pack

SCRIPT = Path(building.__file__)
PACKS = ("amd-gfx942", "amd-gfx115x", "host")


@pytest.fixture(autouse=True)
def _compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    building.replace_compiler(monkeypatch.setattr)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "images"


def build(out: Path, *arguments: Any, **options: Any) -> building.Report:
    return building.run(out, out.parent / "cache", *arguments, **options)


def files(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, by its path."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def check_packs(folder: Path) -> None:
    """Every ZIP is whole, and every image is what its index says."""
    zips = sorted(folder.rglob("*.zip"))
    assert zips
    for path in zips:
        with open_zip(path) as archive:
            archive.check()
            index = read_index(archive.read(INDEX))
            expected: dict[str, dict[str, Any]] = {}
            for target in index["targets"]:
                for functional in target["functionals"]:
                    expected.setdefault(functional["text"], {}).update({i["name"]: i for i in functional["images"]})
            assert set(expected) == {entry.name for entry in archive} - {INDEX}
            for name, images in expected.items():
                cluster = decode(archive.read(name))
                assert [image.name for image in cluster] == list(images)
                for image in cluster:
                    row = images[image.name]
                    assert list(image.sha256) == row["sha256"]
                    assert (len(image.data), image.shared, image.threads) == (
                        row["bytes"],
                        row["shared"],
                        row["threads"],
                    )


def test_what_a_build_writes(out: Path) -> None:
    report = build(out)
    zips = [f"{pack}/sample/axpy.zip" for pack in PACKS]
    assert sorted(files(out)) == sorted(zips + [f"{pack}/{SIGNATURE}" for pack in PACKS])
    assert report.written == tuple(out / name for name in zips)
    check_packs(out)
    for pack in PACKS:
        assert check_signature(out / pack) == []
        content = read_signature(out / pack)
        assert content["kernels"]["sample/axpy.zip"]["build_set"] == "sample"
        assert content["kernels"]["sample/axpy.zip"]["date"] == "2023-11-14T22:13:20+00:00"
        assert {"AOTRITON_GIT_SHA1", "AOTRITON_GIT_TREESHA1", "DB_SHA256", "TRITON_VERSION"} <= set(content)
    assert read_signature(out / "host")["TRITON_VERSION"] == "none"
    assert read_signature(out / "amd-gfx942")["TRITON_VERSION"] == "3.9.0"
    assert set(read_signature(out / "amd-gfx115x")["DB_SHA256"]["primary"]) == {"gfx1150", "gfx1151"}


def test_clusters_hold_the_images_of_all_targets_of_a_pack(out: Path) -> None:
    build(out)
    with open_zip(out / "amd-gfx115x/sample/axpy.zip") as archive:
        names = [image.name for image in decode(archive.read("X='*fp16'"))]
    assert [name.rpartition(";;arch=")[2] for name in names] == ["gfx1150", "gfx1151"]


def test_the_build_set_orders_the_images(out: Path) -> None:
    wanted = building.build_set()
    build(out, type(wanted)(**{**vars(wanted), "image_order": ("gfx1151",)}))
    with open_zip(out / "amd-gfx115x/sample/axpy.zip") as archive:
        names = [image.name for image in decode(archive.read("X='*fp16'"))]
        assert [target["name"] for target in read_index(archive.read(INDEX))["targets"]] == ["gfx1151", "gfx1150"]
    assert [name.rpartition(";;arch=")[2] for name in names] == ["gfx1151", "gfx1150"]


def test_equal_builds_give_equal_bytes(out: Path) -> None:
    build(out)
    other = out.with_name("other")
    build(other)
    assert files(out) == files(other)


def test_a_second_build_leaves_all_alone(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(out)
    before = {path: path.stat().st_ino for path in out.rglob("*.zip")}
    monkeypatch.setattr(build_module, "compile_tasks", None)
    start = time.perf_counter()
    second = build(out)
    assert time.perf_counter() - start < 2
    assert second.written == ()
    assert second.unchanged == first.written
    assert {path: path.stat().st_ino for path in out.rglob("*.zip")} == before
    assert [row.objects for row in second.compiled.rows] == [row.objects for row in first.compiled.rows]
    assert second.compiled.total.cached == second.compiled.total.objects


@pytest.mark.parametrize("damage", ["bytes", "gone", "signature"])
def test_what_was_changed_behind_our_back_is_written_again(out: Path, damage: str) -> None:
    build(out)
    good = files(out)
    path = out / "host/sample/axpy.zip"
    if damage == "bytes":
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif damage == "gone":
        path.unlink()
    else:
        (out / "host" / SIGNATURE).write_text("{")
    assert check_signature(out / "host")
    assert build(out).written == (path,)
    assert files(out) == good


def test_only_what_changes_is_written(out: Path) -> None:
    build(out)
    report = build(out, building.build_set("gfx942,gfx1150,host"))
    assert report.written == (out / "amd-gfx115x/sample/axpy.zip",)
    assert [row.target for row in report.compiled.rows] == ["gfx942", "gfx1150", "host"]
    report = build(out, building.build_set("gfx942,gfx1150,host", X=("*fp16",)))
    assert len(report.written) == 3
    check_packs(out)


def test_other_kernels_of_a_pack_stay(out: Path) -> None:
    build(out)
    other = out / "host/other/kernel.zip"
    other.parent.mkdir()
    other.write_bytes(b"somebody else's")
    path = out / "host" / SIGNATURE
    content = json.loads(path.read_text())
    digest = hashlib.sha256(b"somebody else's").hexdigest()
    content["kernels"]["other/kernel.zip"] = {"sha256": digest}
    path.write_text(json.dumps(content))
    build(out, building.build_set(X=("*fp16",)))
    assert check_signature(out / "host") == []
    other.unlink()
    build(out)
    assert "other/kernel.zip" not in read_signature(out / "host")["kernels"]
    assert check_signature(out / "host") == []


def test_the_report_says_which_part_of_all_was_compiled(out: Path) -> None:
    report = build(out, building.build_set(X=("*fp16", "*fp16:16")))
    assert report.full["sample.axpy", "gfx942"] == 5
    assert report.fraction("sample.axpy", "gfx942") == 2 / 5
    assert report.fraction("sample.axpy", "sm_90") == 0
    content = report.to_json()
    assert {"kernel": "sample.axpy", "target": "host", "objects": 5, "fraction": 0.4} in content["full"]
    assert len(content["written"]) == 3


def test_the_estimate_is_told_before_anything_is_compiled(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def compile_late(tasks: Sequence[Task], **options: Any) -> dict[Task, CodeObject | Failure]:
        assert any("20 code objects: 15 to compile, 5 host" in text for text in told)
        return building.compile_nothing(tasks, **options)

    monkeypatch.setattr(build_module, "compile_tasks", compile_late)
    build(out, tell=told.append)
    assert len(told) == 1


class Watcher:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self, total: int, workers: int) -> None:
        self.calls.append(f"start {total}")

    def advance(self, task: Task, outcome: object) -> None:
        self.calls.append("advance")

    def note(self, text: str) -> None:
        self.calls.append(text)

    def stop(self) -> None:
        self.calls.append("stop")


def test_large_builds_go_in_batches_under_one_progress(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = out.with_name("whole")
    build(whole)
    monkeypatch.setattr(build_module, "_BATCH", 1)
    watcher = Watcher()
    build(out, progress=watcher)
    assert watcher.calls == ["start 20", *["advance"] * 20, "stop"]
    assert files(out) == files(whole)


# ---- failures of the compiler ----


def failing(*wanted: str) -> Any:
    """A compiler that fails for tasks whose stem has one of these texts."""

    def compile_some(tasks: Sequence[Task], **options: Any) -> dict[Task, CodeObject | Failure]:
        results = building.compile_nothing(tasks, **options)
        for task in tasks:
            if any(text in task.stem for text in wanted):
                results[task] = Failure(task, "Timeout", "it took more than 600 s", Path("/logs/x.log"))
        return results

    return compile_some


def test_a_hole_fails_the_build_and_is_listed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        build_module, "compile_tasks", failing("X='*fp16';;#P;BLOCK=64;;#CO;waves_per_eu=2;num_warps=4")
    )
    with pytest.raises(CompileError) as caught:
        build(out)
    text = str(caught.value)
    assert "3 code object(s) could not be compiled" in text
    for part in (
        "gfx942",
        "gfx1150",
        "gfx1151",
        "X='*fp16'",
        "Timeout: it took more than 600 s",
        "/logs/x.log",
        "hint:",
    ):
        assert part in text
    assert sorted(files(out)) == [f"host/{SIGNATURE}", "host/sample/axpy.zip"]


def test_old_packs_survive_a_build_that_fails(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(out)
    before = files(out)
    monkeypatch.setattr(build_module, "compile_tasks", failing("X='*fp16'"))
    with pytest.raises(CompileError):
        build(out, building.build_set(X=("*fp16",)))
    assert files(out) == before


def test_allowed_failures_are_in_the_index_and_are_tried_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "compile_tasks", failing("X='*fp16';", "arch=gfx1151"))
    report = build(out, allow_failures=True)
    assert len(report.compiled.failures) == 8
    assert len(report.written) == 3
    check_packs(out)
    with open_zip(out / "amd-gfx115x/sample/axpy.zip") as archive:
        targets = {target["name"]: target for target in read_index(archive.read(INDEX))["targets"]}
    number = sample_pack.axpy().number_of({"X": "*fp16"})
    failed = {"reason": "Timeout: it took more than 600 s", "kind": "failed"}
    assert {**failed, "numbers": [number]} in targets["gfx1150"]["exclusions"]
    assert {"reason": "fp64 is not described here", "kind": "described", "numbers": [5]} in targets["gfx1150"][
        "exclusions"
    ]
    assert targets["gfx1151"]["functionals"] == []
    assert {**failed, "numbers": [0, 1, 2, 3, 4]} in targets["gfx1151"]["exclusions"]
    building.replace_compiler(monkeypatch.setattr)
    assert [path.parts[-3] for path in build(out).written] == list(PACKS)
    assert build(out).written == ()


def test_an_interrupt_passes_through_and_keeps_the_old(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(out)
    before = files(out)

    def interrupted(tasks: Sequence[Task], **options: Any) -> dict[Task, CodeObject | Failure]:
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "compile_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(out, building.build_set(X=("*fp16",)))
    assert files(out) == before


# ---- kills, two at once, a full disk ----


def start(out: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(out), str(out.parent / "cache"), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# Of each pack are synchronised its ZIP, its signature, and two folders.
POINTS = [("compile", 1), ("write", 2), *(("fsync", n) for n in (1, 2, 4, 5)), *(("replace", n) for n in (1, 2, 4))]


@pytest.mark.parametrize(("point", "number"), POINTS)
def test_a_kill_leaves_old_files_or_new_ones(out: Path, point: str, number: int) -> None:
    build(out, building.build_set(X=("*fp16",)))
    old = files(out)
    process = start(out, point, str(number))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    new = out.with_name("new")
    build(new)
    expected = files(new)
    check_packs(out)
    left = files(out)
    for name, data in left.items():
        if not name.endswith(".part"):
            assert data in (old[name], expected[name])
    told: list[str] = []
    build(out, tell=told.append)
    assert files(out) == expected
    leftovers = [name for name in left if name.endswith(".part")]
    assert sum("left behind" in text for text in told) == len(leftovers)
    assert (point, number) not in [("fsync", 1), ("fsync", 2), ("fsync", 5)] or leftovers


def test_two_builds_at_once(out: Path) -> None:
    processes = [start(out) for _ in range(4)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert any(process.returncode == 0 for process in processes)
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0 or "BusyError" in errors
    check_packs(out)
    assert build(out).written == ()


def test_a_held_folder_is_an_error_or_is_waited_for(out: Path) -> None:
    with folder_lock(out):
        with pytest.raises(BusyError, match=f"process {os.getpid()}\\) is writing into {out}") as caught:
            build(out)
        assert "another folder" in str(caught.value.hint)
        told: list[str] = []
        start = time.monotonic()
        with pytest.raises(BusyError):
            build(out, wait=0.3, tell=told.append)
        assert time.monotonic() - start >= 0.3
        assert told == [f"waiting for another build (process {os.getpid()}) that is writing into {out}"]
    build(out)


def test_a_full_disk_is_a_clear_error_with_the_old_files_there(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(out)
    before = files(out)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BuildError, match="No space left on device") as caught:
        build(out, building.build_set(X=("*fp16",)))
    assert "make room" in str(caught.value.hint)
    assert files(out) == before


def test_a_write_that_stops_half_way_leaves_nothing(out: Path) -> None:
    build(out)
    before = files(out)
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); "
    code += f"sys.path[:0] = [{str(SCRIPT.parents[2])!r}]; from pathlib import Path; from tests.tools import building; "
    code += "building.replace_compiler(); "
    code += f"building.run(Path({str(out)!r}), Path({str(out.parent)!r}, 'cache'), building.build_set(X=('*fp16',)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] != 3000
    assert done.returncode == 1
    assert "BuildError" in done.stderr
    assert "can't be written: File too large" in done.stderr
    assert files(out) == before


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="can't be written"):
        build(tmp_path / "file" / "images")
