"""The ZIP of a kernel's clusters: stored entries only, so that each is a range of the mapped file.

The index, `__index__`, stands first; an extra field of its local header moves its data to a multiple of 16 bytes, so
that it is read in place. The reader takes any bytes: it gives back what was written or raises `PackError`.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from aotriton.errors import PackError

__all__ = ["INDEX", "Entry", "FlatZip", "open_zip", "write_zip"]

INDEX = "__index__"
"""The entry that holds the kernel's index."""

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_LOCAL_SIGNATURE, _CENTRAL_SIGNATURE, _END_SIGNATURE = 0x04034B50, 0x02014B50, 0x06054B50
_VERSION = 20
_UTF8 = 0x0800
_IGNORED_FLAGS = 0x0006  # hints of a compressor, meaningless for stored entries
_ALIGNMENT = 16
_ALIGNMENT_FIELD = 0xD935  # the extra field by which Android's tools align: u16 alignment, then zeros
_LIMIT = 0xFFFFFFFF
_DAMAGED = "the file is damaged or was not written by this project; build the pack again or copy it anew"


@dataclass(frozen=True)
class Entry:
    """Where an entry's data lies in the file."""

    name: str
    offset: int
    size: int
    crc: int


def write_zip(file: BinaryIO, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write a ZIP of stored entries in this order, the same bytes for the same entries.

    Parameters
    ----------
    file : BinaryIO
        Opened for writing, at its start.
    entries : iterable of (str, bytes)
        Names and contents; the data of `__index__` are aligned to 16 bytes.

    Raises
    ------
    PackError
        A name comes twice, is empty or too long, there are more than 65535 entries, or the file would exceed 4 GiB.
    """
    central, seen, position = bytearray(), set[str](), 0
    for name, data in entries:
        raw = name.encode()
        if not raw or len(raw) > 0xFFFF or name in seen:
            raise PackError(f"{name!r} can't name an entry: names are unique, and have 1 to 65535 bytes")
        if len(seen) == 0xFFFF:
            raise PackError("a pack's ZIP holds at most 65535 entries", "compile fewer functionals of this kernel")
        seen.add(name)
        extra = _padding(position + _LOCAL.size + len(raw)) if name == INDEX else b""
        crc = zlib.crc32(data)
        end = position + _LOCAL.size + len(raw) + len(extra) + len(data)
        _within_limit(end)
        common = (_UTF8, 0, 0, 0, crc, len(data), len(data), len(raw))
        file.write(_LOCAL.pack(_LOCAL_SIGNATURE, _VERSION, *common, len(extra)) + raw + extra)
        file.write(data)
        central += _CENTRAL.pack(_CENTRAL_SIGNATURE, _VERSION, _VERSION, *common, 0, 0, 0, 0, 0, position) + raw
        position = end
    _within_limit(position + len(central))
    file.write(central)
    file.write(_END.pack(_END_SIGNATURE, 0, 0, len(seen), len(seen), len(central), position, 0))


def _within_limit(position: int) -> None:
    if position >= _LIMIT:
        raise PackError("a pack's ZIP stays below 4 GiB; this one does not", "ship fewer configs of this kernel")


def _padding(start: int) -> bytes:
    """An extra field of at least 6 bytes that moves `start` to the next multiple of 16."""
    length = -start % _ALIGNMENT
    while length < 6:
        length += _ALIGNMENT
    return struct.pack("<HHH", _ALIGNMENT_FIELD, length - 4, _ALIGNMENT).ljust(length, b"\0")


class FlatZip:
    """A checked ZIP of stored entries over bytes that stay where they are.

    Parameters
    ----------
    data : bytes, memoryview or mmap
        The whole file.
    source : str
        What errors call it.

    Raises
    ------
    PackError
        The structure is not sound: every header is checked here, checksums only by `check`.
    """

    def __init__(self, data: bytes | memoryview | mmap.mmap, source: str = "ZIP") -> None:
        self.source = source
        self._data = data
        self._view = memoryview(data)
        try:
            self.entries: dict[str, Entry] = _read(self._view, source)
        except BaseException:
            self._view.release()
            raise

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def read(self, name: str) -> bytes:
        """The data of an entry, held against its checksum.

        Raises
        ------
        PackError
            There is no such entry, or its checksum is wrong.
        """
        if name not in self.entries:
            raise PackError(f"{self.source} has no entry {name}", "`aotriton inspect` lists those that it has")
        entry = self.entries[name]
        data = bytes(self._view[entry.offset : entry.offset + entry.size])
        if zlib.crc32(data) != entry.crc:
            raise _damaged(self.source, f"the data of the entry {name} don't match their checksum")
        return data

    def check(self) -> None:
        """Hold every entry's data against its checksum."""
        for entry in self:
            if zlib.crc32(self._view[entry.offset : entry.offset + entry.size]) != entry.crc:
                raise _damaged(self.source, f"the data of the entry {entry.name} don't match their checksum")

    def close(self) -> None:
        """Let go of the file; entries that were read stay valid."""
        self._view.release()
        if isinstance(self._data, mmap.mmap):
            self._data.close()

    def __enter__(self) -> FlatZip:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_zip(path: Path) -> FlatZip:
    """Map a file and check its structure.

    Raises
    ------
    PackError
        It is missing, can't be read, or is not a sound ZIP of stored entries.
    """
    try:
        with path.open("rb") as file:
            if path.stat().st_size < _END.size:
                raise _damaged(str(path), f"a ZIP has at least {_END.size} bytes, this has {path.stat().st_size}")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise PackError(f"{path} can't be read: {error.strerror}", "`aotriton build` makes packs") from None
    try:
        return FlatZip(mapped, str(path))
    except BaseException:
        mapped.close()
        raise


def _damaged(source: str, found: str) -> PackError:
    return PackError(f"{source}: {found}", _DAMAGED)


def _read(view: memoryview, source: str) -> dict[str, Entry]:
    count, directory, end = _find_end(view, source)
    entries, spans, position = dict[str, Entry](), list[tuple[int, int, str]](), directory
    for number in range(count):
        header, position = _central(view, position, end, number, source)
        if header.name in entries:
            raise _damaged(source, f"two entries are named {header.name}")
        offset = _local(view, header, directory, source)
        entries[header.name] = Entry(header.name, offset, header.size, header.crc)
        spans.append((header.start, offset + header.size, header.name))
    if position != end:
        raise _damaged(source, f"{end - position} bytes of its directory belong to no entry")
    previous = 0
    for start, stop, name in sorted(spans):
        if start < previous:
            raise _damaged(source, f"the entry {name} overlaps the one before it")
        previous = stop
    return entries


def _find_end(view: memoryview, source: str) -> tuple[int, int, int]:
    """Number of entries, start and end of the central directory."""
    tail = max(0, len(view) - _END.size - 0xFFFF)
    text = bytes(view[tail:])
    signature = struct.pack("<I", _END_SIGNATURE)
    at = text.rfind(signature)
    while at >= 0 and not _ends_file(text, at):
        at = text.rfind(signature, 0, at)
    if at < 0:
        raise _damaged(source, "it has no ZIP directory; the end of the file may be cut off")
    _, disk, first_disk, here, count, size, start, _ = _END.unpack_from(text, at)
    if disk or first_disk or here != count:
        raise _damaged(source, "it is one part of a ZIP of several")
    if start + size != tail + at:
        raise _damaged(source, f"its directory takes bytes {start} to {start + size}, but ends at {tail + at}")
    return count, start, tail + at


def _ends_file(text: bytes, at: int) -> bool:
    return at + _END.size <= len(text) and at + _END.size + _END.unpack_from(text, at)[7] == len(text)


@dataclass(frozen=True)
class _Header:
    """What the central directory says of an entry."""

    name: str
    raw: bytes
    flags: int
    crc: int
    size: int
    start: int


def _central(view: memoryview, position: int, end: int, number: int, source: str) -> tuple[_Header, int]:
    """An entry's record and where the next one stands."""
    if position + _CENTRAL.size > end:
        raise _damaged(source, f"its directory ends inside entry {number}")
    fields = _CENTRAL.unpack_from(view, position)
    signature, _, _, flags, method, _, _, crc, stored, size, length, extra, comment, disk, _, _, start = fields
    at = position + _CENTRAL.size
    after = at + length + extra + comment
    if signature != _CENTRAL_SIGNATURE or after > end:
        raise _damaged(source, f"entry {number} of its directory is not sound")
    raw = bytes(view[at : at + length])
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise _damaged(source, f"the name of entry {number} is not UTF-8") from None
    if not name or "\0" in name:
        raise _damaged(source, f"entry {number} has no proper name")
    if flags & ~(_UTF8 | _IGNORED_FLAGS):
        raise _damaged(source, f"the entry {name} is encrypted or streamed (flags {flags:#06x})")
    if method != 0 or stored != size:
        raise _damaged(source, f"the entry {name} is compressed (method {method}); packs store their entries")
    if disk:
        raise _damaged(source, f"the entry {name} lies in another file")
    return _Header(name, raw, flags, crc, size, start), after


def _local(view: memoryview, header: _Header, limit: int, source: str) -> int:
    """Where the data of an entry start, once its local header agrees with the directory."""
    name, start = header.name, header.start + _LOCAL.size
    if start > limit:
        raise _damaged(source, f"the entry {name} starts at {header.start}, past the entries' end at {limit}")
    signature, _, flags, method, _, _, crc, stored, size, length, extra = _LOCAL.unpack_from(view, header.start)
    offset: int = start + length + extra
    if signature != _LOCAL_SIGNATURE or offset + header.size > limit:
        raise _damaged(source, f"the entry {name} has no sound header at {header.start}, or leaves the file")
    if bytes(view[start : start + length]) != header.raw:
        raise _damaged(source, f"the header before the data of the entry {name} names another")
    if (flags, method, crc, stored, size) != (header.flags, 0, header.crc, header.size, header.size):
        raise _damaged(source, f"the header before the data of the entry {name} contradicts the directory")
    return offset
