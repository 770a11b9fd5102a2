"""The index of one kernel in one pack: what dispatch needs, as the schema's JSON and as FlatBuffers bytes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aotriton.describe import Argument, Axis, Choice, Config, Expression, Functional, Kernel, Parameter, Value, stem
from aotriton.errors import BuildError
from aotriton.pack.schema import compile_index
from aotriton.targets import Target

if TYPE_CHECKING:
    from aotriton.compile.objects import CodeObject

__all__ = [
    "SCHEMA_VERSION",
    "Contents",
    "Exclusion",
    "Packed",
    "Part",
    "compilers",
    "index_bytes",
    "index_of",
    "serves",
]

SCHEMA_VERSION = 1
_SCRATCH_PARAMETERS = 2  # global scratch and profile scratch: compiled Triton code takes them after its own

_SERVES = {"sm_80": ("sm_86", "sm_89")}
"""Whose code other targets' devices run: cubins, within a major compute capability and from its lowest."""


@dataclass(frozen=True)
class Packed:
    """One functional as it goes into a pack.

    Attributes
    ----------
    functional : Functional
        What was compiled.
    keys, cells, source
        The look-up table; a cell is the number of an object.
    objects : tuple of CodeObject
        Its code, one for each config.
    """

    functional: Functional
    keys: tuple[tuple[str, tuple[int, ...]], ...]
    cells: tuple[int, ...]
    source: str
    objects: tuple[CodeObject, ...]


@dataclass(frozen=True)
class Exclusion:
    """Functionals that have no code, and why: by the description, or a failure of the compiler that a flag allowed."""

    reason: str
    kind: Literal["described", "failed"]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """One target's share of a kernel in a pack."""

    target: Target
    functionals: tuple[Packed, ...]
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class Contents:
    """All that one kernel's ZIP in one pack holds.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    parts : tuple of Part
        Each target's share, in the order in which a cluster's images stand.
    """

    kernel: Kernel
    parts: tuple[Part, ...]


@dataclass
class _Pool:
    """Numbers distinct things in the order in which they come."""

    items: dict[Hashable, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, key: Hashable, row: Mapping[str, Any]) -> int:
        if key not in self.items:
            self.items[key] = len(self.rows)
            self.rows.append(dict(row))
        return self.items[key]


@dataclass
class _Writer:
    kernel: Kernel
    signatures: _Pool = field(default_factory=_Pool)
    configs: _Pool = field(default_factory=_Pool)
    tables: _Pool = field(default_factory=_Pool)

    def __post_init__(self) -> None:
        self.positions = {argument.name: place for place, argument in enumerate(self.kernel.arguments)}

    def part(self, part: Part) -> dict[str, Any]:
        packed = sorted(part.functionals, key=lambda one: one.functional.number)
        return {
            "name": part.target.name,
            "functionals": [self.functional(one, part.target) for one in packed],
            "exclusions": [
                {"reason": one.reason, "kind": one.kind, "numbers": sorted(one.numbers)}
                for one in sorted(part.exclusions, key=lambda one: (one.kind, one.reason))
            ],
            "serves": list(serves(part.target)),
        }

    def functional(self, packed: Packed, target: Target) -> dict[str, Any]:
        functional = packed.functional
        configs = [self.config(one.config.for_target(target)) for one in packed.objects]
        images = zip(configs, packed.objects, strict=True)
        return {
            "number": functional.number,
            "text": functional.signature,
            "signature": self.signature(functional),
            "table": self.table(packed),
            "configs": configs,
            "images": [self.image(position, one) for position, one in images],
        }

    def signature(self, functional: Functional) -> int:
        fixed = {**_settled(functional), **functional.fixed}
        row = {
            "parameters": [self.parameter(one) for one in functional.parameters],
            "fixed": [{"argument": self.positions[name], "value": int(value)} for name, value in fixed.items()],
        }
        return self.signatures.add((functional.parameters, tuple(fixed.items())), row)

    def parameter(self, one: Parameter) -> dict[str, Any]:
        return {
            "argument": self.positions[one.argument],
            "type": one.type.removeprefix("*"),
            "pointer": one.type.startswith("*"),
            "alignment": one.alignment,
        }

    def config(self, config: Config) -> int:
        row = {
            "performance": config.performance_text,
            "options": config.options_text,
            "values": [
                {"argument": self.positions[name], "integer": int(value), "text": repr(value)}
                for name, value in config.performance
            ],
        }
        return self.configs.add((row["performance"], row["options"]), row)

    def table(self, packed: Packed) -> int:
        row = {
            "keys": [{"argument": self.positions[name], "bins": list(bins)} for name, bins in packed.keys],
            "cells": list(packed.cells),
            "source": packed.source,
        }
        return self.tables.add((packed.keys, packed.cells, packed.source), row)

    def image(self, config: int, one: CodeObject) -> dict[str, Any]:
        row = {
            "config": config,
            "name": stem(one.functional, one.config, one.target),
            "sha256": list(bytes.fromhex(one.sha256)),
            "bytes": len(one.image),
            "shared": one.resources.shared,
            "threads": one.resources.threads,
            "num_ctas": one.resources.num_ctas,
            "registers": one.resources.registers,
            "spills": one.resources.spills,
        }
        if one.compiled_for is not None:
            row["compiled_for"] = one.compiled_for
        return {**row, **self.launch(one)}

    def launch(self, one: CodeObject) -> dict[str, Any]:
        """What else a launch needs of an image, where it isn't the usual."""
        row: dict[str, Any] = {name: True for name in ("dependent", "cooperative") if getattr(one.resources, name)}
        maps, parameters = one.resources.tensor_maps, one.functional.parameters
        if maps:
            asked = [each.argument for each in parameters if self.kernel.argument(each.argument).descriptor is not None]
            if len(maps) != len(asked):
                names = ", ".join(asked) or "none"
                raise BuildError(f"{one.functional} has code with {len(maps)} tensor maps for the descriptors {names}")
            row["tensor_maps"] = [{"block": list(each.block), "swizzle": each.swizzle} for each in maps]
        return row


