"""The schema of a kernel's table in a tuning database, which is the original's, and what its values mean.

A kernel has the table `FLASH$attn_fwd`, with a row for each GPU, functional and problem that was tuned:

    gpu                   sm_90_mod0: target and variant
    inputs$…              look-up keys and the functional's axes; Q_dtype is torch.float16, booleans are 0 or 1
    tuned_kernel$…        the winner's performance arguments
    compiler_options$…    its compiler options; NULL where the target's compiler doesn't have one
    measured$…            microseconds, and the name of the run in the table `tuning_runs`

gpu and all inputs$ together are unique. Readers ignore columns that they don't know; columns that the original has and
the description here doesn't (`inputs$INT8`, …) are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aotriton.describe import Axis, Choice, Functional, Kernel, Value
from aotriton.errors import ArgumentError

__all__ = ["Schema", "schema_of"]

_TORCH = {
    "fp16": "torch.float16", "bf16": "torch.bfloat16", "fp32": "torch.float32", "fp64": "torch.float64",
    "i8": "torch.int8", "i16": "torch.int16", "i32": "torch.int32", "i64": "torch.int64", "u8": "torch.uint8",
}  # fmt: skip
# Inputs of the original's tables that are no axis here, and always 0.
_ORIGINAL = {"FLASH$attn_fwd": ("USE_ALIBI", "INT8", "INT8_KV", "USE_P_SCALE")}


@dataclass(frozen=True)
class Schema:
    """The table of a kernel.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    table : str
        `FLASH$attn_fwd`.
    keys : tuple of str
        Look-up keys.
    axes : mapping of str to Axis
        By column, without the prefix: `Q_dtype`, `CAUSAL_TYPE`.
    constants : tuple of str
        Columns that are 0, without the prefix.
    """

    kernel: Kernel
    table: str
    keys: tuple[str, ...]
    axes: Mapping[str, Axis]
    constants: tuple[str, ...]

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return ("gpu", *(f"inputs${name}" for name in (*self.keys, *self.axes, *self.constants)))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        tuned = (f"tuned_kernel${name}" for name in self.kernel.performance)
        options = (f"compiler_options${name}" for name in self.kernel.options)
        return (*self.unique, *tuned, *options, "measured$microseconds", "measured$run")

    def inputs(self, functional: Functional, problem: Mapping[str, int]) -> dict[str, Any]:
        """What identifies the row of a functional and a problem, but for the GPU.

        Raises
        ------
        ArgumentError
            The functional's tensors aren't aligned, which the schema can't say.
        """
        values: dict[str, Any] = {f"inputs${key}": problem[key] for key in self.keys}
        for column, axis in self.axes.items():
            choice = axis.choices[functional.digits[axis.label]]
            if choice.kind == "pointer" and choice != self.aligned(axis, choice.type):
                raise ArgumentError(f"{functional.signature}: the database has rows for aligned tensors only")
            pointer = choice.kind == "pointer"
            values[f"inputs${column}"] = _TORCH.get(choice.type, choice.text) if pointer else _plain(choice.value)
        return {**values, **{f"inputs${name}": 0 for name in self.constants}}

    def functional(self, row: Mapping[str, Any]) -> Functional:
        """The functional that a row is of; an axis for which there is no column has its first choice.

        Raises
        ------
        ArgumentError
            There is no such functional.
        """
        beyond = [name for name in self.constants if row.get(f"inputs${name}")]
        if beyond:
            raise ArgumentError(f"no functional has {beyond[0]} {row[f'inputs${beyond[0]}']!r}")
        values: dict[str, Value] = {}
        for column, axis in self.axes.items():
            found = row.get(f"inputs${column}", _MISSING)
            values[axis.label] = axis.choices[0].value if found is _MISSING else self._value(column, axis, found)
        return self.kernel.functional(self.kernel.number_of(values))

    def _value(self, column: str, axis: Axis, found: Any) -> Value:
        for choice in axis.choices:
            if choice.kind == "pointer":
                if _TORCH.get(choice.type, choice.text) == found and choice == self.aligned(axis, choice.type):
                    return choice.value
            elif _plain(choice.value) == found:
                return choice.value
        raise ArgumentError(f"no functional has {column} {found!r}")

    @staticmethod
    def aligned(axis: Axis, kind: str) -> Choice:
        """The choice of an element type with the largest alignment."""
        return max((one for one in axis.choices if one.type == kind), key=lambda one: one.alignment)

    def config(self, row: Mapping[str, Any]) -> dict[str, Value]:
        """The performance arguments and options that a row says.

        Raises
        ------
        ArgumentError
            The kernel has no such value.
        """
        values: dict[str, Value] = {}
        for name, choices in self.kernel.performance.items():
            found = row.get(f"tuned_kernel${name}")
            if found is None:
                continue
            fitting = [choice.value for choice in choices if _plain(choice.value) == found]
            if not fitting:
                raise ArgumentError(f"no config has {name} {found!r}")
            values[name] = fitting[0]
        for name in self.kernel.options:
            found = row.get(f"compiler_options${name}")
            if found is None:
                continue
            if not isinstance(found, int) or found < 0:
                raise ArgumentError(f"no config has {name} {found!r}")
            values[name] = found
        return values

    def tuned(self, config: Mapping[str, Value]) -> dict[str, Any]:
        """A config's columns."""
        tuned = {f"tuned_kernel${name}": _plain(config[name]) for name in self.kernel.performance if name in config}
        options = [name for name in self.kernel.options if name in config]
        return {**tuned, **{f"compiler_options${name}": _plain(config[name]) for name in options}}


_MISSING = object()


def _plain(value: Value) -> Any:
    return int(value) if isinstance(value, bool) else value


def schema_of(kernel: Kernel) -> Schema:
    """The table of a kernel."""
    axes = {f"{axis.label}_dtype" if axis.choices[0].kind == "pointer" else axis.label: axis for axis in kernel.axes}
    table = f"{kernel.family.upper()}${kernel.name}"
    constants = tuple(name for name in _ORIGINAL.get(table, ()) if name not in axes)
    return Schema(kernel, table, tuple(key.argument for key in kernel.keys), axes, constants)
