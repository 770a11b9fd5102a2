"""benchmarks/simulator.py measures each of its loops and says what is below its bar."""

import importlib.util
import json
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[3] / "benchmarks" / "simulator.py"


def test_every_loop_is_measured(monkeypatch, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("simulator_benchmark", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, program)
    spec.loader.exec_module(program)
    monkeypatch.setattr(program, "INSTRUCTIONS", 20 * program.LENGTH)
    impossible = program.Loop("too slow", "gfx942", ("v_mov_b32_e32 v0, v1",), 1e-6, "million instructions/s", 1e9)
    monkeypatch.setattr(program, "LOOPS", [*program.LOOPS, impossible])
    monkeypatch.setattr(sys, "argv", ["simulator.py", "--calls", "1", "--json", str(tmp_path / "out.json")])
    assert program.main() == 1
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["name"] for row in rows] == [loop.name for loop in program.LOOPS]
    assert all(row["reached"] > 0 for row in rows)
    assert capsys.readouterr().out.count("below") >= 1
