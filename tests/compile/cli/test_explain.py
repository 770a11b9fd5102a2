"""`aotriton explain`, `verify`, `doctor`: they call what a launch calls, and say the same."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest

from aotriton import open_kernel
from aotriton.cli import main
from aotriton.cli.trace import FIELDS
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import INDEX, open_zip, write_zip
from aotriton.pack.schema import compile_index
from tests.tools.recording import Recorder

PROBLEM = ["--arg", "Rows=37", "--arg", "Columns=1000", "--arg", "Epsilon=1e-6", "--arg", "W=fp16[1000]"]
TENSORS = ["--arg", "X=fp16[37,1000]", "--arg", "Y=fp16[37,1000]"]


def explained(capsys, *words: str, code: int = 0) -> dict[str, Any]:
    assert main(["explain", "norm/rms_norm", *words, "--json"]) == code
    trace: dict[str, Any] = json.loads(capsys.readouterr().out)
    return trace


@pytest.mark.parametrize(("target", "pack"), [("gfx942", "amd-gfx942"), ("sm_90", "nvidia-sm90"), ("host", "host")])
def test_choice_for_each_target(rmsnorm_packs, target, pack, capsys):
    trace = explained(capsys, "--target", target, "--packs", str(rmsnorm_packs), *PROBLEM, *TENSORS)
    assert list(trace) == list(FIELDS)
    assert trace["status"] == "success"
    assert trace["pack"] == str(rmsnorm_packs / pack / "norm" / "rms_norm.zip")
    assert trace["functional"]["signature"] == "X='*fp16:16';BLOCK_N=1024"
    assert trace["substituted"] == [{"axis": "BLOCK_N", "requested": "1000", "used": "1024"}]
    assert trace["table"]["keys"] == {"Rows": {"value": 37, "bin": 512}}
    assert trace["config"]["performance"] == "BLOCK_M=1"
    assert trace["grid"] == [37, 1, 1]
    assert (trace["loaded"], trace["launched"]) == (False, False)


def test_text_for_people(rmsnorm_packs, capsys):
    words = ["explain", "norm/rms_norm", "--target", "gfx942", "--packs", str(rmsnorm_packs), *PROBLEM, *TENSORS]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "norm/rms_norm on target:gfx942: success"
    assert "  substituted  BLOCK_N: 1000 → 1024" in lines
    assert "  grid         37 × 1 × 1" in lines


@pytest.mark.parametrize(
    "tensors",
    [
        ["X=fp16[37,1000]@2", "Y=fp16[37,1000]"],  # a base that is not aligned to 16 bytes
        ["X=fp16[37,1000]:1001,1", "Y=fp16[37,1000]"],  # nor are the rows
        ["X=bf16[37,1000]", "Y=bf16[37,1000]"],  # a type that the set leaves out
    ],
)
def test_what_no_code_object_serves_is_1_with_reasons(rmsnorm_packs, tensors, capsys):
    words = [word for tensor in tensors for word in ("--arg", tensor)]
    weights = [word.replace("fp16", "bf16") if "bf16" in tensors[0] else word for word in PROBLEM]
    trace = explained(capsys, "--target", "gfx942", "--packs", str(rmsnorm_packs), *weights, *words, code=1)
    assert trace["status"] in ("not_built", "unsupported")
    assert trace["reason"]
    assert trace["rejected"]
    assert trace["functional"] is None


def test_a_changed_cell_changes_explain_and_launch_alike(rmsnorm_packs, tmp_path, capsys):
    shutil.copytree(rmsnorm_packs, tmp_path / "packs")
    for pack in ("amd-gfx942", "host"):
        _change_cells(tmp_path / "packs" / pack / "norm" / "rms_norm.zip", [0, 1], [1, 1])

    for packs, block in ((rmsnorm_packs, 1), (tmp_path / "packs", 4)):
        trace = explained(capsys, "--device", "record:gfx942", "--packs", str(packs), *PROBLEM, *TENSORS)
        assert trace["config"]["performance"] == f"BLOCK_M={block}"
        assert trace["grid"] == [-(-37 // block), 1, 1]

        x, w, y = np.ones((37, 1000), np.float16), np.ones(1000, np.float16), np.zeros((37, 1000), np.float16)
        arguments = {"X": x, "W": w, "Y": y, "Rows": 37, "Columns": 1000, "Epsilon": 1e-6}
        recorder = Recorder()
        recorder.reset()
        open_kernel("norm", "rms_norm", packs, "record:gfx942").launch(**arguments)
        (launch,) = recorder.launches()
        assert launch["symbol"] == "rms_norm"
        assert launch["grid"] == trace["grid"]

        open_kernel("norm", "rms_norm", packs, "host").launch(**arguments)
        np.testing.assert_allclose(y, x / np.sqrt(1 + 1e-6), atol=1e-3)


def _change_cells(path, before: list[int], after: list[int]) -> None:
    """Writes a kernel's ZIP anew, its index compiled from the old one with other cells."""
    with open_zip(path) as archive:
        index = _without_none(read_index(archive.read(INDEX)))
        clusters = [(entry.name, archive.read(entry.name)) for entry in archive if entry.name != INDEX]
    tables = [table for table in index["tables"] if table["cells"] == before]
    assert tables
    for table in tables:
        table["cells"] = after
    with path.open("wb") as file:
        write_zip(file, [(INDEX, compile_index(index)), *clusters])


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


