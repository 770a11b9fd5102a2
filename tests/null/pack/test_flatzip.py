"""Flat ZIPs: what other tools read, round trips, and thousands of damaged files."""

from __future__ import annotations

import io
import random
import shutil
import struct
import subprocess
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aotriton.errors import PackError
from aotriton.pack import flatzip
from aotriton.pack.flatzip import INDEX, FlatZip, open_zip, write_zip

ENTRIES = [
    (INDEX, b"index" * 50),
    ("Q='*fp16:16';BLOCK_DMODEL=16", b"one" * 100),
    ("Q='*fp32';BLOCK_DMODEL=16", b""),
    ("größe", bytes(range(256)) * 4),
    ("last", b"PK\5\6" + bytes(18)),
]
LOCAL, CENTRAL, END = 30, 46, 22
STEPS = 800


def zipped(entries: list[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    write_zip(file, entries)
    return file.getvalue()


def contents(data: bytes) -> dict[str, bytes]:
    archive = FlatZip(data)
    return {entry.name: archive.read(entry.name) for entry in archive}


GOOD = zipped(ENTRIES)


def test_fields_are_those_of_the_format() -> None:
    data = zipped([("ab", b"hello")])
    crc = zlib.crc32(b"hello")
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0x0800, 0, 0, 0, crc, 5, 5, 2, 0) + b"abhello"
    assert data.startswith(local)
    central = (
        struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0x800, 0, 0, 0, crc, 5, 5, 2, 0, 0, 0, 0, 0, 0) + b"ab"
    )
    assert data == local + central + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(central), len(local), 0)


def test_the_index_stands_first_at_offset_48() -> None:
    archive = FlatZip(GOOD)
    assert archive.entries[INDEX].offset == 48
    assert GOOD[48:].startswith(b"index")


@pytest.mark.parametrize("length", range(34))
def test_the_index_is_aligned_wherever_it_stands(length: int) -> None:
    data = zipped([("a", b"x" * length), (INDEX, b"data"), ("b", b"y")])
    archive = FlatZip(data)
    assert archive.entries[INDEX].offset % 16 == 0
    assert archive.read(INDEX) == b"data"
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None


def test_pythons_zipfile_reads_it() -> None:
    archive = zipfile.ZipFile(io.BytesIO(GOOD))
    assert archive.testzip() is None
    assert [(name, archive.read(name)) for name in archive.namelist()] == ENTRIES


def test_unzip_reads_it(tmp_path: Path) -> None:
    if shutil.which("unzip") is None:
        pytest.skip("unzip is not installed")
    path = tmp_path / "pack.zip"
    path.write_bytes(GOOD)
    done = subprocess.run(["unzip", "-t", path], capture_output=True, check=False)
    assert done.returncode == 0
    assert b"No errors detected" in done.stdout
    assert not done.stderr


def test_zipfiles_stored_archives_are_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in ENTRIES:
            archive.writestr(name, data)
        archive.comment = b"PK\5\6 a comment that looks like the directory's end"
    assert contents(file.getvalue()) == dict(ENTRIES)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(names | st.just(INDEX), st.binary(max_size=200), max_size=8))
def test_every_archive_survives_a_round_trip(entries: dict[str, bytes]) -> None:
    data = zipped(list(entries.items()))
    assert contents(data) == entries
    assert data == zipped(list(entries.items()))


def test_a_full_directory_and_one_more() -> None:
    entries = [(str(number), b"") for number in range(0xFFFF)]
    assert len(FlatZip(zipped(entries))) == 0xFFFF
    with pytest.raises(PackError, match="65535"):
        zipped([*entries, ("one more", b"")])


def test_files_of_four_gibibytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flatzip._LIMIT == 2**32 - 1
    monkeypatch.setattr(flatzip, "_LIMIT", 1000)
    for size in (1000 - LOCAL - 2, 1000 - LOCAL - 3):  # of the data alone, of the directory with them
        with pytest.raises(PackError, match="below 4 GiB"):
            zipped([("a", bytes(size))])
    assert len(zipped([("a", bytes(1000 - LOCAL - 1 - CENTRAL - 2))])) > 1000


def test_names_that_can_not_be_stored_are_refused() -> None:
    for entries in ([("a", b""), ("a", b"")], [("", b"")], [("x" * 65536, b"")]):
        with pytest.raises(PackError, match="can't name an entry"):
            zipped(entries)


