"""AKS2, the archive of one functional's images: sixteen bytes of header, then one .xz stream of directory and images.

    offset 0   "AKS2"
    offset 4   u32 size of what the stream holds
    offset 8   u32 number of images
    offset 12  u32 size of the directory
    offset 16  the stream: for each image u32 shared memory, u32 threads, u32 offset from the directory's end, u32 size,
               u32 length of the name with its NUL, the name; then the images in the directory's order

All integers are little-endian. The reader takes any bytes: it gives back what was written or raises `PackError`.
"""

from __future__ import annotations

import hashlib
import lzma
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aotriton.errors import PackError

__all__ = ["Image", "Limits", "Record", "decode", "encode", "read_directory"]

MAGIC = b"AKS2"
_HEADER = struct.Struct("<4sIII")
_RECORD = struct.Struct("<IIIII")
_CHUNK = 1 << 16
_DAMAGED = "the file is damaged or was not written by this project; build the pack again or copy it anew"


@dataclass(frozen=True)
class Image:
    """One code object in a cluster.

    Attributes
    ----------
    name : str
        The stem, which says the functional, the config and the target.
    data : bytes
        The code object; empty where compilation failed (then `shared` and `threads` are 0).
    shared : int
        Bytes of dynamic shared memory that a launch asks for.
    threads : int
        Threads of a block.
    """

    name: str
    data: bytes
    shared: int = 0
    threads: int = 0

    @property
    def sha256(self) -> bytes:
        """The hash that the index keeps of it."""
        return hashlib.sha256(self.data).digest()


@dataclass(frozen=True)
class Limits:
    """What the reader is willing to spend on one archive, in bytes."""

    uncompressed: int = 1 << 30
    decoder: int = 256 << 20


@dataclass(frozen=True)
class Record:
    """An image's line in the directory."""

    name: str
    offset: int
    size: int
    shared: int
    threads: int


def encode(images: Sequence[Image]) -> bytes:
    """The archive of these images, in this order.

    Raises
    ------
    PackError
        A name is empty, has a NUL or comes twice; a number doesn't fit its 32 bits; all together exceed what a reader
        takes.
    """
    directory, offset, seen = bytearray(), 0, set[str]()
    for image in images:
        name = _encoded_name(image, seen)
        try:
            directory += _RECORD.pack(image.shared, image.threads, offset, len(image.data), len(name)) + name
        except struct.error as error:
            raise PackError(f"the image {image.name} can't be stored: {error}") from None
        offset += len(image.data)
    total = len(directory) + offset
    if total > Limits().uncompressed:
        raise PackError(
            f"a cluster of {len(images)} images takes {total} bytes; readers take {Limits().uncompressed}",
            "ship fewer configs of this functional",
        )
    body = b"".join([bytes(directory), *(image.data for image in images)])
    stream = lzma.compress(body, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=6)
    return _HEADER.pack(MAGIC, total, len(images), len(directory)) + stream


def _encoded_name(image: Image, seen: set[str]) -> bytes:
    if not image.name or "\0" in image.name:
        raise PackError(f"{image.name!r} can't be an image's name: it must have characters, and no NUL among them")
    if image.name in seen:
        raise PackError(f"two images of one cluster are named {image.name}")
    if not image.data and (image.shared or image.threads):
        raise PackError(f"the image {image.name} is empty but asks for shared memory or threads")
    seen.add(image.name)
    return image.name.encode() + b"\0"


def decode(data: bytes | memoryview, source: str = "AKS2 archive", limits: Limits | None = None) -> tuple[Image, ...]:
    """All images of an archive, in its order, after every check that can be made.

    Parameters
    ----------
    data : bytes
        The archive, no byte more or less.
    source : str
        What an error calls it: the file and the entry.
    limits : Limits, optional
        What to spend on it at most.

    Raises
    ------
    PackError
        It isn't a sound archive, or it exceeds the limits.
    """
    limits = limits or Limits()
    total, count, directory_size = _header(data, source, limits)
    body = bytearray()
    for piece in _inflate(data, total, source, limits):
        body += piece
    if len(body) != total:
        raise _damaged(source, f"its header announces {total} bytes, the stream holds {len(body)}")
    view = memoryview(body)
    records = _directory(view[:directory_size], count, total - directory_size, source)
    area = view[directory_size:]
    return tuple(
        Image(r.name, bytes(area[r.offset : r.offset + r.size]), shared=r.shared, threads=r.threads) for r in records
    )


