"""Measuring without a GPU: what is asked for, what is left to do, and what becomes of processes that die.

The process that would measure is replaced by one that makes its times up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aotriton.errors import ArgumentError, BusyError, DeviceError, PackError
from aotriton.flash.description import ATTN_FWD
from aotriton.targets import parse_target
from aotriton.tune import measure as measure_module
from aotriton.tune import supervise
from aotriton.tune.measure import Order, Summary, measure, problems_of
from aotriton.tune.packs import offers
from aotriton.tune.results import Result, locked, read_results
from aotriton.tune.workload import load_workload
from tests.tools import fake_code, fake_measurer
from tests.tools.tuning import FEATURES

SM_90 = parse_target("sm_90")
NUMBERS = [ATTN_FWD.number_of({**FEATURES, "CAUSAL_TYPE": causal}) for causal in (0, 3)]
CONFIGS = 4


class Notes:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.groups: list[tuple[str, Mapping[str, int]]] = []
        self.total = self.stops = 0

    def start(self, groups: int, configs: int) -> None:
        self.total = groups

    def group(self, functional: str, problem: Mapping[str, int], results: Sequence[Result]) -> None:
        self.groups.append((functional, problem))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stop(self) -> None:
        self.stops += 1


class Device:
    """A device that can't be launched on."""

    name, driver, target, description = "cuda:0", "cuda", "sm_90", "NVIDIA Test"
    ordinal, compute_units = 0, 132


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Order:
    """An order of two functionals with four configs each, on two problems."""
    configs = tuple(ATTN_FWD.config({"BLOCK_M": block}).for_target(SM_90) for block in (16, 32, 64, 128))
    table = fake_code.table_for(ATTN_FWD, ATTN_FWD.functional(NUMBERS[0]), SM_90)
    cells = (("Max_seqlen_q", (1, 2, 3, 4)),), tuple(range(CONFIGS))
    made = replace(table, keys=cells[0], cells=cells[1], configs=configs)
    monkeypatch.setattr(fake_code, "table_for", lambda *_: made)
    fake_code.write_pack(tmp_path / "packs", ATTN_FWD, SM_90, NUMBERS)
    monkeypatch.setattr(measure_module, "open_device", lambda name: Device())
    monkeypatch.setattr(supervise, "COMMAND", [sys.executable, fake_measurer.__file__])
    monkeypatch.setenv("FAKE_MEASURER", "{}")
    return Order(tmp_path / "packs", "attn_fwd", lengths=(512, 2048))


@pytest.fixture
def go(order: Order, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Summary, Notes]]:
    def go(fate: Mapping[str, Any] | None = None, **changes: Any) -> tuple[Summary, Notes]:
        monkeypatch.setenv("FAKE_MEASURER", json.dumps(dict(fate or {})))
        notes = Notes()
        return measure(replace(order, **changes), tmp_path / "r.jsonl", notes), notes

    return go


def statuses(tmp_path: Path) -> dict[tuple[int, int, int], str]:
    """By causal type, length and block."""
    found = read_results(tmp_path / "r.jsonl")
    assert not found.damage
    return {
        (int(one.functional["CAUSAL_TYPE"]), one.problem["Max_seqlen_q"], int(one.config["BLOCK_M"])): one.status
        for one in found.results
    }


Go = Callable[..., tuple[Summary, Notes]]


def test_all_is_measured_once(go: Go, tmp_path: Path) -> None:
    summary, notes = go()
    assert (summary.groups, summary.ok, summary.skipped, notes.total, notes.stops) == (4, 16, 0, 4, 1)
    found = read_results(tmp_path / "r.jsonl")
    (run,) = found.runs.values()
    assert (run.gpu, run.device, run.kernel) == ("sm_90_mod0", "NVIDIA Test", "flash.attn_fwd")
    assert set(run.facts) >= {"date", "commit", "aotriton", "python", "workload", "effort"}
    one = found.results[0]
    assert one.config == {**dict(ATTN_FWD.config({"BLOCK_M": 16}).performance), "num_warps": 4, "num_stages": 1}
    assert (one.errors, one.resources["registers"], one.clocks) == ({"out": 0.5}, 64, {"sm_clock": 1980})
    before = (tmp_path / "r.jsonl").read_bytes()
    again, notes = go()
    assert (again.groups, again.skipped, notes.groups) == (0, 4, [])
    assert (tmp_path / "r.jsonl").read_bytes() == before


