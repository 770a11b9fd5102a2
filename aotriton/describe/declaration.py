"""What an author writes beside a kernel: plain values, not yet checked against the source or each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotriton.describe.choices import Value
from aotriton.targets import Target

if TYPE_CHECKING:
    from aotriton.describe.functional import Functional

__all__ = ["Declaration", "Descriptor", "Exclude", "Key", "Performance", "Strides"]


@dataclass(frozen=True)
class Performance:
    """A compile-time constant that decides speed only.

    Parameters
    ----------
    default : value
        Taken where no table says otherwise.
    values : sequence of values
        All that may be asked for.
    """

    default: Value
    values: Sequence[Value]


@dataclass(frozen=True)
class Key:
    """An argument by which configs are looked up. Binning `le`: the first bin that is not below the value."""

    argument: str
    binning: str = "le"


@dataclass(frozen=True)
class Strides:
    """The stride arguments of a tensor by dimension, where the last one is not the unit stride.

    Parameters
    ----------
    names : sequence of str or None
        One for each dimension; None for last dimensions that the source takes as contiguous without an argument.
    unit : int or None
        The dimension whose stride is 1 in every launch; None: there is none.
    """

    names: Sequence[str | None]
    unit: int | None = -1


@dataclass(frozen=True)
class Descriptor:
    """A tensor that the function takes as a descriptor, which the driver builds from the caller's view at launch.

    Parameters
    ----------
    block : sequence of int or str
        What one access moves, by dimension: powers of two, or the names of compile-time constants that are some. The
        tensor has as many dimensions, and the last one is contiguous.
    swizzle : int, optional
        Of a Gluon function: how many bytes of a row its shared memory swizzles, 0, 32, 64 or 128; None: as many as the
        block allows. Triton's compiler decides it by itself.
    fill : str
        What a load gives outside of the tensor: `zero` or `nan`.
    """

    block: Sequence[int | str]
    swizzle: int | None = None
    fill: str = "zero"

    def shape(self, constants: Mapping[str, Value]) -> tuple[int, ...]:
        """The block where the compile-time constants have these values."""
        return tuple(int(constants[size]) if isinstance(size, str) else size for size in self.block)


@dataclass(frozen=True)
class Exclude:
    """Functionals that are not compiled, and why.

    Parameters
    ----------
    reason : str
        Kept in the index, and shown to who asks for such a functional.
    when : callable, optional
        Called with the functional (`functional["BIAS_TYPE"]`) and the target; None: all functionals.
    targets : sequence of str, optional
        Names, architecture families or vendors of targets; None: all.
    """

    reason: str
    when: Callable[[Functional, Target], bool] | None = None
    targets: Sequence[str] | None = None

    def concerns(self, target: Target) -> bool:
        """Whether the target is among those that are meant."""
        return self.targets is None or bool({target.name, target.family, target.vendor} & set(self.targets))


@dataclass(frozen=True)
class Declaration:
    """The whole of a kernel's declaration; `Kernel` documents the fields."""

    family: str
    name: str
    source: Path
    function: str
    choices: Mapping[str | tuple[str, ...], Any]
    ranks: Mapping[str, int] = field(default_factory=dict)
    strides: Mapping[str, Sequence[str | None] | Strides] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    performance: Mapping[str, Performance] = field(default_factory=dict)
    options: Mapping[str, Value] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()
    grid: tuple[str, ...] = ()
    request: Mapping[str, str] = field(default_factory=dict)
    at_least: tuple[str, ...] = ()
    substitutes: Mapping[str, Mapping[Value, Sequence[Value]]] = field(default_factory=dict)
    exclude: tuple[Exclude, ...] = ()
    partially_tuned: Mapping[str, Value] = field(default_factory=dict)
    descriptors: Mapping[str, Sequence[int | str] | Descriptor] = field(default_factory=dict)
