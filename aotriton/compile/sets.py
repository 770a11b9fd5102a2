"""Build sets: which functionals, configs and targets a build makes. Data: JSON files, the user's as well as ours.

    {"format": 1, "name": "mine", "purpose": "one line",
     "targets": ["gfx942", "nvidia"],          names, architecture families, vendors; or "all"
     "configs": "chosen",                      those that the tables choose; or "all"
     "image_order": ["gfx942"],                optional: which images stand first in a cluster
     "line_information": false,                optional
     "selections": [
       {"why": "what this is for", "kernels": "flash.*", "targets": ["host"], "where": {"BLOCK_DMODEL": [16, 32]},
        "cover": "all"}]}

A selection takes functionals of the kernels and targets that it names, those that match `where`. `cover` says which:

    all       all of them
    one       the first one
    values    on each target one at least, and each value of each choice once over all targets of the selection
    pairs     on each target, each pair of values of two choices once
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from aotriton.errors import BuildError
from aotriton.targets import TARGETS, Target

__all__ = ["BuildSet", "Cover", "Selection", "build_sets", "load_set"]

_DATA = Path(__file__).resolve().parents[1] / "data" / "sets"

Cover = Literal["all", "one", "values", "pairs"]


@dataclass(frozen=True)
class Selection:
    """A part of a build set: some functionals of some kernels on some targets."""

    why: str
    kernels: str
    cover: Cover
    targets: tuple[str, ...] | None = None
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)

    def concerns(self, target: Target) -> bool:
        """Whether the target is among those of the selection."""
        return self.targets is None or bool({target.name, target.family, target.vendor} & set(self.targets))


@dataclass(frozen=True)
class BuildSet:
    """What a build makes, as a file says it; see the module's text for the fields."""

    name: str
    purpose: str
    targets: tuple[Target, ...]
    selections: tuple[Selection, ...]
    configs: Literal["chosen", "all"] = "chosen"
    image_order: tuple[str, ...] = ()
    line_information: bool = False


def build_sets() -> dict[str, Path]:
    """The build sets that come with the package, by name."""
    return {path.stem: path for path in sorted(_DATA.glob("*.json"))}


def load_set(name: str | Path) -> BuildSet:
    """A build set by its name, or by the path of a user's file.

    Raises
    ------
    BuildError
        There is none, or the file is wrong; all that is wrong is listed.
    """
    known = build_sets()
    path = known.get(str(name), Path(name))
    if not path.is_file():
        raise BuildError(
            f"there is no build set {str(name)!r}; the sets are {', '.join(known)}", "or give the path of a JSON file"
        )
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BuildError(f"the build set {path} is no JSON file: {error}") from error
    problems = _problems(data)
    if problems:
        raise BuildError(f"the build set {path} is wrong:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return BuildSet(
        name=data["name"],
        purpose=data["purpose"],
        targets=_targets(data["targets"]),
        selections=tuple(_selection(item) for item in data["selections"]),
        configs=data.get("configs", "chosen"),
        image_order=tuple(data.get("image_order", ())),
        line_information=data.get("line_information", False),
    )


def _targets(wanted: Any) -> tuple[Target, ...]:
    names = None if wanted == "all" else set(wanted)
    return tuple(t for t in TARGETS.values() if names is None or names & {t.name, t.family, t.vendor})


def _selection(item: Mapping[str, Any]) -> Selection:
    where = {
        name: tuple(value) if isinstance(value, list) else (value,) for name, value in item.get("where", {}).items()
    }
    targets = item.get("targets")
    return Selection(
        why=item["why"],
        kernels=item["kernels"],
        cover=item["cover"],
        targets=None if targets is None else tuple(targets),
        where=where,
    )


_FIELDS = {
    "format": int,
    "name": str,
    "purpose": str,
    "targets": (list, str),
    "selections": list,
    "configs": str,
    "image_order": list,
    "line_information": bool,
}
_OPTIONAL = {"configs", "image_order", "line_information"}
_SELECTION = {"why": str, "kernels": str, "cover": str, "targets": list, "where": dict}
_WORDS = {word for target in TARGETS.values() for word in (target.name, target.family, target.vendor)}


def _problems(data: Any) -> list[str]:
    if not isinstance(data, dict):
        return ["it is no JSON object"]
    problems = _fields(data, _FIELDS, _OPTIONAL, "")
    if problems:
        return problems
    if data["format"] != 1:
        problems.append(f"its format is {data['format']}; this version reads format 1")
    if data["targets"] != "all":
        problems += _unknown(data["targets"], "targets")
    problems += _unknown(data.get("image_order", []), "image_order")
    if data.get("configs", "chosen") not in ("chosen", "all"):
        problems.append(f"configs is {data['configs']!r}; it may be 'chosen' or 'all'")
    if not data["selections"]:
        problems.append("it selects nothing")
    for number, item in enumerate(data["selections"]):
        place = f"selections[{number}]"
        wrong = _fields(item, _SELECTION, {"targets", "where"}, f"{place}: ")
        if not wrong and item["cover"] not in get_args(Cover):
            wrong.append(f"{place}: cover is {item['cover']!r}; it may be {', '.join(get_args(Cover))}")
        problems += wrong or _unknown(item.get("targets", []), f"{place}: targets")
    return problems


def _fields(data: Any, fields: Mapping[str, Any], optional: set[str], place: str) -> list[str]:
    if not isinstance(data, dict):
        return [f"{place}it is no JSON object"]
    problems = [
        f"{place}unknown field {name!r}; fields are {', '.join(fields)}" for name in sorted(set(data) - set(fields))
    ]
    for name, kind in fields.items():
        if name not in data:
            problems += [] if name in optional else [f"{place}the field {name!r} is missing"]
        elif not isinstance(data[name], kind):
            problems.append(f"{place}the field {name!r} is {data[name]!r}")
    return problems


def _unknown(names: Any, place: str) -> list[str]:
    if not isinstance(names, list):
        return [f"{place} is {names!r}; it may be a list, or 'all' for a set"]
    return [
        f"{place}: there is no target, architecture family or vendor {name!r}" for name in names if name not in _WORDS
    ]
