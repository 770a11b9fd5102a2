"""Expressions over a kernel's arguments: grids, requests and conditions, in Python's syntax, kept as postfix steps.

Only integers: a boolean counts as 0 or 1, a tensor as its address. Every part is evaluated, so both sides of `and`,
`or` and `… if … else …` must be defined. The run time evaluates the same steps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aotriton.errors import ArgumentError

__all__ = ["Expression", "parse_expression"]

_BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.FloorDiv: "floordiv",
    ast.Mod: "modulo",
}
_COMPARE = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
_CALLS = {"cdiv": "cdiv", "min": "minimum", "max": "maximum"}
_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "modulo": lambda a, b: a % b,
    "cdiv": lambda a, b: -(-a // b),
    "minimum": min,
    "maximum": max,
    "equal": lambda a, b: int(a == b),
    "not_equal": lambda a, b: int(a != b),
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "greater": lambda a, b: int(a > b),
    "greater_equal": lambda a, b: int(a >= b),
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
}

Step = tuple[str, int]


@dataclass(frozen=True)
class Expression:
    """An expression in postfix order.

    Attributes
    ----------
    text : str
        As the author wrote it.
    steps : tuple of (str, int)
        Operations by the names of the index's schema. The number is the constant's value, or the argument's position.
    names : tuple of str
        The arguments that it reads, in order of first use.
    """

    text: str
    steps: tuple[Step, ...]
    names: tuple[str, ...]
    positions: tuple[int, ...]

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Its value for these arguments.

        Raises
        ------
        ArgumentError
            An argument is missing, or a divisor is zero.
        """
        missing = [name for name in self.names if name not in values]
        if missing:
            raise ArgumentError(f"{self.text!r} needs {', '.join(missing)}")
        by_position = {position: int(values[name]) for position, name in zip(self.positions, self.names, strict=True)}
        stack: list[int] = []
        for operation, value in self.steps:
            if operation == "constant":
                stack.append(value)
            elif operation == "argument":
                stack.append(by_position[value])
            elif operation == "logical_not":
                stack.append(int(not stack.pop()))
            elif operation == "select":
                otherwise, then, condition = stack.pop(), stack.pop(), stack.pop()
                stack.append(then if condition else otherwise)
            else:
                right, left = stack.pop(), stack.pop()
                if right == 0 and operation in ("floordiv", "modulo", "cdiv"):
                    raise ArgumentError(f"{self.text!r} divides by zero")
                stack.append(_EVALUATE[operation](left, right))
        return stack.pop()


class _Compiler:
    """Turns a syntax tree into steps, noting every problem on the way."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self.positions = positions
        self.steps: list[Step] = []
        self.names: dict[str, int] = {}
        self.problems: list[str] = []

    def visit(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=bool() | int() as value):
                self.constant(int(value))
            case ast.Name(id=name):
                self.name(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                self.apply(_BINARY[type(op)], left, right)
            case ast.BoolOp(op=op, values=values):
                self.fold("logical_and" if isinstance(op, ast.And) else "logical_or", values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.apply("logical_not", operand)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                self.constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.apply("subtract", ast.Constant(value=0), operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                self.compare(node, left, ops, others)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.apply("select", test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                self.call(name, args)
            case _:
                self.problems.append(f"{ast.unparse(node)!r} is not part of the expression language")

    def constant(self, value: int) -> None:
        if not -(2**63) <= value < 2**63:
            self.problems.append(f"{value} doesn't fit an int64")
        self.steps.append(("constant", value))

    def name(self, name: str) -> None:
        if name not in self.positions:
            self.problems.append(f"{name!r} is no argument")
            return
        self.names[name] = self.positions[name]
        self.steps.append(("argument", self.positions[name]))

    def apply(self, operation: str, *operands: ast.expr) -> None:
        for operand in operands:
            self.visit(operand)
        self.steps.append((operation, 0))

    def fold(self, operation: str, operands: list[ast.expr]) -> None:
        self.visit(operands[0])
        for operand in operands[1:]:
            self.visit(operand)
            self.steps.append((operation, 0))

    def compare(self, node: ast.expr, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> None:
        if any(type(op) not in _COMPARE for op in ops):
            self.problems.append(f"{ast.unparse(node)!r} is not part of the expression language")
            return
        for place, (op, right) in enumerate(zip(ops, others, strict=True)):
            self.apply(_COMPARE[type(op)], left, right)
            if place:
                self.steps.append(("logical_and", 0))
            left = right

    def call(self, name: str, operands: list[ast.expr]) -> None:
        if len(operands) < 2 or (name == "cdiv" and len(operands) > 2):
            self.problems.append(
                f"{name} takes {'2' if name == 'cdiv' else 'two or more'} operands, not {len(operands)}"
            )
            return
        self.fold(_CALLS[name], operands)


def parse_expression(text: str, positions: Mapping[str, int]) -> tuple[Expression | None, list[str]]:
    """Reads an expression.

    Parameters
    ----------
    text : str
        Python's syntax: integers, argument names, `+ - * // %`, comparisons, `and or not`, `a if c else b`, and the
        functions `cdiv`, `min` and `max`.
    positions : mapping of str to int
        The arguments that it may read, with their positions.

    Returns
    -------
    expression : Expression or None
        None where there are problems.
    problems : list of str
        All that is wrong with it.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, TypeError, ValueError) as error:
        return None, [f"{text!r} is no expression ({getattr(error, 'msg', error)})"]
    compiler = _Compiler(positions)
    compiler.visit(tree.body)
    if compiler.problems:
        return None, list(dict.fromkeys(compiler.problems))
    names = compiler.names
    return Expression(text, tuple(compiler.steps), tuple(names), tuple(names.values())), []
