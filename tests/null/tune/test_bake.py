"""Baking: rows become tables, tables become rules that builds read, and nothing is made up on the way."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aotriton.compile import tables as tables_module
from aotriton.compile.tables import table_for
from aotriton.describe import Functional
from aotriton.errors import ArgumentError, BuildError
from aotriton.flash.description import ATTN_FWD
from aotriton.targets import parse_target
from aotriton.tune.bake import bake, make_table, merge_rules
from aotriton.tune.database import connect, save
from aotriton.tune.store import store
from tests.tools.tuning import FEATURES, result, write

ROOT = Path(__file__).resolve().parents[3]
FAMILY = "aotriton.flash.description"
SM_90 = parse_target("sm_90")
SMALL, LARGE = {"BLOCK_M": 64, "num_stages": 2}, {"BLOCK_M": 128, "num_warps": 8, "num_stages": 3}


def functional(**values: Any) -> Functional:
    return ATTN_FWD.functional(ATTN_FWD.number_of({**FEATURES, **values}))


def baked(tmp_path: Path, *results: Any) -> dict[str, Any]:
    database, out = tmp_path / "tuning.sql", tmp_path / "tables.json"
    store([write(tmp_path / "r.jsonl", *results)], database, FAMILY, 0.02, False, print)
    bake(database, FAMILY, "flash.attn_fwd", out, False, print)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.fixture
def in_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of tables that stands in the place of the package's: the tuned ones, and a guess for everything."""
    folder = tmp_path / "data"
    (folder / "tuned").mkdir(parents=True)
    guess = {"kernel": "flash.attn_fwd", "source": "a guess", "rules": [{"config": {"BLOCK_M": 32}}]}
    (folder / "flash.json").write_text(json.dumps(guess))
    monkeypatch.setattr(tables_module, "_DATA", folder)
    return folder


def test_every_problem_gets_the_config_that_won(tmp_path: Path, in_use: Path) -> None:
    found = baked(tmp_path, result(512, SMALL, 1.0), result(2048, LARGE, 1.0), result(8192, LARGE, 1.0))
    (in_use / "tuned" / "a.json").write_text(json.dumps(found))
    table = table_for(ATTN_FWD, functional(), SM_90)
    assert table.keys == (("Max_seqlen_q", (512, 8192)), ("Max_seqlen_k", (512, 8192)))
    blocks = [dict(table.configs[cell].performance)["BLOCK_M"] for cell in table.cells]
    assert blocks == [64, 128, 128, 128]
    assert table.configs[table.cells[-1]] == ATTN_FWD.config(LARGE).for_target(SM_90)
    assert table.source.startswith("measured on NVIDIA Test, 2026-12-01; baked from tuning.sql")
    assert "6 of 9 cells from the nearest tuned" in table.source


def test_what_was_measured_of_a_twin_is_worth_more_than_a_guess(tmp_path: Path, in_use: Path) -> None:
    (in_use / "tuned" / "a.json").write_text(json.dumps(baked(tmp_path, result(512, SMALL, 1.0))))
    table = table_for(ATTN_FWD, functional(PADDED_HEAD=True), SM_90)
    assert table.configs == (ATTN_FWD.config(SMALL).for_target(SM_90),)
    assert "tuned for Q='*fp16:16';BLOCK_DMODEL=64;PADDED_HEAD=False" in table.source
    for other in ({"Q": "*fp16"}, {"CAUSAL_TYPE": 3}, {"BLOCK_DMODEL": 128}):
        assert table_for(ATTN_FWD, functional(**other), SM_90).source == "a guess"
    assert table_for(ATTN_FWD, functional(), parse_target("sm_80")).source == "a guess"


def test_functionals_with_one_table_share_a_rule(tmp_path: Path) -> None:
    wide = [{"BLOCK_DMODEL": dim, "CAUSAL_TYPE": causal} for dim in (64, 128) for causal in (0, 3)]
    rows = [result(512, SMALL, 1.0, functional=one) for one in wide]
    (rule,) = baked(tmp_path, *rows)["rules"]
    assert (rule["where"]["BLOCK_DMODEL"], "CAUSAL_TYPE" in rule["where"]) == ([64, 128], False)
    assert rule["config"] == {"BLOCK_M": 64, "num_warps": 4, "num_stages": 2}


