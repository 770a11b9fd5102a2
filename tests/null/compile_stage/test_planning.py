"""From a build set to tasks: what is selected, what is excluded with which reason, what it will cost."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aotriton.compile import (
    BuildSet,
    Cache,
    Entry,
    Plan,
    Task,
    build_sets,
    compile_tasks,
    estimate,
    load_set,
    make_report,
    plan,
)
from aotriton.compile.cost import duration
from aotriton.compile.cover import cover_pairs, cover_values
from aotriton.compile.report import describe_failure
from aotriton.describe import Family, Functional, Kernel, load_family
from aotriton.errors import BuildError
from aotriton.targets import TARGETS, parse_target

Load = Callable[..., BuildSet]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A build set from a file with one selection, or with those that are given."""

    def load(*selections: dict[str, Any], targets: Any = ("gfx942", "gfx1100", "sm_90"), **fields: Any) -> BuildSet:
        path = tmp_path / "set.json"
        written = targets if isinstance(targets, str) else list(targets)
        rows = [{"why": "test", "kernels": "*", "cover": "all", **one} for one in selections or ({},)]
        data = {"format": 1, "name": "mine", "purpose": "a test", "targets": written, "selections": rows, **fields}
        path.write_text(json.dumps(data))
        return load_set(path)

    return load


def chosen(found: Plan, target: str) -> list[Functional]:
    return list(dict.fromkeys(task.functional for task in found.tasks if task.target.name == target))


def test_all_of_all(family: Family, load: Load) -> None:
    found = plan([family], load())
    assert [target.name for target in found.targets] == ["gfx942", "gfx1100", "sm_90"]
    assert [len(chosen(found, name)) for name in ("gfx942", "gfx1100", "sm_90")] == [18, 12, 18]
    assert {(one.target.name, one.reason, one.functional.values["WIDTH"]) for one in found.exclusions} == {
        ("gfx1100", "64 is too wide", 64)
    }
    assert len(found.exclusions) == 6
    assert all(("waves_per_eu" in dict(task.config.options)) == (task.target.vendor == "amd") for task in found.tasks)
    assert all(found.tables[task.functional, task.target.name].source == "default" for task in found.tasks)
    assert len({task.stem for task in found.tasks}) == len(found.tasks) == 48


def test_only_some_targets(family: Family, load: Load) -> None:
    found = plan([family], load(), [parse_target("sm_90")])
    assert {task.target.name for task in found.tasks} == {"sm_90"}
    with pytest.raises(BuildError, match=r"none of the targets .* it has gfx942, gfx1100, sm_90"):
        plan([family], load(), [parse_target("gfx1250")])


def test_where(family: Family, load: Load) -> None:
    where = {"X": "*fp32", "WIDTH": [16, 64], "CAUSAL": False}
    found = plan([family], load({"where": where}))
    assert [one.signature for one in chosen(found, "gfx942")] == [
        "X='*fp32';CAUSAL=False;WIDTH=16",
        "X='*fp32';CAUSAL=False;WIDTH=64",
    ]
    assert len(chosen(found, "gfx1100")) == 1


def test_selections_add_up_and_name_targets(family: Family, load: Load) -> None:
    first = {"targets": ["RDNA3"], "cover": "one"}
    second = {"targets": ["amd"], "where": {"WIDTH": 16, "X": "*fp16:16"}}
    third = {"kernels": "other.*"}
    found = plan([family], load(first, second, third))
    assert [len(chosen(found, name)) for name in ("gfx942", "gfx1100", "sm_90")] == [2, 2, 0]


def test_values_are_covered_over_all_targets(family: Family, load: Load) -> None:
    found = plan([family], load({"cover": "values"}, targets="all"))
    assert {task.target.name for task in found.tasks} == set(TARGETS)
    kernel = family.kernels[0]
    held = {item for task in found.tasks for item in task.functional.digits.items()}
    assert held == {(axis.label, digit) for axis in kernel.axes for digit in range(axis.radix)}
    assert len(found.tasks) == len(TARGETS)


