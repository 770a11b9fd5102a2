"""The command line before any stage is called: parsing, messages, exit codes, what goes where."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aotriton import __version__
from aotriton.cli import main, parser
from aotriton.cli.arguments import parse_argument, parse_numbers, parse_tensor
from aotriton.cli.output import complain, print_table, size_text
from aotriton.cli.trace import FIELDS, STATUSES, trace_lines
from aotriton.errors import AotritonError, ArgumentError, PackError
from aotriton.runtime.abi import Status
from aotriton.targets import TARGETS

ROOT = Path(__file__).resolve().parents[3]


def test_targets_lists_all(capsys):
    assert main(["targets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(TARGETS)


def test_targets_as_json(capsys):
    assert main(["targets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["pack"] for one in found}["gfx1103"] == "amd-gfx110x"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build"], "a build needs --out FOLDER"),
        (["build", "--dry-run", "--workers", "0"], "--workers 0 is not above zero"),
        (["build", "--dry-run", "--timeout", "-1"], "--timeout -1.0 is below zero"),
        (["build", "--dry-run", "--target", "gfx9000"], "unknown target(s) gfx9000"),
        (["explain", "attn_fwd", "--target", "gfx942"], "attn_fwd needs --shape"),
        (["explain", "attn_fwd", "--target", "gfx942", "--shape", "1,2,3"], "`1,2,3` is not 4 whole numbers"),
        (["explain", "attn_fwd", "--target", "gfx942", "--shape", "1,2,3,4", "--arg", "X=3"], "--arg is for kernels"),
        (["explain", "norm/rms_norm", "--target", "gfx942", "--head-dim-v", "3"], "--head-dim-v is for attn_fwd"),
        (["explain", "norm/rms_norm", "--target", "gfx942", "--lse"], "--lse is for attn_fwd"),
        (["explain", "rms_norm", "--target", "gfx942"], "`rms_norm` is no operator"),
    ],
)
def test_wrong_usage_is_2_with_one_message_on_stderr(words, message, capsys):
    assert main(words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"error: {message}")
    assert "Traceback" not in output.err


def test_a_window_without_a_limit_is_a_value_not_an_option():
    arguments = parser().parse_args(["explain", "attn_fwd", "--target", "gfx942", "--window", "-1,0"])
    assert parse_numbers(arguments.window, 2) == (-1, 0)


@pytest.mark.parametrize("words", [[], ["frobnicate"], ["build", "--frobnicate"], ["explain", "attn_fwd"]])
def test_argparse_refuses_with_2(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert capsys.readouterr().out == ""


def test_what_could_not_be_done_is_3(tmp_path, capsys):
    assert main(["inspect", str(tmp_path / "nothing")]) == 3
    assert main(["explain", "attn_fwd", "--target", "gfx942", "--packs", str(tmp_path / "nothing")]) == 3
    assert main(["inspect", str(tmp_path)]) == 3
    error = capsys.readouterr().err
    assert f"error: no pack lies in {tmp_path}\n\nhint: `aotriton build" in error


def test_damaged_cluster_is_an_error_not_a_traceback(tmp_path, capsys):
    path = tmp_path / "cluster.aks2"
    path.write_bytes(b"AKS2" + bytes(100))
    assert main(["inspect", str(path)]) == 3
    assert capsys.readouterr().err.startswith(f"error: {path}: ")


def test_a_command_whose_stage_is_not_installed_says_so(tmp_path):
    """An installed prefix has the run-time part and the commands, but not the stages that build."""
    for part in ("__init__.py", "__main__.py", "errors.py", "targets.py", "runtime", "cli"):
        copy = shutil.copytree if (ROOT / "aotriton" / part).is_dir() else shutil.copyfile
        (tmp_path / "aotriton").mkdir(exist_ok=True)
        copy(ROOT / "aotriton" / part, tmp_path / "aotriton" / part)
    run = subprocess.run(  # -S: without the environment's packages
        [sys.executable, "-S", "-m", "aotriton", "build", "--set", "demo", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 3, run.stderr
    assert run.stderr.startswith("error: `aotriton build` needs the module `aotriton.compile`")
    assert "\n\nhint: " in run.stderr


def test_hint_is_a_line_of_its_own(capsys):
    complain(PackError("no pack", "build one"))
    assert capsys.readouterr().err == "error: no pack\n\nhint: build one\n"
    complain(AotritonError("it broke"))
    assert capsys.readouterr().err == "error: it broke\n"


@pytest.mark.parametrize("name", ["targets", "build", "inspect", "explain", "verify", "tune", "sim", "doctor", "demo"])
def test_help_of_every_command(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        parser().parse_args([name, "--help"])
    assert f"usage: aotriton {name}" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"aotriton {__version__}\n"


def test_module_runs_as_a_program_and_stops_quietly_when_its_reader_does():
    command = f"{sys.executable} -m aotriton targets --json | head -n 1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[\n"
    assert done.stderr == ""


def test_no_triton_is_imported_where_none_is_needed():
    code = "import sys; from aotriton.cli import main; main(['targets']); assert 'triton' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)


# ---- values ----


def test_tensors():
    plain = parse_tensor("fp16[37,1000]")
    assert (plain.shape, plain.dtype, plain.strides) == ((37, 1000), "fp16", (1000, 1))
    assert parse_tensor("bf16[2,3]:10,1").strides == (10, 1)
    assert parse_tensor("fp32[8]@4").alignment == 4
    assert parse_tensor("u64[]").shape == ()


@pytest.mark.parametrize("text", ["fp16", "fp16[a]", "fp16[2,3]:1", "half[3]", "fp16[3]@0", "fp16[3", "[3]"])
def test_no_tensors(text):
    with pytest.raises(ArgumentError):
        parse_tensor(text)


def test_arguments():
    assert parse_argument("Rows=37") == ("Rows", 37)
    assert parse_argument("Epsilon=1e-6") == ("Epsilon", 1e-6)
    assert parse_argument("PADDED=True") == ("PADDED", True)
    assert parse_argument("X=fp16[3]")[1].shape == (3,)
    for text in ("Rows", "=3", "Rows=many"):
        with pytest.raises(ArgumentError):
            parse_argument(text)


def test_numbers():
    assert parse_numbers("1,-2", 2) == (1, -2)
    with pytest.raises(ArgumentError):
        parse_numbers("1,2,3", 2)


def test_tables_align(capsys):
    print_table(("name", "count"), [("a", 1), ("long", 200)])
    assert capsys.readouterr().out == "name  count\na         1\nlong    200\n"
    print_table(("name", "count"), [])
    assert capsys.readouterr().out == "name  count\n"


def test_sizes():
    sizes = [size_text(size) for size in (0, 999, 1000, 2_500_000, 3 * 10**9)]
    assert sizes == ["0 B", "999 B", "1.0 kB", "2.5 MB", "3.0 GB"]


# ---- the trace ----

EMPTY = {**dict.fromkeys(FIELDS), "family": "f", "kernel": "k", "device": "host", "status": "no_pack"}
EMPTY |= {"substituted": [], "rejected": [], "notes": [], "reason": "there is none"}


def test_trace_of_little():
    assert trace_lines(EMPTY) == ["f/k on host: no pack", "  reason       there is none"]


def test_trace_of_much():
    full = {
        **EMPTY,
        "status": "success",
        "reason": None,
        "functional": {"number": 3, "signature": "Q=1"},
        "substituted": [{"axis": "D", "requested": "72", "used": "80"}],
        "rejected": [{"functional": "Q=0", "reason": "excluded"}],
        "table": {"source": "default", "keys": {"S": {"value": 5, "bin": 16}}},
        "config": {"performance": "BLOCK=1", "options": "num_warps=4", "index": 0},
        "image": {"name": "x", "sha256": "0", "shared": 0, "threads": 128, "registers": -1, "spills": -1},
        "grid": [4, 1, 1],
        "notes": ["sm_80's pack serves"],
    }
    assert trace_lines(full) == [
        "f/k on host: success",
        "  functional   Q=1",
        "  substituted  D: 72 → 80",
        "  table        default, S 5 in bin 16",
        "  config       BLOCK=1; num_warps=4",
        "  image        0 bytes of shared memory, 128 threads",
        "  grid         4 × 1 × 1",
        "  turned down  Q=0",
        "               because excluded",
        "  note         sm_80's pack serves",
    ]


def test_statuses_are_those_of_the_c_api():
    assert list(STATUSES) == [status.name.lower() for status in Status]


def test_reference_pages_are_what_the_code_says():
    command = [sys.executable, ROOT / "docs" / "reference" / "generate.py", "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}; `make docs` writes them anew"
