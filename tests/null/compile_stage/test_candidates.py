"""Candidates of tuning builds: what a set may say, which configs come of it, and what is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aotriton.compile import BuildSet, Failure, drop_unfit, load_set, plan
from aotriton.describe import Family
from aotriton.errors import BuildError, CompileError
from aotriton.pack import build as build_module
from aotriton.pack.signature import read_signature
from aotriton.runtime import index_of
from tests.tools import building, sample_pack

Load = Callable[..., BuildSet]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(*configs: Any, **fields: Any) -> BuildSet:
        path = tmp_path / "candidates.json"
        selections = [{"why": "test", "kernels": "*", "cover": "all"}]
        data = {"format": 1, "name": "mine", "purpose": "a test", "targets": ["gfx942", "sm_90"], **fields}
        path.write_text(json.dumps({**data, "selections": selections, "configs": list(configs)}))
        return load_set(path)

    return load


def configs(family: Family, found: BuildSet, target: str, **values: Any) -> list[str]:
    """The blocks and warps of one functional's tasks."""
    texts = []
    for task in plan([family], found).tasks:
        here = {name: task.functional.values[name] for name in values}
        if task.target.name == target and here == values and task.functional.values["X"] == "*fp32":
            config = {**dict(task.config.performance), **dict(task.config.options)}
            texts.append(f"{config['BLOCK']}x{config['num_warps']}x{config.get('waves_per_eu')}")
    return texts


def test_a_product_beside_what_the_tables_choose(family: Family, load: Load) -> None:
    found = load({"values": {"BLOCK": [32, 128], "num_warps": [4, 8]}})
    wanted = ["64x4x2", "32x4x2", "32x8x2", "128x4x2", "128x8x2"]
    assert configs(family, found, "gfx942", WIDTH=16, CAUSAL=True) == wanted
    assert configs(family, found, "sm_90", WIDTH=16, CAUSAL=True) == [text[:-1] + "None" for text in wanted]


def test_entries_add_up_and_each_config_is_there_once(family: Family, load: Load) -> None:
    found = load(
        {"targets": ["CDNA"], "where": {"WIDTH": 32}, "values": {"BLOCK": [64, 128]}},
        {"kernels": "sample.*", "where": {"WIDTH": [16, 32]}, "values": {"BLOCK": [128, 256]}},
        {"kernels": "other.*", "values": {"BLOCK": [16]}},
    )
    assert configs(family, found, "gfx942", WIDTH=32, CAUSAL=False) == ["64x4x2", "128x4x2", "256x4x2"]
    assert configs(family, found, "sm_90", WIDTH=32, CAUSAL=False) == ["64x4xNone", "128x4xNone", "256x4xNone"]
    assert configs(family, found, "gfx942", WIDTH=64, CAUSAL=False) == ["64x4x2"]


def test_when_knows_arguments_options_and_the_functional(family: Family, load: Load) -> None:
    found = load(
        {
            "values": {"BLOCK": [16, 32, 64, 128], "num_warps": [1, 2, 4]},
            "when": "BLOCK * WIDTH == 1024 and BLOCK >= 16 * num_warps and not CAUSAL",
        }
    )
    assert configs(family, found, "gfx942", WIDTH=32, CAUSAL=False) == ["64x4x2", "32x1x2", "32x2x2"]
    assert configs(family, found, "gfx942", WIDTH=32, CAUSAL=True) == ["64x4x2"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"values": {"BLOCK": [48]}}, "BLOCK is 48"),
        ({"values": {"BLOCKS": [16]}}, "'BLOCKS'"),
        ({"where": {"HDIM": [16]}, "values": {"BLOCK": [16]}}, "'HDIM'"),
        ({"where": {"WIDTH": [16, 17]}, "values": {"BLOCK": [16]}}, "WIDTH of sample.axpy is never 17"),
        ({"values": {"BLOCK": [16]}, "when": "HDIM > 2"}, "'HDIM' is no argument"),
        ({"values": {"BLOCK": [16]}, "when": "BLOCK // 0"}, "divides by zero"),
    ],
)
def test_what_the_kernel_does_not_have_is_named(family: Family, load: Load, entry: Any, message: str) -> None:
    with pytest.raises(BuildError) as caught:
        plan([family], load(entry))
    assert message in str(caught.value)
    assert "configs[0]" in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "fields", "message"),
    [
        ([], {}, "configs is an empty list"),
        (["all"], {}, "configs[0]: it is no JSON object"),
        ([{}], {}, "configs[0]: the field 'values' is missing"),
        ([{"values": {"BLOCK": []}}], {}, "BLOCK has no values"),
        ([{"values": {}, "cover": "all"}], {}, "unknown field 'cover'"),
        ([{"values": {}, "targets": ["gfx1"]}], {}, "no target, architecture family or vendor 'gfx1'"),
        ([{"values": {}}], {"spill_limit": -1}, "spill_limit is -1"),
        ([{"values": {}}], {"spill_limit": "none"}, "spill_limit"),
    ],
)
def test_wrong_sets_say_what_is_wrong(load: Load, entries: list[Any], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BuildError) as caught:
        load(*entries, **fields)
    assert message in str(caught.value)


