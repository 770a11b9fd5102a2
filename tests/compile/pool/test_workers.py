"""Real workers with the real compiler: what they make is the same every time, and what goes wrong stays small."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aotriton.compile import CodeObject, Failure, compile_tasks
from aotriton.targets import TARGETS
from tests.compile.pool.samples import PRODUCT, task, write_product

GPUS = [name for name, target in TARGETS.items() if target.vendor != "host"]


def one(found: dict[object, object]) -> CodeObject:
    (outcome,) = found.values()
    assert isinstance(outcome, CodeObject), outcome
    return outcome


def test_every_target_compiles_and_says_what_it_takes(tmp_path: Path) -> None:
    kernel = write_product(tmp_path / "kernels")
    tasks = [task(kernel, name, BLOCK=16) for name in TARGETS]
    found = compile_tasks(tasks, cache=tmp_path / "cache", workers=2)
    for wanted, outcome in found.items():
        assert isinstance(outcome, CodeObject), outcome
        target, resources = wanted.target, outcome.resources
        assert outcome.target == target.name
        assert resources.symbol == "product"
        if target.vendor == "host":
            continue
        assert resources.threads == 4 * target.warp_size
        assert resources.registers > 0
        assert resources.spills == 0
        assert resources.shared <= target.shared_memory
        assert outcome.image[:4] == b"\x7fELF"
        assert str(tmp_path).encode() not in outcome.image
        assert b"product.py" not in outcome.image
        assert (outcome.compiled_for is None) == (target.name not in ("gfx1152", "gfx1153", "gfx1201"))


def test_a_binary_depends_on_its_spec_only(tmp_path: Path) -> None:
    """Another folder, another order, a worker that compiled for others before: the same bytes."""
    names = ["gfx942", "gfx1100", "gfx1250", "sm_80", "sm_90"]
    first = write_product(tmp_path / "a")
    together = compile_tasks([task(first, name) for name in names], cache=tmp_path / "1", workers=1)
    second = write_product(tmp_path / "b" / "deeper")
    turned = compile_tasks([task(second, name) for name in reversed(names)], cache=tmp_path / "2", workers=1)
    alone = [
        compile_tasks([task(second, name)], cache=tmp_path / f"3{name}", workers=1) for name in ("gfx942", "sm_90")
    ]
    images = {outcome.target: outcome.image for outcome in together.values() if isinstance(outcome, CodeObject)}
    assert set(images) == set(names)
    for found in (turned, *alone):
        for outcome in found.values():
            assert isinstance(outcome, CodeObject)
            assert outcome.image == images[outcome.target]
    assert [task(first, name).key for name in names] == [task(second, name).key for name in names]


@pytest.mark.parametrize("target", ["gfx942", "sm_90"])
def test_line_information_is_there_when_asked_for(target: str, tmp_path: Path) -> None:
    kernel = write_product(tmp_path / "kernels")
    plain = one(compile_tasks([task(kernel, target)], cache=tmp_path / "cache", workers=1))
    lined = one(compile_tasks([task(kernel, target, line_information=True)], cache=tmp_path / "cache", workers=1))
    assert b".debug_line" not in plain.image
    assert b".debug_line" in lined.image
    # The path that debuggers are told is one that lasts.
    assert any((tmp_path / "cache" / "sources").rglob("product.py"))


HARM = {
    "crash": ("import os\nos.abort()\n", "ExitWithError", "SIGABRT"),
    "fault": ("import ctypes\nctypes.string_at(0)\n", "ExitWithError", "SIGSEGV"),
    "leaves": ("import os\nos._exit(7)\n", "ExitWithError", "status 7"),
    "exits": ("raise SystemExit(3)\n", "Exception", "SystemExit: 3"),
    "raises": ("raise ValueError('no such luck')\n", "Exception", "ValueError: no such luck"),
    "hang": ("import time\ntime.sleep(600)\n", "Timeout", "longer than 5 s"),
    "memory": ("block = bytearray(3 << 30)\n", "Memory", "more memory than it may"),
}


@pytest.mark.parametrize("harm", HARM)
def test_harm_costs_one_task(harm: str, tmp_path: Path) -> None:
    text, status, reason = HARM[harm]
    good = write_product(tmp_path / "good")
    bad = write_product(tmp_path / "bad", PRODUCT.replace("@triton.jit", text + "\n\n@triton.jit", 1))
    tasks = [task(bad, "gfx942", BLOCK=16), task(good, "gfx942", BLOCK=16), task(good, "sm_80", BLOCK=16)]
    found = compile_tasks(tasks, cache=tmp_path / "cache", workers=1, timeout=5.0, memory=2 << 30)
    broken = found[tasks[0]]
    assert isinstance(broken, Failure)
    assert broken.status == status
    assert reason in broken.reason
    log = broken.log.read_text()
    assert f"{status}: {broken.reason}" in log
    assert '"function": "product"' in log
    assert isinstance(found[tasks[1]], CodeObject)
    assert isinstance(found[tasks[2]], CodeObject)


def test_a_compiler_without_memory_fails_its_task(tmp_path: Path) -> None:
    """The limit holds for the compiler itself, whose libraries don't ask Python."""
    kernel = write_product(tmp_path / "kernels")
    found = compile_tasks([task(kernel, "gfx942", BLOCK=128)], cache=tmp_path / "cache", workers=1, memory=4 << 20)
    (outcome,) = found.values()
    assert isinstance(outcome, Failure)
    assert outcome.status in ("Memory", "ExitWithError", "Exception")
    assert outcome.log.exists()


