"""Packs that are missing, damaged, of another version or for another target (T40): an error that says which file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aotriton
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import INDEX, open_zip, write_zip
from aotriton.pack.schema import compile_index
from aotriton.runtime import library_path
from tests.tools import bad_packs

ROOT = Path(__file__).resolve().parents[3]


def entries_of(path):
    """All entries of a file by name."""
    with open_zip(path) as zipped:
        return {entry.name: zipped.read(entry.name) for entry in zipped}


def changed_index(good, **fields):
    """The entries of a good file with another index."""
    entries = entries_of(good)
    index = read_index(entries[INDEX])
    index.update(fields)
    return {**entries, INDEX: compile_index(index)}


def rewritten(path, entries):
    with path.open("wb") as file:
        write_zip(file, entries.items())


def another_version(good, path):
    rewritten(path, changed_index(good, schema_version=99))


def another_kernel(good, path):
    rewritten(path, changed_index(good, kernel="attn_backward"))


def another_target(good, path):
    targets = read_index(entries_of(good)[INDEX])["targets"]
    rewritten(path, changed_index(good, targets=[{**targets[0], "name": "gfx942"}]))


def damaged_index(good, path):
    data = bytearray(good.read_bytes())
    start = data.index(INDEX.encode()) + 4000
    data[start : start + 64] = bytes(64)
    path.write_bytes(data)


def swapped_clusters(good, path):
    entries = entries_of(good)
    index = entries.pop(INDEX)
    contents = list(entries.values())
    swapped = dict(zip(entries, contents[1:] + contents[:1], strict=True))
    rewritten(path, {INDEX: index, **swapped})


DAMAGES = {
    **bad_packs.DAMAGES,
    **{
        damage.__name__: damage
        for damage in (another_version, another_kernel, another_target, damaged_index, swapped_clusters)
    },
}


@pytest.fixture(scope="module")
def results(host_packs, tmp_path_factory):
    """What one process found: by the damage, the error's class, its text, whether out is untouched, what came next."""
    work = tmp_path_factory.mktemp("t40")
    good = host_packs / "host" / "flash" / "attn_fwd.zip"
    (work / "lib").mkdir()
    shutil.copy(library_path(), work / "lib" / "libaotriton_v2.so")  # where no packs lie beside it
    folders = []
    for name, damage in DAMAGES.items():
        path = work / name / "host" / "flash" / "attn_fwd.zip"
        path.parent.mkdir(parents=True)
        damage(good, path)
        folders.append(str(work / name))
    environment = {**os.environ, "AOTRITON_LIBRARY": str(work / "lib" / "libaotriton_v2.so"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.tools.bad_packs", "host", "host", str(good), *folders]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return {Path(folder).name: result for folder, result in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", DAMAGES)
def test_t40_bad_packs_are_errors_and_the_next_good_call_works(results, name):
    raised, text, untouched, *next_calls = results[name]
    assert raised == "PackError", text
    assert untouched
    assert set(next_calls) == {"none"}
    assert "attn_fwd" in text
    assert name in text, "the text says where it looked"
    assert "host" in text


def test_a_pack_of_another_target_says_which_it_is_for(results):
    assert "gfx942" in results["another_target"][1]


def test_a_pack_of_another_version_says_which(results):
    assert "99" in results["another_version"][1]


def test_opening_a_kernel_from_a_folder_fails_likewise(host_packs, tmp_path):
    with pytest.raises(aotriton.PackError, match=str(tmp_path)):
        aotriton.open_kernel("flash", "attn_fwd", folder=tmp_path, device="host")
    with pytest.raises(aotriton.PackError, match="no_such_kernel"):
        aotriton.open_kernel("flash", "no_such_kernel", folder=host_packs, device="host")


def test_kernels_by_name(host_packs):
    """The kernel that attn_fwd launches, launched by its own arguments."""
    kernel = aotriton.open_kernel("flash", "attn_fwd", folder=host_packs, device="host")
    chance = np.random.default_rng()
    q, k, v = (chance.standard_normal((1, 2, 5, 16)).astype(np.float32) for _ in range(3))
    out, wanted = np.full_like(q, np.nan), np.full_like(q, np.nan)
    numbers = {"Sm_scale": 0.25, "Num_head_q": 2, "Num_head_k": 2, "Num_seqlens": 0, "Max_seqlen_q": 5,
               "Max_seqlen_k": 5, "Hdim_qk": 16, "Hdim_vo": 16, "ENABLE_DROPOUT": False, "dropout_p": 0.0,
               "philox_offset2": 0, "CAUSAL_TYPE": 0, "Window_left": 0, "Window_right": 0, "Num_CU": 1,
               "Batch": 1}  # fmt: skip
    trace = kernel.explain(numbers, Q=q, K=k, V=v, Out=out)
    assert trace["status"] == "success"
    assert trace["grid"] == [2, 1, 1]
    assert np.isnan(out).all()
    kernel.load(Q=q, K=k, V=v, Out=out, **numbers)
    assert np.isnan(out).all()
    kernel.launch(Q=q, K=k, V=v, Out=out, **numbers)
    aotriton.attn_fwd(q, k, v, scale=0.25, out=wanted, device="host")
    assert np.array_equal(out, wanted)
    with pytest.raises(aotriton.ArgumentError, match="Sm_scale"):
        kernel.launch(Q=q, K=k, V=v, Out=out, **{n: x for n, x in numbers.items() if n != "Sm_scale"})
    with pytest.raises(aotriton.ArgumentError, match="Nonsense"):
        kernel.launch(Q=q, K=k, V=v, Out=out, Nonsense=1, **numbers)
    with pytest.raises(aotriton.ArgumentError, match="grid is"):
        kernel.launch(Q=q, K=k, V=v, Out=out, grid=(1, 1, 1, 1), **numbers)
    for grid in (5, "ab", (1.5,)):
        with pytest.raises(aotriton.ArgumentError, match="grid is"):
            kernel.launch(Q=q, K=k, V=v, Out=out, grid=grid, **numbers)
