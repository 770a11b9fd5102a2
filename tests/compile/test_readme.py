"""What the README and the guides show works as it stands: their commands and programs are run, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from aotriton.cli import main
from aotriton.cli.inspect import summaries
from aotriton.cli.output import size_text

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The lines that start with `$ `, continued ones joined."""
    lines = re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)
    return [shlex.split(line.replace("\\\n", " ")) for line in lines]


@pytest.mark.parametrize("page", ["README.md", "docs/guides/attention.md"])
def test_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, block in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page, "exec"), names)
            continue
        for words in commands(block):
            assert words[0] == "aotriton", words
            assert main(words[1:]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_the_table_in_the_readme_is_what_comes_out(tmp_path, capsys):
    assert main(["build", "--set", "demo", "--target", "gfx942", "--target", "host", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    for found in summaries(tmp_path):
        host = found["target"] == "host"
        known = ("–", "–") if host else (found["most_registers"], found["with_spills"])
        facts = found["functionals"], found["code_objects"], size_text(found["bytes"]), *known
        row = " | ".join(map(str, (f"| `{found['kernel'].split('/')[0]}`", found["target"], *facts)))
        assert f"{row} |\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_guide_to_a_kernel_runs(rmsnorm_packs, capsys):
    blocks = FENCE.findall((ROOT / "docs/guides/your-kernel.md").read_text(encoding="utf-8"))
    found = [words for kind, block in blocks if kind == "console" for words in commands(block)]
    assert [words[1] for words in found] == ["build", "inspect", "explain"]
    for words in found[1:]:  # the build is that of the fixture
        assert main([word.replace("build/packs", str(rmsnorm_packs)) for word in words[1:]]) == 0
    assert "norm/rms_norm on target:gfx942: success" in capsys.readouterr().out


def test_the_descriptions_in_the_guide_are_those_of_kernels_that_run():
    guide = (ROOT / "docs/guides/your-kernel.md").read_text(encoding="utf-8")
    blocks = [block for kind, block in FENCE.findall(guide) if kind == "python"]
    for block, file in zip(blocks, ("examples/rmsnorm", "tests/gpu/kernels/tiles"), strict=True):
        source = (ROOT / file / "description.py").read_text(encoding="utf-8")
        lines = [line.strip() for line in block.splitlines()]
        assert all(line in source for line in lines if line != "..."), file


def test_readme_shows_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("make demo") < text.index("make test") < 1500
