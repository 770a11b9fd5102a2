"""AKS2: golden bytes, round trips, and thousands of damaged archives."""

from __future__ import annotations

import lzma
import random
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aotriton.errors import PackError
from aotriton.pack.aks2 import Image, Limits, decode, encode, read_directory

HEADER = struct.Struct("<4sIII")
RECORD = struct.Struct("<IIIII")
STEM = (
    "Q='*fp16:16';BLOCK_DMODEL=16;PADDED_HEAD=False;ENABLE_DROPOUT=False;CAUSAL_TYPE=0;BIAS_TYPE=0",
    "BLOCK_M=16;BLOCK_N=16",
    "waves_per_eu=2;num_warps=4;num_stages=1",
)
SAMPLE = (
    Image(";;#F;" + STEM[0] + ";;#P;" + STEM[1] + ";;arch=gfx942", bytes(range(256)) * 9, 65536, 256),
    Image("failed", b""),
    Image("größe=1", b"\0" * 1000 + b"end", 0, 1024),
    Image("x", b"\x7fELF", 1, 32),
)
STEPS = 700


def archive(
    directory: bytes, images: bytes, *, total: int | None = None, count: int = 0, size: int | None = None
) -> bytes:
    """An archive whose header and directory say what they are told."""
    body = directory + images
    total = len(body) if total is None else total
    size = len(directory) if size is None else size
    return HEADER.pack(b"AKS2", total & 0xFFFFFFFF, count, size & 0xFFFFFFFF) + lzma.compress(body, preset=0)


def records(images: tuple[Image, ...]) -> list[list[int | bytes]]:
    fields: list[list[int | bytes]] = []
    offset = 0
    for image in images:
        name = image.name.encode() + b"\0"
        fields.append([image.shared, image.threads, offset, len(image.data), len(name), name])
        offset += len(image.data)
    return fields


def directory(fields: list[list[int | bytes]]) -> bytes:
    return b"".join(RECORD.pack(*(int(n) & 0xFFFFFFFF for n in f[:5])) + bytes(f[5]) for f in fields)


def test_golden_header_of_two_images() -> None:
    data = encode([Image("a" * 32, b"hello world"), Image("b" * 32, b"")])
    assert data[:22].hex(" ") == "41 4b 53 32 75 00 00 00 02 00 00 00 6a 00 00 00 fd 37 7a 58 5a 00"


def test_the_stream_is_pythons_default_xz_of_directory_and_images() -> None:
    data = encode(SAMPLE)
    body = directory(records(SAMPLE)) + b"".join(image.data for image in SAMPLE)
    assert data[16:] == lzma.compress(body)
    assert data[16 + 7] == lzma.CHECK_CRC64


def test_round_trip_and_directory() -> None:
    data = encode(SAMPLE)
    assert decode(data) == SAMPLE
    assert decode(memoryview(data)) == SAMPLE
    assert [(r.name, r.size, r.shared, r.threads) for r in read_directory(data)] == [
        (i.name, len(i.data), i.shared, i.threads) for i in SAMPLE
    ]
    assert decode(encode([])) == ()


