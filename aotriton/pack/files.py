"""Files that appear whole or not at all, in a folder that one build at a time may write."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from aotriton.errors import BuildError, BusyError

__all__ = ["Staged", "explained", "folder_lock", "remove_leftovers"]

LOCK = ".lock"
_SUFFIX = ".part"


@contextlib.contextmanager
def folder_lock(folder: Path, wait: float = 0.0, tell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Hold a folder for writing; the system lets go of it when the process ends, however it ends.

    Parameters
    ----------
    folder : Path
        It is made where it isn't there; the file `.lock` stays in it.
    wait : float
        Seconds to wait for another process that holds it.
    tell : callable
        Is given one line when waiting begins.

    Raises
    ------
    BusyError
        Another process holds it.
    BuildError
        It can't be made or written.
    """
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _acquire(descriptor, folder, wait, tell)
        os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):  # for people only; a full disk must not matter here
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, folder: Path, wait: float, tell: Callable[[str], None]) -> None:
    end, told = time.monotonic() + wait, False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        if time.monotonic() >= end:
            raise BusyError(
                f"another build (process {holder}) is writing into {folder}",
                "wait until it is done, or build into another folder",
            )
        if not told:
            tell(f"waiting for another build (process {holder}) that is writing into {folder}")
            told = True
        time.sleep(0.05)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what builds that were killed left behind; the caller holds the folder."""
    found = sorted(folder.glob(f"**/.*{_SUFFIX}"))
    for path in found:
        path.unlink(missing_ok=True)
    return found


class Staged:
    """Files written beside their places and moved there all at once, or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "text")
    >>> with Staged() as staged:
    ...     with staged.open(path) as file:
    ...         file.write(b"whole") and path.exists()
    ...     staged.commit()
    False
    >>> path.read_bytes()
    b'whole'
    """

    def __init__(self) -> None:
        self._pending: dict[Path, Path] = {}

    @contextlib.contextmanager
    def open(self, path: Path) -> Iterator[BinaryIO]:
        """A file to write; it will be at `path` after `commit`.

        Raises
        ------
        BuildError
            It can't be written: the disk is full, the folder is read-only.
        """
        temporary = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._pending[path] = temporary
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())

    def __len__(self) -> int:
        return len(self._pending)

    def staged(self, path: Path) -> Path:
        """Where the content of `path` is until `commit`."""
        return self._pending[path]

    def commit(self) -> None:
        """Move every file to its place, in the order in which they were opened."""
        moved = list(self._pending.items())
        for path, temporary in moved:
            with explained(path):
                temporary.replace(path)
                del self._pending[path]
        for folder in {path.parent for path, _ in moved}:
            _sync(folder)

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary in self._pending.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """System errors of writing `path` as errors of the build."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise BuildError(
            f"{path} can't be written: {error.strerror or error}",
            "make room and build again; what was compiled is kept, and the old files are untouched"
            if full
            else "check the folder's permissions, or build into another one",
        ) from error
