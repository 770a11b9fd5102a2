"""Candidates of a tuning build: which configs are compiled beside those that the tables choose, and which are dropped.

In a build set, `configs` may be a list. Each entry is a product of values, for the functionals that it names:

    "configs": [
      {"kernels": "flash.attn_fwd", "targets": ["sm_90"], "where": {"BLOCK_DMODEL": [64, 128]},
       "values": {"BLOCK_M": [64, 128], "BLOCK_N": [32, 64], "num_warps": [4, 8], "num_stages": [2, 3]},
       "when": "BLOCK_M >= BLOCK_N and BLOCK_M * BLOCK_DMODEL <= 16384"}],
    "spill_limit": 0

`kernels`, `targets` and `where` are as in a selection and may be left out; what `values` doesn't name is the default of
the description. `when` is an expression over performance arguments, options and the functional's whole numbers: points
where it is 0 are left out. A functional has the candidates of all entries that match it. Code objects that spill more
bytes than `spill_limit`, need more shared memory than there is, or don't compile, are dropped with the reason.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aotriton.compile.build import Outcome
from aotriton.compile.objects import Failure
from aotriton.compile.task import Task
from aotriton.describe import Config, Functional, Kernel, Value, parse_expression
from aotriton.errors import ArgumentError, BuildError
from aotriton.targets import Target

__all__ = ["Candidates", "Dropped", "candidate_configs", "drop_unfit"]


@dataclass(frozen=True)
class Candidates:
    """A product of values of performance arguments and options, for some functionals; the module's text has the fields.

    Attributes
    ----------
    values : mapping of str to tuple
        All values to try, by performance argument or option.
    kernels : str
        A pattern of kernels' titles.
    targets : tuple of str, optional
        Names, architecture families or vendors.
    where : mapping of str to tuple
        Accepted values of the functional's axes.
    when : str, optional
        An expression; points where it is 0 are left out.
    """

    values: Mapping[str, tuple[Value, ...]] = field(hash=False)
    kernels: str = "*"
    targets: tuple[str, ...] | None = None
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    when: str | None = None

    def concerns(self, functional: Functional, target: Target) -> bool:
        """Whether a functional on a target is among those that are meant."""
        if not fnmatch.fnmatchcase(functional.kernel.title, self.kernels):
            return False
        if self.targets is not None and not {target.name, target.family, target.vendor} & set(self.targets):
            return False
        return all(_is_among(functional.values[name], accepted) for name, accepted in self.where.items())

    def configs(self, functional: Functional) -> list[Config]:
        """All points of the product that `when` lets through."""
        names = list(self.values)
        points = [dict(zip(names, point, strict=True)) for point in itertools.product(*self.values.values())]
        configs = [functional.kernel.config(point) for point in points]
        return [config for config in configs if self._allows(functional, config)]

    def _allows(self, functional: Functional, config: Config) -> bool:
        if self.when is None:
            return True
        known = {**functional.constants, **dict(config.performance), **dict(config.options)}
        numbers = {name: int(value) for name, value in known.items() if isinstance(value, int)}
        expression, problems = parse_expression(self.when, {name: place for place, name in enumerate(numbers)})
        if expression is None:
            raise ArgumentError(f"`when`: {'; '.join(problems)}; there are {', '.join(numbers)}")
        return bool(expression.evaluate(numbers))


@dataclass(frozen=True)
class Dropped:
    """A candidate that is not packed, and why."""

    functional: str
    performance: str
    options: str
    reason: str


def candidate_configs(
    kernel: Kernel, entries: tuple[Candidates, ...], functional: Functional, target: Target
) -> tuple[Config, ...]:
    """The candidates of a functional on a target, each once, as the target's compiler knows them.

    Raises
    ------
    BuildError
        An entry names what the kernel doesn't have.
    """
    found: dict[Config, None] = {}
    for number, entry in enumerate(entries):
        try:
            if entry.concerns(functional, target):
                found |= dict.fromkeys(config.for_target(target) for config in entry.configs(functional))
        except ArgumentError as error:
            raise BuildError(f"configs[{number}] of the build set, for {kernel.title}: {error.message}") from error
    return tuple(found)


def drop_unfit(
    outcomes: Mapping[Task, Outcome], chosen: Mapping[tuple[Functional, str], tuple[Config, ...]], limit: int | None
) -> tuple[dict[Task, Outcome], dict[Task, Dropped]]:
    """What remains of a tuning build's outcomes, and what is dropped.

    Parameters
    ----------
    outcomes : mapping of Task to CodeObject or Failure
        All that was to be compiled.
    chosen : mapping of (functional, target's name) to configs
        What the tables choose, which is never dropped: its failure is the build's.
    limit : int, optional
        The most bytes of scratch of a thread.
    """
    kept, dropped = dict[Task, Outcome](), dict[Task, Dropped]()
    for task, outcome in outcomes.items():
        reason = None
        if task.config not in chosen[task.functional, task.target.name]:
            reason = _unfit(outcome, limit)
        if reason is None:
            kept[task] = outcome
        else:
            texts = (task.functional.signature, task.config.performance_text, task.config.options_text)
            dropped[task] = Dropped(*texts, reason)
    return kept, dropped


def _unfit(outcome: Outcome, limit: int | None) -> str | None:
    if isinstance(outcome, Failure):
        return outcome.reason
    if limit is not None and outcome.resources.spills > limit:
        return f"it spills {outcome.resources.spills} bytes; at most {limit} were asked for"
    return None


def _is_among(value: Value, accepted: tuple[Any, ...]) -> bool:
    return any(type(value) is type(one) and value == one for one in accepted)
