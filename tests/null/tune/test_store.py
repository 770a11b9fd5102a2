"""Winners: the fastest that is right; of those as fast, as few as serve; and what the database says of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aotriton.errors import AotritonError, ArgumentError, BuildError
from aotriton.flash.description import ATTN_FWD
from aotriton.tune.database import connect, rows_of, save
from aotriton.tune.schema import schema_of
from aotriton.tune.store import Stored, choose, store
from tests.tools.tuning import result, run, write

FAMILY = "aotriton.flash.description"
A, B, C = {"BLOCK_M": 64}, {"BLOCK_M": 128}, {"BLOCK_M": 128, "num_warps": 8}
# The columns of the original's table, by their documentation.
ORIGINAL = {
    "gpu", "inputs$Q_dtype", "inputs$Max_seqlen_q", "inputs$Max_seqlen_k", "inputs$CAUSAL_TYPE", "inputs$BLOCK_DMODEL",
    "inputs$ENABLE_DROPOUT", "inputs$PADDED_HEAD", "inputs$BIAS_TYPE", "inputs$USE_ALIBI", "inputs$INT8",
    "inputs$INT8_KV", "inputs$USE_P_SCALE", "tuned_kernel$PERSISTENT_TYPE", "tuned_kernel$GRID_CU_MULTIP",
    "tuned_kernel$BLOCK_M", "tuned_kernel$BLOCK_N", "tuned_kernel$PRE_LOAD_V", "compiler_options$waves_per_eu",
    "compiler_options$num_warps", "compiler_options$num_stages",
}  # fmt: skip


def keep(path: Path, database: Path, **options: Any) -> Stored:
    notes: list[str] = []
    settings = {"tie": 0.02, "skip_damaged": False, **options}
    return store([path], database, FAMILY, note=notes.append, **settings)


def rows(database: Path) -> list[dict[str, Any]]:
    return rows_of(connect(database), schema_of(ATTN_FWD))


def blocks(database: Path) -> dict[int, tuple[int, int]]:
    return {
        row["inputs$Max_seqlen_q"]: (row["tuned_kernel$BLOCK_M"], row["compiler_options$num_warps"])
        for row in rows(database)
    }


@pytest.fixture(params=["tuning.sqlite3", "tuning.sql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_the_fastest_that_is_right_wins(tmp_path: Path, database: Path) -> None:
    wrong = result(512, A, None, status="wrong", errors={"out": 7.0}, reason="out is off")
    path = write(tmp_path / "r.jsonl", wrong, result(512, B, 20.0), result(512, C, 10.0), result(2048, A, 5.0))
    stored = keep(path, database)
    assert (stored.new, stored.changed) == (2, 0)
    assert blocks(database) == {512: (128, 8), 2048: (64, 4)}


def test_errors_beyond_their_bounds_never_win(tmp_path: Path, database: Path) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 5.0, errors={"out": 0.1, "lse": 1.5}), result(512, B, 20.0))
    keep(path, database)
    assert blocks(database) == {512: (128, 4)}


def test_what_no_error_was_measured_of_never_wins(tmp_path: Path, database: Path) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 5.0, errors={}), result(512, B, 20.0))
    keep(path, database)
    assert blocks(database) == {512: (128, 4)}
    alone = write(tmp_path / "alone.jsonl", result(512, A, 5.0, errors={}))
    with pytest.raises(ArgumentError, match="is right and timed"):
        keep(alone, database)


@pytest.mark.parametrize("tie", [-1.0, -1e-9, 1.01, float("inf"), float("nan")])
def test_a_tie_is_a_part_of_the_fastest(tmp_path: Path, database: Path, tie: float) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 5.0))
    with pytest.raises(ArgumentError, match=r"the tie is .* from 0 to 1"):
        keep(path, database, tie=tie)
    assert not database.exists()
    assert keep(path, database, tie=0.0).new == 1


def test_what_a_row_says(tmp_path: Path, database: Path) -> None:
    keep(write(tmp_path / "r.jsonl", result(512, {**C, "PRE_LOAD_V": True}, 12.3456)), database)
    (row,) = rows(database)
    assert set(row) >= ORIGINAL
    assert row["gpu"] == "sm_90_mod0"
    assert row["inputs$Q_dtype"] == "torch.float16"
    assert (row["inputs$Max_seqlen_q"], row["inputs$Max_seqlen_k"], row["inputs$BLOCK_DMODEL"]) == (512, 512, 64)
    assert all(row[f"inputs${name}"] == 0 for name in ("PADDED_HEAD", "CAUSAL_TYPE", "INT8", "USE_ALIBI", "VARLEN"))
    assert (row["tuned_kernel$PRE_LOAD_V"], row["tuned_kernel$NUM_XCDS"]) == (1, 1)
    assert (row["compiler_options$waves_per_eu"], row["compiler_options$num_warps"]) == (None, 8)
    assert (row["measured$microseconds"], row["measured$run"]) == (12.35, "first")
    (known,) = connect(database).execute("SELECT * FROM tuning_runs").fetchall()
    assert (known["run"], known["device"]) == ("first", "NVIDIA Test")


def test_rows_are_replaced_and_unique(tmp_path: Path, database: Path) -> None:
    keep(write(tmp_path / "r.jsonl", result(512, A, 10.0), result(2048, A, 20.0)), database)
    path = write(tmp_path / "s.jsonl", run("second"), result(512, B, 9.0, run="second"))
    stored = keep(path, database)
    assert (stored.new, stored.changed) == (0, 1)
    assert blocks(database) == {512: (128, 4), 2048: (64, 4)}
    assert (keep(path, database).new, keep(path, database).changed) == (0, 0)
    memory = connect(database)
    line = memory.execute("SELECT sql FROM sqlite_master WHERE name = 'FLASH$attn_fwd'").fetchone()[0]
    assert "UNIQUE" in line
    with pytest.raises(sqlite3.IntegrityError):
        memory.execute('INSERT INTO "FLASH$attn_fwd" SELECT * FROM "FLASH$attn_fwd"')


def test_only_the_last_run_of_a_problem_counts(tmp_path: Path, database: Path) -> None:
    """What ran at another clock isn't comparable, however fast it looks."""
    path = write(tmp_path / "r.jsonl", result(512, A, 1.0), result(512, B, 2.0))
    write(path, run("second"), result(512, A, 12.0, run="second"), result(512, B, 11.0, run="second"))
    keep(path, database)
    assert blocks(database) == {512: (128, 4)}