def test_it_goes_on_where_it_stopped(go: Go, tmp_path: Path) -> None:
    go(lengths=(512,))
    path = tmp_path / "r.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    summary, notes = go()
    assert (summary.groups, summary.skipped) == (3, 1)
    assert [problem["Max_seqlen_q"] for _, problem in notes.groups] == [2048, 512, 2048]
    other = go(sizes={"tokens": 128})[0]
    assert (other.groups, other.skipped) == (4, 0)


def test_only_some_functionals(go: Go, tmp_path: Path) -> None:
    summary, _ = go(where={"CAUSAL_TYPE": 3, "Q": "*fp16:16"})
    assert (summary.groups, {key[0] for key in statuses(tmp_path)}) == (2, {3})
    with pytest.raises(ArgumentError, match=r"no functional of the pack has .*such as Q="):
        go(where={"BLOCK_DMODEL": 128})


def test_wrong_configs_are_told_and_never_timed(go: Go, tmp_path: Path) -> None:
    summary, notes = go({"2": "wrong"})
    assert (summary.ok, len(summary.wrong)) == (12, 4)
    assert any(note.startswith("WRONG") and "9 times its bound" in note for note in notes.notes)
    found = [one for one in read_results(tmp_path / "r.jsonl").results if one.config["BLOCK_M"] == 64]
    assert {(one.status, one.times) for one in found} == {("wrong", None)}


def test_a_config_of_which_nothing_is_checked_is_wrong(go: Go) -> None:
    summary, _ = go({"2": "unchecked"})
    assert (summary.ok, len(summary.wrong)) == (12, 4)
    assert {one.reason for one in summary.wrong} == {"its workload checked no output"}


@pytest.mark.parametrize(
    ("fate", "reason"),
    [("fault", "illegal address"), ("die", "SIGSEGV"), ("hang", "took longer than 2 s"), ("unwritten", "not written")],
)
def test_a_config_that_faults_costs_itself_only(go: Go, tmp_path: Path, fate: str, reason: str) -> None:
    summary, _ = go({"1": fate}, patience=2.0 if fate == "hang" else 60.0)
    assert (summary.groups, summary.ok, len(summary.failed)) == (4, 12, 4)
    assert all(reason in one.reason and one.config["BLOCK_M"] == 32 for one in summary.failed)
    assert sorted(status for (_, _, block), status in statuses(tmp_path).items() if block == 32) == ["failed"] * 4


def test_a_problem_that_kills_the_process_costs_itself_only(go: Go, tmp_path: Path) -> None:
    summary, notes = go({"problem": 512})
    assert (summary.groups, summary.ok, len(summary.failed)) == (4, 8, 8)
    assert all("SIGKILL" in one.reason for one in summary.failed)
    assert {key[1]: status for key, status in statuses(tmp_path).items()} == {512: "failed", 2048: "ok"}
    assert len(notes.notes) == 2


def test_where_nothing_is_right_every_problem_says_so(go: Go) -> None:
    summary, _ = go({"0": "wrong", "1": "fault", "2": "wrong", "3": "wrong"})
    assert (summary.groups, summary.ok, len(summary.wrong), len(summary.failed)) == (4, 0, 12, 4)


def test_what_is_the_matter_with_all_is_an_error(go: Go, tmp_path: Path) -> None:
    with pytest.raises(PackError, match="no such pack"):
        go({"start": 1})
    with pytest.raises(DeviceError, match=r"came to no launch.*status 7: Traceback: it broke"):
        go({"early": 1})
    assert read_results(tmp_path / "r.jsonl").results == ()


