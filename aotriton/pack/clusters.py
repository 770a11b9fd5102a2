"""The ZIP of one kernel in one pack: its index and the clusters of its functionals."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

from aotriton.describe import stem
from aotriton.pack.aks2 import Image, encode
from aotriton.pack.flatzip import INDEX, write_zip
from aotriton.pack.index import Contents, index_bytes

if TYPE_CHECKING:
    from aotriton.compile.objects import CodeObject

__all__ = ["clusters", "write_kernel"]


def clusters(contents: Contents) -> dict[str, tuple[CodeObject, ...]]:
    """The code objects of each functional over all targets of the pack, in the order of its parts."""
    found: dict[int, list[CodeObject]] = {}
    names: dict[int, str] = {}
    for part in contents.parts:
        for packed in part.functionals:
            names[packed.functional.number] = packed.functional.signature
            found.setdefault(packed.functional.number, []).extend(packed.objects)
    return {names[number]: tuple(found[number]) for number in sorted(found)}


def write_kernel(file: BinaryIO, contents: Contents, build: Mapping[str, str]) -> None:
    """Write the ZIP of a kernel: the index first, then the clusters in the order of the functionals' numbers.

    Raises
    ------
    BuildError
        The index can't be written.
    PackError
        The contents exceed what the formats hold.
    """
    write_zip(file, _entries(contents, build))


def _entries(contents: Contents, build: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    yield INDEX, index_bytes(contents, build)
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:  # the compressor works outside of the interpreter's lock
        waiting: deque[tuple[str, Future[bytes]]] = deque()
        for name, objects in clusters(contents).items():
            waiting.append((name, pool.submit(_cluster, objects)))
            if len(waiting) > 2 * workers:  # no more in memory than keeps all at work
                yield _finished(waiting)
        while waiting:
            yield _finished(waiting)


def _finished(waiting: deque[tuple[str, Future[bytes]]]) -> tuple[str, bytes]:
    name, future = waiting.popleft()
    return name, future.result()


def _cluster(objects: tuple[CodeObject, ...]) -> bytes:
    return encode(
        [
            Image(stem(one.functional, one.config, one.target), one.image, one.resources.shared, one.resources.threads)
            for one in objects
        ]
    )