def flip_bit(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def flip_header_bit(rng: random.Random, data: bytes) -> bytes:
    at = data.index(rng.choice([b"PK\1\2", b"PK\3\4"]), rng.randrange(len(data) // 4)) + rng.randrange(CENTRAL)
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def extend(rng: random.Random, data: bytes) -> bytes:
    junk = rng.randbytes(rng.randrange(1, 50))
    return rng.choice([data + junk, junk + data, data + data, data[:48] + junk + data[48:]])


def drop(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 60)
    return data[:at] + data[at + length :]


def end_record(rng: random.Random, data: bytes) -> bytes:
    fields = list(struct.unpack("<IHHHHIIH", data[-END:]))
    which = rng.randrange(len(fields))
    limit = 0xFFFFFFFF if which in (0, 5, 6) else 0xFFFF
    fields[which] = (
        rng.choice([0, 1, limit, limit // 2, fields[which] + 1, fields[which] - 1, rng.randrange(limit)]) & limit
    )
    return data[:-END] + struct.pack("<IHHHHIIH", *fields)


def central_starts(data: bytes) -> list[int]:
    start, count = struct.unpack_from("<I", data, len(data) - 6)[0], len(ENTRIES)
    starts = []
    for _ in range(count):
        starts.append(start)
        start += CENTRAL + sum(struct.unpack_from("<HHH", data, start + 28))
    return starts


def central_field(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    start = rng.choice(central_starts(data))
    offset, form = rng.choice(
        [(8, "H"), (10, "H"), (16, "I"), (20, "I"), (24, "I"), (28, "H"), (30, "H"), (34, "H"), (42, "I")]
    )
    (number,) = struct.unpack_from("<" + form, data, start + offset)
    limit = 0xFFFFFFFF if form == "I" else 0xFFFF
    struct.pack_into(
        "<" + form, out, start + offset, rng.choice([0, 1, limit, number + 1, number ^ 8, number * 2]) & limit
    )
    return bytes(out)


def both_sizes(rng: random.Random, data: bytes) -> bytes:
    """Local header and directory agree on a wrong size."""
    out, start = bytearray(data), rng.choice(central_starts(data))
    (size,) = struct.unpack_from("<I", data, start + 24)
    (local,) = struct.unpack_from("<I", data, start + 42)
    wrong = rng.choice([size + 1, size + 40, size - 1, size * 2 + 1, 0xFFFFFFFF, len(data)]) & 0xFFFFFFFF
    for at in (start + 20, start + 24, local + 18, local + 22):
        struct.pack_into("<I", out, at, wrong)
    return bytes(out)


def swap_offsets(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    first, second = rng.sample(central_starts(data), 2)
    out[first + 42 : first + 46], out[second + 42 : second + 46] = (
        data[second + 42 : second + 46],
        data[first + 42 : first + 46],
    )
    return bytes(out)


def rename_in_one_place(rng: random.Random, data: bytes) -> bytes:
    parts = data.split(b"last")
    assert len(parts) == 3
    names = [rng.choice([b"last", INDEX[:4].encode(), b"lost", b"l\0st", b"\xffast", b"gr\xc3\xb6"]) for _ in range(2)]
    return parts[0] + names[0] + parts[1] + (names[1] if names[0] == b"last" else b"last") + parts[2]


def zero(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 64)
    return (data[:at] + b"\0" * length + data[at + length :])[: len(data)]


DAMAGES = [
    flip_bit, flip_header_bit, truncate, extend, drop, end_record, central_field, both_sizes, swap_offsets,
    rename_in_one_place, zero,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda f: str(f.__name__))
def test_damage_gives_the_right_content_or_an_error(damage: Callable[[random.Random, bytes], bytes]) -> None:
    rng = random.Random(damage.__name__)
    good, hints = dict(ENTRIES), []
    for _ in range(STEPS):
        try:
            found = contents(damage(rng, GOOD))
        except PackError as error:
            hints.append(error.hint)
            continue
        assert found == good
    assert len(hints) > STEPS // 5
    assert all(hints)


def patched(data: bytes, **fields: int) -> bytes:
    """The first entry's flags, method or sizes changed in both headers alike."""
    out, central = bytearray(data), data.index(b"PK\1\2")
    places = {"flags": (6, 8, "H"), "method": (8, 10, "H"), "stored": (18, 20, "I")}
    for name, value in fields.items():
        local_at, central_at, form = places[name]
        struct.pack_into("<" + form, out, local_at, value)
        struct.pack_into("<" + form, out, central + central_at, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (patched(GOOD, method=8), "compressed"),
        (patched(GOOD, stored=3), "compressed"),
        (patched(GOOD, flags=0x0801), "encrypted"),
        (patched(GOOD, flags=0x0808), "streamed"),
        (GOOD + b"x", "no ZIP directory"),
        (b"x" + GOOD, "its directory takes bytes"),
        (b"", "no ZIP directory"),
        (b"PK\5\6", "no ZIP directory"),
        (zipped([("aa", b"1"), ("ab", b"2")]).replace(b"ab", b"aa"), "two entries are named aa"),
    ],
)
def test_what_is_refused_says_why(data: bytes, words: str) -> None:
    with pytest.raises(PackError, match=words) as caught:
        FlatZip(data, "some.zip")
    assert "some.zip" in caught.value.message


def test_entries_on_top_of_each_other_are_refused() -> None:
    inner = zipped([("b", b"inner")])[: LOCAL + 1 + 5]
    data = bytearray(zipped([("a", inner), ("b", b"inner")]))
    starts = [data.index(b"PK\1\2"), data.rindex(b"PK\1\2")]
    struct.pack_into("<I", data, starts[1] + 42, LOCAL + 1)
    with pytest.raises(PackError, match="the entry b overlaps"):
        FlatZip(bytes(data))


def test_a_directory_of_lies_costs_nothing() -> None:
    record = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0x800, 0, 0, 0, 0, 0, 0, 65535, 0, 0, 0, 0, 0, 0)
    data = record * 1000 + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, 46000, 0, 0)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(PackError):
        FlatZip(data)
    assert time.perf_counter() - start < 1
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with pytest.raises(PackError, match="No such file"):
        open_zip(path)
    with pytest.raises(PackError, match="directory"):
        open_zip(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(PackError, match="at least 22 bytes, this has 0"):
        open_zip(path)
    path.write_bytes(GOOD[:-30])
    with pytest.raises(PackError, match=r"a\.zip"):
        open_zip(path)
    path.write_bytes(GOOD)
    with open_zip(path) as archive:
        archive.check()
        assert "last" in archive
        with pytest.raises(PackError, match="no entry missing"):
            archive.read("missing")
    damaged = GOOD.replace(b"oneone", b"oneOne", 1)
    path.write_bytes(damaged)
    with open_zip(path) as archive, pytest.raises(PackError, match="checksum"):
        archive.check()
