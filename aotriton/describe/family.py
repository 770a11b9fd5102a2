"""Families: modules that declare kernels and operators, found by module name or by path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from aotriton.describe.kernel import Kernel
from aotriton.describe.operators import Operator
from aotriton.errors import DescriptionError

__all__ = ["Family", "load_family"]


@dataclass(frozen=True)
class Family:
    """A set of related kernels and operators.

    Attributes
    ----------
    name : str
        What all of them give as their family.
    kernels : tuple of Kernel
        The module's `KERNELS`.
    operators : tuple of Operator
        The module's `OPERATORS`.
    """

    name: str
    kernels: tuple[Kernel, ...]
    operators: tuple[Operator, ...]


def load_family(where: str | Path) -> Family:
    """Imports a family's module and collects what it declares.

    Parameters
    ----------
    where : str or Path
        A module's name (`aotriton.flash.description`), or the path of a Python file.

    Raises
    ------
    DescriptionError
        There is no such module, it fails, or it doesn't declare a family.
    """
    module = _import(where)
    kernels, operators = getattr(module, "KERNELS", None), getattr(module, "OPERATORS", ())
    problems = []
    if not isinstance(kernels, tuple) or not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
        raise DescriptionError(str(where), ["it has no KERNELS, a tuple of Kernel"])
    if not isinstance(operators, tuple) or not all(isinstance(operator, Operator) for operator in operators):
        raise DescriptionError(str(where), ["its OPERATORS are no tuple of Operator"])
    families = sorted({item.family for item in (*kernels, *operators)})
    if len(families) > 1:
        problems.append(f"its kernels and operators are of the families {', '.join(families)}; a module has one")
    for what, names in (("kernel", [k.name for k in kernels]), ("operator", [o.name for o in operators])):
        twice = sorted({name for name in names if names.count(name) > 1})
        problems.extend(f"the {what} {name!r} stands twice" for name in twice)
    if problems:
        raise DescriptionError(str(where), problems)
    return Family(families[0], kernels, operators)


def _import(where: str | Path) -> ModuleType:
    try:
        if isinstance(where, Path) or where.endswith(".py"):
            return _import_file(Path(where))
        return importlib.import_module(where)
    except DescriptionError:
        raise
    except Exception as error:
        raise DescriptionError(
            str(where), [f"its module can't be imported: {type(error).__name__}: {error}"]
        ) from error


def _import_file(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"_aotriton_family_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DescriptionError(str(path), ["there is no such Python file"])
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look a module up by its name while it runs.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
