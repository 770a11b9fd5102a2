"""A reader of FlatBuffers that trusts nothing: every offset is checked, and no byte is read twice.

What `flatc` writes shares only its vtables. So what all reads take together can't exceed the buffer, and that bounds
the reader's time and memory on any bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from aotriton.errors import PackError
from aotriton.pack.schema import SIZES, Field, Schema, index_schema

__all__ = ["read_index"]

_DEPTH = 32


def read_index(data: bytes | memoryview, source: str = "index") -> dict[str, Any]:
    """An index as plain Python data, by the schema's names; absent strings, tables and vectors are None.

    Raises
    ------
    PackError
        It is no sound index.
    """
    reader = _Reader(data, index_schema(), source)
    try:
        return reader.root()
    except struct.error:
        raise reader.damaged("it leaves its bounds") from None


@dataclass
class _Reader:
    data: bytes | memoryview
    schema: Schema
    source: str
    used: int = 0
    depth: int = field(default=0)

    def damaged(self, found: str) -> PackError:
        return PackError(f"{self.source}: {found}", "the file is damaged or of another version; build the pack again")

    def unpack(self, letter: str, at: int) -> Any:
        if at < 0:
            raise self.damaged("an offset points before its start")
        return struct.unpack_from("<" + letter, self.data, at)[0]

    def spend(self, size: int) -> None:
        self.used += size
        if self.used > len(self.data):
            raise self.damaged("several places share the same bytes")

    def root(self) -> dict[str, Any]:
        if len(self.data) < 8 or bytes(self.data[4:8]) != self.schema.identifier.encode():
            raise self.damaged(f"it doesn't carry the mark {self.schema.identifier}")
        return self.table(self.unpack("I", 0), self.schema.root)

    def table(self, at: int, name: str) -> dict[str, Any]:
        self.depth += 1
        if self.depth > _DEPTH:
            raise self.damaged("its tables nest too deeply")
        vtable = at - self.unpack("i", at)
        length, size = self.unpack("H", vtable), self.unpack("H", vtable + 2)
        if length < 4 or length % 2 or vtable + length > len(self.data) or size < 4 or at + size > len(self.data):
            raise self.damaged(f"a table {name} is not sound")
        self.spend(4)
        values = {}
        for number, one in enumerate(self.schema.tables[name]):
            slot = 4 + 2 * number
            offset = self.unpack("H", vtable + slot) if slot < length else 0
            if offset >= size:
                raise self.damaged(f"{name}.{one.name} lies outside of its table")
            values[one.name] = self.field(at + offset, one, name) if offset else self.default(one, name)
        self.depth -= 1
        return values

    def default(self, one: Field, table: str) -> Any:
        if one.required:
            raise self.damaged(f"{table}.{one.name} is missing")
        if one.vector or one.type not in {*SIZES, *self.schema.enums}:
            return None
        if one.type in self.schema.enums:
            return one.default or self.schema.enums[one.type].names.get(0)
        if one.type == "bool":
            return one.default == "true"
        return float(one.default or 0) if one.type in ("float", "double") else int(one.default or 0)

    def field(self, at: int, one: Field, table: str) -> Any:
        if one.vector:
            self.spend(4)
            return self.vector(at + self.unpack("I", at), one.type)
        if one.type == "string":
            self.spend(4)
            return self.string(at + self.unpack("I", at))
        if one.type in self.schema.tables:
            self.spend(4)
            return self.table(at + self.unpack("I", at), one.type)
        if one.type in self.schema.structs:
            raise self.damaged(f"{table}.{one.name} is a struct")
        return self.scalar(at, one.type)

    def scalar(self, at: int, name: str) -> Any:
        enum = self.schema.enums.get(name)
        letter = SIZES[enum.type if enum else name]
        self.spend(struct.calcsize(letter))
        value = self.unpack(letter, at)
        if enum is None:
            return value
        if value not in enum.names:
            raise self.damaged(f"{value} is no {name}")
        return enum.names[value]

    def string(self, at: int) -> str:
        length = self.unpack("I", at)
        if length >= len(self.data) - at - 4 or self.data[at + 4 + length] != 0:
            raise self.damaged("a string leaves its bounds")
        self.spend(4 + length)
        try:
            return bytes(self.data[at + 4 : at + 4 + length]).decode()
        except UnicodeDecodeError:
            raise self.damaged("a string is not UTF-8") from None

    def vector(self, at: int, name: str) -> list[Any]:
        length, start = self.unpack("I", at), at + 4
        if name in SIZES and name != "bool":
            size = struct.calcsize(SIZES[name])
            self.spend(4 + length * size)
            return list(struct.unpack_from(f"<{length}{SIZES[name]}", self.data, start))
        if name in self.schema.structs:
            return [self.struct(start + number * self.struct_size(name), name) for number in self.count(length)]
        places = (start + 4 * number for number in self.count(length))
        read = self.string if name == "string" else lambda place: self.table(place, name)
        return [read(place + self.unpack("I", place)) for place in places]

    def count(self, length: int) -> range:
        self.spend(4 + 4 * length)
        return range(length)

    def struct_size(self, name: str) -> int:
        return struct.calcsize("@" + self.letters(name) + "0q")

    def letters(self, name: str) -> str:
        enums = self.schema.enums
        return "".join(SIZES[enums[f.type].type if f.type in enums else f.type] for f in self.schema.structs[name])

    def struct(self, at: int, name: str) -> dict[str, Any]:
        self.spend(self.struct_size(name) - 4)
        if at + self.struct_size(name) > len(self.data):
            raise self.damaged(f"a {name} leaves its bounds")
        values = struct.unpack_from("@" + self.letters(name), self.data, at)
        result = {}
        for one, value in zip(self.schema.structs[name], values, strict=True):
            enum = self.schema.enums.get(one.type)
            if enum is not None and value not in enum.names:
                raise self.damaged(f"{value} is no {one.type}")
            result[one.name] = enum.names[value] if enum else value
        return result
