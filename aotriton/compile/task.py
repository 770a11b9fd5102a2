"""Compile tasks: one functional with one config for one target, as plain data that says all that decides the binary."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aotriton.compile.environment import Environment
from aotriton.compile.sources import SourceSet, collect_sources
from aotriton.describe import Config, Descriptor, Functional, Kernel, Parameter, stem
from aotriton.targets import Target, parse_target

__all__ = ["Task", "spec_key"]

_BACKENDS = {"amd": "hip", "nvidia": "cuda"}


@dataclass(frozen=True)
class Task:
    """What is to be compiled.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    functional : Functional
        Its type and feature choices.
    config : Config
        Its performance choices and compiler options, as the target's compiler knows them.
    target : Target
        What for.
    line_information : bool
        Whether the binary says which source line each instruction comes from.
    """

    kernel: Kernel
    functional: Functional
    config: Config
    target: Target
    line_information: bool = False

    @property
    def stem(self) -> str:
        """The name of its code object in a cluster."""
        return stem(self.functional, self.config, self.target.name)

    @property
    def sources(self) -> SourceSet:
        """The kernel's source and all that it imports from beside it."""
        return _sources(self.kernel.source)

    @property
    def environment(self) -> Environment:
        """The compiler that is used for it."""
        return Environment.current()

    @property
    def compiled_as(self) -> Task:
        """The task whose binary serves this one: itself, or the one for a target with identical code."""
        if self.target.vendor == "host":
            return self
        name = self.environment.representative(self.target.name)
        return self if name == self.target.name else replace(self, target=parse_target(name))

    @property
    def constants(self) -> dict[str, Any]:
        """Every argument that is compiled into the code."""
        return {**self.functional.constants, **dict(self.config.performance)}

    @property
    def descriptors(self) -> dict[str, Descriptor]:
        """The arguments that this functional's code takes as descriptors, in the function's order."""
        found = {one.argument: self.kernel.argument(one.argument).descriptor for one in self.functional.parameters}
        return {name: descriptor for name, descriptor in found.items() if descriptor is not None}

    def type_of(self, parameter: Parameter) -> str:
        """A parameter's type as Triton writes it: `*fp16`, `i32`, `tensordesc<fp16[64, 32]>`."""
        descriptor = self.kernel.argument(parameter.argument).descriptor
        if descriptor is None:
            return parameter.type
        return f"tensordesc<{parameter.type.removeprefix('*')}{list(descriptor.shape(self.constants))}>"

    @property
    def spec(self) -> dict[str, Any]:
        """All that decides the binary, as plain data: equal specs give equal bytes."""
        sources, parameters = self.sources, {p.argument: p for p in self.functional.parameters}
        spec: dict[str, Any] = {
            "format": 1,
            "package": sources.package,
            "module": sources.module,
            "sources": sources.hashes,
            "function": self.kernel.symbol,
            "signature": {
                argument.name: self.type_of(parameters[argument.name]) if argument.name in parameters else "constexpr"
                for argument in self.kernel.arguments
            },
            "attributes": {
                name: p.alignment
                for name, p in parameters.items()
                if p.alignment > 1 and self.kernel.argument(name).descriptor is None
            },
            "constants": self.constants,
        }
        swizzles = {name: one.swizzle for name, one in self.descriptors.items() if one.swizzle is not None}
        if swizzles:
            spec["swizzles"] = swizzles
        if self.target.vendor == "host":
            return {**spec, "target": {"backend": "host"}}
        environment, target = self.environment, self.target
        return {
            **spec,
            "options": {**environment.options(target), **dict(self.config.options)},
            "target": {
                "backend": _BACKENDS[target.vendor],
                "arch": target.name if target.vendor == "amd" else target.number,
                "warp_size": target.warp_size,
            },
            "compiler": {"triton": environment.triton_version, "identity": environment.identity},
            "environment": environment.pinned(self.line_information),
        }

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of the spec: what the cache calls its binary."""
        return spec_key(self.spec)


def spec_key(spec: Mapping[str, Any]) -> str:
    """SHA-256 of a spec's canonical JSON."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


_seen: dict[Path, tuple[SourceSet, dict[Path, tuple[int, int]]]] = {}


def _sources(path: Path) -> SourceSet:
    """The sources of a kernel, read again when one of its files has changed."""
    if path in _seen:
        found, stamps = _seen[path]
        if all(file.exists() and _stamp(file) == stamp for file, stamp in stamps.items()):
            return found
    found = collect_sources(path)
    _seen[path] = (found, {path.parent / name: _stamp(path.parent / name) for name, _ in found.files})
    return found


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