def test_unaligned_functionals_have_no_place_in_the_schema(tmp_path: Path, database: Path) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 1.0, functional={"Q": "*fp16"}), result(512, B, 2.0))
    notes: list[str] = []
    stored = store([path], database, FAMILY, 0.02, False, notes.append)
    assert len(stored.winners) == 1
    assert "aligned tensors only" in notes[0]


def groups(**times: dict[str, float]) -> dict[str, list[Any]]:
    configs = {"a": A, "b": B, "c": C}
    return {name: [result(512, configs[one], median) for one, median in found.items()] for name, found in times.items()}


def names(winners: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {problem: (one.config["BLOCK_M"], one.config["num_warps"]) for problem, one in winners.items()}


def test_of_those_as_fast_one_that_serves_most_wins() -> None:
    found = groups(x={"a": 10.0, "b": 10.1}, y={"b": 5.0, "c": 7.0}, z={"c": 3.0, "b": 3.02, "a": 3.9})
    assert set(names(choose(found, [], 0.02)).values()) == {(128, 4)}
    assert names(choose(found, [], 0.0)) == {"x": (64, 4), "y": (128, 4), "z": (128, 8)}


def test_ties_go_to_what_is_shipped_already_then_to_the_faster() -> None:
    found = groups(x={"a": 10.0, "b": 10.1})
    assert names(choose(found, [], 0.02)) == {"x": (64, 4)}
    assert names(choose(found, [result(1, B, 1.0).config], 0.02)) == {"x": (128, 4)}
    assert choose({"x": []}, [], 0.02) == {}


def test_the_database_counts_as_shipped(tmp_path: Path, database: Path) -> None:
    keep(write(tmp_path / "r.jsonl", result(2048, B, 10.0)), database)
    keep(write(tmp_path / "s.jsonl", result(512, A, 10.0), result(512, B, 10.1)), database)
    assert blocks(database) == {512: (128, 4), 2048: (128, 4)}


def test_damaged_lines_stop_it_unless_they_may_be_left_out(tmp_path: Path, database: Path) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 10.0))
    path.write_text(path.read_text() + "nonsense\n")
    write(path, run("second"), result(2048, A, 10.0, run="second"))
    with pytest.raises(ArgumentError, match="line 3"):
        keep(path, database)
    assert not database.exists()
    assert len(keep(path, database, skip_damaged=True).winners) == 2


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (result(512, A, 1.0, functional={"BLOCK_DMODEL": 72}), "BLOCK_DMODEL"),
        (result(512, A, 1.0, functional={"NEW": 1}), "'NEW' is no axis"),
        (result(512, {"BLOCK_M": 48}, 1.0), "BLOCK_M is 48"),
        (result(512, {"BLOCK_X": 48}, 1.0), "'BLOCK_X'"),
    ],
)
def test_results_of_what_is_not_described(tmp_path: Path, database: Path, one: Any, message: str) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 1.0), one)
    with pytest.raises(ArgumentError) as caught:
        keep(path, database)
    assert message in str(caught.value)
    assert not database.exists()


