"""What a tuning build's pack offers to be measured: functionals, each with its configs in the order of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aotriton.describe import Config, Functional, Kernel, Value
from aotriton.errors import PackError
from aotriton.runtime import index_of
from aotriton.targets import Target

__all__ = ["Candidate", "Offer", "config_values", "offers"]


@dataclass(frozen=True)
class Candidate:
    """A config of a functional in a pack.

    Attributes
    ----------
    position : int
        By which a launch forces it.
    config : mapping of str to value
        All performance arguments and options.
    image : str
        SHA-256 of its code.
    registers, spills, shared : int
        Of a thread, bytes of a thread, bytes of a block; -1: unknown.
    """

    position: int
    config: Mapping[str, Value] = field(hash=False)
    image: str
    registers: int
    spills: int
    shared: int


@dataclass(frozen=True)
class Offer:
    """A functional with its candidates."""

    functional: Functional
    candidates: tuple[Candidate, ...]


def offers(packs: Path, kernel: Kernel, target: Target) -> tuple[Offer, ...]:
    """All functionals of a kernel that a folder of packs has for a target.

    Raises
    ------
    PackError
        There is no such pack, it is damaged, or was built from another description than the one that is here.
    """
    path = packs / target.pack / kernel.family / f"{kernel.name}.zip"
    if not path.is_file():
        raise PackError(
            f"there is no pack of {kernel.title} for {target.name}: {path} is missing",
            f"`aotriton build --set CANDIDATES.json --target {target.name} --out {packs}` makes one",
        )
    index = index_of(path)
    if index["description_hash"] != kernel.description_hash:
        raise PackError(f"{path} was built from another description of {kernel.title}", "build it again")
    part = next((one for one in index["targets"] if one["name"] == target.name), None)
    if part is None:
        raise PackError(f"{path} has no code for {target.name}", "build it for this target")
    rows = part["functionals"]
    return tuple(Offer(kernel.functional(row["number"]), _candidates(kernel, row, index)) for row in rows)


def _candidates(kernel: Kernel, row: Mapping[str, Any], index: Mapping[str, Any]) -> tuple[Candidate, ...]:
    images = {image["config"]: image for image in row["images"]}
    found = []
    for position, number in enumerate(row["configs"]):
        image, config = images[number], index["configs"][number]
        values = {**_parsed(kernel, config["performance"]), **_parsed(kernel, config["options"])}
        facts = (image["registers"], image["spills"], image["shared"])
        found.append(Candidate(position, values, bytes.fromhex(image["sha256"]).hex(), *facts))
    return tuple(found)


def _parsed(kernel: Kernel, text: str) -> dict[str, Value]:
    """`BLOCK_M=64;PRE_LOAD_V=False` as values."""
    known: dict[str, dict[str, Value]] = {
        name: {choice.text: choice.value for choice in choices} for name, choices in kernel.performance.items()
    }
    pairs = (pair.partition("=") for pair in text.split(";") if pair)
    return {name: known[name][value] if name in known else _number(value) for name, _, value in pairs}


def _number(text: str) -> Value:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else text.strip("'\"")


def config_values(config: Config) -> dict[str, Value]:
    """A config's performance arguments and options as one mapping."""
    return {**dict(config.performance), **dict(config.options)}