def read_directory(
    data: bytes | memoryview, source: str = "AKS2 archive", limits: Limits | None = None
) -> tuple[Record, ...]:
    """The directory of an archive alone, decoding no further than that takes.

    What follows the directory stays unchecked; the ranges of the images are held against the header's total.
    """
    limits = limits or Limits()
    total, count, directory_size = _header(data, source, limits)
    body = bytearray()
    for piece in _inflate(data, total, source, limits):
        body += piece
        if len(body) >= directory_size:
            break
    if len(body) < directory_size:
        raise _damaged(source, f"its directory has {directory_size} bytes, the stream only {len(body)}")
    return _directory(memoryview(body)[:directory_size], count, total - directory_size, source)


def _damaged(source: str, found: str) -> PackError:
    return PackError(f"{source}: {found}", _DAMAGED)


def _header(data: bytes | memoryview, source: str, limits: Limits) -> tuple[int, int, int]:
    if len(data) < _HEADER.size:
        raise _damaged(source, f"an AKS2 archive has at least {_HEADER.size} bytes, this has {len(data)}")
    magic, total, count, directory_size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise _damaged(source, f"an AKS2 archive starts with {MAGIC!r}, this with {magic!r}")
    if total > limits.uncompressed:
        raise _damaged(source, f"its header announces {total} bytes, more than the {limits.uncompressed} allowed")
    if directory_size > total:
        raise _damaged(source, f"its directory of {directory_size} bytes exceeds the total of {total}")
    if count > directory_size // (_RECORD.size + 1):
        raise _damaged(source, f"{count} images don't fit a directory of {directory_size} bytes")
    return total, count, directory_size


def _inflate(data: bytes | memoryview, total: int, source: str, limits: Limits) -> Iterator[bytes]:
    """The stream's content piece by piece; fails as soon as it exceeds the announced total."""
    decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=limits.decoder)
    stream = memoryview(data)[_HEADER.size :]
    position, length = 0, 0
    while not decoder.eof:
        chunk = stream[position : position + _CHUNK] if decoder.needs_input else b""
        if decoder.needs_input and not len(chunk):
            raise _damaged(source, f"its .xz stream is cut off after {length} of {total} bytes")
        position += len(chunk)
        try:
            piece = decoder.decompress(chunk, max_length=min(1 << 20, total - length + 1))
        except (lzma.LZMAError, EOFError) as error:
            raise _damaged(source, f"its .xz stream doesn't decode: {error}") from None
        length += len(piece)
        if length > total:
            raise _damaged(source, f"its header announces {total} bytes, the stream holds more")
        yield piece
    trailing = len(decoder.unused_data) + len(stream) - position
    if trailing:
        raise _damaged(source, f"{trailing} bytes follow its .xz stream")


def _directory(directory: memoryview, count: int, area: int, source: str) -> tuple[Record, ...]:
    records, position, used = [], 0, 0
    for number in range(count):
        record, position = _record(directory, position, number, area, source)
        used += record.size
        if used > area:
            raise _damaged(source, f"its first {number + 1} images take {used} bytes of {area}")
        records.append(record)
    if position != len(directory):
        raise _damaged(source, f"{count} images take {position} bytes of the directory's {len(directory)}")
    if used != area:
        raise _damaged(source, f"its images take {used} bytes, {area} are there")
    return tuple(records)


def _record(directory: memoryview, position: int, number: int, area: int, source: str) -> tuple[Record, int]:
    start = position + _RECORD.size
    if start > len(directory):
        raise _damaged(source, f"its directory ends inside image {number}")
    shared, threads, offset, size, length = _RECORD.unpack_from(directory, position)
    if length < 1 or length > len(directory) - start:
        raise _damaged(source, f"the name of image {number} takes {length} bytes of {len(directory) - start}")
    raw = bytes(directory[start : start + length])
    if raw.find(b"\0") != length - 1:
        raise _damaged(source, f"the name of image {number} doesn't end with its only NUL")
    try:
        name = raw[:-1].decode()
    except UnicodeDecodeError:
        raise _damaged(source, f"the name of image {number} is not UTF-8") from None
    if offset > area or size > area - offset:
        raise _damaged(source, f"the image {name} takes bytes {offset} to {offset + size} of {area}")
    return Record(name, offset, size, shared, threads), start + length