def test_the_compilers_refusal_is_one_line_and_a_log(tmp_path: Path) -> None:
    kernel = write_product(tmp_path / "kernels", PRODUCT.replace("tl.dot(a, b, total)", "tl.dot(a, i, total)"))
    found = compile_tasks([task(kernel, "gfx942")], cache=tmp_path / "cache", workers=1)
    (outcome,) = found.values()
    assert isinstance(outcome, Failure)
    assert outcome.status == "Exception"
    assert "\n" not in outcome.reason
    assert "product" in outcome.log.read_text()


def test_an_interpreter_without_triton_fails_its_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's Python can't import Triton: each task says so, and nothing waits for ever."""
    from aotriton.compile import pool

    broken = tmp_path / "worker.py"
    broken.write_text("raise ImportError('libtriton is damaged')\n")
    monkeypatch.setattr(pool, "WORKER", broken)
    kernel = write_product(tmp_path / "kernels")
    found = compile_tasks([task(kernel, "gfx942")], cache=tmp_path / "cache", workers=1)
    (outcome,) = found.values()
    assert isinstance(outcome, Failure)
    assert outcome.status == "ExitWithError"
    assert "libtriton is damaged" in outcome.log.read_text()


IN_TREE = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}

BUILD = """
import sys
from pathlib import Path
from aotriton.compile import CodeObject, compile_tasks
from tests.compile.pool.samples import task, write_product
kernel = write_product(Path(sys.argv[1]) / "kernels")
names = ["gfx942", "gfx90a", "gfx1100", "gfx1201", "sm_80", "sm_90"]
tasks = [task(kernel, name, number) for number in (0, 1) for name in names]
found = compile_tasks(tasks, cache=Path(sys.argv[1]) / "cache", workers=2)
assert all(isinstance(one, CodeObject) for one in found.values()), found
print(sum(one.cached for one in found.values()), len(found))
"""


def finished(cache: Path) -> dict[Path, tuple[int, int]]:
    """The cache's entries, with what would change if one was written again."""
    found = [path for path in (cache / "objects").rglob("*") if path.is_file()]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_build_that_was_ended_is_resumed_and_recompiles_nothing(end: signal.Signals, tmp_path: Path) -> None:
    """`kill -9` or Ctrl-C in the middle: what was done stays as it was, and the rest is made."""
    command, cache = [sys.executable, "-c", BUILD, tmp_path], tmp_path / "cache"
    # A shell that starts this in the background makes its children ignore Ctrl-C.
    first = subprocess.Popen(
        command,
        env=IN_TREE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 120
    while len(finished(cache)) < 4:
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    first.send_signal(end)
    errors = first.communicate()[1]
    assert first.returncode == -end
    if end == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert list((cache / "work").iterdir()) == []
    done = finished(cache)
    assert 4 <= len(done) < 12
    resumed = subprocess.run(command, env=IN_TREE, capture_output=True, text=True, check=True)
    assert resumed.stdout.split() == [str(len(done)), "12"]
    after = finished(cache)
    assert {path: after[path] for path in done} == done
    assert len(after) == 12
    assert list((cache / "work").iterdir()) == []


def test_two_builds_at_once_share_a_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILD, tmp_path]
    builds = [subprocess.Popen(command, env=IN_TREE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [build.communicate(timeout=300)[0].split()[1] for build in builds] == ["12", "12"]
    assert [build.returncode for build in builds] == [0, 0]
    assert sum(path.is_file() for path in (tmp_path / "cache" / "objects").rglob("*")) == 12


def test_a_killed_build_leaves_no_worker(tmp_path: Path) -> None:
    """`kill -9` of the parent while a compile hangs: the worker dies with it."""
    pid = tmp_path / "pid"
    text = f"import os, time\nwith open({str(pid)!r}, 'w') as f:\n    f.write(str(os.getpid()))\ntime.sleep(600)\n"
    script = f"""
from pathlib import Path
from aotriton.compile import compile_tasks
from tests.compile.pool.samples import PRODUCT, task, write_product
text = PRODUCT.replace("@triton.jit", {text!r} + "@triton.jit", 1)
kernel = write_product(Path({str(tmp_path)!r}) / "kernels", text)
compile_tasks([task(kernel, "gfx942")], cache=Path({str(tmp_path)!r}) / "cache", workers=1)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], env=IN_TREE)
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    while alive(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not collected yet doesn't."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
