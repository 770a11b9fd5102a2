"""The index: what stands in it, that it is read back as written, and thousands of damaged ones."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aotriton.describe import Kernel, Performance
from aotriton.errors import BuildError, PackError
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.index import Contents, Packed, Part, index_bytes, index_of, serves
from aotriton.pack.schema import compile_index, flatc, index_schema, parse_schema, schema_path
from aotriton.targets import TARGETS, parse_target
from tests.tools import sample_pack

BUILD = {"build_set": "sample", "project_version": "0"}
STEPS = 600
ARGUMENTS = [field.name for field in index_schema().tables["Index"]].index("arguments")


def contents(*names: str) -> Contents:
    kernel = sample_pack.axpy()
    return Contents(kernel, tuple(sample_pack.part(kernel, parse_target(name)) for name in names or ("gfx942",)))


def agree(found: Any, written: Any, place: str = "index") -> None:
    """All that was written was read."""
    if isinstance(written, dict):
        for key, value in written.items():
            agree(found[key], value, f"{place}.{key}")
    elif isinstance(written, list):
        assert len(found or ()) == len(written), place
        for number, value in enumerate(written):
            agree(found[number], value, f"{place}[{number}]")
    else:
        assert found == written, place


def test_it_is_read_back_as_written() -> None:
    index = index_of(contents("gfx1150", "gfx1151"), BUILD)
    found = read_index(compile_index(index))
    agree(found, index)
    assert found["scratch_parameters"] == 2
    assert found["targets"][0]["functionals"][0]["images"][0]["compiled_for"] is None


def test_flatc_reads_the_same(tmp_path: Path) -> None:
    data = index_bytes(contents(), BUILD)
    path = tmp_path / "index.aoti"
    path.write_bytes(data)
    options = ["--json", "--strict-json", "--defaults-json", "-o", tmp_path]
    subprocess.run([flatc(), *options, schema_path(), "--", path], check=True)
    agree(read_index(data), json.loads(path.with_suffix(".json").read_text()))


def test_equal_contents_give_equal_bytes() -> None:
    assert index_bytes(contents(), BUILD) == index_bytes(contents(), BUILD)


def test_what_stands_in_it() -> None:
    index = index_of(contents("gfx942"), BUILD)
    assert (index["family"], index["kernel"], index["symbol"]) == ("sample", "axpy", "axpy")
    assert [(a["name"], a["role"], a["type"]) for a in index["arguments"]] == [
        ("X", "tensor", "none"),
        ("Y", "tensor", "none"),
        ("alpha", "scalar", "fp32"),
        ("N", "scalar", "i32"),
        ("stride_x", "stride", "u64"),
        ("stride_y", "stride", "u64"),
        ("BLOCK", "performance", "i16"),
    ]
    assert index["arguments"][5]["tensor"] == 1
    axis = index["axes"][0]
    assert (axis["label"], axis["arguments"], axis["radix_stride"], axis["rule"]) == ("X", [0, 1], 1, "exact")
    assert axis["choices"][0] == {"text": "'*fp32:16'", "kind": "pointer", "type": "fp32", "alignment": 16}
    assert axis["substitutes"] == [{"choices": [2]}, {"choices": [3]}, *[{"choices": []}] * 4]
    assert index["signatures"][0] == {
        "parameters": [
            {"argument": 0, "type": "fp32", "pointer": True, "alignment": 16},
            {"argument": 1, "type": "fp32", "pointer": True, "alignment": 16},
            {"argument": 2, "type": "fp32", "pointer": False, "alignment": 1},
            {"argument": 3, "type": "i32", "pointer": False, "alignment": 1},
            {"argument": 5, "type": "u64", "pointer": False, "alignment": 8},
        ],
        "fixed": [{"argument": 4, "value": 1}],
    }
    assert index["grid"][0]["text"] == "cdiv(N, BLOCK)"
    assert [step["operation"] for step in index["grid"][0]["steps"]] == ["argument", "argument", "cdiv"]
    assert [one["text"] for one in index["grid"][1:]] == ["1", "1"]
    assert {"key": "build_set", "value": "sample"} in index["build"]
    assert {"key": "triton", "value": "0.0"} in index["compiler"]


def test_equal_things_stand_once() -> None:
    index = index_of(contents("gfx1150", "gfx1151"), BUILD)
    assert len(index["tables"]) == 1
    assert len(index["configs"]) == 3
    assert len(index["signatures"]) == 4
    functionals = [one for target in index["targets"] for one in target["functionals"]]
    assert len(functionals) == 8
    assert {one["table"] for one in functionals} == {0}
    assert {tuple(one["configs"]) for one in functionals} == {(0, 1, 2)}


def test_other_vendors_options_are_left_out() -> None:
    index = index_of(contents("host"), BUILD)
    assert index["configs"][0]["options"] == "num_warps=1;num_stages=1"
    assert ";;#CO;num_warps=1;num_stages=1;;arch=host" in index["targets"][0]["functionals"][0]["images"][0]["name"]


def test_an_image_says_for_whom_it_was_compiled() -> None:
    part = contents("gfx1152").parts[0]
    first = part.functionals[0]
    stamped = replace(first, objects=tuple(replace(one, compiled_for="gfx1150") for one in first.objects))
    index = index_of(Contents(sample_pack.axpy(), (replace(part, functionals=(stamped,)),)), BUILD)
    image = read_index(compile_index(index))["targets"][0]["functionals"][0]["images"][0]
    assert image["compiled_for"] == "gfx1150"
    assert image["name"].endswith(";;arch=gfx1152")


def test_whose_devices_run_the_code() -> None:
    served = {name: serves(target) for name, target in TARGETS.items() if serves(target)}
    assert served == {"sm_80": ("sm_86", "sm_89")}
    assert index_of(contents("sm_80"), BUILD)["targets"][0]["serves"] == ["sm_86", "sm_89"]


def test_constants_of_all_code_are_held_against_the_caller(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    source.write_text(
        "import triton, triton.language as tl\n@triton.jit\n"
        "def k(X, MODE: tl.constexpr, SETTLED: tl.constexpr, BLOCK: tl.constexpr):\n    pass\n"
    )
    kernel = Kernel(
        family="sample",
        name="k",
        source=source,
        choices={"X": "*fp32", "MODE": [0, 1], "SETTLED": False},
        performance={"BLOCK": Performance(64, [64])},
        options={"num_warps": 4},
        request={"MODE": "1"},
        at_least=("MODE",),
    )
    target = parse_target("gfx942")
    functional = kernel.functional(1)
    made = sample_pack.fake_object(functional, kernel.default_config, target)
    packed = Packed(functional, (), (0,), "default", (made,))
    index = read_index(index_bytes(Contents(kernel, (Part(target, (packed,)),)), BUILD))
    assert index["signatures"][0]["fixed"] == [{"argument": 2, "value": 0}]
    assert index["axes"][0]["rule"] == "at_least"
    assert index["axes"][0]["request"]["steps"] == [{"value": 1, "operation": "constant"}]
    assert index["arguments"][0]["dense"] == 1
    assert index["grid"] == []


def test_a_number_that_does_not_fit_is_an_error() -> None:
    index = index_of(contents(), BUILD)
    index["targets"][0]["functionals"][0]["images"][0]["num_ctas"] = 256
    with pytest.raises(BuildError, match="index of axpy can't be written"):
        compile_index(index)
    with pytest.raises(BuildError, match="can't be written"):
        compile_index({"kernel": "nothing else"})


def test_the_schema_is_read() -> None:
    schema = index_schema()
    assert (schema.root, schema.identifier) == ("Index", "AOTI")
    assert schema.enums["Role"].names[3] == "choice"
    assert schema.enums["Type"].names[20] == "u8"
    assert [field.name for field in schema.structs["Step"]] == ["value", "operation"]
    with pytest.raises(BuildError, match="no root_type"):
        parse_schema("table A { x:int; }")


# ---- damage ----


def flip_bit(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def a_word(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(0, len(data) - 4, 4)
    (old,) = struct.unpack_from("<I", data, at)
    new = rng.choice([0, 1, 4, 2**31, 2**32 - 1, old + 4, old - 4, len(data), len(data) - at, rng.randrange(2**32)])
    return data[:at] + struct.pack("<I", new & 0xFFFFFFFF) + data[at + 4 :]


def noise(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 40)
    return (data[:at] + rng.randbytes(length) + data[at + length :])[: len(data)]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def drop(rng: random.Random, data: bytes) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 40)
    return data[:at] + data[at + length :]


def swap(rng: random.Random, data: bytes) -> bytes:
    first, second = (4 * rng.randrange(len(data) // 4 - 1) for _ in range(2))
    out = bytearray(data)
    out[first : first + 4], out[second : second + 4] = data[second : second + 4], data[first : first + 4]
    return bytes(out)


@pytest.mark.parametrize("damage", [flip_bit, a_word, noise, truncate, drop, swap], ids=lambda f: str(f.__name__))
def test_damage_gives_an_index_or_an_error(damage: Callable[[random.Random, bytes], bytes]) -> None:
    rng = random.Random(damage.__name__)
    part = contents().parts[0]
    good = index_bytes(Contents(sample_pack.axpy(), (replace(part, functionals=part.functionals[:1]),)), BUILD)
    whole = set(read_index(good))
    hints: list[str | None] = []
    start = time.perf_counter()
    for step in range(STEPS):
        if step == STEPS - 50:
            tracemalloc.start()  # slows all down, so for the last ones only
        try:
            assert set(read_index(damage(rng, good))) == whole
        except PackError as error:
            hints.append(error.hint)
    assert time.perf_counter() - start < 60
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    assert len(hints) > STEPS // 20
    assert all(hints)


def test_sharing_can_not_multiply_the_work() -> None:
    """An index whose `arguments` are 1000 times the same table."""
    good = bytearray(index_bytes(contents(), BUILD))

    def word(at: int, form: str = "<I") -> int:
        return int(struct.unpack_from(form, good, at)[0])

    root = word(0)
    place = root + word(root - word(root, "<i") + 4 + 2 * ARGUMENTS, "<H")
    old = place + word(place) + 4
    old += word(old)
    vtable = old - word(old, "<i")
    count, at = 1000, len(good)
    table = at + 4 + 4 * count
    inline = bytearray(good[old : old + word(vtable + 2, "<H")])
    name = word(vtable + 4, "<H")
    struct.pack_into("<i", inline, 0, table - vtable)
    struct.pack_into("<I", inline, name, len(inline) - name)
    struct.pack_into("<I", good, place, at - place)
    good += struct.pack("<I", count)
    good += b"".join(struct.pack("<I", table - (at + 4 + 4 * number)) for number in range(count))
    good += inline + struct.pack("<I", 500) + b"x" * 500 + bytes(4)
    with pytest.raises(PackError, match="share the same bytes"):
        read_index(bytes(good))


def test_a_missing_name_is_refused() -> None:
    with pytest.raises(PackError, match="doesn't carry the mark AOTI"):
        read_index(b"\0" * 64)
    with pytest.raises(PackError, match="doesn't carry the mark"):
        read_index(b"")
    with pytest.raises(PackError, match=r"some\.zip: "):
        read_index(b"\xff\xff\xff\x7fAOTI" + bytes(64), "some.zip")
