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
    sys.modules.pop("timing", None)


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
