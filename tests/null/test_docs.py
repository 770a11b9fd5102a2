"""The pages name files that are there."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "aotriton|pyaotriton|csrc|docs|tests|examples|benchmarks|include|schema|cmake"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = [page.parent / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    paths = [ROOT / path for path in re.findall(rf"`((?:{FOLDERS})/[^`<*{{}} ]+)`", text)]
    headers = [path for path in paths if path.suffix == ".h" and not path.exists()]  # as an #include names them
    missing = [path for path in (*links, *paths) if path not in headers and not path.exists()]
    assert not missing
    assert all((ROOT / "include" / path.relative_to(ROOT)).exists() for path in headers)


def test_map_and_contributing_stay_short():
    for name, lines in (("docs/layout.md", 110), ("CONTRIBUTING.md", 110)):
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= lines, name


# The examples of attention.py launch something: they run where packs are (tests/compile/host).
MODULES = [path for path in sorted((ROOT / "aotriton").rglob("*.py")) if ">>>" in path.read_text(encoding="utf-8")]
MODULES.remove(ROOT / "aotriton/runtime/attention.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_of_docstrings_run(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    module = importlib.import_module(name)
    results = [doctest.DocTestRunner().run(test) for test in doctest.DocTestFinder().find(module, name, module)]
    assert sum(result.attempted for result in results) > 0
    assert sum(result.failed for result in results) == 0
