"""The options of the CMake project: what each becomes, and what is refused."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import ROOT, run, tool, without_device


def configure(folder, *options) -> subprocess.CompletedProcess[str]:
    command = [tool("cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options]
    command.append(f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}")
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=without_device())


def rules(folder) -> str:
    return (folder / "build.ninja").read_text()


def test_packs_are_built_by_default_with_the_options(tmp_path):
    targets = "-DAOTRITON_TARGET_ARCH=gfx90a;gfx942;gfx1100"
    done = configure(tmp_path, targets, "-DAOTRITON_GPU_BUILD_TIMEOUT=1.5", "-DCMAKE_INSTALL_PREFIX=./install_dir")
    assert done.returncode == 0, done.stderr
    text = rules(tmp_path)
    command = f"-m aotriton build --set ci --timeout 90 --out {tmp_path}/aotriton.images"
    assert f"{command} --target gfx90a --target gfx942 --target gfx1100" in text
    all_targets = next(line for line in text.splitlines() if line.startswith("build all:"))
    assert "aotriton_images" in all_targets
    config = (tmp_path / "include" / "aotriton" / "config.h").read_text()
    assert "#define AOTRITON_NS aotriton\n" in config
    assert "#define AOTRITON_ENABLE_SUFFIX 0\n" in config
    assert "#define AOTRITON_VERSION_MINOR 1u\n" in config


def test_no_packs_without_a_wish_and_a_suffix(tmp_path):
    done = configure(tmp_path, "-DAOTRITON_NOIMAGE_MODE=ON", "-DAOTRITON_NAME_SUFFIX=123")
    assert done.returncode == 0, done.stderr
    assert "aotriton build" not in rules(tmp_path)
    assert "libaotriton123_v2.so.0.1.0" in rules(tmp_path)
    config = (tmp_path / "include" / "aotriton" / "config.h").read_text()
    assert "#define AOTRITON_NS aotriton123\n" in config
    assert "#define AOTRITON_NAME_SUFFIX 123\n" in config
    assert "#define AOTRITON_ENABLE_SUFFIX 1\n" in config


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-DAOTRITON_GPU_BUILD_TIMEOUT=soon", "it takes minutes"),
        ("-DAOTRITON_NAME_SUFFIX=a-b", "it becomes part of a C++ name"),
        ("-DAOTRITON_TARGET_ARCH=gfx942;nope", "unknown target(s) nope; the targets are gfx90a, gfx942,"),
        ("-DAOTRITON_BUILD_SET=nope", "there is no build set 'nope'; the sets are ci, demo, full, h200"),
        ("-DAOTRITON_SANITIZE=memory", "it takes address or thread"),
    ],
)
def test_values_that_make_no_sense_are_refused(tmp_path, option, words):
    done = configure(tmp_path, option)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())  # CMake wraps lines


@pytest.mark.all
def test_a_suffixed_library_is_installed_beside_another(tmp_path):
    options = ["-DAOTRITON_NOIMAGE_MODE=ON", "-DAOTRITON_NAME_SUFFIX=123", f"-DCMAKE_INSTALL_PREFIX={tmp_path}/prefix"]
    assert configure(tmp_path / "build", *options).returncode == 0
    run(tool("ninja"), "-C", tmp_path / "build", "install/strip")
    library = tmp_path / "prefix" / "lib" / "libaotriton123_v2.so"
    assert "aotriton123::v3::flash::attn_fwd" in run(tool("nm"), "-DC", "--defined-only", library)
    assert (tmp_path / "prefix" / "lib" / "libaotriton123_record.so").exists()
