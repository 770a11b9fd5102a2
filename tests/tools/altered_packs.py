"""Packs whose indexes are sound and whose code no device takes, made of good ones: for the refusals of drivers.

In place of the kernel's code stands code for another architecture, damaged code, or code that asks for more shared
memory than there is; hashes, sizes and names are right, so that only the device can tell.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aotriton.pack.aks2 import Image, decode, encode
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import open_zip, write_zip
from aotriton.pack.schema import compile_index
from tests.tools.refusals import ALTERED, MOST_SHARED

__all__ = ["alter", "damaged", "hungry", "relabelled", "write_altered"]

INDEX = "__index__"


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


_CHANGES = {"damaged": damaged, "hungry": hungry, "foreign": relabelled}


def write_altered(folder: Path, good: Path, foreign: Path) -> None:
    """Writes `folder`/<what>/nvidia-sm90/faults/poke.zip for each of `refusals.ALTERED`.

    Parameters
    ----------
    folder : path
        Where folders of packs go.
    good : path
        The kernel's ZIP for sm_90.
    foreign : path
        The same kernel's for sm_80, whose code no device of sm_90 takes.
    """
    for name in ALTERED:
        change = _CHANGES[name]
        source, targets = (foreign, {"sm_80": "sm_90"}) if name == "foreign" else (good, None)
        alter(source, folder / name / "nvidia-sm90" / "faults" / "poke.zip", change, targets)
