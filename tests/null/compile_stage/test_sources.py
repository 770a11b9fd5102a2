"""What a kernel imports from beside it belongs to it, to its hash and to what the host gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aotriton.compile import Task, host_object
from aotriton.compile.sources import collect_sources
from aotriton.errors import BuildError


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "kernel.py"


def test_imports_are_followed(tmp_path: Path) -> None:
    files = {
        "kernel.py": "import triton\nimport math\nfrom .tiles import load\nfrom . import masks\nimport plain\n",
        "tiles.py": "from .deep.inner import f\n",
        "masks.py": "def g():\n    from .late import h\n",
        "late.py": "",
        "plain.py": "",
        "math.py": "this is not imported by anybody: the standard library comes first\n",
        "deep/__init__.py": "from . import more\n",
        "deep/inner.py": "from ..masks import g\n",
        "deep/more.py": "",
        "unused.py": "",
    }
    found = collect_sources(write(tmp_path, files))
    assert found.module == "kernel"
    assert [path for path, _ in found.files] == sorted(set(files) - {"math.py", "unused.py"})
    assert list(found.modules) == ["deep", "deep.inner", "deep.more", "kernel", "late", "masks", "plain", "tiles"]


def test_the_package_names_the_content(tmp_path: Path) -> None:
    one = collect_sources(write(tmp_path / "a", {"kernel.py": "from .b import c\n", "b.py": "c = 1\n"}))
    same = collect_sources(write(tmp_path / "b", {"kernel.py": "from .b import c\n", "b.py": "c = 1\n"}))
    other = collect_sources(write(tmp_path / "c", {"kernel.py": "from .b import c\n", "b.py": "c = 2\n"}))
    assert one == same
    assert one.package == same.package != other.package


def test_what_an_init_defines_is_its_text(tmp_path: Path) -> None:
    found = collect_sources(write(tmp_path, {"kernel.py": "from . import LIMIT\n", "__init__.py": "LIMIT = 3\n"}))
    assert dict(found.files)["__init__.py"] == "LIMIT = 3\n"


def test_leaving_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"kernel\.py, line 2: an import leaves the kernel's folder"):
        collect_sources(write(tmp_path / "x", {"kernel.py": "\nfrom ..other import f\n"}))


def test_missing_and_broken_files_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="can't read the kernel source"):
        collect_sources(tmp_path / "nothing.py")
    with pytest.raises(BuildError, match="is no Python"):
        collect_sources(write(tmp_path, {"kernel.py": "def (\n"}))


def test_a_change_anywhere_changes_the_key(fake: object, make: Callable[..., Task]) -> None:
    task = make()
    folder, first = task.kernel.source.parent, task.key
    (folder / "helpers.py").write_text("def double(x):\n    return 3 * x\n")
    second = make().key
    assert second != first
    (folder / "unused.py").write_text("")
    assert make().key == second


def test_the_host_gets_everything(make: Callable[..., Task]) -> None:
    bundle = json.loads(host_object(make("host", block=32, number=5)).image)
    assert bundle["format"] == 1
    assert (bundle["entry"], bundle["module"]) == ("axpy", "axpy")
    assert set(bundle["modules"]) == {"axpy", "helpers"}
    assert "def axpy(" in bundle["modules"]["axpy"]
    assert bundle["signature"] == [["X", "*fp16"], ["Y", "*fp16"], ["Z", "*fp16"], ["N", "i32"]]
    assert bundle["constants"] == {"CAUSAL": True, "WIDTH": 64, "BLOCK": 32}