# ---- verify ----


def test_verify_sound_packs(rmsnorm_packs, capsys):
    assert main(["verify", str(rmsnorm_packs)]) == 0
    assert capsys.readouterr().out.count("sound") == 6  # three ZIPs, three signatures


def test_verify_holds_packs_against_their_signatures_and_places(rmsnorm_packs, tmp_path, capsys):
    packs = tmp_path / "packs"
    shutil.copytree(rmsnorm_packs, packs)
    shutil.copyfile(packs / "amd-gfx942" / "norm" / "rms_norm.zip", packs / "host" / "norm" / "rms_norm.zip")
    (packs / "nvidia-sm90" / "__signature__").write_text("no JSON")
    (packs / "amd-gfx942" / "__signature__").unlink()
    assert main(["verify", str(packs), "--json"]) == 1
    problems = {report["file"]: report["problems"] for report in json.loads(capsys.readouterr().out)}
    moved = str(packs / "host" / "norm" / "rms_norm.zip")
    assert problems[moved] == ["it has code for gfx942, which belongs elsewhere than in the pack host"]
    assert problems[str(packs / "host" / "__signature__")] == [f"{moved} is not the file that the signature describes"]
    (garbled,) = problems[str(packs / "nvidia-sm90" / "__signature__")]
    assert "is not JSON" in garbled
    (missing,) = problems[str(packs / "amd-gfx942" / "__signature__")]
    assert "can't be read" in missing


def test_verify_finds_a_changed_byte_and_says_where(rmsnorm_packs, tmp_path, capsys):
    path = tmp_path / "rms_norm.zip"
    data = bytearray((rmsnorm_packs / "amd-gfx942" / "norm" / "rms_norm.zip").read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert main(["verify", str(path)]) == 1
    assert f"{path}: " in capsys.readouterr().out
    assert main(["verify", str(path), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["problems"]


def test_verify_of_no_zip(tmp_path, capsys):
    (tmp_path / "text.zip").write_text("this is no ZIP")
    assert main(["verify", str(tmp_path / "text.zip")]) in (1, 3)
    output = capsys.readouterr()
    assert "text.zip" in output.out + output.err


# ---- doctor ----


def test_doctor_finds_drivers_and_packs(rmsnorm_packs, monkeypatch, capsys):
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(rmsnorm_packs))
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    drivers = {driver["name"]: driver for driver in found["run"]["drivers"]}
    assert drivers["host"]["available"]
    assert {"hip", "cuda"} <= set(drivers)
    for name in ("hip", "cuda"):
        assert drivers[name]["available"] or drivers[name]["reason"]
    assert "host/norm/rms_norm" in found["packs"][str(rmsnorm_packs)]
    assert main(["doctor"]) == 0
    assert "host/norm/rms_norm" in capsys.readouterr().out


def test_doctor_without_a_library_says_how_to_get_one(monkeypatch, tmp_path, capsys):
    import os
    import subprocess
    import sys

    environment = {**os.environ, "AOTRITON_LIBRARY": str(tmp_path / "none.so")}
    command = [sys.executable, "-m", "aotriton", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "none.so" in done.stdout
    assert "Traceback" not in done.stderr
