"""The benchmark of launches: its statistics, its table and its verdicts."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def load(name):
    """A program of benchmarks/ as a module, which finds those beside it."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def launch(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    yield load("launch")
    for name in ("timing", "launch_report"):
        sys.modules.pop(name, None)


def results(c_call=2.4, first=12.0, decoding=3.0):
    row = {"median": 2.0, "p10": 1.9, "p90": 2.2, "calls": 10}
    steps = dict.fromkeys(("context", "package", "library", "device", "index", "module", "launch"), 1.0)
    return {
        "rows": [
            {"what": "the driver's own launch", **row},
            {"what": "C: aotriton_attn_fwd", **row, "median": c_call, "bar": 2.5},
            {"what": "torch.add(out=)", **row},
        ],
        "first_launch": {
            "processes": 3, "steps": {**steps, "decoding": decoding}, "sum": first, "whole": first, "bar": 20.0,
            "decoding_bar": 10.0,
        },
        "left_out": ["Triton's JIT launcher: Triton is not installed"],
    }  # fmt: skip


def test_what_is_under_its_bar_passes(launch):
    found = results()
    assert launch.over(found) == []
    lines = launch.show(found)
    assert any(line.startswith("C: aotriton_attn_fwd") and line.endswith("2.50 pass") for line in lines)
    assert lines[-1] == "left out: Triton's JIT launcher: Triton is not installed"
    assert all("over" not in line for line in lines)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"c_call": 2.6}, ["C: aotriton_attn_fwd"]),
        ({"first": 21.0}, ["first launch"]),
        ({"decoding": 11.0}, ["decoding"]),
    ],
)
def test_what_is_over_its_bar_is_said(launch, changes, wanted):
    found = results(**changes)
    assert launch.over(found) == wanted
    assert sum(line.endswith("over") for line in launch.show(found)) == (2 if wanted == ["first launch"] else 1)


C_ROWS = ["C: aotriton_attn_fwd", "C: the same, its device that of the stream", "C++: v3::flash::attn_fwd"]


def measured(launch, *, without=()):
    """All rows that have a bar, as a run makes them that leaves nothing out."""
    row = {"median": 2.0, "p10": 1.9, "p90": 2.2, "calls": 10}
    program = [] if "c" in without else [{"what": what, **row} for what in (launch.DRIVER, *C_ROWS)]
    ours = [*launch.PYTHON_CALLS, launch.BINDING, *([] if "kernel" in without else [launch.KERNEL])]
    return [*launch.with_bars(program), *({"what": what, **row, "bar": 8.0} for what in ours)]


@pytest.mark.parametrize("without", [[], ["c"], ["kernel"], ["c", "kernel"]])
def test_what_is_left_out_on_purpose_is_not_missed(launch, without):
    rows = measured(launch, without=without)
    assert launch.unmeasured(rows, launch.wanted_rows(without)) == []
    missed = [row["what"] for row in launch.unmeasured(rows, launch.wanted_rows([]))]
    assert missed == [*(C_ROWS if "c" in without else []), *([launch.KERNEL] if "kernel" in without else [])]


def test_c_calls_have_no_bar_without_the_drivers_own_launch(launch):
    rows = launch.with_bars([row for row in measured(launch) if row["what"] in C_ROWS and row.pop("bar")])
    assert [row["what"] for row in launch.unmeasured(rows, launch.wanted_rows(["kernel"]))][:3] == C_ROWS


@pytest.mark.parametrize(
    ("script", "reason"),
    [(None, "isn't built"), ("echo bad >&2; exit 3", "bad"), ("exit 4", "exit code 4"), ("exit 0", "exit code 0")],
)
def test_a_program_that_fails_measures_nothing(launch, monkeypatch, tmp_path, script, reason):
    path = None
    if script is not None:
        path = tmp_path / "launch_cost"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setattr(launch, "program", lambda: path)
    left_out = []
    rows = launch.with_bars(list(launch.program_rows("cuda:0", 10, left_out)))
    (said,) = left_out
    assert reason in said
    assert [row["what"] for row in launch.unmeasured(rows, launch.wanted_rows([]))][:3] == C_ROWS


def test_what_was_not_measured_stands_in_the_table(launch):
    found = results()
    found["not_measured"] = launch.unmeasured(found["rows"], launch.wanted_rows(["kernel"]))
    lines = [line for line in launch.show(found) if line.endswith("NOT MEASURED")]
    assert [line[:42].strip() for line in lines] == [*C_ROWS[1:], *launch.PYTHON_CALLS, launch.BINDING]
    assert "driver's own + 0.50" in lines[0]


@pytest.mark.parametrize(("missed", "code"), [([], 0), ([{"what": "C", "bar": "0.5"}], 1)])
def test_the_exit_code_says_that_a_bar_was_not_measured(launch, monkeypatch, tmp_path, missed, code):
    found, opened = results(), type("Device", (), {"description": "", "name": "record:sm_90"})()
    monkeypatch.setattr("aotriton.open_device", lambda name: opened)
    monkeypatch.setattr(launch, "warm_rows", lambda *_: found["rows"])
    monkeypatch.setattr(launch, "first_launch", lambda *_: found["first_launch"])
    monkeypatch.setattr(launch, "unmeasured", lambda *_: missed)
    monkeypatch.setenv("AOTRITON_DEVICE", "record:sm_90")
    path = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["launch.py", "--device", "record:sm_90", "--json", str(path)])
    assert launch.main() == code
    assert json.loads(path.read_text(encoding="utf-8"))["not_measured"] == missed


def test_a_log_without_decoding_is_an_error_in_words(launch):
    assert launch.from_log("x decoding took 1500 us, the driver 250 us\n") == {"decoding": 1.5, "module": 0.25}
    with pytest.raises(SystemExit, match=r"has no line `decoding took .*\n\nanother log"):
        launch.from_log("another log")


def test_percentiles():
    timing = load("timing")
    assert timing.spread([float(number) for number in range(101)]) == {"median": 50, "p10": 10, "p90": 90, "calls": 101}
    assert timing.spread([7.0]) == {"median": 7, "p10": 7, "p90": 7, "calls": 1}


def test_the_queue_is_drained_between_batches():
    events = []
    found = load("timing").sample(lambda: events.append("call"), lambda: events.append("drain"), calls=20, batch=10)
    assert found["calls"] == 20, "the first batch is not counted"
    assert events == [*(["drain"] + ["call"] * 10) * 3, "drain"]


def test_facts_name_what_the_figures_stand_on():
    facts = load("timing").facts("launch", "a device")
    assert facts["device"] == "a device"
    assert facts["commit"]
    assert facts["versions"]["python"]
    assert json.dumps(facts)
