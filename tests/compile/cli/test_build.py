"""`aotriton build` and `inspect` on the example kernel: what is made, kept, reported and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aotriton.cli import main

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "rmsnorm"
FAMILY = ["--family", str(EXAMPLE / "description.py"), "--set", str(EXAMPLE / "set.json")]
FUNCTIONAL = "X='*fp16:16';BLOCK_N=1024"


def test_dry_run_builds_nothing(tmp_path, capsys):
    cache = ["--cache", str(tmp_path / "cache")]
    assert main(["build", *FAMILY, *cache, "--dry-run", "--json", "--workers", "2"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["objects"], cost["host"], cost["cached"], cost["compiled"]) == (18, 6, 0, 12)
    assert main(["build", *FAMILY, *cache, "--dry-run", "--target", "host"]) == 0
    assert "6 code objects: 0 to compile, 6 host" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.zip"))


def test_build_reports_on_stdout_and_tells_on_stderr(tmp_path, capsys):
    words = ["build", *FAMILY, "--target", "host", "--out", str(tmp_path / "packs"), "--cache", str(tmp_path / "cache")]
    assert main([*words, "--json"]) == 0
    output = capsys.readouterr()
    report = json.loads(output.out)
    assert report["total"]["objects"] == 6
    assert [Path(path).relative_to(tmp_path) for path in report["written"]] == [Path("packs/host/norm/rms_norm.zip")]
    assert "6 code objects" in output.err
    assert main([*words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["written"], len(again["unchanged"])) == ([], 1)


def test_targets_can_be_joined(tmp_path, capsys):
    assert main(["build", *FAMILY, "--target", "host;sm_90", "--dry-run", "--json", "--cache", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == 12


def test_unknown_set_and_family_are_errors(tmp_path, capsys):
    assert main(["build", "--set", "everything", "--dry-run"]) == 3
    assert "there is no build set 'everything'; the sets are" in capsys.readouterr().err
    assert main(["build", "--family", str(tmp_path / "none.py"), "--dry-run"]) == 3
    assert "there is no such Python file" in capsys.readouterr().err


def test_a_kernel_that_the_compiler_refuses_is_1_and_names_its_log(tmp_path, capsys):
    (tmp_path / "broken.py").write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef broken(X, N):\n    tl.store(X, nothing)\n"
    )
    (tmp_path / "description.py").write_text(
        "from pathlib import Path\nfrom aotriton.describe import Kernel\n\n"
        "KERNELS = (Kernel(family='bad', name='broken', source=Path(__file__).with_name('broken.py'),\n"
        "                  choices={'X': '*fp32:16', 'N': 'i32'}, options={'num_warps': 1}, grid=('N', '1', '1')),)\n"
    )
    words = ["build", "--family", str(tmp_path / "description.py"), "--cache", str(tmp_path), "--target", "gfx942"]
    assert main([*words, "--out", str(tmp_path / "packs")]) == 1
    error = capsys.readouterr().err
    assert "error: 1 code object(s) could not be compiled" in error
    assert "nothing" in error
    assert "log: " in error
    assert not list((tmp_path / "packs").rglob("*.zip"))
    assert main([*words, "--out", str(tmp_path / "packs"), "--allow-failures"]) == 1
    assert main(["inspect", str(tmp_path / "packs" / "amd-gfx942" / "bad" / "broken.zip")]) == 0
    assert "functionals that failed to compile" in capsys.readouterr().out


# ---- inspect ----


def test_inspect_a_folder(rmsnorm_packs, capsys):
    assert main(["inspect", str(rmsnorm_packs), "--json"]) == 0
    found = {one["target"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(found) == {"gfx942", "sm_90", "host"}
    assert all((one["functionals"], one["code_objects"], one["excluded"]) == (4, 6, 0) for one in found.values())
    assert found["gfx942"]["most_registers"] > 0
    assert main(["inspect", str(rmsnorm_packs)]) == 0
    assert "amd-gfx942/norm/rms_norm" in capsys.readouterr().out


@pytest.mark.parametrize("pack", ["amd-gfx942", "nvidia-sm90", "host"])
def test_inspect_a_zip(rmsnorm_packs, pack, capsys):
    path = str(rmsnorm_packs / pack / "norm" / "rms_norm.zip")
    assert main(["inspect", path]) == 0
    text = capsys.readouterr().out
    assert f"  {FUNCTIONAL}\n" in text
    assert "cdiv(Rows, BLOCK_M), 1, 1" in text
    assert main(["inspect", path, "--json"]) == 0
    index = json.loads(capsys.readouterr().out)
    images = [image for one in index["targets"][0]["functionals"] for image in one["images"]]
    assert len(images) == 6
    assert all(len(image["sha256"]) == 64 for image in images)


def test_inspect_a_cluster(rmsnorm_packs, tmp_path, capsys):
    path = rmsnorm_packs / "amd-gfx942" / "norm" / "rms_norm.zip"
    assert main(["inspect", str(path), "--entry", FUNCTIONAL, "--json"]) == 0
    (cluster,) = json.loads(capsys.readouterr().out)
    stem = f";;#F;{FUNCTIONAL};;#P;BLOCK_M=1;;#CO;waves_per_eu=0;num_warps=4;num_stages=1;;arch=gfx942"
    assert cluster["images"][0]["name"] == stem
    assert cluster["images"][0]["threads"] == 256
    assert main(["inspect", str(path), "--entry", "BLOCK_N=3"]) == 3
    assert main(["inspect", str(rmsnorm_packs), "--entry", "BLOCK_N=1024", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 6  # two in each of three ZIPs

    from aotriton.pack.flatzip import open_zip

    with open_zip(path) as archive:
        (tmp_path / "one.aks2").write_bytes(archive.read(FUNCTIONAL))
    assert main(["inspect", str(tmp_path / "one.aks2")]) == 0
    assert stem in capsys.readouterr().out
