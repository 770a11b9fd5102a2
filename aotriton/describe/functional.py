"""Functionals: one point of a kernel's type and feature choices, and the names made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from aotriton.describe.choices import Choice, Value
from aotriton.describe.config import Config
from aotriton.describe.descriptors import descriptor_bar
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
        bar = descriptor_bar(self.kernel.arguments, self.kernel.gluon, target)
        if bar is not None:
            return bar
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
            part = self._stride(argument) if argument.tensor is not None else self._other(argument)
            if isinstance(part, Parameter):
                parameters.append(part)
                continue
            value, checked = part
            constants[argument.name] = value
            if checked and not isinstance(value, float | str):
                fixed[argument.name] = int(value)
        return constants, tuple(parameters), fixed

    def _stride(self, argument: Argument) -> Parameter | tuple[Value, bool]:
        tensor = self.choice(argument.tensor or "")
        if self.kernel.argument(argument.tensor or "").unit == argument.dimension:
            return 1, not tensor.constant
        if tensor.constant:
            return 0, False
        return Parameter(argument.name, argument.type or "u64", 8 if tensor.alignment >= 16 else 1)

    def _other(self, argument: Argument) -> Parameter | tuple[Value, bool]:
        choice = self.choice(argument.name)
        if not choice.constant:
            return Parameter(argument.name, ("*" if choice.kind == "pointer" else "") + choice.type, choice.alignment)
        # A constant that stands for a feature which is off is nobody's business. One that is settled for good, or that
        # follows an axis (a head dim that isn't padded), is what the code relies on.
        settled = argument.role == "choice" and not self.kernel.conditional(argument.name)
        follows = argument.role == "scalar" and self.kernel.follows(argument.name, self.digits)
        return choice.value, follows or (settled and argument.name not in self.kernel.axis_of)

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
        """What the code takes for a constant and dispatch must check where it is given.

        Unit strides of tensors that are there, settled choices, and scalars that follow an axis.
        """
        return dict(self._split[2])

    @cached_property
    def triton_signature(self) -> tuple[str, ...]:
        """Each argument but performance as Triton's ahead-of-time signatures write it: `*fp16:16`, `u64:8`, `1`."""
        parameters = {parameter.argument: parameter for parameter in self.parameters}
        texts = []
        for argument in self.kernel.arguments:
            if argument.name in parameters:
                parameter = parameters[argument.name]
                if argument.descriptor is not None:
                    block = ", ".join(map(str, argument.descriptor.block))
                    texts.append(f"tensordesc<{parameter.type.removeprefix('*')}[{block}]>")
                    continue
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
