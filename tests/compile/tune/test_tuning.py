"""A tuning build of somebody else's kernel, from candidates to tables.

The candidates are compiled for sm_90 and checked on `host`, with a stand-in for the GPU's memory. No time is measured
here: the times are made up.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from aotriton.cli import main
from aotriton.compile.tables import table_for
from aotriton.describe import load_family
from aotriton.targets import parse_target
from aotriton.tune import child
from aotriton.tune.packs import offers
from aotriton.tune.results import Result, Run, append, locked
from aotriton.tune.timing import Effort, Times
from tests.tools.host_gpu import HostGpu

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "rmsnorm"
CANDIDATES = {
    "format": 1,
    "name": "candidates",
    "purpose": "a test",
    "targets": ["sm_90", "host"],
    "configs": [
        {"values": {"BLOCK_M": [1, 2, 4, 8], "num_warps": [2, 4]}, "when": "BLOCK_M * BLOCK_N <= 4096 and BLOCK_M < 8"}
    ],
    "spill_limit": 0,
    "selections": [
        {"why": "a test", "kernels": "*", "cover": "all", "where": {"X": ["*fp16:16"], "BLOCK_N": [1024, 2048]}}
    ],
}


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """The example, copied to where tables may be written beside it."""
    folder = tmp_path_factory.mktemp("norm")
    for name in ("description.py", "rms_norm.py", "workload.py"):
        (folder / name).write_text((EXAMPLE / name).read_text())
    return folder


@pytest.fixture(scope="module")
def packs(family, tmp_path_factory):
    out = tmp_path_factory.mktemp("candidates")
    (family / "set.json").write_text(json.dumps(CANDIDATES))
    words = ["--family", str(family / "description.py"), "--set", str(family / "set.json"), "--out", str(out / "packs")]
    assert main(["build", *words, "--workers", "1"]) == 0
    return out / "packs"


def kernel_of(family):
    return load_family(str(family / "description.py")).kernels[0]


def measured(family, packs, offer):
    """What the process that measures says of a functional on the host."""
    order = {
        "family": str(family / "description.py"), "kernel": "rms_norm", "number": offer.functional.number,
        "packs": str(packs), "device": "host", "workload": str(family / "workload.py"), "sizes": {},
        "positions": [one.position for one in offer.candidates], "problems": [{"Rows": 3}],
        "effort": asdict(Effort(screening=1, rounds=2)),
    }  # fmt: skip
    answers = io.StringIO()
    child.measure_functional(order, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_packs_offer_every_candidate(family, packs):
    offered = offers(packs, kernel_of(family), parse_target("sm_90"))
    configs = [[(one.config["BLOCK_M"], one.config["num_warps"]) for one in offer.candidates] for offer in offered]
    assert [offer.functional["BLOCK_N"] for offer in offered] == [1024, 2048]
    assert sorted(configs[0]) == [(1, 2), (1, 4), (2, 2), (2, 4), (4, 2), (4, 4)]
    assert sorted(configs[1]) == [(1, 2), (1, 4), (2, 2), (2, 4)]
    assert len({one.image for offer in offered for one in offer.candidates}) == 10
    assert all(one.registers > 0 and one.spills == 0 for offer in offered for one in offer.candidates)


def test_every_candidate_is_checked_and_gets_its_turns(family, packs, monkeypatch):
    monkeypatch.setattr(child, "Gpu", HostGpu)
    offer = offers(packs, kernel_of(family), parse_target("host"))[0]
    said = measured(family, packs, offer)
    checked = [one for one in said if one["event"] == "checked"]
    assert [one["position"] for one in checked] == list(range(len(offer.candidates)))
    assert all(0 < one["errors"]["Y"] <= 1 for one in checked)
    (timed,) = [one for one in said if one["event"] == "timed"]
    assert sorted(map(int, timed["times"])) == list(range(len(offer.candidates)))
    assert (timed["failed"], said[-1]["event"]) == ({}, "done")


def test_a_kernel_that_is_wrong_is_never_timed(family, packs, monkeypatch):
    class Forgetful(HostGpu):
        """Poisons the inputs with the outputs, so that every result is wrong."""

        def poison(self, array):
            for address, room in self.memory.items():
                room[:] = 0xFF
                assert address

    monkeypatch.setattr(child, "Gpu", Forgetful)
    said = measured(family, packs, offers(packs, kernel_of(family), parse_target("host"))[1])
    assert all(one["errors"]["Y"] > 1 for one in said if one["event"] == "checked")
    assert "timed" not in {one["event"] for one in said}


def test_from_results_to_what_a_build_ships(family, packs, tmp_path, capsys):
    """Made-up times; the tables that come of them are what the next build takes."""
    kernel, sm_90 = kernel_of(family), parse_target("sm_90")
    rows = []
    for offer in offers(packs, kernel, sm_90):
        for length, best in ((16, 1), (4096, 2)):
            for one in offer.candidates:
                median = 5.0 if (one.config["BLOCK_M"], one.config["num_warps"]) == (best, 2) else 9.0
                problem, times = {"Rows": length}, Times(median, median, median, 3)
                values = dict(offer.functional.values)
                right = {"errors": {"Y": 0.1}, "times": times}
                rows.append(Result("first", values, problem, dict(one.config), one.image, "ok", **right))
    with locked(tmp_path / "results.jsonl") as file:
        append(file, [Run("first", kernel.title, "sm_90_mod0", "made up", {}), *rows])
    description, database = str(family / "description.py"), str(tmp_path / "norm.sql")
    stored = ["tune", "store", str(tmp_path / "results.jsonl"), "--database", database, "--family", description]
    assert main(stored) == 0
    assert "4 rows in" in capsys.readouterr().out
    tables = family / "rms_norm.tables.json"
    words = ["--database", database, "--family", description, "--kernel", "rms_norm", "--out", str(tables)]
    assert main(["tune", "bake", *words]) == 0
    kernel = kernel_of(family)
    try:
        for offer in offers(packs, kernel, sm_90):
            table = table_for(kernel, offer.functional, sm_90)
            assert table.keys == (("Rows", (16, 4096)),)
            blocks = [dict(table.configs[cell].performance)["BLOCK_M"] for cell in table.cells]
            assert blocks == [1, 2]
            assert table.source == "measured on made up; baked from norm.sql"
    finally:
        tables.unlink()
