"""The cache holds whole entries or none, whatever happens to the process, the disk and the files."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aotriton.compile import Cache, Entry
from aotriton.errors import BuildError

KEY = "ab" * 32
ENTRY = Entry(bytes(range(256)) * 40, {"name": "axpy", "shared": 3}, 1.5)
SPEC = {"function": "axpy"}


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get(KEY) is None
    assert cache.seconds(KEY) is None
    cache.put(KEY, ENTRY, SPEC)
    assert Cache(tmp_path).get(KEY) == ENTRY
    assert cache.seconds(KEY) == 1.5
    assert not cache.damaged
    assert list((tmp_path / "work").iterdir()) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_entry_is_absent_and_reported(tmp_path: Path, data: st.DataObject) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ENTRY, SPEC)
    path = cache.path(KEY)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    assert cache.get(KEY) is None
    assert cache.damaged == [path]
    assert not path.exists()


def test_an_entry_under_another_key_is_absent(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ENTRY, SPEC)
    other = cache.path("cd" * 32)
    other.parent.mkdir()
    cache.path(KEY).rename(other)
    assert cache.get("cd" * 32) is None


def test_a_write_past_the_limit_leaves_nothing(tmp_path: Path) -> None:
    """A real limit of the system, in a process of its own: files may not grow beyond 8 KiB."""

    def attempt() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        cache = Cache(tmp_path)
        try:
            cache.put(KEY, ENTRY, SPEC)
        except BuildError as error:
            ok = "can't write" in str(error) and "make room" in str(error) and cache.get(KEY) is None
            os._exit(0 if ok and list((tmp_path / "work").iterdir()) == [] else 2)
        os._exit(1)

    process = multiprocessing.get_context("fork").Process(target=attempt)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert not Cache(tmp_path).path(KEY).exists()


def fill(cache: Cache) -> None:
    for number in range(100):
        cache.put(f"{number:064x}", ENTRY, SPEC)


def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    """A file system of 64 KiB, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        cache = Cache(disk)
        with pytest.raises(BuildError, match=r"can't write .*: No space left on device\nhint: make room"):
            fill(cache)
        kept = sorted((disk / "objects").rglob("0*0*0*"))
        whole = [path for path in kept if path.is_file()]
        assert whole
        assert all(cache.get(path.name) == ENTRY for path in whole)
        assert list((disk / "work").iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="can't write"):
        Cache(tmp_path / "file" / "cache")


WRITER = """
import sys
from pathlib import Path
from aotriton.compile import Cache, Entry
cache = Cache(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    cache.put(f"{number % 50:064x}", Entry(bytes([number % 251]) * 200_000, {"name": "x"}, 1.0), {})
    number += 1
"""


def test_kill_at_any_moment_leaves_whole_entries(tmp_path: Path) -> None:
    """Two writers of the same keys, killed again and again: what is read is always whole."""
    for round_ in range(4):
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.05 + 0.019 * round_)
        for writer in writers:
            writer.kill()
            writer.communicate()
        cache = Cache(tmp_path)
        entries = [cache.get(path.name) for path in (tmp_path / "objects").rglob("0*") if path.is_file()]
        assert entries
        assert not cache.damaged
        assert all(
            entry is not None and len(set(entry.image)) == 1 and len(entry.image) == 200_000 for entry in entries
        )
        assert list((tmp_path / "work").iterdir()) == []


def test_files_of_running_builds_stay(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.work() as folder:
        (folder / "file").write_text("")
        foreign = tmp_path / "work" / "another-machine-1-x"
        foreign.mkdir()
        dead = tmp_path / "work" / f"{socket.gethostname()}-999999999-x"
        dead.mkdir()
        Cache(tmp_path)
        assert (folder / "file").exists()
        assert foreign.exists()
        assert not dead.exists()
    assert not folder.exists()


def test_sources_are_written_once_and_repaired(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    folder = cache.add_sources("package_1", {"a.py": "x = 1\n", "sub/b.py": "y = 2\n"})
    first = (folder / "package_1" / "a.py").stat().st_mtime_ns
    assert (folder / "package_1" / "__init__.py").read_text() == ""
    cache.add_sources("package_1", {"a.py": "x = 1\n", "sub/b.py": "y = 2\n"})
    assert (folder / "package_1" / "a.py").stat().st_mtime_ns == first
    (folder / "package_1" / "sub" / "b.py").write_text("damaged")
    cache.add_sources("package_1", {"a.py": "x = 1\n", "sub/b.py": "y = 2\n"})
    assert (folder / "package_1" / "sub" / "b.py").read_text() == "y = 2\n"
