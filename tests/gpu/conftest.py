"""What the GPU tests share: PyTorch's memory, the prepared folder, and the watch that nothing is compiled.

They run from the folder that `make packs-gpu` prepares, by its run.py: an installed prefix with its packs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest

from aotriton.runtime import library_path, open_kernel
from tests.tools.memory import GpuMemory
from tests.tools.watch import CompilerWatch

try:
    import torch
except ImportError:  # run.py says so; whoever collects the whole tree goes on
    torch = None

pytest.register_assert_rewrite("tests.tools.cases")

watch = CompilerWatch()


class WithoutTorch(pytest.Module):
    """A module of tests where PyTorch isn't: skipped before it is imported, when it is named explicitly too."""

    def collect(self):
        pytest.skip("the GPU tests need PyTorch, which is not installed here", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Stands in for all modules of this folder where there is no PyTorch."""
    return WithoutTorch.from_parent(parent, path=module_path) if torch is None else None


def pytest_collection_modifyitems(items):
    """All here need a GPU; the test that looks back at the others comes last."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.gpu)
        if torch is None or not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="PyTorch sees no GPU"))
    items.sort(key=lambda item: item.name == "test_nothing_was_compiled_in_the_whole_run")


@pytest.fixture(autouse=True)
def _no_named_device(monkeypatch):
    monkeypatch.delenv("AOTRITON_DEVICE", raising=False)


@pytest.fixture(scope="session", autouse=True)
def compiler_watch(tmp_path_factory):
    """What this process and its children ran of compilers: nothing."""
    watch.start(tmp_path_factory.mktemp("compilers"))
    return watch


@pytest.fixture
def memory():
    """Tensors on PyTorch's current GPU."""
    return GpuMemory()


@pytest.fixture(scope="session")
def prepared():
    """The prepared folder."""
    folder = library_path().parents[1]
    if not (folder / "facts.json").is_file():
        pytest.fail(f"{folder} is no prepared folder: make packs-gpu, then run build/gpu/run.py")
    return folder


@pytest.fixture(scope="session")
def child_environment(prepared):
    """The environment of a process that uses the prepared folder as it stands."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AOTRITON_")}
    return {**kept, "PYTHONPATH": f"{prepared / 'lib'}{os.pathsep}{prepared}"}


@pytest.fixture
def kernel_of(prepared):
    """Opens a kernel of tests/gpu/kernels or of an example by the name of its folder, its family and its own name.

    They are closed when the test ends, so that each test's first launches load their code.
    """
    with contextlib.ExitStack() as stack:

        def opened(folder: str, family: str, name: str, device: str = "cuda:0"):
            return stack.enter_context(open_kernel(family, name, folder=Path(prepared, "packs", folder), device=device))

        yield opened
        torch.cuda.synchronize()


def pytest_report_header():
    """Whose numbers these are."""
    if torch is None:
        return "the GPU tests are left out: PyTorch is not installed"
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{device}, PyTorch {torch.__version__}, library {library_path()}, Python {sys.version.split()[0]}"
