"""Gathering: holes are closed by neighbours or named, and images stand in order."""

from __future__ import annotations

from pathlib import Path

from aotriton.compile import CodeObject, Failure, LookupTable, Task
from aotriton.pack.gather import order_targets, pack_functional
from aotriton.targets import TARGETS, parse_targets
from tests.tools import sample_pack

KERNEL = sample_pack.axpy()
GFX942 = TARGETS["gfx942"]


def tasks(table: LookupTable, target: str = "gfx942") -> tuple[Task, ...]:
    found = TARGETS[target]
    return tuple(dict.fromkeys(Task(KERNEL, KERNEL.functional(2), c.for_target(found), found) for c in table.configs))


def results(wanted: tuple[Task, ...], failed: set[int]) -> dict[Task, CodeObject | Failure]:
    return {
        task: Failure(task, "Exception", f"reason {number}", Path("log"))
        if number in failed
        else sample_pack.make(KERNEL, task.functional, task.config, task.target)
        for number, task in enumerate(wanted)
    }


def gathered(failed: set[int]) -> object:
    table = sample_pack.table(KERNEL)
    wanted = tasks(table)
    return pack_functional(KERNEL.functional(2), table, wanted, results(wanted, failed))


def test_nothing_failed() -> None:
    packed = gathered(set())
    assert packed.cells == (0, 0, 1, 0, 2, 1)
    assert packed.source == "made up"
    assert [dict(one.config.performance)["BLOCK"] for one in packed.objects] == [64, 256, 1024]


def test_a_neighbour_serves_where_a_config_failed() -> None:
    packed = gathered({1})
    assert [dict(one.config.performance)["BLOCK"] for one in packed.objects] == [64, 1024]
    assert packed.cells == (0, 0, 0, 0, 1, 1)
    assert packed.source == "made up; 1 config(s) of it failed to compile, their neighbours serve"


def test_one_config_left() -> None:
    packed = gathered({0, 1})
    assert packed.cells == (0,) * 6
    assert len(packed.objects) == 1


def test_all_failed() -> None:
    assert gathered({0, 1, 2}) == "Exception: reason 0; Exception: reason 1; Exception: reason 2"


def test_configs_that_differ_in_another_vendors_options_only_are_one() -> None:
    configs = tuple(KERNEL.config({"BLOCK": block, "waves_per_eu": w}) for block, w in ((64, 1), (64, 2), (256, 1)))
    table = LookupTable((("N", (1, 2, 3)),), (0, 1, 2), configs, "made up")
    wanted = tasks(table, "sm_90")
    assert len(wanted) == 2
    packed = pack_functional(KERNEL.functional(2), table, wanted, results(wanted, set()))
    assert packed.cells == (0, 0, 1)
    assert len(packed.objects) == 2


def test_the_order_of_images() -> None:
    found = parse_targets(["gfx1103,gfx1100,gfx1102,gfx90a,gfx942"])
    assert [t.name for t in order_targets(found)] == ["gfx90a", "gfx942", "gfx1100", "gfx1102", "gfx1103"]
    ordered = order_targets(found, ("gfx1103", "CDNA"))
    assert [t.name for t in ordered] == ["gfx1103", "gfx90a", "gfx942", "gfx1100", "gfx1102"]
