"""docs/performance.md shows what the files of results say, and nothing else."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "docs" / "performance_tables.py"


@pytest.fixture
def tables(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("performance_tables", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_the_page_is_up_to_date():
    done = subprocess.run([sys.executable, PROGRAM, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\nhint: make docs"


def test_the_page_shows_each_table_once():
    markers = re.findall(r"^<!-- (?!end).*-->$", (ROOT / "docs" / "performance.md").read_text(encoding="utf-8"), re.M)
    assert markers
    assert len(set(markers)) == len(markers)


def test_results_say_where_they_come_from():
    for path in (ROOT / "benchmarks" / "results").glob("*-launch.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        for fact in ("date", "device", "driver", "versions", "commit", "cpu"):
            assert found[fact], f"{path.name} lacks {fact}"
        assert "with changes" not in found["commit"], path.name
        assert not re.search(r"/(work|tmp|home|root)/", path.read_text(encoding="utf-8")), path.name


def test_tables_are_made_from_the_files(tables, tmp_path):
    step = dict.fromkeys(tables.STEPS, 1.5)
    found = {
        "date": "2020-01-02T00:00:00", "commit": "abc", "device": "a GPU", "driver": "1.2", "versions": {"torch": "9"},
        "rows": [{"what": "a call", "median": 3.0, "p10": 2.0, "p90": 4.0, "bar": 2.5}], "left_out": [],
        "not_measured": [{"what": "C", "bar": "driver's own + 0.50"}],
        "first_launch": {"processes": 7, "steps": step, "sum": 9.0, "whole": 8.0, "bar": 20.0, "decoding_bar": 10.0},
    }  # fmt: skip
    (tmp_path / "launch.json").write_text(json.dumps(found), encoding="utf-8")
    row = {"row": {"hdim": 64, "seqlen": 512, "causal": True}, "errors": {"aotriton": 1e-3, "FLASH": 2e-3}}
    speeds = {"tflops": {"aotriton": 300.0, "FLASH": 200.0, "cuDNN": 400.0}}
    speed = {"facts": {**found, "versions": None, "torch": "9"}, "rows": [{**row, **speeds}]}
    (tmp_path / "attention.json").write_text(json.dumps(speed), encoding="utf-8")
    markers = [f"<!-- {kind} launch.json -->\nold\n<!-- end -->" for kind in ("launch", "first-launch")]
    made = tables.filled("\n".join(["# Page", *markers, "<!-- attention attention.json -->\n<!-- end -->", "rest\n"]))
    assert "old" not in made
    assert made.startswith("# Page\n<!-- launch launch.json -->\n2020-01-02; commit abc; a GPU; driver 1.2; torch 9.")
    assert "| a call | 3.00 | 2.00 | 4.00 | 2.50 | **over** |" in made
    assert "| C |  |  |  | driver's own + 0.50 | **not measured** |" in made
    assert "| the same in one call | 8.00 | 20.00 | pass |" in made
    assert "| 64 | 512 | yes | 300 | 200 | 400 | 1.50 | 0.75 | 1.0e-03 | 2.0e-03 |" in made
    assert "1.500 of FLASH, 0.750 of cuDNN" in made
    assert made.endswith("<!-- end -->\nrest\n")
    assert tables.filled(made) == made