def test_values_take_as_many_as_it_takes(kernel: Kernel) -> None:
    found = cover_values({"a": list(kernel.functionals()), "b": []})
    assert len(found["a"]) == 3
    assert found["b"] == []


def test_pairs_are_covered(kernel: Kernel) -> None:
    offered = [one for one in kernel.functionals() if not (one.values["CAUSAL"] and one.values["WIDTH"] == 64)]
    pairs = lambda ones: {pair for one in ones for pair in itertools.combinations(one.digits.items(), 2)}  # noqa: E731
    found = cover_pairs(offered)
    assert pairs(found) == pairs(offered)
    assert len(found) < len(offered)


def test_all_configs(family: Family, load: Load) -> None:
    found = plan([family], load({"cover": "one"}, configs="all"))
    blocks = [dict(task.config.performance)["BLOCK"] for task in found.tasks if task.target.name == "sm_90"]
    assert sorted(blocks) == [16, 32, 64, 128, 256]


def test_wrong_names_in_where_are_all_listed(family: Family, load: Load) -> None:
    with pytest.raises(BuildError) as caught:
        plan([family], load({"where": {"HDIM": [1]}}, {"where": {"WIDTH": [16, 17], "CAUSAL": 1}}))
    text = str(caught.value)
    assert "selections[0]: sample.axpy has no axis 'HDIM'; it has X, CAUSAL, WIDTH" in text
    assert "selections[1]: WIDTH of sample.axpy is never 17, but 16, 32, 64" in text
    assert "selections[1]: CAUSAL of sample.axpy is never 1, but False, True" in text


def test_a_set_that_selects_nothing_is_an_error(family: Family, load: Load) -> None:
    with pytest.raises(BuildError, match=r"mine selects no functional of sample\.axpy"):
        plan([family], load({"kernels": "flash.*"}))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"format": 2}, "its format is 2"),
        ({"targets": ["gfx942", "gfx000"]}, "targets: there is no target, architecture family or vendor 'gfx000'"),
        ({"targets": "gfx942"}, "targets is 'gfx942'"),
        ({"configs": "some"}, "configs is 'some'"),
        ({"image_order": ["x"]}, "image_order: there is no target"),
        ({"selections": []}, "it selects nothing"),
        ({"selections": [{"why": "x", "kernels": "*"}]}, "selections[0]: the field 'cover' is missing"),
        ({"selections": [{"why": "x", "kernels": "*", "cover": "most"}]}, "selections[0]: cover is 'most'"),
        ({"selections": ["all"]}, "selections[0]: it is no JSON object"),
        ({"colour": "red"}, "unknown field 'colour'; fields are format, name"),
        ({"name": 3}, "the field 'name' is 3"),
    ],
)
def test_wrong_sets_say_what_is_wrong(changes: dict[str, Any], problem: str, load: Load) -> None:
    with pytest.raises(BuildError) as caught:
        load(**changes)
    assert problem in str(caught.value)