def test_nothing_that_won(tmp_path: Path, database: Path) -> None:
    with pytest.raises(ArgumentError, match="nothing is written"):
        keep(write(tmp_path / "r.jsonl", result(512, A, None)), database)
    assert not database.exists()


def test_a_database_of_another_schema_is_left_alone(tmp_path: Path, database: Path) -> None:
    memory = sqlite3.connect(":memory:")
    memory.row_factory = sqlite3.Row
    memory.execute('CREATE TABLE "FLASH$attn_fwd" (arch TEXT, "inputs$Q_dtype" TEXT)')
    save(memory, database)
    before = database.read_bytes()
    with pytest.raises(BuildError, match="another schema"):
        keep(write(tmp_path / "r.jsonl", result(512, A, 1.0)), database)
    assert database.read_bytes() == before


@pytest.mark.parametrize("data", [b"nonsense", b"SQLite format 3\0 and no more", b"\xff\xfe", b"ATTACH 'x' AS y;"])
def test_what_is_no_database(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tuning.sql"
    path.write_bytes(data)
    with pytest.raises(BuildError, match="is no tuning database"):
        keep(write(tmp_path / "r.jsonl", result(512, A, 1.0)), path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("part", ["tuned_kernel$BLOCK_M", "NVIDIA Test"])
def test_damage_far_inside_of_a_database(tmp_path: Path, part: str) -> None:
    path, results = tmp_path / "tuning.sqlite3", write(tmp_path / "r.jsonl", result(512, A, 1.0))
    keep(results, path)
    damaged = path.read_bytes().replace(part.encode(), part.encode()[:-1] + b"\xff")
    path.write_bytes(damaged)
    with pytest.raises(BuildError, match="is no tuning database"):
        keep(results, path)
    assert path.read_bytes() == damaged


def test_archives_are_only_read(tmp_path: Path) -> None:
    path = tmp_path / "tuning.tar.xz"
    with pytest.raises(BuildError, match="archives are only read"):
        keep(write(tmp_path / "r.jsonl", result(512, A, 1.0)), path)
    assert not path.exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AotritonError, match="can't be"):
        keep(write(tmp_path / "r.jsonl", result(512, A, 1.0)), tmp_path / "file" / "tuning.sql")


def test_both_forms_hold_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", result(512, A, 1.0), result(2048, B, 2.0), result(16384, C, 3.0))
    binary, text = tmp_path / "a.sqlite3", tmp_path / "a.sql"
    keep(path, binary)
    keep(path, text)
    assert rows(binary) == rows(text)
    save(connect(binary), tmp_path / "b.sql")
    assert (tmp_path / "b.sql").read_text() == text.read_text()
    lengths = [line.split(",")[1] for line in text.read_text().splitlines() if "FLASH$attn_fwd" in line][1:]
    assert [int(one) for one in lengths if one.isdigit()] == [512, 2048, 16384]
