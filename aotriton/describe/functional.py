"""Functionals: one point of a kernel's type and feature choices, and the names made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from aotriton.describe.choices import Choice, Value
from aotriton.describe.config import Config
from aotriton.describe.parameters import Argument, Parameter
from aotriton.errors import DescriptionError
from aotriton.targets import Target

if TYPE_CHECKING:
    from aotriton.describe.kernel import Kernel

__all__ = ["Functional", "stem"]

SINGLE = "single"


@dataclass(frozen=True)
class Functional:
    """One point of a kernel's type and feature choices: what decides correctness.

    Attributes
    ----------
    kernel : Kernel
        The kernel that it belongs to.
    number : int
        Its mixed-radix number over the kernel's axes.
    """

    kernel: Kernel
    number: int

    @cached_property
    def digits(self) -> dict[str, int]:
        """The number of the choice on each axis."""
        return {axis.label: self.number // axis.stride % axis.radix for axis in self.kernel.axes}

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """The value on each axis, by label."""
        return {axis.label: axis.choices[self.digits[axis.label]].value for axis in self.kernel.axes}

    @cached_property
    def signature(self) -> str:
        """`Q='*fp16:16';BLOCK_DMODEL=16`: each axis with its choice; `single` for a kernel that has no axes."""
        pairs = (f"{axis.label}={axis.choices[self.digits[axis.label]].text}" for axis in self.kernel.axes)
        return ";".join(pairs) or SINGLE

    @property
    def digest(self) -> str:
        """SHA-256 of the signature."""
        return hashlib.sha256(self.signature.encode()).hexdigest()

    def choice(self, argument: str) -> Choice:
        """What a tensor, scalar or choice argument is in this functional, settled for that argument."""
        return self.kernel.choice(argument, self.digits)

    def __getitem__(self, argument: str) -> Value:
        """The value of an argument that is a constant here, else the text of its type."""
        return self.choice(argument).value

    def excluded(self, target: Target) -> str | None:
        """Why this functional is not compiled for the target; None: it is.

        Raises
        ------
        DescriptionError
            A predicate of the description failed.
        """
        for exclusion in self.kernel.exclude:
            if not exclusion.concerns(target):
                continue
            try:
                if exclusion.when is None or exclusion.when(self, target):
                    return exclusion.reason
            except Exception as error:
                problem = f"the exclusion {exclusion.reason!r} fails for {self.signature} on {target.name}: {error!r}"
                raise DescriptionError(self.kernel.title, [problem]) from error
        return None

    @cached_property
    def _split(self) -> tuple[dict[str, Value], tuple[Parameter, ...], dict[str, int]]:
        constants: dict[str, Value] = {}
        parameters: list[Parameter] = []
        fixed: dict[str, int] = {}
        for argument in self.kernel.arguments:
            if argument.role == "performance":
                continue
            if argument.role == "stride":
                constant = self._stride_constant(argument)
                if constant is None:
                    alignment = 8 if self.choice(argument.tensor or "").alignment >= 16 else 1
                    parameters.append(Parameter(argument.name, argument.type or "u64", alignment))
                else:
                    constants[argument.name] = constant
                    if not self.choice(argument.tensor or "").constant:
                        fixed[argument.name] = constant
                continue
            choice = self.choice(argument.name)
            if choice.constant:
                constants[argument.name] = choice.value
            else:
                pointer = "*" if choice.kind == "pointer" else ""
                parameters.append(Parameter(argument.name, pointer + choice.type, choice.alignment))
        return constants, tuple(parameters), fixed

    def _stride_constant(self, argument: Argument) -> int | None:
        if self.kernel.argument(argument.tensor or "").unit == argument.dimension:
            return 1
        return 0 if self.choice(argument.tensor or "").constant else None

    @property
    def constants(self) -> dict[str, Value]:
        """Every constexpr argument but the performance ones; null tensors and their strides are 0, unit strides 1."""
        return dict(self._split[0])

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the code takes at launch, in the function's order."""
        return self._split[1]

    @property
    def fixed(self) -> dict[str, int]:
        """The strides of tensors that the code takes for constants: dispatch must check that they are."""
        return dict(self._split[2])

    @cached_property
    def triton_signature(self) -> tuple[str, ...]:
        """Each argument as Triton's ahead-of-time signatures write it (`*fp16:16`, `u64:8`, `1`), performance left out."""
        parameters = {parameter.argument: parameter for parameter in self.parameters}
        texts = []
        for argument in self.kernel.arguments:
            if argument.name in parameters:
                parameter = parameters[argument.name]
                hint = f":{parameter.alignment}" if parameter.alignment > 1 else ""
                texts.append(parameter.type + hint)
            elif argument.role != "performance":
                texts.append(repr(self.constants[argument.name]))
        return tuple(texts)

    def __repr__(self) -> str:
        return f"<Functional {self.kernel.title} {self.number}: {self.signature}>"


def stem(functional: Functional, config: Config, target: str) -> str:
    """The name of a code object in its cluster: `;;#F;…;;#P;…;;#CO;…;;arch=gfx942`."""
    used = config.for_target(target)
    return f";;#F;{functional.signature};;#P;{used.performance_text};;#CO;{used.options_text};;arch={target}"