def test_the_directory_is_read_without_the_images() -> None:
    big = (Image("a", random.Random(1).randbytes(1 << 20), 0, 64), Image("b", b"tail", 0, 64))
    data = encode(big)
    start = time.perf_counter()
    assert [record.name for record in read_directory(data[: len(data) // 2])] == ["a", "b"]
    assert time.perf_counter() - start < 1


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
images = st.builds(
    Image, names, st.binary(min_size=1, max_size=300), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(images, max_size=6, unique_by=lambda image: image.name))
def test_every_cluster_survives_a_round_trip(cluster: list[Image]) -> None:
    assert decode(encode(cluster)) == tuple(cluster)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ([Image("a", b"1"), Image("a", b"2")], "two images"),
        ([Image("", b"1")], "name"),
        ([Image("a\0b", b"1")], "NUL"),
        ([Image("a", b"1", shared=2**32)], "can't be stored"),
        ([Image("a", b"1", shared=-1)], "can't be stored"),
        ([Image("a", b"", threads=64)], "empty"),
    ],
)
def test_what_can_not_be_stored_is_refused(cluster: list[Image], words: str) -> None:
    with pytest.raises(PackError, match=words):
        encode(cluster)


def flip_bit(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def several_bytes(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def append(rng: random.Random, data: bytes) -> bytes:
    return data + rng.choice([b"\0", b"\0" * 4, b"AKS2", rng.randbytes(rng.randrange(1, 99)), data, data[16:]])


def drop(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 20)
    return data[:at] + data[at + length :]


def repeat(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 20)
    return data[: at + length] + data[at:]


def zero(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 64)
    return (data[:at] + b"\0" * length + data[at + length :])[: len(data)]


def header_numbers(rng: random.Random, data: bytes) -> bytes:
    numbers = list(struct.unpack_from("<III", data, 4))
    which = rng.randrange(3)
    numbers[which] = interesting(rng, numbers[which])
    return data[:4] + struct.pack("<III", *numbers) + data[16:]


def noise(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice([0, 4, 16, 22])] + rng.randbytes(rng.randrange(200))


def interesting(rng: random.Random, number: int) -> int:
    edge = rng.choice([0, 1, 20, 21, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 21, 1 << 30, (1 << 30) + 1, 1 << 29])
    near = number + rng.choice([-21, -20, -2, -1, 1, 2, 20, 21])
    return rng.choice([edge, near, rng.randrange(2**32), number * 2, number // 2]) & 0xFFFFFFFF


@pytest.mark.parametrize(
    "damage",
    [flip_bit, several_bytes, truncate, append, drop, repeat, zero, header_numbers, noise],
    ids=lambda f: str(f.__name__),
)
def test_damage_gives_the_right_content_or_an_error(damage: Callable[[random.Random, bytes], bytes]) -> None:
    rng = random.Random(damage.__name__)
    good, hints = encode(SAMPLE), []
    for _ in range(STEPS):
        try:
            assert decode(damage(rng, good)) == SAMPLE
        except PackError as error:
            hints.append(error.hint)
    assert len(hints) > STEPS // 2
    assert all(hints)


def change_field(rng: random.Random, fields: list[list[int | bytes]]) -> None:
    which, column = rng.randrange(len(fields)), rng.randrange(2, 5)
    fields[which][column] = interesting(rng, int(fields[which][column]))


def change_name(rng: random.Random, fields: list[list[int | bytes]]) -> None:
    field = rng.choice(fields)
    name = bytes(field[5])
    field[5] = rng.choice(
        [name[:-1], name + b"\0", name[:-1] + b"x", b"\0" * len(name), b"\xff\xfe\0", b"", b"a\0b\0", rng.randbytes(9)]
    )
    if rng.random() < 0.7:
        field[4] = len(bytes(field[5]))


def swap_entries(rng: random.Random, fields: list[list[int | bytes]]) -> None:
    first, second = rng.sample(range(len(fields)), 2)
    if rng.random() < 0.5:
        fields[first], fields[second] = fields[second], fields[first]
    else:
        column = rng.randrange(2, 6)
        fields[first][column], fields[second][column] = fields[second][column], fields[first][column]


def lose_entry(rng: random.Random, fields: list[list[int | bytes]]) -> None:
    del fields[rng.randrange(len(fields))]


def double_entry(rng: random.Random, fields: list[list[int | bytes]]) -> None:
    fields.insert(rng.randrange(len(fields)), list(rng.choice(fields)))


@pytest.mark.parametrize(
    "craft", [change_field, change_name, swap_entries, lose_entry, double_entry], ids=lambda f: str(f.__name__)
)
def test_a_crafted_directory_never_leaves_its_bounds(
    craft: Callable[[random.Random, list[list[int | bytes]]], None],
) -> None:
    rng = random.Random(craft.__name__)
    area = b"".join(image.data for image in SAMPLE)
    for _ in range(STEPS):
        fields = records(SAMPLE)
        craft(rng, fields)
        raw = directory(fields)
        count = len(fields) if rng.random() < 0.8 else interesting(rng, len(fields))
        data = archive(raw, area, count=count, size=len(raw) + rng.choice([0, 0, 0, 0, 1, -1]))
        try:
            found = decode(data)
        except PackError:
            continue
        assert len(found) == count
        assert sum(len(image.data) for image in found) == len(area)
        for image, field in zip(found, fields, strict=True):
            assert image.name.encode() + b"\0" == field[5]
            assert image.data == area[int(field[2]) : int(field[2]) + int(field[3])]


def peak_and_seconds(call: Callable[[], object]) -> tuple[int, float]:
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(PackError) as caught:
        call()
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.hint
    return peak, seconds


def test_a_stream_longer_than_announced_is_not_inflated() -> None:
    raw = directory(records(SAMPLE))
    bomb = archive(raw, bytes(100 << 20), total=len(raw) + 5000, count=len(SAMPLE))
    peak, seconds = peak_and_seconds(lambda: decode(bomb))
    assert peak < 24 << 20  # the decoder's dictionary, no more
    assert seconds < 2


def test_an_announced_size_is_not_allocated() -> None:
    raw = directory(records(SAMPLE))
    data = archive(raw, b"", total=1 << 30, count=len(SAMPLE))
    peak, seconds = peak_and_seconds(lambda: decode(data))
    assert peak < 24 << 20
    assert seconds < 2
    with pytest.raises(PackError, match=f"announces {(1 << 30) + 1} bytes, more than the {1 << 30} allowed"):
        decode(archive(raw, b"", total=(1 << 30) + 1, count=len(SAMPLE)))


def test_a_huge_dictionary_is_refused() -> None:
    stream = bytearray(lzma.compress(b"x" * 100, preset=0))
    assert stream[14:16] == b"\x21\x01"  # LZMA2 with one byte of properties: the dictionary's size
    stream[16] = 40  # 4 GiB
    size = (stream[12] + 1) * 4
    stream[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(stream[12 : 12 + size - 4]))
    data = HEADER.pack(b"AKS2", 100, 0, 0) + bytes(stream)
    peak, _ = peak_and_seconds(lambda: decode(data))
    assert peak < 24 << 20


def test_overlapping_images_can_not_multiply_the_memory() -> None:
    area = bytes(4 << 20)
    fields = [[0, 0, 0, len(area), 6, b"%05d\0" % number] for number in range(2000)]
    data = archive(directory(fields), area, count=len(fields))
    peak, seconds = peak_and_seconds(lambda: decode(data))
    assert peak < 64 << 20
    assert seconds < 2


def test_limits_are_the_callers_to_lower() -> None:
    with pytest.raises(PackError, match="more than the 100 allowed"):
        decode(encode(SAMPLE), limits=Limits(uncompressed=100))
    with pytest.raises(PackError, match="Memory usage limit"):
        decode(encode(SAMPLE), limits=Limits(decoder=1 << 16))


def test_errors_name_the_source_and_what_was_found() -> None:
    with pytest.raises(
        PackError, match=r"flash/attn_fwd.zip, entry Q=1: an AKS2 archive starts with b'AKS2', this with"
    ):
        decode(b"PK\3\4" + bytes(40), "flash/attn_fwd.zip, entry Q=1")
    with pytest.raises(PackError, match="at least 16 bytes, this has 3"):
        decode(b"AKS")
