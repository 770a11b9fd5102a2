"""The content-addressed store of compiled binaries: one file an entry, written whole or not at all.

    <cache>/objects/ab/<key>     a line with the hash of all that follows, a line of JSON, the image
    <cache>/sources/<package>/   kernel sources by content, what the workers import
    <cache>/logs/<key>.log       what the compiler printed for a task that failed
    <cache>/work/<host>-<pid>-*/ a running build's temporary files

A file comes into being by a rename, and what is read is checked against its hash. So two builds may share a cache, and
one that is killed at any moment leaves a cache that can be used: the next build removes what it left behind.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aotriton.errors import BuildError

__all__ = ["Cache", "Entry", "default_cache", "explained"]

_MAGIC = b"aotriton-cache-1 "


@dataclass(frozen=True)
class Entry:
    """One compiled binary: its bytes, what the compiler said beside them, and how long it took."""

    image: bytes = field(repr=False)
    metadata: Mapping[str, Any]
    seconds: float


def default_cache() -> Path:
    """`build/cache` of the source tree that the package stands in, else the user's cache folder."""
    root = Path(__file__).resolve().parents[2]
    if (root / "schema" / "index.fbs").exists():
        return root / "build" / "cache"
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "aotriton"


class Cache:
    """A folder of compiled binaries.

    Parameters
    ----------
    root : Path
        The folder; it is made where it isn't there.

    Attributes
    ----------
    damaged : list of Path
        Entries that were found damaged, and removed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.damaged: list[Path] = []
        with explained(root):
            for name in ("objects", "sources", "logs", "work"):
                (root / name).mkdir(parents=True, exist_ok=True)
        self._remove_left_behind()

    def path(self, key: str) -> Path:
        """Where the entry of that key is, or would be."""
        return self.root / "objects" / key[:2] / key

    def log(self, key: str) -> Path:
        """Where the log of a failed task is."""
        return self.root / "logs" / f"{key}.log"

    def get(self, key: str) -> Entry | None:
        """The entry of that key; a damaged one is removed, noted in `damaged`, and counts as absent."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        entry = _decode(data, key)
        if entry is None:
            self.damaged.append(path)
            path.unlink(missing_ok=True)
        return entry

    def seconds(self, key: str) -> float | None:
        """What the entry of that key took of one core, by its header alone; None: there is no entry."""
        try:
            with self.path(key).open("rb") as file:
                file.readline()
                header = json.loads(file.readline())
                return float(header["metadata"].get("cpu_seconds", header["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, entry: Entry, spec: Mapping[str, Any]) -> None:
        """Write an entry.

        Raises
        ------
        BuildError
            It can't be written: the disk is full, the folder read-only. Nothing is left of it.
        """
        self._write(self.path(key), _encode(key, entry, spec))

    def add_to_log(self, key: str, text: str) -> None:
        """Append to a log."""
        with explained(self.log(key)), self.log(key).open("a", encoding="utf-8") as file:
            file.write(text)

    def add_sources(self, package: str, files: Mapping[str, str]) -> Path:
        """Write a set of source files as an importable package, and return the folder that holds the package.

        A package's name says its content; files that are there are compared, and written again where they differ.
        """
        folder = self.root / "sources"
        for name, text in {"__init__.py": "", **files}.items():
            path = folder / package / name
            if not path.exists() or path.read_bytes() != text.encode():
                self._write(path, text.encode())
        return folder

    @contextlib.contextmanager
    def work(self) -> Iterator[Path]:
        """A folder for the temporary files of one build, removed at its end."""
        with explained(self.root):
            folder = Path(tempfile.mkdtemp(prefix=_prefix(), dir=self.root / "work"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, path: Path, data: bytes) -> None:
        temporary = None
        with explained(path):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handle, name = tempfile.mkstemp(prefix=_prefix(), dir=self.root / "work")
                temporary = Path(name)
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                temporary.replace(path)
            except BaseException:
                if temporary is not None:
                    temporary.unlink(missing_ok=True)
                raise

    def _remove_left_behind(self) -> None:
        """Remove temporary files of builds of this machine that run no more."""
        for path in (self.root / "work").glob(f"{socket.gethostname()}-*"):
            pid = path.name.removeprefix(f"{socket.gethostname()}-").split("-")[0]
            if pid.isdigit() and not Path("/proc", pid).exists():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _prefix() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-"


def _encode(key: str, entry: Entry, spec: Mapping[str, Any]) -> bytes:
    header = {"key": key, "seconds": entry.seconds, "metadata": entry.metadata, "spec": spec}
    body = json.dumps(header, sort_keys=True).encode() + b"\n" + entry.image
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decode(data: bytes, key: str) -> Entry | None:
    first, _, body = data.partition(b"\n")
    if first != _MAGIC + hashlib.sha256(body).hexdigest().encode():
        return None
    line, _, image = body.partition(b"\n")
    header = json.loads(line)
    return Entry(image, header["metadata"], header["seconds"]) if header["key"] == key else None


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in words what the system refused: a full disk above all."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "make room, or choose another folder with --cache; what was compiled so far is kept" if full else None
        raise BuildError(f"can't write {path}: {error.strerror or error}", hint) from error
