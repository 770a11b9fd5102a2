"""benchmarks/launch.py runs on the recording driver, where it says what is not in its figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

from aotriton.cli import main

PROGRAM = Path(__file__).resolve().parents[3] / "benchmarks" / "launch.py"


def test_it_runs_without_a_gpu(tmp_path):
    assert main(["build", "--set", "demo", "--target", "sm_90", "--out", str(tmp_path / "packs")]) == 0
    command = [sys.executable, PROGRAM, "--device", "record:sm_90", "--head-dim", "32", "--calls", "200"]
    command += ["--processes", "1", "--json", tmp_path / "out.json"]
    environment = {**os.environ, "AOTRITON_PACK_PATH": str(tmp_path / "packs")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode in (0, 1), done.stderr  # a bar may be missed on a busy machine
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    rows = {row["what"]: row for row in found["rows"]}
    for name in ("aotriton.attn_fwd(q, k, v, out=)", "pyaotriton attn_fwd, params filled"):
        assert rows[name]["p10"] <= rows[name]["median"] <= rows[name]["p90"]
        assert rows[name]["calls"] == 200
    steps = found["first_launch"]["steps"]
    assert 0 < steps["decoding"] < found["first_launch"]["sum"]
    assert any("recording driver" in what for what in found["left_out"])
    if any("launch_cost isn't built" in what for what in found["left_out"]):
        assert done.returncode == 1
        assert [row["what"] for row in found["not_measured"]][:1] == ["C: aotriton_attn_fwd"]
        assert "NOT MEASURED" in done.stdout
    assert "left out: PyTorch's and Triton's launches" in done.stdout