def test_two_at_once(go: Go, tmp_path: Path) -> None:
    with locked(tmp_path / "r.jsonl"), pytest.raises(BusyError):
        go()


def test_the_problems_of_an_order(order: Order) -> None:
    keys = ["Max_seqlen_q", "Max_seqlen_k"]
    square = [(512, 512), (2048, 2048)]
    assert [tuple(one.values()) for one in problems_of(keys, order)] == square
    assert [tuple(one.values()) for one in problems_of(keys, replace(order, grid=True))] == [
        (512, 512), (512, 2048), (2048, 512), (2048, 2048),
    ]  # fmt: skip
    given = replace(order, problems=({"Max_seqlen_k": 2, "Max_seqlen_q": 1},))
    assert [list(one.items()) for one in problems_of(keys, given)] == [[("Max_seqlen_q", 1), ("Max_seqlen_k", 2)]]
    assert problems_of([], order) == ({},)
    for wrong in ({"Max_seqlen_q": 1}, {"Max_seqlen_q": 1, "Max_seqlen_k": 0}, {"Max_seqlen_q": 1, "Batch": 2}):
        with pytest.raises(ArgumentError, match="is wrong"):
            problems_of(keys, replace(order, problems=(wrong,)))


def test_packs_that_are_not_there_or_not_of_this_description(order: Order, tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"no pack of flash\.attn_fwd for gfx942"):
        offers(order.packs, ATTN_FWD, parse_target("gfx942"))
    path = order.packs / "nvidia-sm90" / "flash" / "attn_fwd.zip"
    kernel = fake_code_kernel()
    with pytest.raises(PackError, match="another description"):
        offers(order.packs, kernel, SM_90)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(PackError):
        offers(order.packs, ATTN_FWD, SM_90)


def fake_code_kernel() -> Any:
    """The kernel with one more value of a choice that decides speed."""
    from aotriton.describe import Kernel

    declaration = ATTN_FWD.declaration
    fields = {name: getattr(declaration, name) for name in declaration.__dataclass_fields__}
    performance = {**declaration.performance, "BLOCK_M": type(declaration.performance["BLOCK_M"])(16, [16, 32])}
    return Kernel(**{**fields, "performance": performance})


def test_a_machine_without_a_gpu(order: Order, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    with pytest.raises(DeviceError, match="needs an NVIDIA GPU; record:sm_90 is none"):
        measure(replace(order, device="record:sm_90"), tmp_path / "r.jsonl", Notes())
    assert not (tmp_path / "r.jsonl").exists()


def test_workloads(tmp_path: Path) -> None:
    kernel = fake_code_kernel()
    assert load_workload(kernel, None, {"tokens": 64}).describe() == {"tokens": 64, "hidden": 2048}
    with pytest.raises(ArgumentError, match="can't be made"):
        load_workload(kernel, None, {"rows": 64})
    path = tmp_path / "workload.py"
    with pytest.raises(ArgumentError, match="no Python file"):
        load_workload(kernel, str(path), {})
    path.write_text("class WORKLOAD:\n    def describe(self):\n        return {'mine': 1}\n")
    assert load_workload(kernel, str(path), {}).describe() == {"mine": 1}
    path.write_text("1 / 0\n")
    with pytest.raises(ArgumentError, match="ZeroDivisionError"):
        load_workload(kernel, str(path), {})


INTERRUPTED = """
import sys
from pathlib import Path
from tests.null.tune import test_measure as t
from aotriton.tune import measure as m, supervise
m.open_device = lambda name: t.Device()
supervise.COMMAND = [sys.executable, t.fake_measurer.__file__]
print("ready", flush=True)
m.measure(m.Order(Path(sys.argv[1]), "attn_fwd", lengths=(512,)), Path(sys.argv[2]), t.Notes())
"""


def test_an_interrupt_ends_the_process_that_measures(order: Order, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root), "FAKE_MEASURER": json.dumps({"3": "hang"})}
    command = [sys.executable, "-c", INTERRUPTED, str(order.packs), str(tmp_path / "r.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 30
        while not (children := _children(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert children
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