def serves(target: Target) -> tuple[str, ...]:
    """The other targets whose devices may run this one's code."""
    return _SERVES.get(target.name, ())


def index_of(contents: Contents, build: Mapping[str, str]) -> dict[str, Any]:
    """The index as the schema's JSON; equal contents give an equal index.

    Parameters
    ----------
    contents : Contents
        The kernel's share of a pack.
    build : mapping of str to str
        What identifies the build: its set, the project's version. No date, so that equal builds give equal bytes.
    """
    kernel = contents.kernel
    writer = _Writer(kernel)
    parts = [writer.part(part) for part in contents.parts]
    compiled = any(part.target.vendor != "host" for part in contents.parts)
    return {
        "schema_version": SCHEMA_VERSION,
        "family": kernel.family,
        "kernel": kernel.name,
        "symbol": kernel.symbol,
        "scratch_parameters": _SCRATCH_PARAMETERS if compiled else 0,
        "arguments": [_argument(one, writer.positions) for one in kernel.arguments],
        "axes": [_axis(one, writer.positions) for one in kernel.axes],
        "signatures": writer.signatures.rows,
        "configs": writer.configs.rows,
        "tables": writer.tables.rows,
        "targets": parts,
        "grid": _grid(kernel.grid),
        "description_hash": kernel.description_hash,
        "compiler": _properties(compilers(contents)),
        "build": _properties(build),
    }


def index_bytes(contents: Contents, build: Mapping[str, str]) -> bytes:
    """The index as it stands in the pack.

    Raises
    ------
    BuildError
        A number doesn't fit its field, or there is no FlatBuffers compiler.
    """
    return compile_index(index_of(contents, build))


def compilers(contents: Contents) -> dict[str, str]:
    """What identifies the compilers of all images; where they differ, all values."""
    values: dict[str, set[str]] = {}
    for compiler in {one.compiler for part in contents.parts for packed in part.functionals for one in packed.objects}:
        for name, text in compiler.properties().items():
            values.setdefault(name, set()).add(text)
    return {name: ", ".join(sorted(texts)) for name, texts in sorted(values.items())}


def _settled(functional: Functional) -> dict[str, Value]:
    """The whole numbers that are constants in all code; a caller who gives such an argument is held to it."""
    kernel = functional.kernel
    moving = {name for axis in kernel.axes for name in axis.arguments}
    return {
        argument.name: functional.constants[argument.name]
        for argument in kernel.arguments
        if argument.role == "choice" and argument.name not in moving and not kernel.conditional(argument.name)
        if isinstance(functional.constants[argument.name], int)
    }


def _argument(one: Argument, positions: Mapping[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "role": one.role, "type": one.type or "none"}
    if one.role == "stride" and one.tensor is not None:
        row |= {"tensor": positions[one.tensor], "dimension": one.dimension}
    if one.role == "tensor":
        row |= {"rank": one.rank, "optional": one.optional, "dense": one.dense}
    if one.descriptor is not None:
        row |= {"rank": one.rank, "fills_nan": one.descriptor.fill == "nan"}
    return row


def _axis(one: Axis, positions: Mapping[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "label": one.label,
        "arguments": [positions[name] for name in one.arguments],
        "choices": [_choice(choice) for choice in one.choices],
        "radix_stride": one.stride,
        "rule": one.rule,
    }
    if one.request is not None:
        row["request"] = _expression(one.request)
    if any(one.substitutes):
        row["substitutes"] = [{"choices": list(numbers)} for numbers in one.substitutes]
    return row


def _choice(one: Choice) -> dict[str, Any]:
    row: dict[str, Any] = {"text": one.text, "kind": one.kind, "type": one.type, "alignment": one.alignment}
    if one.kind in ("integer", "boolean"):
        row["integer"] = int(one.value)
    elif one.kind == "real":
        row["real"] = float(one.value)
    return row


def _expression(one: Expression) -> dict[str, Any]:
    return {"text": one.text, "steps": [{"value": value, "operation": operation} for operation, value in one.steps]}


def _grid(grid: Sequence[Expression]) -> list[dict[str, Any]]:
    """Three expressions, the last ones 1 where fewer are declared; none where the caller gives the grid."""
    one = {"text": "1", "steps": [{"value": 1, "operation": "constant"}]}
    return [*map(_expression, grid), *([one] * (3 - len(grid)))] if grid else []


def _properties(values: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in dict(values).items()]
