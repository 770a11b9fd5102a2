"""Expressions: the language, its steps, and what is turned down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aotriton.describe import parse_expression
from aotriton.errors import ArgumentError

NAMES = {"a": 0, "b": 3, "c": 7}


def value(text: str, **values: int) -> int:
    expression, problems = parse_expression(text, NAMES)
    assert expression is not None, problems
    return expression.evaluate(values)


def test_steps_are_postfix_with_positions() -> None:
    expression, _ = parse_expression("cdiv(a, 64) * b", NAMES)
    assert expression is not None
    assert expression.steps == (("argument", 0), ("constant", 64), ("cdiv", 0), ("argument", 3), ("multiply", 0))
    assert expression.names == ("a", "b")
    assert expression.text == "cdiv(a, 64) * b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cdiv(a, b)", 4),
        ("cdiv(-a, b)", -3),
        ("-a // b", -4),
        ("-a % b", 2),
        ("min(a, b, c)", -2),
        ("max(a, b, c)", 10),
        ("b < a <= 10", 1),
        ("a == 10 and not b", 0),
        ("c or 0", 1),
        ("a if c > 0 else b", 3),
        ("a != b or c", 1),
        ("+True", None),
        ("True + a", 11),
        ("-(a + b)", -13),
    ],
)
def test_values(text: str, expected: int | None) -> None:
    if expected is None:
        assert parse_expression(text, NAMES)[0] is None
    else:
        assert value(text, a=10, b=3, c=-2) == expected


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20), st.integers(-5, 5))
def test_arithmetic_is_pythons(a: int, b: int, c: int) -> None:
    text = "(a // b) * b + a % b + min(a, c) - max(b, c) * (1 if a > b else 2)"
    assert value(text, a=a, b=b, c=c) == a + min(a, c) - max(b, c) * (1 if a > b else 2)
    assert value("cdiv(a, b) * b", a=a, b=b) >= a


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a +", "no expression"),
        ("a / b", "'a / b' is not part of the expression language"),
        ("x * y", "'x' is no argument"),
        ("a.size(0)", "not part of the expression language"),
        ("cdiv(a)", "cdiv takes 2 operands, not 1"),
        ("cdiv(a, b, c)", "cdiv takes 2 operands, not 3"),
        ("max(a)", "max takes two or more operands, not 1"),
        ("1.5 * a", "'1.5' is not part"),
        ("a in b", "not part of the expression language"),
        ("__import__('os')", "not part of the expression language"),
        ("99999999999999999999", "doesn't fit an int64"),
        ("", "no expression"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    expression, problems = parse_expression(text, NAMES)
    assert expression is None
    assert problem in "; ".join(problems)


def test_all_unknown_names_are_listed() -> None:
    assert len(parse_expression("x * y + x", NAMES)[1]) == 2


def test_missing_arguments_and_zero_divisors() -> None:
    with pytest.raises(ArgumentError, match="needs b"):
        value("a + b", a=1)
    with pytest.raises(ArgumentError, match="divides by zero"):
        value("a // b", a=1, b=0)
