"""What is read out of real binaries agrees with the vendors' tools; what is stamped, with what is compiled."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from aotriton.compile import CodeObject, Environment, Task, compile_tasks
from aotriton.compile import task as task_module
from aotriton.compile.stamp import differences
from aotriton.describe import load_family
from tests.compile.pool.samples import task, write_product

triton = pytest.importorskip("triton")
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def compiled(tasks: list[Task], cache: Path) -> list[CodeObject]:
    found = compile_tasks(tasks, cache=cache, workers=2)
    assert all(isinstance(outcome, CodeObject) for outcome in found.values()), found
    return [outcome for outcome in found.values() if isinstance(outcome, CodeObject)]


def test_cubins_agree_with_cuobjdump(tmp_path: Path) -> None:
    """A product of 64 x 64 in one warp spills, one of 16 x 16 in four doesn't."""
    kernel = write_product(tmp_path / "kernels")
    tasks = [
        task(kernel, target, **config)
        for target in ("sm_80", "sm_90")
        for config in ({"BLOCK": 16}, {"BLOCK": 64, "num_warps": 1})
    ]
    spilled = set()
    for one in compiled(tasks, tmp_path / "cache"):
        path = tmp_path / "one.cubin"
        path.write_bytes(one.image)
        text = subprocess.run([CUOBJDUMP, "-res-usage", path], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Function product:\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", text)
        assert found is not None, text
        registers, stack, static, local = map(int, found.groups())
        assert (one.resources.registers, one.resources.spills) == (registers, stack + local)
        assert dict(one.resources.details)["static_shared"] == static
        spilled.add(stack > 0)
    assert spilled == {False, True}


SPILLING = {"BLOCK": 64, "num_warps": 1, "waves_per_eu": 8}


@pytest.mark.parametrize(("target", "config"), [("gfx942", SPILLING), ("gfx1100", {"BLOCK": 32})])
def test_code_objects_agree_with_the_assembly(
    target: str, config: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = write_product(tmp_path / "kernels")
    wanted = task(kernel, target, **config)
    (one,) = compiled([wanted], tmp_path / "cache")
    spec = wanted.spec
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    for name, value in spec["environment"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(tmp_path / "cache" / "sources"))
    module = __import__(f"{spec['package']}.product", fromlist=["product"])
    positions = {name: number for number, name in enumerate(spec["signature"])}
    attributes = {(positions[name],): [["tt.divisibility", value]] for name, value in spec["attributes"].items()}
    source = ASTSource(module.product, spec["signature"], spec["constants"], attributes)
    arch = GPUTarget("hip", target, wanted.target.warp_size)
    inline = triton.compile(source, target=arch, options=spec["options"])
    assert inline.kernel == one.image  # a worker makes what Triton makes, no more and no less
    text = inline.asm["amdgcn"]
    metadata = {key: int(value) for key, value in re.findall(r"\.(\w+):\s+(\d+)\n", text)}
    assert one.resources.registers == metadata["vgpr_count"]
    assert one.resources.spills == metadata["private_segment_fixed_size"]
    assert (one.resources.spills > 0) == (config is SPILLING)
    assert dict(one.resources.details)["vgpr_spill_count"] == metadata["vgpr_spill_count"]
    assert int(re.findall(r"ScratchSize: (\d+)", text)[-1]) == one.resources.spills


def natively(tasks: list[Task], cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[bytes]]:
    """Each task compiled for its own target, stamped from nothing."""
    monkeypatch.setattr(task_module.Environment, "representative", lambda self, target: target)
    images: dict[str, list[bytes]] = {}
    for one in compiled(tasks, cache):
        assert one.compiled_for is None
        images.setdefault(one.target, []).append(one.image)
    return images


def check(groups: list[list[str]], images: dict[str, list[bytes]]) -> None:
    for first, *others in groups:
        for other in others:
            for image, native in zip(images[first], images[other], strict=True):
                assert differences(image, native, first, other) is None


def test_targets_called_identical_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [group["targets"] for group in Environment.current().findings["identical"]]
    assert groups == [["gfx1150", "gfx1152", "gfx1153"], ["gfx1200", "gfx1201"]]
    kernel = write_product(tmp_path / "kernels")
    names = [name for group in groups for name in group]
    check(groups, natively([task(kernel, name, BLOCK=32) for name in names], tmp_path / "cache", monkeypatch))


def test_targets_not_called_identical_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [group["targets"] for group in Environment.current().findings["not_identical"]]
    kernel = write_product(tmp_path / "kernels")
    names = sorted({name for pair in pairs for name in pair})
    images = natively([task(kernel, name, BLOCK=32) for name in names], tmp_path / "cache", monkeypatch)
    for first, other in pairs:
        assert differences(images[first][0], images[other][0], first, other) is not None


@pytest.mark.all
def test_targets_called_identical_are_for_flash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample over types, head dims, masks and configs: with and without spills."""
    kernel = load_family("aotriton.flash.description").kernels[0]
    groups = [group["targets"] for group in Environment.current().findings["identical"]]
    off = {"ENABLE_DROPOUT": False, "BIAS_TYPE": 0, "VARLEN": False}
    samples = [
        ({"Q": "*fp16:16", "BLOCK_DMODEL": 64, "PADDED_HEAD": False, "CAUSAL_TYPE": 0}, {"BLOCK_M": 64, "BLOCK_N": 32}),
        (
            {"Q": "*bf16:16", "BLOCK_DMODEL": 128, "PADDED_HEAD": True, "CAUSAL_TYPE": 3},
            {"BLOCK_M": 128, "BLOCK_N": 64},
        ),
        ({"Q": "*fp32", "BLOCK_DMODEL": 32, "PADDED_HEAD": False, "CAUSAL_TYPE": 3}, {"num_warps": 8}),
        ({"Q": "*fp16", "BLOCK_DMODEL": 256, "PADDED_HEAD": True, "CAUSAL_TYPE": 0}, {"waves_per_eu": 4}),
    ]
    tasks = [
        task(kernel, name, kernel.number_of({**off, **values}), **config)
        for name in [name for group in groups for name in group]
        for values, config in samples
    ]
    check(groups, natively(tasks, tmp_path / "cache", monkeypatch))
