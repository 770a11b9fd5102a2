"""A framework's programs build against the installed prefix and run, with no device and on the recording one."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from .conftest import ROOT, run, tool, without_device

CONSUMER = ROOT / "tests" / "consumer"
ORIGINAL = ROOT.parent / "shared" / "examples"


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("consumer")
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    run(tool("cmake"), "-S", CONSUMER / "cpp", "-B", folder, "-G", "Ninja", *options)
    run(tool("cmake"), "--build", folder)
    return folder


@pytest.mark.parametrize("folder", ["cpp", "python"])
def test_the_programs_are_the_originals(folder):
    if not ORIGINAL.is_dir():
        pytest.skip("the users' programs are not beside the repository")
    names = sorted(path.name for path in (ORIGINAL / folder).iterdir())
    assert names == sorted(path.name for path in (CONSUMER / folder).iterdir() if path.name != "__pycache__")
    for name in names:
        assert filecmp.cmp(ORIGINAL / folder / name, CONSUMER / folder / name, shallow=False), name


def test_all_but_attention_pass_with_no_device(programs):
    output = run(tool("ctest"), "--test-dir", programs, "-E", "attention", env=without_device())
    assert "100% tests passed" in output
    assert "out of 3" in output


def test_a_device_is_recognised(programs):
    environment = without_device() | {"AOTRITON_DEVICE": "record:gfx942"}
    output = run(programs / "gpu_detection", env=environment)
    assert "gpu 0x100209420000, vendor and architecture 0x10020942, 304 multiprocessors, experimental: no" in output
    assert "an MI300X" in output
    environment["AOTRITON_DEVICE"] = "record:sm_90"
    assert "gpu 0x10de00900000" in run(programs / "gpu_detection", env=environment)
    environment["AOTRITON_DEVICE"] = "record:gfx1152"
    assert "experimental: yes" in run(programs / "gpu_detection", env=environment)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_attention_passes_on_the_simulator(programs, prefix, target):
    if not (prefix / "lib" / "aotriton.images" / f"amd-{target}" / "flash" / "attn_fwd.zip").is_file():
        pytest.skip(f"there are no packs of {target} in build/install: run `make setup`")
    environment = without_device() | {"AOTRITON_DEVICE": f"sim:{target}", "AOTRITON_SIM_CHECKS": "memory,waits,races"}
    assert "largest error: out " in run(programs / "attention", env=environment)