def test_unknown_and_unreadable_sets(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no build set 'nothing'; the sets are ci, demo, full, h200"):
        load_set("nothing")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(BuildError, match="is no JSON file"):
        load_set(tmp_path / "broken.json")


def test_the_sets_of_the_package() -> None:
    assert list(build_sets()) == ["ci", "demo", "full", "h200"]
    ci = load_set("ci")
    assert {target.name for target in ci.targets} == set(TARGETS)
    assert [target.name for target in load_set("h200").targets] == ["sm_90"]
    assert {target.name for target in load_set("full").targets} == set(TARGETS)


def test_the_estimate_counts_what_the_cache_has(
    family: Family, load: Load, fake: Callable[[], list[list[str]]], tmp_path: Path
) -> None:
    build_set = load({"cover": "one"}, targets=["gfx942", "gfx1150", "gfx1152", "sm_90", "host"])
    found = plan([family], build_set)
    cold = estimate(found, tmp_path)
    assert (cold.objects, cold.host, cold.cached, cold.shared, cold.compiled) == (5, 1, 0, 1, 3)
    assert cold.core_seconds == 1.5
    assert "5 code objects: 3 to compile" in cold.describe(2)
    assert "about 2 s of one core, 1 s with 2 workers" in cold.describe(2)
    amd = [task for task in found.tasks if task.target.name == "gfx942"]
    Cache(tmp_path).put(amd[0].key, Entry(b"", {}, 7.0), {})
    warm = estimate(found, tmp_path)
    assert (warm.cached, warm.compiled, warm.core_seconds) == (1, 2, 7.5)
    outcomes = compile_tasks([task for task in found.tasks if task.target.vendor != "nvidia"], cache=tmp_path / "2")
    assert "nothing to wait for" in estimate(plan([family], build_set, [parse_target("host")]), tmp_path).describe(2)
    assert len(outcomes) == 4


def test_durations() -> None:
    assert [duration(x) for x in (0.4, 89, 120, 7200)] == ["0 s", "89 s", "2 min", "2.0 h"]


def test_the_report_counts(
    family: Family, load: Load, fake: Callable[[], list[list[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    monkeypatch.setenv("FAKE_WORKER_64", "")
    found = plan([family], load({"where": {"WIDTH": [16, 32]}}, targets=["gfx1150", "host"]))
    outcomes = compile_tasks(found.tasks, cache=tmp_path, workers=2)
    report = make_report(found, outcomes, 12.0, 2)
    amd, host = report.rows
    assert (amd.kernel, amd.target, amd.functionals, amd.possible, amd.objects) == (
        "sample.axpy",
        "gfx1150",
        12,
        12,
        12,
    )
    assert (host.functionals, host.possible) == (12, 18)
    assert (amd.registers, amd.spilling, amd.failed, amd.cached) == (24, 0, 0, 0)
    assert amd.seconds == 6.0
    assert report.total.objects == 24
    assert report.to_json()["total"]["bytes"] == amd.bytes + host.bytes
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report)
    text = console.export_text()
    assert "12 of 12" in text
    assert "12 of 18" in text
    monkeypatch.setenv("FAKE_WORKER_64", "refuse")
    outcomes = compile_tasks(found.tasks, cache=tmp_path / "other", workers=2)
    report = make_report(found, outcomes, 12.0, 2)
    assert report.rows[0].failed == len(report.failures) == 12
    assert report.to_json()["failures"][0]["status"] == "Exception"
    assert "sample.axpy for gfx1150: X='*fp16:16';CAUSAL=False;WIDTH=16" in describe_failure(report.failures[0])
    json.dumps(report.to_json())


def test_the_plan_of_flash_is_what_the_issue_asks(fake: Callable[[], list[list[str]]]) -> None:
    """Set `ci`: each target, each value of each choice that isn't excluded everywhere, the whole host."""
    family = load_family("aotriton.flash.description")
    found = plan([family], load_set("ci"))
    for kernel in family.kernels:
        mine = [task for task in found.tasks if task.kernel is kernel]
        assert {task.target.name for task in mine} == set(TARGETS)
        gpu = [task for task in mine if task.target.vendor != "host"]
        allowed = {
            (label, digit)
            for functional in kernel.functionals()
            if any(functional.excluded(target) is None for target in TARGETS.values() if target.vendor != "host")
            for label, digit in functional.digits.items()
        }
        assert {item for task in gpu for item in task.functional.digits.items()} == allowed
        host = {task.functional for task in mine if task.target.vendor == "host"}
        assert host == {one for one in kernel.functionals() if one.excluded(TARGETS["host"]) is None}
    binaries = {task.compiled_as.key for task in found.tasks if task.target.vendor != "host"}
    assert len(binaries) <= 200


def test_tasks_are_equal_by_what_they_say(make: Callable[..., Task]) -> None:
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make() != make(block=32)
