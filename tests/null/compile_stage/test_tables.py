"""Rules become look-up tables: the first match wins, neighbours and twins stand in, mistakes are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from aotriton.compile import LookupTable, table_for
from aotriton.describe import Functional, Kernel
from aotriton.errors import BuildError
from aotriton.targets import parse_target

Write = Callable[..., None]


@pytest.fixture
def rules(kernel: Kernel) -> Write:
    """Writes the kernel's rules beside its source."""

    def write(*rows: dict[str, Any], name: str = "sample.axpy") -> None:
        path = kernel.source.with_name("axpy.tables.json")
        path.write_text(json.dumps({"kernel": name, "source": "a test", "rules": list(rows)}))

    return write


def functional(kernel: Kernel, **values: Any) -> Functional:
    return kernel.functional(kernel.number_of({"X": "*fp16:16", "CAUSAL": False, "WIDTH": 16, **values}))


def table(kernel: Kernel, target: str, **values: Any) -> LookupTable:
    return table_for(kernel, functional(kernel, **values), parse_target(target))


def blocks(found: LookupTable) -> list[object]:
    return [dict(config.performance)["BLOCK"] for config in found.configs]


def test_without_rules_the_default(kernel: Kernel) -> None:
    found = table(kernel, "sm_90")
    assert (found.keys, found.cells, found.source) == ((), (0,), "default")
    assert found.configs == (kernel.default_config.for_target("sm_90"),)


def test_the_first_match_wins(kernel: Kernel, rules: Write) -> None:
    rules(
        {"targets": ["gfx942"], "config": {"BLOCK": 16}},
        {"targets": ["CDNA"], "where": {"WIDTH": [32, 64]}, "config": {"BLOCK": 32}},
        {"targets": ["amd"], "config": {"BLOCK": 128, "num_warps": 8}},
        {"targets": ["nvidia"], "where": {"CAUSAL": True}, "config": {"BLOCK": 256}},
    )
    assert blocks(table(kernel, "gfx942")) == [16]
    assert blocks(table(kernel, "gfx90a", WIDTH=64)) == [32]
    assert blocks(table(kernel, "gfx90a")) == [128]
    assert table(kernel, "gfx90a").configs[0].options_text == "waves_per_eu=2;num_warps=8;num_stages=1"
    assert table(kernel, "gfx90a").source == "a test"
    assert blocks(table(kernel, "sm_90", CAUSAL=True)) == [256]


def test_bins(kernel: Kernel, rules: Write) -> None:
    configs = [{"BLOCK": 16}, {"BLOCK": 32}, {"BLOCK": 64, "waves_per_eu": 3}, {"BLOCK": 64}]
    rules({"bins": {"N": [64, 512, 4096, 8192]}, "configs": configs, "cells": [3, 2, 0, 3]})
    found = table(kernel, "gfx942")
    assert found.keys == (("N", (64, 512, 4096, 8192)),)
    assert blocks(found) == [64, 64, 16]
    assert found.cells == (0, 1, 2, 0)
    # What a target's compiler doesn't know makes no difference between configs.
    assert blocks(table(kernel, "sm_90")) == [64, 16]
    assert table(kernel, "sm_90").cells == (0, 0, 1, 0)


def test_neighbours_and_twins(kernel: Kernel, rules: Write) -> None:
    rules(
        {"targets": ["gfx1100"], "where": {"CAUSAL": False}, "config": {"BLOCK": 32}},
        {"targets": ["gfx1100"], "where": {"CAUSAL": True, "WIDTH": 32}, "config": {"BLOCK": 16}},
    )
    assert blocks(table(kernel, "gfx1151")) == [32]
    assert table(kernel, "gfx1151").source == "a test; tables of gfx1100"
    twin = table(kernel, "gfx1100", CAUSAL=True)
    assert blocks(twin) == [32]
    assert twin.source == "a test; tuned for X='*fp16:16';CAUSAL=False;WIDTH=16"
    assert blocks(table(kernel, "gfx1100", CAUSAL=True, WIDTH=32)) == [16]
    assert table(kernel, "gfx942").source == "default"


def test_rules_of_another_kernel_are_ignored(kernel: Kernel, rules: Write) -> None:
    rules({"config": {"BLOCK": 16}}, name="sample.other")
    assert table(kernel, "gfx942").source == "default"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"where": {"HDIM": [1]}, "config": {}}, "a rule asks for 'HDIM'"),
        ({"config": {"BLOCK": 48}}, "BLOCK is 48"),
        ({"config": {"BLOCKS": 64}}, "'BLOCKS'"),
        ({"bins": {"M": [1]}, "configs": [{}], "cells": [0]}, "not all among the kernel's"),
        ({"bins": {"N": [2, 1]}, "configs": [{}], "cells": [0, 0]}, "don't rise"),
        ({"bins": {"N": [1, 2]}, "configs": [{}], "cells": [0]}, "1 cells for bins"),
        ({"bins": {"N": [1]}, "configs": [{}], "cells": [1]}, "names none of its 1 configs"),
        ({"targets": ["gfx942"]}, "'configs'"),
    ],
)
def test_wrong_rules_name_the_file_and_the_mistake(
    kernel: Kernel, rules: Write, rule: dict[str, Any], message: str
) -> None:
    rules(rule)
    with pytest.raises(BuildError) as caught:
        table(kernel, "gfx942")
    assert message in str(caught.value)
    assert "axpy.tables.json" in str(caught.value)


def test_a_broken_file_is_a_clear_error(kernel: Kernel) -> None:
    kernel.source.with_name("axpy.tables.json").write_text("{")
    with pytest.raises(BuildError, match="is no table file"):
        table(kernel, "gfx942")
