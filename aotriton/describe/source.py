"""Reads the signature of a Triton function from its source as a syntax tree; Triton is never imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Function", "read_function"]


@dataclass(frozen=True)
class Function:
    """What a kernel's source says about its entry function.

    Attributes
    ----------
    name : str
        The function, which is also the symbol in the code objects.
    arguments : tuple of str
        Its arguments in order.
    constexpr : frozenset of str
        Those that are annotated as `tl.constexpr`.
    gluon : bool
        Whether it is a Gluon function (`@gluon.jit`), not one of Triton's.
    """

    name: str
    arguments: tuple[str, ...]
    constexpr: frozenset[str]
    gluon: bool = False


def read_function(path: Path, name: str) -> tuple[Function | None, list[str]]:
    """The function of that name, or all that is wrong: no file, no syntax, no such function, not compiled by Triton."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except OSError as error:
        return None, [f"the source {path} can't be read: {error.strerror}"]
    except (SyntaxError, ValueError) as error:
        return None, [f"the source {path} is no Python: {error}"]
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        there = ", ".join(functions) or "none"
        return None, [f"the source {path.name} has no function {name!r}; its functions are: {there}"]
    node = functions[name]
    problems = []
    if not any(_last_name(decorator) == "jit" for decorator in node.decorator_list):
        problems.append(f"the function {name!r} in {path.name} is not decorated with @triton.jit")
    if node.args.vararg or node.args.kwarg:
        problems.append(f"the function {name!r} in {path.name} takes *arguments, which have no place in a signature")
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    constexpr = frozenset(argument.arg for argument in arguments if _is_constexpr(argument.annotation))
    gluon = any(_is_gluon(decorator, tree) for decorator in node.decorator_list)
    return Function(name, tuple(argument.arg for argument in arguments), constexpr, gluon), problems


def _last_name(node: ast.expr) -> str | None:
    """`jit` of `@triton.jit`, `@jit`, `@gluon.jit` and `@triton.jit(…)`."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _is_gluon(decorator: ast.expr, tree: ast.Module) -> bool:
    """Whether a decorator is Gluon's `jit`, by the import that its name comes from."""
    if _last_name(decorator) != "jit":
        return False
    written = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    root, _, rest = written.partition(".")
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            home = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                if (alias.asname or alias.name.split(".")[0]) == root:
                    found = home + (alias.name if home or alias.asname else root)
                    return "gluon" in f"{found}.{rest}".split(".")
    return False


def _is_constexpr(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2].strip() == "constexpr"
    return annotation is not None and _last_name(annotation) == "constexpr"
