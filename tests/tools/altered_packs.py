"""Packs whose indexes are sound and whose code no device takes, made of good ones: for the refusals of drivers.

In place of the kernel's code stands code for another architecture, damaged code, or code that asks for more shared
memory than there is; hashes, sizes and names are right, so that only the device can tell.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aotriton.pack.aks2 import Image, decode, encode
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import open_zip, write_zip
from aotriton.pack.schema import compile_index

__all__ = ["ALTERED", "MOST_SHARED", "PROGRAM", "alter", "check", "damaged", "hungry", "relabelled", "write_altered"]

INDEX = "__index__"
MOST_SHARED = 1 << 20
"""Bytes of shared memory that no device has."""


def damaged(image: Image) -> Image:
    """An ELF file whose sections stand where they should, and hold zeros: a driver that looks finds nothing.

    Headers stay, since drivers are not told how long code is, and would follow a wild offset.
    """
    data = bytearray(len(image.data))
    programs, sections = struct.unpack_from("<QQ", image.data, 0x20)
    program_size, program_count, section_size, section_count = struct.unpack_from("<4H", image.data, 0x36)
    spans = (0, 64), (programs, program_size * program_count), (sections, section_size * section_count)
    for start, size in spans:
        data[start : start + size] = image.data[start : start + size]
    return replace(image, data=bytes(data))


def hungry(image: Image) -> Image:
    """The code as it was, launched with too much shared memory."""
    return replace(image, shared=MOST_SHARED)


def alter(good: Path, path: Path, change: Callable[[Image], Image], targets: Mapping[str, str] | None = None) -> None:
    """Writes a kernel's ZIP anew, with changed images and, where that is asked, targets under other names."""
    with open_zip(good) as zipped:
        index: dict[str, Any] = read_index(zipped.read(INDEX), str(good))
        names = [entry.name for entry in zipped if entry.name != INDEX]
        clusters = {name: [change(image) for image in decode(zipped.read(name))] for name in names}
    by_name = {image.name: image for images in clusters.values() for image in images}
    for target in index["targets"]:
        target["name"] = (targets or {}).get(target["name"], target["name"])
        for functional in target["functionals"]:
            for row in functional["images"]:
                image = by_name[row["name"]]
                row.update(sha256=list(image.sha256), bytes=len(image.data), shared=image.shared)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_zip(file, [(INDEX, compile_index(index)), *((name, encode(clusters[name])) for name in names)])


def relabelled(image: Image) -> Image:
    """As it was: what changes is the name of its target."""
    return image


ALTERED = {"damaged": damaged, "hungry": hungry, "foreign": relabelled}
"""By the folder of the packs that `write_altered` makes."""


PROGRAM = """
import sys, aotriton
folder, device, what = sys.argv[1:]
if device.startswith("cuda"):
    import torch
    y = torch.full((1000,), -1, dtype=torch.int32, device="cuda")
    done = torch.cuda.synchronize
else:
    import numpy
    y, done = numpy.full(1000, -1, numpy.int32), lambda: None
good = aotriton.open_kernel("faults", "poke", folder=f"{folder}/faults", device=device)
bad = aotriton.open_kernel("faults", "poke", folder=f"{folder}/{what}", device=device)
for _ in range(2):
    try:
        bad.launch(Y=y, address=0, N=1000)
        print("launched")
    except aotriton.AotritonError as error:
        print(f"{type(error).__name__}: {error}")
done()
print("untouched", bool((y == -1).all()))
good.launch(Y=y, address=0, N=1000)
done()
print("then", int(y.sum()))
"""
"""For a process of its own, since drivers may crash: refused code, twice, and then good one.

Its arguments are the folder with the folders of packs, the device, and one of ALTERED.
"""
_WORDS = {
    "damaged": ("DeviceError", r"cu\w+ failed: CUDA_ERROR_(INVALID_IMAGE|INVALID_SOURCE|NOT_FOUND|NO_BINARY_FOR_GPU) "),
    "foreign": ("DeviceError", r"cu\w+ failed: CUDA_ERROR_NO_BINARY_FOR_GPU \(209\): .*the code object is for sm_80; "),
    "hungry": ("UnsupportedError", rf"needs {MOST_SHARED} bytes of shared memory, a block has 232448"),
}


def check(said: str, what: str, device: str) -> None:
    """What the program has to print for one of ALTERED: both refusals with names, and that nothing was written."""
    kind, words = _WORDS[what]
    refused = rf"{kind}: faults\.poke.* on {re.escape(device)} \(sm_90\): .*{words}.*"
    refused += rf"; pack .*{what}/nvidia-sm90/faults/poke\.zip$"
    assert len(re.findall(refused, said, re.MULTILINE)) == 2, said
    assert "launched" not in said
    assert "untouched True" in said


def write_altered(folder: Path, good: Path, foreign: Path) -> None:
    """Writes `folder`/<what>/nvidia-sm90/faults/poke.zip for each of ALTERED.

    Parameters
    ----------
    folder : path
        Where folders of packs go.
    good : path
        The kernel's ZIP for sm_90.
    foreign : path
        The same kernel's for sm_80, whose code no device of sm_90 takes.
    """
    for name, change in ALTERED.items():
        source, targets = (foreign, {"sm_80": "sm_90"}) if name == "foreign" else (good, None)
        alter(source, folder / name / "nvidia-sm90" / "faults" / "poke.zip", change, targets)
