"""Files of results: what is written is read again; what is damaged is named; nothing half-written stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aotriton.errors import AotritonError, ArgumentError, BusyError
from aotriton.tune.results import append, locked, read_results
from tests.tools.tuning import result, run, write

SMALL, LARGE = {"BLOCK_M": 64}, {"BLOCK_M": 128, "num_warps": 8}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = (result(512, SMALL, 10.0), result(512, LARGE, None, reason="it hung"))
    path = write(tmp_path / "results.jsonl", *rows)
    found = read_results(path)
    assert (found.results, found.damage) == (rows, ())
    assert found.runs == {"first": run()}
    write(path, run("second"), result(2048, SMALL, 20.0, run="second"))
    assert [one.run for one in read_results(path).results] == ["first", "first", "second"]


def test_the_cut_off_end_of_a_file_is_known_as_such(tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", result(512, SMALL, 10.0), result(512, LARGE, 11.0))
    path.write_bytes(path.read_bytes()[:-30])
    found = read_results(path)
    assert len(found.results) == 1
    assert [(one.line, one.cut_off) for one in found.damage] == [(3, True)]
    write(path, run("second"), result(512, SMALL, 12.0, run="second"))
    found = read_results(path)
    assert [one.times.median for one in found.results if one.times] == [10.0, 12.0]
    assert [(one.line, one.cut_off) for one in found.damage] == [(3, False)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"run": ["first"]}, "its run is no text"),
        ({"kernel": {}}, "its kernel is no text"),
        ({"gpu": None}, "its gpu is no text"),
        ({"device": ["a", "b"]}, "its device is no text"),
        ({"facts": None}, "its facts are no object"),
    ],
)
def test_damaged_runs_say_what_is_wrong(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "results.jsonl", result(512, SMALL, 10.0))
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **change}), *rest, ""]))
    found = read_results(path)
    assert not found.runs
    assert found.damage[0].line == 1
    assert problem in found.damage[0].problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "answer"}, "neither a run nor a result"),
        ({"run": "another"}, "its run 'another' is not in the file"),
        ({"status": "fine"}, "its status is 'fine'"),
        ({"times": None}, "a result that is ok has a time"),
        ({"times": {"median": -1, "p20": 1, "p80": 1, "samples": 1}}, "a result that is ok has a time"),
        ({"times": {"median": 1}}, "TypeError"),
        ({"config": []}, "its config is no object"),
        ({"speed": 3}, "TypeError"),
    ],
)
def test_damaged_lines_say_what_is_wrong(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "results.jsonl", result(512, SMALL, 10.0))
    first, line = path.read_text().splitlines()
    path.write_text("\n".join([first, json.dumps({**json.loads(line), **change}), line, ""]))
    found = read_results(path)
    assert len(found.results) == 1
    assert problem in found.damage[0].problem
    assert (found.damage[0].line, found.damage[0].cut_off) == (2, False)


@pytest.mark.parametrize("text", ["null", "[]", "{", "{}", "\x00\x01", "[" * 100000])
def test_any_bytes_are_no_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{text}\n")
    found = read_results(path)
    assert (found.results, len(found.damage)) == ((), 1)


def test_a_run_of_another_format_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", result(512, SMALL, 10.0))
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    assert "reads format 1" in read_results(path).damage[0].problem


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="can't be read"):
        read_results(tmp_path / "none.jsonl")


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path / "results.jsonl"), pytest.raises(BusyError), locked(tmp_path / "results.jsonl"):
        pass


FULL = """
import resource, signal, sys
from pathlib import Path
from aotriton.errors import AotritonError
from aotriton.tune.results import append, locked
from tests.tools.tuning import result
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, -1))
with locked(path) as file:
    try:
        append(file, [result(2048, {"BLOCK_M": 64}, 1.0)])
    except AotritonError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", result(512, SMALL, 10.0))
    before = path.read_bytes()
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "can't be written" in done.stdout
    assert path.read_bytes() == before


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AotritonError, match="can't be written"), locked(tmp_path / "file" / "results.jsonl") as file:
        append(file, [])
