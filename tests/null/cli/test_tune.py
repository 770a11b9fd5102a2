"""`aotriton tune`: what may be asked for, what is printed, and which exit codes come of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aotriton.cli import main
from aotriton.cli.tune_progress import LiveWatcher, PlainWatcher, make_watcher
from aotriton.tune import measure as measure_module
from aotriton.tune.measure import Order, Summary
from tests.tools.tuning import result, write

MEASURE = ["tune", "measure", "--packs", "nowhere", "--kernel", "attn_fwd", "--out", "results.jsonl"]


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Order]:
    """Orders that would have been measured."""
    asked: list[Order] = []

    def measure(order: Order, out: Path, watcher: object) -> Summary:
        asked.append(order)
        wrong = result(512, {}, None, status="wrong", reason="out is off")
        return Summary(ok=3, wrong=[wrong] if order.grid else [], groups=1, skipped=2)

    monkeypatch.setattr(measure_module, "measure", measure)
    return asked


def test_what_is_measured(orders: list[Order], capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--lengths", "64,128,64", "--size", "tokens=64", "--rounds", "7", "--near", "1.5"]
    for value in ("BLOCK_DMODEL=64", "PADDED_HEAD=False", "Q=*fp16:16"):
        more += ["--where", value]
    assert main([*MEASURE, *more]) == 0
    (order,) = orders
    assert (order.lengths, order.grid, order.sizes) == ((64, 128), False, {"tokens": 64})
    assert order.where == {"BLOCK_DMODEL": 64, "PADDED_HEAD": False, "Q": "*fp16:16"}
    assert (order.effort.rounds, order.effort.near, order.device) == (7, 1.5, None)
    groups = "1 problems of functionals measured, 2 were there already"
    assert capsys.readouterr().out == f"{groups}; 3 timed, 0 wrong, 0 failed: results.jsonl\n"


def test_a_wrong_config_is_loud(orders: list[Order], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MEASURE, "--grid"]) == 1
    text = capsys.readouterr()
    assert "1 wrong" in text.out
    assert text.err.startswith("wrong: {'PERSISTENT_TYPE': 0")
    assert text.err.endswith("out is off\n")


def test_problems_of_a_file(orders: list[Order], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "problems.json"
    path.write_text(json.dumps([{"Max_seqlen_q": 1, "Max_seqlen_k": 4096}]))
    assert main([*MEASURE, "--problems", str(path)]) == 0
    assert orders[0].problems == ({"Max_seqlen_q": 1, "Max_seqlen_k": 4096},)
    for text in ("{", "[]", "{}", "[3]"):
        path.write_text(text)
        assert main([*MEASURE, "--problems", str(path)]) == 2
    assert main([*MEASURE, "--problems", str(tmp_path / "none")]) == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lengths", "64,many"], "--lengths is `64,many`"),
        (["--lengths", "0"], "--lengths is `0`"),
        (["--size", "tokens"], "`--size tokens` is no size"),
        (["--where", "BLOCK_DMODEL"], "`--where BLOCK_DMODEL` is no value"),
    ],
)
def test_wrong_usage(orders: list[Order], words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MEASURE, *words]) == 2
    assert message in capsys.readouterr().err
    assert not orders


def test_a_recording_device_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MEASURE, "--device", "record:sm_90"]) == 3
    assert "needs an NVIDIA GPU" in capsys.readouterr().err


def test_store_and_bake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = write(tmp_path / "r.jsonl", result(512, {"BLOCK_M": 64}, 10.0), result(512, {"BLOCK_M": 128}, 15.0))
    database, tables = str(tmp_path / "a.sqlite3"), str(tmp_path / "t.json")
    assert main(["tune", "store", str(results), "--database", database]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[-2:] == ["10.0", "1.50"]
    assert lines[-1] == f"1 rows in {database}: 1 new, 0 changed"
    assert main(["tune", "bake", "--database", database, "--kernel", "attn_fwd", "--out", tables]) == 0
    assert capsys.readouterr().out == f"1 rules from 1 rows: {tables}\n"
    assert main(["tune", "store", str(tmp_path / "none"), "--database", database]) == 2
    capsys.readouterr()
    for tie in ("-1", "nan"):
        assert main(["tune", "store", str(results), "--database", database, "--tie", tie]) == 2
        assert "from 0 to 1" in capsys.readouterr().err
    assert main(["tune", "bake", "--database", str(tmp_path / "none"), "--kernel", "attn_fwd", "--out", tables]) == 3


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = make_watcher()
    assert isinstance(watcher, PlainWatcher)
    watcher.start(2, 8)
    watcher.group("Q='*fp16:16'", {"Max_seqlen_q": 512}, [result(512, {}, 20.0), result(512, {"BLOCK_M": 64}, 10.0)])
    watcher.group("Q='*fp16:16'", {"Max_seqlen_q": 2048}, [result(512, {}, None)])
    watcher.note("[odd] text")
    watcher.stop()
    lines = capsys.readouterr().err.splitlines()
    assert "Max_seqlen_q=512: 10.0 µs, the best of 2: " in lines[1]
    assert "BLOCK_M=64" in lines[1]
    assert lines[2].endswith("Max_seqlen_q=2048: no config could be timed")


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    watcher = LiveWatcher(sys.stderr)
    watcher.start(1, 2)
    watcher.note("[odd] text")
    watcher.group("Q='*fp16:16'", {"Max_seqlen_q": 512}, [result(512, {}, 20.0)])
    watcher.stop()
    text = capsys.readouterr().err
    assert "[odd] text" in text
    assert "20.0 µs" in text