def test_a_spill_limit_is_for_candidates(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    data = {"format": 1, "name": "mine", "purpose": "a test", "targets": "all", "spill_limit": 0}
    path.write_text(json.dumps({**data, "selections": [{"why": "w", "kernels": "*", "cover": "all"}]}))
    with pytest.raises(BuildError, match="configs is no list of them"):
        load_set(path)


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that fails for blocks of 1024 and whose code for blocks of 16 spills."""

    def compile_some(tasks: Any, **options: Any) -> Any:
        results = building.compile_nothing(tasks, **options)
        for task in results:
            block = dict(task.config.performance)["BLOCK"]
            if block == 1024:
                reason = "the kernel needs 300000 bytes of shared memory"
                results[task] = Failure(task, "Exception", reason, Path("log"))
            elif block == 16:
                results[task] = sample_pack.spilling(results[task], 96)
        return results

    building.replace_compiler(monkeypatch.setattr)
    monkeypatch.setattr(build_module, "compile_tasks", compile_some)


def tuning_set(load: Load, blocks: list[int], limit: int | None = 0) -> BuildSet:
    fields = {} if limit is None else {"spill_limit": limit}
    return load({"values": {"BLOCK": blocks}}, targets=["gfx942"], **fields)


@pytest.mark.usefixtures("outcomes")
def test_unfit_candidates_are_dropped_with_the_reason(load: Load, tmp_path: Path) -> None:
    wanted = tuning_set(load, [16, 256, 1024])
    report = building.run(tmp_path / "packs", tmp_path / "cache", wanted)
    served = 5  # functionals of the sample
    assert len(report.dropped) == 2 * served
    reasons = {one.performance: one.reason for one in report.dropped}
    assert reasons == {
        "BLOCK=16": "it spills 96 bytes; at most 0 were asked for",
        "BLOCK=1024": "the kernel needs 300000 bytes of shared memory",
    }
    assert not report.compiled.failures
    pack = tmp_path / "packs" / "amd-gfx942"
    index = index_of(pack / "sample" / "axpy.zip")
    offered = [index["configs"][number]["performance"] for number in index["targets"][0]["functionals"][0]["configs"]]
    assert offered == ["BLOCK=64", "BLOCK=256"]
    listed = read_signature(pack)["kernels"]["sample/axpy.zip"]["dropped"]
    assert len(listed) == 2 * served
    again = building.run(tmp_path / "packs", tmp_path / "cache", wanted)
    assert (len(again.written), again.dropped) == (0, report.dropped)


@pytest.mark.usefixtures("outcomes")
def test_without_a_limit_what_spills_is_kept(load: Load, tmp_path: Path) -> None:
    building.run(tmp_path / "packs", tmp_path / "cache", tuning_set(load, [16]))
    report = building.run(tmp_path / "packs", tmp_path / "cache", tuning_set(load, [16], None))
    assert (len(report.written), report.dropped) == (1, ())


def test_what_the_tables_choose_is_never_dropped(monkeypatch: pytest.MonkeyPatch, load: Load, tmp_path: Path) -> None:
    def fail(tasks: Any, **options: Any) -> Any:
        return {task: Failure(task, "Exception", "no", Path("log")) for task in tasks}

    building.replace_compiler(monkeypatch.setattr)
    monkeypatch.setattr(build_module, "compile_tasks", fail)
    with pytest.raises(CompileError, match="5 code object"):
        building.run(tmp_path / "packs", tmp_path / "cache", tuning_set(load, [256]))


def test_drop_unfit_of_nothing() -> None:
    assert drop_unfit({}, {}, 0) == ({}, {})