def test_a_rule_never_says_more_than_was_measured(tmp_path: Path, in_use: Path) -> None:
    """Random winners: the rules give back the very config of each row, and a guess elsewhere."""
    chance = random.Random(5)
    dims, rows = (16, 32, 64, 128), []
    for dim in dims:
        for causal in (0, 3):
            for kind in ("*fp16:16", "*bf16:16"):
                values = {"BLOCK_DMODEL": dim, "CAUSAL_TYPE": causal, "Q": kind}
                if chance.random() < 0.7:
                    rows += [result(n, chance.choice([SMALL, LARGE]), 1.0, functional=values) for n in (512, 4096)]
    (in_use / "tuned" / "a.json").write_text(json.dumps(baked(tmp_path, *rows)))
    tuned = {ATTN_FWD.number_of(row.functional) for row in rows}
    for row in rows:
        table = table_for(ATTN_FWD, ATTN_FWD.functional(ATTN_FWD.number_of(row.functional)), SM_90)
        bins = [next(at for at, edge in enumerate(edges) if edge >= row.problem[key]) for key, edges in table.keys]
        place = bins[0] * len(table.keys[1][1]) + bins[1] if bins else 0
        assert table.configs[table.cells[place]] == ATTN_FWD.config(dict(row.config)).for_target(SM_90)
    for one in ATTN_FWD.functionals():
        twin = ATTN_FWD.number_of({**one.values, "PADDED_HEAD": False})
        if one.excluded(SM_90) is None and twin not in tuned:
            assert table_for(ATTN_FWD, one, SM_90).source == "a guess"


def test_bins_that_make_no_difference_are_left_out() -> None:
    points = {(q, k): "a" if q <= 1024 else "b" for q in (256, 512, 1024, 2048) for k in (256, 512)}
    table = make_table(points)
    assert (table.bins, table.cells, table.note) == (((1024, 2048), (512,)), (0, 1), "")


def test_holes_take_the_nearest_by_logarithm() -> None:
    table = make_table({(16, 16): "a", (1024, 1024): "b", (16, 1024): "c"})
    cells = [table.configs[cell] for cell in table.cells]
    assert table.bins == ((16, 1024), (16, 1024))
    assert cells == ["a", "c", cells[2], "b"]
    assert cells[2] in ("a", "b")
    assert table.note == "1 of 4 cells from the nearest tuned"
    assert make_table({(): "a"}).cells == (0,)


def test_merging_keeps_products() -> None:
    one, other = make_table({(1,): "a"}), make_table({(1,): "b"})
    rules = [({"x": (x,), "y": (y,)}, one if x != y else other) for x in (0, 1, 2) for y in (0, 1)]
    merged = merge_rules(rules)
    covered = [(x, y, table) for where, table in merged for x in where["x"] for y in where["y"]]
    assert sorted((x, y) for x, y, _ in covered) == [(x, y) for x in (0, 1, 2) for y in (0, 1)]
    assert {(x, y): table for x, y, table in covered} == {(w["x"][0], w["y"][0]): t for w, t in rules}
    assert len(merged) < len(rules)


COLUMNS = {
    "gpu": "gfx942_mod0", "inputs$Q_dtype": "torch.bfloat16", "inputs$Max_seqlen_q": 512, "inputs$Max_seqlen_k": 1024,
    "inputs$CAUSAL_TYPE": 3, "inputs$BLOCK_DMODEL": 128, "inputs$ENABLE_DROPOUT": 0, "inputs$PADDED_HEAD": 0,
    "inputs$BIAS_TYPE": 0, "inputs$USE_ALIBI": 0, "inputs$INT8": 0, "inputs$INT8_KV": 0, "inputs$USE_P_SCALE": 0,
    "tuned_kernel$PERSISTENT_TYPE": 2, "tuned_kernel$GRID_CU_MULTIP": 2, "tuned_kernel$BLOCK_M": 128,
    "tuned_kernel$BLOCK_N": 64, "tuned_kernel$PRE_LOAD_V": 1, "compiler_options$waves_per_eu": 1,
    "compiler_options$num_warps": 4, "compiler_options$num_stages": 1,
}  # fmt: skip


def of_the_original(path: Path, *changes: dict[str, Any]) -> Path:
    """A database with the original's columns and no others, and a row for each change."""
    memory = sqlite3.connect(":memory:")
    memory.row_factory = sqlite3.Row
    memory.execute(f'CREATE TABLE "FLASH$attn_fwd" ({", ".join(f"{chr(34)}{name}{chr(34)}" for name in COLUMNS)})')
    for change in changes:
        row = {**COLUMNS, **change}
        memory.execute(f'INSERT INTO "FLASH$attn_fwd" VALUES ({", ".join("?" * len(row))})', list(row.values()))
    save(memory, path)
    return path


