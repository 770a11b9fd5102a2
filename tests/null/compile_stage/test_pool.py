"""Workers that crash, hang, refuse and grow: each costs one task; the rest of the build goes on and is kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aotriton.compile import CodeObject, Failure, Task, compile_tasks
from aotriton.compile import build as build_module
from aotriton.compile import pool as pool_module
from aotriton.errors import BuildError
from aotriton.targets import TARGETS

Make = Callable[..., Task]
Asked = Callable[[], list[list[str]]]


class Watcher:
    def __init__(self) -> None:
        self.total, self.seen, self.notes, self.stopped = 0, [], [], False

    def start(self, total: int, workers: int) -> None:
        self.total = total

    def advance(self, task: Task, outcome: object) -> None:
        self.seen.append((task, outcome))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stop(self) -> None:
        self.stopped = True


def children() -> set[int]:
    return {int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_each_task_gets_a_code_object_and_the_second_time_from_the_cache(
    fake: Asked, make: Make, tmp_path: Path
) -> None:
    tasks = [make(block=block, number=number) for block in (32, 64) for number in (0, 1)]
    watcher = Watcher()
    found = compile_tasks(tasks, cache=tmp_path / "cache", workers=2, progress=watcher)
    assert list(found) == tasks
    assert watcher.total == len(watcher.seen) == 4
    assert watcher.stopped
    assert len(fake()) == 4
    assert len({pid for pid, *_ in fake()}) == 2
    assert all(isinstance(one, CodeObject) and not one.cached for one in found.values())
    again = compile_tasks(tasks, cache=tmp_path / "cache", workers=2)
    assert len(fake()) == 4
    for task in tasks:
        one, other = found[task], again[task]
        assert isinstance(one, CodeObject)
        assert isinstance(other, CodeObject)
        assert other.cached
        assert (one.image, one.sha256, one.resources) == (other.image, other.sha256, other.resources)
    assert list((tmp_path / "cache" / "work").iterdir()) == []
    assert list((tmp_path / "cache" / "logs").iterdir()) == []


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        ("crash", "ExitWithError", "died of SIGABRT"),
        ("half", "ExitWithError", "ended with status 3"),
        ("hang", "Timeout", "took longer than 1.5 s"),
        ("refuse", "Exception", "no"),
        ("scratch", "Exception", "128 bytes of global_scratch"),
    ],
)
def test_one_bad_task_costs_one_task(
    behaviour: str, status: str, reason: str, fake: Asked, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_32", behaviour)
    tasks = [make(block=block) for block in (16, 32, 64, 128, 256)]
    before = children()
    found = compile_tasks(tasks, cache=tmp_path, workers=2, timeout=1.5)
    assert children() <= before
    bad = found[tasks[1]]
    assert isinstance(bad, Failure)
    assert bad.status == status
    assert reason in bad.reason
    assert bad.log.read_text()
    assert all(isinstance(found[task], CodeObject) for task in tasks if task is not tasks[1])
    # A failure isn't cached: the next build tries again, and only that.
    monkeypatch.delenv("FAKE_WORKER_32")
    count = len(fake())
    again = compile_tasks(tasks, cache=tmp_path, workers=2)
    if behaviour == "scratch":  # the binary is there, and still can't be launched
        assert isinstance(again[tasks[1]], Failure)
        assert len(fake()) == count
    else:
        assert isinstance(again[tasks[1]], CodeObject)
        assert len(fake()) == count + 1


def test_a_worker_that_holds_too_much_is_replaced(
    fake: Asked, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in (16, 32, 64):
        monkeypatch.setenv(f"FAKE_WORKER_{block}", "fat")
    compile_tasks([make(block=block) for block in (16, 32, 64)], cache=tmp_path, workers=1)
    assert len({pid for pid, *_ in fake()}) == 3


def test_targets_with_identical_code_are_compiled_once(fake: Asked, make: Make, tmp_path: Path) -> None:
    tasks = [make(target) for target in ("gfx1152", "gfx1150")]
    found = compile_tasks(tasks, cache=tmp_path, workers=1)
    assert [arch for _, arch, _ in fake()] == ["gfx1150"]
    stamped, native = (found[task] for task in tasks)
    assert isinstance(stamped, CodeObject)
    assert isinstance(native, CodeObject)
    assert (stamped.compiled_for, native.compiled_for) == ("gfx1150", None)
    assert stamped.image != native.image
    assert b"gfx1152" in stamped.image
    assert stamped.resources.seconds + native.resources.seconds == 0.5


def test_the_host_needs_no_worker(fake: Asked, make: Make, tmp_path: Path) -> None:
    found = compile_tasks([make("host")], cache=tmp_path, workers=1)
    (one,) = found.values()
    assert isinstance(one, CodeObject)
    assert (one.resources.shared, one.resources.threads, one.compiler.version) == (0, 1, "none")
    assert fake() == []


def test_a_damaged_entry_is_compiled_again_and_reported(fake: Asked, make: Make, tmp_path: Path) -> None:
    task = make()
    compile_tasks([task], cache=tmp_path, workers=1)
    path = next(path for path in (tmp_path / "objects").rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    watcher = Watcher()
    found = compile_tasks([task], cache=tmp_path, workers=1, progress=watcher)
    assert isinstance(found[task], CodeObject)
    assert len(fake()) == 2
    assert watcher.notes == [f"the cache entry {path} was damaged; it is compiled again"]


def test_a_full_disk_stops_the_build_with_a_clear_error(
    fake: Asked, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()

    def full(*_: object) -> None:
        raise BuildError("can't write it: No space left on device")

    monkeypatch.setattr(build_module.Cache, "put", full)
    watcher = Watcher()
    with pytest.raises(BuildError, match="No space left"):
        compile_tasks([make(block=block) for block in (16, 32, 64)], cache=tmp_path, workers=2, progress=watcher)
    assert watcher.stopped
    assert children() <= before


def test_a_compiler_that_dies_on_a_full_disk_is_no_fault_of_the_code_object(
    fake: Asked, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    disk = os.statvfs(tmp_path)
    monkeypatch.setattr(pool_module, "_ROOM", disk.f_blocks * disk.f_frsize + 1)  # more than the whole disk
    monkeypatch.setenv("FAKE_WORKER_32", "crash")
    with pytest.raises(BuildError, match=r"no space left .* SIGABRT\)\nhint: make room"):
        compile_tasks([make(block=block) for block in (16, 32, 64)], cache=tmp_path, workers=1)
    assert children() <= before
    (found,) = compile_tasks([make(block=64)], cache=tmp_path, workers=1).values()  # nothing failed, nothing is checked
    assert isinstance(found, CodeObject)


def test_an_interrupt_keeps_what_is_done(fake: Asked, make: Make, tmp_path: Path) -> None:
    tasks = [make(block=block) for block in (16, 32, 64, 128)]
    before = children()

    class Interrupts(Watcher):
        def advance(self, task: Task, outcome: object) -> None:
            super().advance(task, outcome)
            if len(self.seen) == 2:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)  # the signal is handled here

    watcher = Interrupts()
    before_test = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where this runs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            compile_tasks(tasks, cache=tmp_path, workers=1, progress=watcher)
    finally:
        signal.signal(signal.SIGINT, before_test)
    assert children() <= before
    done = len(watcher.seen)
    asked = len(fake())
    found = compile_tasks(tasks, cache=tmp_path, workers=1)
    assert sum(one.cached for one in found.values() if isinstance(one, CodeObject)) >= done
    assert len(fake()) - asked <= len(tasks) - done


def test_all_targets_have_a_spec_of_plain_data(fake: Asked, make: Make) -> None:
    specs = {name: make(name).spec for name in TARGETS}
    keys = {make(name).key for name in TARGETS}
    assert len(keys) == len(TARGETS)
    assert specs["sm_90"]["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert specs["gfx90a"]["target"] == {"backend": "hip", "arch": "gfx90a", "warp_size": 64}
    assert specs["gfx942"]["options"]["waves_per_eu"] == 2
    assert "waves_per_eu" not in specs["sm_90"]["options"]
    assert specs["sm_90"]["options"]["enable_fp_fusion"] is True
    assert specs["sm_90"]["environment"]["TRITON_DEFAULT_FP_FUSION"] == "1"
    assert specs["sm_90"]["environment"]["TRITON_DISABLE_LINE_INFO"] == "1"
    assert specs["gfx942"]["signature"] == {
        "X": "*fp16", "Y": "*fp16", "Z": "*fp16", "N": "i32",
        "CAUSAL": "constexpr", "WIDTH": "constexpr", "BLOCK": "constexpr",
    }  # fmt: skip
    assert specs["gfx942"]["attributes"] == {"X": 16, "Y": 16, "Z": 16}
    assert specs["gfx942"]["constants"] == {"CAUSAL": False, "WIDTH": 16, "BLOCK": 64}


def test_the_callers_variables_do_not_reach_a_worker(fake: Asked, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRITON_INTERPRET", "DISABLE_LLVM_OPT", "PTXAS_OPTIONS", "AMDGCN_USE_BUFFER_OPS", "PYTHONPATH"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    variables = make().environment.variables()
    assert "TRITON_INTERPRET" not in variables
    assert not {"DISABLE_LLVM_OPT", "PTXAS_OPTIONS", "AMDGCN_USE_BUFFER_OPS", "PYTHONPATH"} & set(variables)
    assert variables["TRITON_DEFAULT_FP_FUSION"] == "1"
    assert make().environment.variables(line_information=True)["TRITON_DISABLE_LINE_INFO"] == "0"
