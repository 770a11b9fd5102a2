"""The little of ELF that code objects need: sections, symbols, notes. Reads any bytes without surprises."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgpack

from aotriton.errors import CompileError

__all__ = ["Elf", "Section", "Symbol", "amd_metadata"]

_SYMBOL = struct.Struct("<IBBHQQ")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NOTE = struct.Struct("<III")
_AMD_METADATA = 32
_NOBITS, _SYMTAB, _DYNSYM, _SHT_NOTE = 8, 2, 11, 7


@dataclass(frozen=True)
class Section:
    """One section: where its bytes lie in the file, and the sections that it refers to."""

    name: str
    kind: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    """One symbol of the symbol table."""

    number: int
    name: str
    kind: int
    binding: int
    section: int
    value: int
    size: int


class Elf:
    """A little-endian 64-bit ELF file.

    Parameters
    ----------
    image : bytes
        The file's bytes.

    Raises
    ------
    CompileError
        The bytes are no such file, or a table points outside of it.
    """

    def __init__(self, image: bytes) -> None:
        if len(image) < _HEADER.size or image[:6] != b"\x7fELF\x02\x01":
            raise CompileError(f"a code object of {len(image)} bytes is no 64-bit little-endian ELF file")
        self.image = image
        header = _HEADER.unpack_from(image)
        self.machine: int = header[2]
        self.flags: int = header[7]
        self.abi: tuple[int, int] = (image[7], image[8])
        table, count, names = header[6], header[12], header[13]
        rows = [self._unpack(_SECTION, table + number * _SECTION.size) for number in range(count)]
        if not names < len(rows):
            raise CompileError("the code object has no section names")
        strings = self._slice(rows[names][4], rows[names][5])
        self.sections = tuple(Section(_string(strings, row[0]), row[1], row[4], row[5], row[6], row[7]) for row in rows)

    FLAGS_OFFSET = 48

    def _unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        if offset + layout.size > len(self.image):
            raise CompileError(f"the code object is truncated: {layout.size} bytes asked at {offset}")
        return layout.unpack_from(self.image, offset)

    def _slice(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.image):
            raise CompileError(f"the code object is truncated: {size} bytes asked at {offset}")
        return self.image[offset : offset + size]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def data(self, section: Section) -> bytes:
        """The bytes of a section; none for one that takes no room in the file."""
        return b"" if section.kind == _NOBITS else self._slice(section.offset, section.size)

    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of the symbol table, of the dynamic one where there is no other."""
        for kind in (_SYMTAB, _DYNSYM):
            for section in self.sections:
                if section.kind == kind and section.link < len(self.sections):
                    strings = self.data(self.sections[section.link])
                    rows = _SYMBOL.iter_unpack(self.data(section)[: section.size // _SYMBOL.size * _SYMBOL.size])
                    return tuple(
                        Symbol(number, _string(strings, name), info & 15, info >> 4, place, value, size)
                        for number, (name, info, _, place, value, size) in enumerate(rows)
                    )
        return ()

    def notes(self) -> Iterator[tuple[str, int, int, bytes]]:
        """All notes: owner, type, where the description lies in the file, the description."""
        for section in self.sections:
            if section.kind != _SHT_NOTE:
                continue
            offset, end = section.offset, section.offset + section.size
            while offset + _NOTE.size <= end:
                name_size, size, kind = self._unpack(_NOTE, offset)
                name = self._slice(offset + _NOTE.size, name_size)
                start = offset + _NOTE.size + (name_size + 3) // 4 * 4
                yield name.rstrip(b"\0").decode("latin-1"), kind, start, self._slice(start, size)
                offset = start + (size + 3) // 4 * 4


def amd_metadata(elf: Elf) -> tuple[int, bytes, dict[str, Any]]:
    """The metadata note of an AMD code object: where it lies, its bytes, and what it says."""
    for owner, kind, offset, description in elf.notes():
        if owner == "AMDGPU" and kind == _AMD_METADATA:
            try:
                data = msgpack.unpackb(description)
            except Exception as error:
                raise CompileError(f"the code object's metadata can't be read: {error}") from error
            if isinstance(data, dict) and isinstance(data.get("amdhsa.kernels"), list):
                return offset, description, data
    raise CompileError("the code object has no AMD metadata")


def _string(strings: bytes, offset: int) -> str:
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else len(strings)].decode("utf-8", "replace")
