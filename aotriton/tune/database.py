"""Tuning databases: SQLite files, or the SQL text of one, whose differences people can read.

A database is read into memory whole, changed there, and written whole or not at all.
"""

from __future__ import annotations

import io
import lzma
import sqlite3
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aotriton.errors import BuildError
from aotriton.pack.files import Staged
from aotriton.tune.schema import Schema

__all__ = ["RUNS", "connect", "create", "rows_of", "save", "upsert"]

RUNS = "tuning_runs"
"""The table of runs, which rows name."""
_RUN_COLUMNS = ("run", "kernel", "gpu", "device", "facts")
_MAGIC = b"SQLite format 3\0"


def connect(path: Path) -> sqlite3.Connection:
    """A database's content in memory: a `.sqlite3` file, one in a `.tar.xz`, or SQL text; empty where there is none.

    Raises
    ------
    BuildError
        It can't be read, or is no database.
    """
    memory = sqlite3.connect(":memory:")
    memory.row_factory = sqlite3.Row
    if not path.exists():
        return memory
    try:
        data = path.read_bytes()
        if path.name.endswith(".tar.xz"):
            data = _unpacked(data)
        if data.startswith(_MAGIC):
            memory.deserialize(data)
            _read_through(memory)
        else:
            memory.set_authorizer(_deny_files)
            memory.executescript(data.decode())
            memory.set_authorizer(None)
    except (OSError, EOFError, ValueError, sqlite3.Error, tarfile.TarError, lzma.LZMAError) as error:
        raise BuildError(f"{path} is no tuning database: {error}", "SQLite (.sqlite3, .tar.xz), or SQL text") from error
    return memory


def _read_through(memory: sqlite3.Connection) -> None:
    """Reads all that is there, so that damage shows at once and not halfway through what is done with it."""
    for table in _tables(memory):
        memory.execute(f"SELECT * FROM {_quoted(table['name'])}").fetchall()
        _columns(memory, table["name"])
    found = memory.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise ValueError(found)


def _tables(memory: sqlite3.Connection) -> list[sqlite3.Row]:
    return memory.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()


def _unpacked(data: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                return file.read()
    raise ValueError("the archive is empty")


def _deny_files(action: int, *_: Any) -> int:
    """SQL text may make tables, and not reach for files."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def _has_table(memory: sqlite3.Connection, table: str) -> bool:
    found = memory.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None


def create(memory: sqlite3.Connection, schema: Schema) -> None:
    """Make the kernel's table where it isn't there, and columns that it lacks.

    Raises
    ------
    BuildError
        It is there and of another schema.
    """
    if not _has_table(memory, RUNS):
        memory.execute(f"CREATE TABLE {RUNS} ({', '.join(f'{name} TEXT' for name in _RUN_COLUMNS)}, UNIQUE(run))")
    if not _has_table(memory, schema.table):
        columns = ", ".join(f"{_quoted(name)} {_affinity(name)}" for name in schema.columns)
        unique = ", ".join(map(_quoted, schema.unique))
        memory.execute(f"CREATE TABLE {_quoted(schema.table)} ({columns}, UNIQUE({unique}))")
        return
    there = _columns(memory, schema.table)
    missing = [name for name in schema.unique if name not in there]
    if missing:
        raise BuildError(
            f"the table {schema.table} is of another schema: it lacks {', '.join(missing)}, and SQLite can't widen its "
            "UNIQUE",
            "write into a new database",
        )
    for name in schema.columns:
        if name not in there:
            memory.execute(f"ALTER TABLE {_quoted(schema.table)} ADD COLUMN {_quoted(name)} {_affinity(name)}")


def _columns(memory: sqlite3.Connection, table: str) -> list[str]:
    return [row["name"] for row in memory.execute(f"PRAGMA table_info({_quoted(table)})")]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _affinity(name: str) -> str:
    if name == "measured$microseconds":
        return "REAL"
    return "TEXT" if name == "gpu" or name.endswith("_dtype") or name == "measured$run" else "INTEGER"


def upsert(memory: sqlite3.Connection, table: str, unique: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows, or replace what they say where they are there."""
    for row in rows:
        names = list(row)
        rest = [name for name in names if name not in unique]
        update = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in rest)
        memory.execute(
            f"INSERT INTO {_quoted(table)} ({', '.join(map(_quoted, names))}) VALUES ({', '.join('?' * len(names))}) "
            f"ON CONFLICT ({', '.join(map(_quoted, unique))}) DO UPDATE SET {update}",
            [row[name] for name in names],
        )


def rows_of(memory: sqlite3.Connection, schema: Schema) -> list[dict[str, Any]]:
    """All rows of the kernel's table, in the order of what identifies them; none where there is no table.

    Raises
    ------
    BuildError
        The table lacks the GPU or a look-up key.
    """
    if not _has_table(memory, schema.table):
        return []
    there = _columns(memory, schema.table)
    missing = [name for name in ("gpu", *(f"inputs${key}" for key in schema.keys)) if name not in there]
    if missing:
        raise BuildError(f"the table {schema.table} is of another schema: it has no {', '.join(missing)}")
    order = ", ".join(_quoted(name) for name in schema.unique if name in there)
    found = memory.execute(f"SELECT * FROM {_quoted(schema.table)} ORDER BY {order}")
    return [dict(row) for row in found]


def save(memory: sqlite3.Connection, path: Path) -> None:
    """Write a database as SQL text if the name ends in `.sql`, else as SQLite; whole or not at all.

    Raises
    ------
    BuildError
        It can't be written.
    """
    if path.name.endswith(".tar.xz"):
        raise BuildError(f"{path} can't be written: archives are only read", "name a .sqlite3 or a .sql")
    memory.commit()
    data = _text(memory).encode() if path.suffix == ".sql" else memory.serialize()
    with Staged() as staged:
        with staged.open(path) as file:
            file.write(data)
        staged.commit()


def _text(memory: sqlite3.Connection) -> str:
    """SQL that makes the database, with rows in a fixed order, so that equal content is equal text."""
    lines = ["BEGIN TRANSACTION;"]
    for table in _tables(memory):
        lines.append(f"{table['sql']};")
        values = " || ',' || ".join(f"quote({_quoted(name)})" for name in _columns(memory, table["name"]))
        found = memory.execute(f"SELECT {values} AS line FROM {_quoted(table['name'])}")
        rows = sorted((row["line"] for row in found), key=_natural)
        lines += [f"INSERT INTO {_quoted(table['name'])} VALUES({row});" for row in rows]
    return "\n".join([*lines, "COMMIT;", ""])


def _natural(line: str) -> list[tuple[int, int, str]]:
    """Numbers as numbers, so that 512 stands before 2048."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in line.split(",")]