def test_a_database_of_the_original(tmp_path: Path) -> None:
    path = of_the_original(tmp_path / "a.sqlite3", {}, {"inputs$ENABLE_DROPOUT": 1})
    notes: list[str] = []
    assert bake(path, FAMILY, "attn_fwd", tmp_path / "t.json", False, notes.append).rows == 1
    (rule,) = json.loads((tmp_path / "t.json").read_text())["rules"]
    assert (rule["targets"], rule["where"]["Q"], rule["where"]["CAUSAL_TYPE"]) == (["gfx942"], ["*bf16:16"], [3])
    assert rule["config"] == {
        "PERSISTENT_TYPE": 2, "BLOCK_M": 128, "BLOCK_N": 64, "PRE_LOAD_V": True, "waves_per_eu": 1, "num_warps": 4,
        "num_stages": 1,
    }  # fmt: skip
    assert notes == ["1 rows are not used: dropout is not implemented yet"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs$BLOCK_DMODEL": 72}, "no functional has BLOCK_DMODEL 72"),
        ({"inputs$INT8": 1}, "no functional has INT8 1"),
        ({"inputs$Q_dtype": "torch.int8"}, "no functional has Q_dtype 'torch.int8'"),
        ({"tuned_kernel$BLOCK_M": 48}, "no config has BLOCK_M 48"),
        ({"compiler_options$num_warps": "many"}, "no config has num_warps 'many'"),
        ({"compiler_options$num_warps": -1}, "no config has num_warps -1"),
        ({"compiler_options$num_stages": 1.5}, "no config has num_stages 1.5"),
        ({"inputs$Max_seqlen_q": "many"}, "Max_seqlen_q is 'many'"),
        ({"gpu": "gfx12_mod0"}, "no GPU 'gfx12_mod0'"),
        ({"gpu": "gfx942_mod1"}, "first variant"),
    ],
)
def test_rows_of_what_is_not_described(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path, out = of_the_original(tmp_path / "a.sqlite3", {}, change), tmp_path / "t.json"
    with pytest.raises(ArgumentError) as caught:
        bake(path, FAMILY, "attn_fwd", out, False, print)
    assert message in str(caught.value)
    assert not out.exists()
    notes: list[str] = []
    assert bake(path, FAMILY, "attn_fwd", out, True, notes.append).rows == 1
    assert message in notes[0]


def test_nothing_to_bake(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no database"):
        bake(tmp_path / "none.sql", FAMILY, "attn_fwd", tmp_path / "t.json", False, print)
    with pytest.raises(BuildError, match="no rows"):
        bake(of_the_original(tmp_path / "a.sql"), FAMILY, "attn_fwd", tmp_path / "t.json", False, print)
    with pytest.raises(ArgumentError, match="no kernel"):
        bake(of_the_original(tmp_path / "a.sql"), FAMILY, "attn_bwd", tmp_path / "t.json", False, print)
    memory = connect(tmp_path / "empty")
    memory.execute('CREATE TABLE "FLASH$attn_fwd" (arch TEXT)')
    save(memory, tmp_path / "b.sql")
    with pytest.raises(BuildError, match="another schema"):
        bake(tmp_path / "b.sql", FAMILY, "attn_fwd", tmp_path / "t.json", False, print)


def test_the_package_s_tables_are_what_their_databases_say(tmp_path: Path) -> None:
    """Each file of tuned tables is baked from the database of its name, and none is left unbaked."""
    data = ROOT / "aotriton" / "data"
    databases = {path.stem: path for path in (data / "tuning").glob("*.sql")}
    tables = {path.stem: path for path in (data / "tables" / "tuned").glob("*.json")}
    assert set(databases) == set(tables)
    for name, path in tables.items():
        title = json.loads(path.read_text())["kernel"]
        bake(databases[name], FAMILY, title, tmp_path / path.name, False, print)
        assert (tmp_path / path.name).read_text() == path.read_text(), f"{path.name} is stale: bake it again"


# A folder with the original's published databases, as <target>/<kernel>.sqlite3.tar.xz.
PUBLISHED = Path(os.environ.get("AOTRITON_TUNING_DATABASES", ""), "gfx942", "attn_fwd.sqlite3.tar.xz")


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="AOTRITON_TUNING_DATABASES names no folder with them")
def test_the_original_s_published_databases(tmp_path: Path) -> None:
    found = bake(PUBLISHED, FAMILY, "attn_fwd", tmp_path / "t.json", False, lambda text: None)
    assert found.rows == 7200  # 3 types, 12 head dims, causal or not, 10 lengths by 10
    rules = json.loads((tmp_path / "t.json").read_text())["rules"]
    assert not any("note" in rule for rule in rules)
