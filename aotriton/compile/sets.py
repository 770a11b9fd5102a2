"""Build sets: which functionals, configs and targets a build makes. Data: JSON files, the user's as well as ours.

    {"format": 1, "name": "mine", "purpose": "one line",
     "targets": ["gfx942", "nvidia"],          names, architecture families, vendors; or "all"
     "configs": "chosen",                      those that the tables choose; or "all"; or a list of candidates, beside
                                               the chosen ones, for a tuning build (aotriton.compile.candidates)
     "spill_limit": 0,                         optional: drop candidates that spill more bytes
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

from aotriton.compile.candidates import Candidates
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
    configs: Literal["chosen", "all"] | tuple[Candidates, ...] = "chosen"
    image_order: tuple[str, ...] = ()
    line_information: bool = False
    spill_limit: int | None = None


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
        configs=_configs(data.get("configs", "chosen")),
        image_order=tuple(data.get("image_order", ())),
        line_information=data.get("line_information", False),
        spill_limit=data.get("spill_limit"),
    )


def _configs(given: Any) -> Any:
    """`chosen` or `all` as they are, entries as candidates."""
    return given if isinstance(given, str) else tuple(_candidates(item) for item in given)


def _candidates(item: Mapping[str, Any]) -> Candidates:
    targets = item.get("targets")
    return Candidates(
        values=_tuples(item["values"]),
        kernels=item.get("kernels", "*"),
        targets=None if targets is None else tuple(targets),
        where=_tuples(item.get("where", {})),
        when=item.get("when"),
    )


def _tuples(values: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(value) if isinstance(value, list) else (value,) for name, value in values.items()}


def _targets(wanted: Any) -> tuple[Target, ...]:
    names = None if wanted == "all" else set(wanted)
    return tuple(t for t in TARGETS.values() if names is None or names & {t.name, t.family, t.vendor})


def _selection(item: Mapping[str, Any]) -> Selection:
    targets = item.get("targets")
    return Selection(
        why=item["why"],
        kernels=item["kernels"],
        cover=item["cover"],
        targets=None if targets is None else tuple(targets),
        where=_tuples(item.get("where", {})),
    )


_FIELDS = {
    "format": int,
    "name": str,
    "purpose": str,
    "targets": (list, str),
    "selections": list,
    "configs": (str, list),
    "image_order": list,
    "line_information": bool,
    "spill_limit": int,
}
_OPTIONAL = {"configs", "image_order", "line_information", "spill_limit"}
_SELECTION = {"why": str, "kernels": str, "cover": str, "targets": list, "where": dict}
_CANDIDATES = {"values": dict, "kernels": str, "targets": list, "where": dict, "when": str}
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
    problems += _wrong_configs(data.get("configs", "chosen"), data.get("spill_limit"))
    if not data["selections"]:
        problems.append("it selects nothing")
    for number, item in enumerate(data["selections"]):
        place = f"selections[{number}]"
        wrong = _fields(item, _SELECTION, {"targets", "where"}, f"{place}: ")
        if not wrong and item["cover"] not in get_args(Cover):
            wrong.append(f"{place}: cover is {item['cover']!r}; it may be {', '.join(get_args(Cover))}")
        problems += wrong or _unknown(item.get("targets", []), f"{place}: targets")
    return problems


def _wrong_configs(configs: Any, limit: Any) -> list[str]:
    if isinstance(configs, str):
        problems = [] if configs in ("chosen", "all") else [_CONFIGS.format(f" is {configs!r}")]
        return problems if limit is None else [*problems, "spill_limit is for candidates: configs is no list of them"]
    problems = [] if configs else [_CONFIGS.format(" is an empty list")]
    if limit is not None and limit < 0:
        problems.append(f"spill_limit is {limit}; it is a number of bytes")
    for number, item in enumerate(configs):
        place = f"configs[{number}]"
        wrong = _fields(item, _CANDIDATES, set(_CANDIDATES) - {"values"}, f"{place}: ")
        if not wrong:
            wrong = [f"{place}: {name} has no values" for name, values in item["values"].items() if values == []]
        problems += wrong or _unknown(item.get("targets", []), f"{place}: targets")
    return problems


_CONFIGS = "configs{}; it may be 'chosen', 'all', or a list of candidates"


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
