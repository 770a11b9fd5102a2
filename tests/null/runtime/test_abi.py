"""The structs, numbers and functions that Python declares against those that a C compiler reads in the header."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aotriton.runtime import abi

HEADER = Path(__file__).parents[3] / "include" / "aotriton" / "aotriton.h"
STRUCTS = {
    "aotriton_tensor": abi.Tensor,
    "aotriton_host_driver": abi.HostDriver,
    "aotriton_argument": abi.Argument,
    "aotriton_launch_options": abi.LaunchOptions,
    "aotriton_attn_fwd_params": abi.AttnFwdParams,
    "aotriton_attn_options": abi.AttnOptions,
}
NUMBERS = {
    **{f"AOTRITON_{name}": value for name, value in abi.Status.__members__.items()},
    **{f"AOTRITON_{name.upper()}": value for name, (value, _) in abi.DTYPES.items()},
    **{f"AOTRITON_ARGUMENT_{name}": value for name, value in abi.ArgumentKind.__members__.items()},
    "AOTRITON_MAX_RANK": abi.MAX_RANK,
    "AOTRITON_CAUSAL_NONE": abi.CAUSAL_NONE,
    "AOTRITON_CAUSAL_WINDOWED": abi.CAUSAL_WINDOWED,
    "AOTRITON_WINDOW_TOP_LEFT": abi.WINDOW_TOP_LEFT,
    "AOTRITON_WINDOW_BOTTOM_RIGHT": abi.WINDOW_BOTTOM_RIGHT,
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What a C program prints that includes the header: sizes, offsets and values by expression."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("probe")
    (folder / "aotriton").mkdir()
    (folder / "aotriton" / "config.h").write_text("#define AOTRITON_API\n")
    shutil.copy(HEADER, folder / "aotriton")
    expressions = list(NUMBERS)
    for name, struct in STRUCTS.items():
        expressions.append(f"sizeof({name})")
        expressions += [f"offsetof({name}, {field[0]})" for field in struct._fields_]
        expressions += [f"sizeof((({name}*)0)->{field[0]})" for field in struct._fields_]
    lines = "\n".join(f'  printf("%s=%lld\\n", "{e}", (long long)({e}));' for e in expressions)
    source = folder / "probe.c"
    source.write_text(f"#include <stdio.h>\n#include <aotriton/aotriton.h>\nint main(void) {{\n{lines}\n}}\n")
    subprocess.run([compiler, "-Wall", "-Werror", f"-I{folder}", source, "-o", folder / "probe"], check=True)
    printed = subprocess.run([folder / "probe"], capture_output=True, text=True, check=True).stdout
    return {line.split("=")[0]: int(line.split("=")[1]) for line in printed.splitlines()}


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_have_the_layout_of_the_header(facts, name):
    struct = STRUCTS[name]
    assert facts[f"sizeof({name})"] == ctypes.sizeof(struct)
    for field, kind in struct._fields_:
        assert facts[f"offsetof({name}, {field})"] == getattr(struct, field).offset, field
        assert facts[f"sizeof((({name}*)0)->{field})"] == ctypes.sizeof(kind), field


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_have_all_fields_of_the_header(name):
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), text, re.DOTALL)[1]  # noqa: UP031
    names = set()
    for line in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)\(", line)
        plain = re.findall(r"\*?(\w+)(?:\[\w+\])?\s*(?:,|$)", line.strip())
        names |= {pointer[1]} if pointer else set(plain)
    assert names - {""} == {field[0] for field in STRUCTS[name]._fields_}


def test_numbers_are_those_of_the_header(facts):
    assert {name: facts[name] for name in NUMBERS} == {name: int(value) for name, value in NUMBERS.items()}


def test_every_status_and_type_of_the_header_is_known():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    for enum in ("aotriton_status", "aotriton_dtype", "aotriton_argument_kind"):
        body = re.search(r"typedef enum %s \{(.*?)\}" % enum, text, re.DOTALL)[1]  # noqa: UP031
        assert set(re.findall(r"AOTRITON_\w+", body)) - {"AOTRITON_NONE"} <= set(NUMBERS), enum


def test_every_function_of_the_header_is_declared():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    functions = dict(re.findall(r"AOTRITON_API [\w *]*?(aotriton_\w+)\((.*?)\);", text, re.DOTALL))
    assert set(functions) == set(abi.API)
    for name, parameters in functions.items():
        count = 0 if parameters.strip() == "void" else parameters.count(",") + 1
        assert len(abi.API[name][1]) == count, name


@pytest.mark.parametrize("rank", range(abi.MAX_RANK + 1))
def test_tensors_are_written_field_by_field_right(rank):
    params = abi.AttnFwdParams()
    sizes, strides = [10 + i for i in range(rank)], [-20 + i for i in range(rank)]
    ctypes.memset(ctypes.addressof(params), 0xFF, ctypes.sizeof(params))
    abi.write_tensor(params, abi.AttnFwdParams.k.offset, 0xFFFF_FFFF_FFFF_FFF0, 3, sizes, strides)
    assert (params.k.data, params.k.dtype, params.k.rank) == (0xFFFF_FFFF_FFFF_FFF0, 3, rank)
    assert list(params.k.sizes) == sizes + [0] * (abi.MAX_RANK - rank)
    assert list(params.k.strides) == strides + [0] * (abi.MAX_RANK - rank)
    assert params.q.dtype == params.v.dtype == -1  # the neighbours are untouched
