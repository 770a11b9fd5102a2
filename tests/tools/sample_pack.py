"""Small packs with made-up images, written by the real writers, for the readers' tests.

    python tests/tools/sample_pack.py OUT_DIR

writes OUT_DIR/amd-gfx942/sample/axpy.zip and OUT_DIR/host/sample/axpy.zip, the same bytes each time. The images of
gfx942 are noise with an ELF's first bytes: they can be decoded and hashed, not run.
"""

from __future__ import annotations

import hashlib
import random
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from aotriton.compile.host import host_object
from aotriton.compile.objects import CodeObject, Compiler, Resources
from aotriton.compile.tables import LookupTable
from aotriton.compile.task import Task
from aotriton.describe import Config, Exclude, Functional, Kernel, Key, Performance, Strides
from aotriton.pack.clusters import write_kernel
from aotriton.pack.index import Contents, Exclusion, Packed, Part
from aotriton.targets import Target, parse_target

BUILD = {"build_set": "sample", "project_version": "0"}
SERVED = ("'*fp32:16'", "'*fp32'", "'*fp16:16'", "'*fp16'")


def axpy() -> Kernel:
    """The kernel's description: two types with and without alignment, a third that is excluded or has failed."""
    return Kernel(
        family="sample",
        name="axpy",
        source=Path(__file__).with_name("axpy.py"),
        choices={
            ("X", "Y"): ["*fp32:16", "*fp16:16", "*fp32", "*fp16", "*bf16", "*fp64"],
            "alpha": "fp32",
            "N": "i32",
        },
        ranks={"X": 1, "Y": 1},
        strides={"X": ("stride_x",), "Y": Strides(("stride_y",), unit=None)},
        performance={"BLOCK": Performance(64, [16, 64, 256, 1024])},
        options={"waves_per_eu": 2, "num_warps": 4, "num_stages": 1},
        keys=(Key("N"), Key("stride_y")),
        grid=("cdiv(N, BLOCK)",),
        substitutes={"X": {"*fp32:16": ["*fp32"], "*fp16:16": ["*fp16"]}},
        exclude=(Exclude("fp64 is not described here", when=lambda f, target: f["X"] == "*fp64"),),
    )


def table(kernel: Kernel) -> LookupTable:
    """Two keys: the length with three bins, the stride with two."""
    configs = tuple(
        kernel.config({"BLOCK": block, "num_warps": warps}) for block, warps in ((64, 1), (256, 4), (1024, 8))
    )
    return LookupTable((("N", (64, 4096, 1 << 20)), ("stride_y", (1, 16))), (0, 0, 1, 0, 2, 1), configs, "made up")


def fake_object(functional: Functional, config: Config, target: Target) -> CodeObject:
    """Noise that depends only on what it stands for."""
    rng = random.Random(f"{functional.signature} {config} {target.name}")
    image = b"\x7fELF" + rng.randbytes(rng.randrange(500, 5000))
    warps = int(dict(config.options)["num_warps"])
    return CodeObject(
        image=image,
        target=target.name,
        functional=functional,
        config=config,
        compiler=Compiler("0.0", "made up"),
        sha256=hashlib.sha256(image).hexdigest(),
        resources=Resources(rng.randrange(0, 65536, 16), warps * target.warp_size, warps, 1, 64, 0, "axpy", 0.0),
    )


def spilling(one: CodeObject, spills: int) -> CodeObject:
    """The same, but that a thread spills so many bytes."""
    return replace(one, resources=replace(one.resources, spills=spills))


def part(kernel: Kernel, target: Target) -> Part:
    """The share of one target: the served functionals, one exclusion by the description and one failure."""
    packed = []
    numbers: dict[str, list[int]] = {"described": [], "failed": []}
    for functional in kernel.functionals():
        if functional.excluded(target):
            numbers["described"].append(functional.number)
        elif functional.signature.removeprefix("X=") not in SERVED:
            numbers["failed"].append(functional.number)
        else:
            used = table(kernel)
            objects = tuple(make(kernel, functional, config.for_target(target), target) for config in used.configs)
            packed.append(Packed(functional, used.keys, used.cells, used.source, objects))
    exclusions = (
        Exclusion("fp64 is not described here", "described", tuple(numbers["described"])),
        Exclusion("Timeout: the compiler took more than 480 s", "failed", tuple(numbers["failed"])),
    )
    return Part(target, tuple(packed), exclusions)


def make(kernel: Kernel, functional: Functional, config: Config, target: Target) -> CodeObject:
    """A source bundle for `host`, noise for a GPU."""
    if target.vendor == "host":
        return host_object(Task(kernel, functional, config, target))
    return fake_object(functional, config, target)


def write(folder: Path) -> list[Path]:
    """Write both packs, and return their files."""
    kernel = axpy()
    paths = []
    for name in ("gfx942", "host"):
        target = parse_target(name)
        path = folder / target.pack / "sample" / "axpy.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_kernel(file, Contents(kernel, (part(kernel, target),)), BUILD)
        paths.append(path)
    return paths


def main(words: list[str]) -> int:
    """The program: one argument, the folder."""
    if len(words) != 1:
        print("usage: sample_pack.py OUT_DIR", file=sys.stderr)
        return 2
    for path in write(Path(words[0])):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
