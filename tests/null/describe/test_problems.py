"""Bad declarations: each is one clear error that names the parameters, and all problems come at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aotriton.describe import Exclude, Kernel, Key, Like, Performance, Strides, When
from aotriton.errors import DescriptionError

Declare = Callable[..., Kernel]

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown argument": (
        {"choices": {"Z": "i32"}},
        "choices name 'Z', which is no argument of the function 'scale_rows'",
    ),
    "missing argument": ({"choices": {"eps": None}}, "argument 'eps' of the function 'scale_rows' is not declared"),
    "missing stride": (
        {"strides": {"X": None}},
        "argument 'stride_xm' of the function 'scale_rows' is not declared",
    ),
    "twice in choices": ({"choices": {("eps", "rows"): "i32"}}, "argument 'eps' has choices twice"),
    "stride and choice": (
        {"choices": {"stride_xm": "u64"}},
        "argument 'stride_xm' is declared more than once: in choices and strides",
    ),
    "performance and choice": (
        {"choices": {"BLOCK": 64}},
        "argument 'BLOCK' is declared more than once: in choices and performance",
    ),
    "performance not constexpr": (
        {"choices": {"rows": None}, "performance": {"rows": Performance(1, [1])}},
        "performance 'rows' is not tl.constexpr in the source",
    ),
    "performance unknown": ({"performance": {"BLOCKS": Performance(1, [1])}}, "performance name 'BLOCKS', which is no"),
    "performance written plainly": (
        {"performance": {"BLOCK": [64]}},
        "performance 'BLOCK' is [64]; it is written Perf",
    ),
    "default not allowed": (
        {"performance": {"BLOCK": Performance(16, [32, 64])}},
        "performance 'BLOCK': the default 16 is not among 32, 64",
    ),
    "performance of types": ({"performance": {"BLOCK": Performance("i32", ["i32"])}}, "'BLOCK' has a type among its"),
    "performance empty": ({"performance": {"BLOCK": Performance(1, [])}}, "performance 'BLOCK': there are no choices"),
    "constexpr with a type": (
        {"choices": {("HDIM",): "i32"}},
        "argument 'HDIM' is tl.constexpr in the source, but its choices have the type 'i32'",
    ),
    "stride named twice": (
        {"strides": {"Y": ("stride_xm", "stride_ym", "stride_yn")}},
        "stride 'stride_xm' is named twice: for 'X' and 'Y'",
    ),
    "stride unknown": (
        {"strides": {"X": ("stride_xq", "stride_xn")}},
        "strides name 'stride_xq', which is no argument",
    ),
    "strides of no tensor": ({"strides": {"Q": ("stride_xm",)}}, "strides are declared for 'Q', which has no choices"),
    "unit out of range": (
        {"strides": {"X": Strides(("stride_xm", "stride_xn"), unit=2)}},
        "strides of 'X': there is no dimension 2 among 2",
    ),
    "dense first": (
        {"strides": {"Y": (None, "stride_yz", "stride_ym", "stride_yn")}},
        "strides of 'Y': only the last dimensions can do without an argument",
    ),
    "rank against strides": ({"ranks": {"X": 3}}, "'X' has rank 3 and 2 strides"),
    "rank out of range": ({"ranks": {"W": 9}}, "the rank of 'W' is 9; ranks go from 0 to 8"),
    "rank of nothing": ({"ranks": {"Q": 1}}, "ranks name 'Q', which has no choices"),
    "rank of a scalar": ({"ranks": {"eps": 1}}, "tensor 'eps' has the choice 'fp32'"),
    "optional scalar": ({"optional": ("rows",)}, "tensor 'rows' has the choice 'i32'; a tensor is a pointer, or 0"),
    "optional unknown": ({"optional": ("Q",)}, "optional names 'Q', which has no choices"),
    "optional always null": (
        {"choices": {"HAS_W": False}, "optional": ("W",)},
        "optional names 'W', which is null in every functional",
    ),
    "no choices": ({"choices": {("HDIM",): []}}, "choices of HDIM: there are no choices"),
    "duplicate choices": ({"choices": {("HDIM",): [16, 32, 16]}}, "choices of HDIM: the choice 16 stands twice"),
    "duplicate types": (
        {"choices": {("X", "Y"): ["*fp16", "*fp16"]}},
        "choices of X, Y: the choice '*fp16' stands twice",
    ),
    "unknown type": ({"choices": {"eps": "float"}}, "choices of eps: unknown type 'float'; types are fp16, bf16"),
    "unknown hint": ({"choices": {("X", "Y"): "*fp16:4"}}, "type '*fp16:4' has the hint 4; hints are 1, 8 and 16"),
    "hint 1 of a pointer": (
        {"choices": {("X", "Y"): "*fp16:1"}},
        "type '*fp16:1' has the hint 1, which is for scalars",
    ),
    "hint of a float": ({"choices": {"eps": "fp32:16"}}, "type 'fp32:16' has a hint of divisibility"),
    "kinds mixed": ({"choices": {("HDIM",): [1, True]}}, "choices of HDIM: choices of different kinds can't stand"),
    "types and constants": ({"choices": {("X", "Y"): ["*fp16", 0]}}, "types and constants can't stand together"),
    "pointers and scalars": ({"choices": {("X", "Y"): ["*fp16", "fp16"]}}, "pointers and scalars can't stand together"),
    "no choice at all": ({"choices": {("HDIM",): [None]}}, "choices of HDIM: None is no choice"),
    "numpy type": ({"choices": {("HDIM",): np.array([1j])}}, "no argument has NumPy's type complex128"),
    "numpy shape": ({"choices": {("HDIM",): np.ones((2, 2), np.int8)}}, "the array has 2 dimensions"),
    "choice nan": ({"choices": {("HDIM",): [1.5, float("nan")]}}, "choices of HDIM: nan is no choice; a constant is a"),
    "choice infinite": ({"choices": {("HDIM",): np.array([-np.inf])}}, "choices of HDIM: -inf is no choice"),
    "performance infinite": (
        {"performance": {"BLOCK": Performance(1.0, [1.0, float("inf")])}},
        "performance 'BLOCK': inf is no choice",
    ),
    "too many choices": ({"choices": {("HDIM",): list(range(256))}}, "256 choices; at most 255"),
    "huge constant": ({"choices": {("HDIM",): [2**63]}}, "9223372036854775808 doesn't fit an int64"),
    "link to nothing": ({"choices": {"W": When("HAS_X", [True], then="*fp16")}}, "'W' depend on 'HAS_X', which is no"),
    "like nothing": (
        {"choices": {"W": When("HAS_W", [True], then=Like("Q"))}},
        "choices of 'W' depend on 'Q', which is no parameter with choices",
    ),
    "link to performance": (
        {"choices": {"W": When("BLOCK", [64], then="*fp16")}},
        "choices of 'W' depend on 'BLOCK', which is a performance argument",
    ),
    "value that can't be": (
        {"choices": {"W": When("HAS_W", [1], then="*fp16")}},
        "choices of 'W' depend on 'HAS_W' being 1, which is not among its choices False, True",
    ),
    "values empty": ({"choices": {"W": When("HAS_W", [], then="*fp16")}}, "When('HAS_W', …) has no values"),
    "branch with many": (
        {"choices": {"W": When("HAS_W", [True], then=["*fp16", "*fp32"])}},
        "choices of W: a branch of When has one choice, not '*fp16', '*fp32'",
    ),
    "cycle of two": (
        {"choices": {"rows": Like("eps"), "eps": Like("rows")}},
        "conditional choices go round: rows → eps → rows",
    ),
    "cycle of itself": ({"choices": {"W": Like("W")}}, "conditional choices go round: W → W"),
    "tensor that is 1": (
        {"choices": {"W": When("HAS_W", [True], then="*fp16", otherwise=1)}},
        "tensor 'W' has the choice 1",
    ),
    "grid of unknown": ({"grid": ("cdiv(cols, BLOCK)",)}, "grid x: 'cols' is no argument"),
    "grid of reals": ({"grid": ("1", "eps")}, "grid y reads 'eps', which is no integer"),
    "grid too long": ({"grid": ("1", "1", "1", "1")}, "it is a tuple of up to three expressions"),
    "grid as text": ({"grid": "rows"}, "the grid is 'rows'; it is a tuple"),
    "grid of numbers": ({"grid": (1,)}, "grid x is 1; expressions are texts"),
    "key unknown": ({"keys": (Key("cols"),)}, "key 'cols' is no argument"),
    "key real": ({"keys": (Key("eps"),)}, "key 'eps' is no integer that is known at launch"),
    "key tensor": ({"keys": (Key("X"),)}, "key 'X' is no integer that is known at launch"),
    "key twice": ({"keys": (Key("rows"), Key("rows"))}, "key 'rows' stands twice"),
    "key binning": ({"keys": (Key("rows", "ge"),)}, "key 'rows' has the binning 'ge'; there is 'le'"),
    "request unknown": ({"request": {"HDIM": "cols"}}, "request of 'HDIM': 'cols' is no argument"),
    "request of no axis": ({"request": {"rows": "1"}}, "request names 'rows', which has not more than one choice"),
    "request of a follower": (
        {"substitutes": {"Y": {}}},
        "substitutes names 'Y', which moves with 'X': name that",
    ),
    "request of nothing": ({"request": {"Q": "1"}}, "request names 'Q', which has no choices"),
    "request of itself": (
        {"request": {"HDIM": "HDIM"}},
        "request of 'HDIM' reads 'HDIM', which is decided later or by",
    ),
    "request of later": (
        {"request": {"HDIM": "32 if HAS_W else 16", "HAS_W": "rows > 1"}},
        "request of 'HDIM' reads 'HAS_W', which is decided later",
    ),
    "request of performance": ({"request": {"HDIM": "BLOCK"}}, "reads 'BLOCK', which is a performance argument"),
    "request of a type": ({"request": {"X": "rows"}}, "request of 'X': its choices are no integers or booleans"),
    "at least of types": ({"at_least": ("X",)}, "at_least names 'X', whose choices are no integers"),
    "substitute unknown": (
        {"substitutes": {"HAS_W": {False: [2]}}},
        "substitutes of 'HAS_W': 2 is not among the choices False, True",
    ),
    "substitute of unknown": ({"substitutes": {"HDIM": {17: [32]}}}, "'HDIM': 17 is not among the choices 16, 32"),
    "substitute itself": ({"substitutes": {"HDIM": {16: [16]}}}, "substitutes of 'HDIM': 16 stands for itself"),
    "substitute no list": ({"substitutes": {"X": {"*fp16": "*fp32"}}}, "substitutes are a list, best first"),
    "partially tuned unknown": (
        {"partially_tuned": {"HAS_W": 3}},
        "partially_tuned['HAS_W']: 3 is not among the choices False, True",
    ),
    "partially tuned nothing": ({"partially_tuned": {"P": True}}, "partially_tuned names 'P', which has no choices"),
    "option of no value": (
        {"options": {"num_stages": None}, "performance": {}, "family": "de mo"},
        "'de mo' is no ident",
    ),
    "misspelt option": (
        {"options": {"num_warp": 4}},
        "option 'num_warp' is none of the compiler's; did you mean 'num_warps'?",
    ),
    "foreign option": ({"options": {"speed": 9}}, "option 'speed' is none of the compiler's; they are kpack, "),
    "num_warps": ({"options": {"num_warps": 3}}, "option 'num_warps' is 3; it is a power of two"),
    "option value": ({"options": {"num_stages": (1, 2)}}, "option 'num_stages' is (1, 2); options are numbers"),
    "option like an argument": ({"options": {"BLOCK": 64}}, "option 'BLOCK' has the name of an argument"),
    "no reason": ({"exclude": (Exclude(" ", when=lambda f, target: False),)}, "an exclusion has no reason"),
    "unknown target": ({"exclude": (Exclude("why", targets=["gfx000"]),)}, "names 'gfx000', which is no target"),
    "bad predicate": (
        {"exclude": (Exclude("why", when=lambda f, target: f["HDMI"] == 1),)},
        "the exclusion 'why' fails for X='*fp16:16';HDIM=16;HAS_W=False on gfx90a",
    ),
    "no function": (
        {"function": "scale"},
        "scale_rows.py has no function 'scale'; its functions are: scale_rows, plain",
    ),
    "not decorated": ({"function": "plain"}, "the function 'plain' in scale_rows.py is not decorated with @triton.jit"),
    "variadic": ({"function": "variadic"}, "takes *arguments, which have no place in a signature"),
    "no file": ({"source": Path("/nonexistent/kernel.py")}, "kernel.py can't be read: No such file or directory"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_declaration(declare: Declare, name: str) -> None:
    changes, message = BAD[name]
    with pytest.raises(DescriptionError) as caught:
        declare(**changes)
    assert message in str(caught.value)
    assert caught.value.subject == f"{changes.get('family', 'demo')}.scale_rows"


def test_all_problems_come_at_once(declare: Declare) -> None:
    with pytest.raises(DescriptionError) as caught:
        declare(
            choices={"eps": "float", ("HDIM",): [16, 16], "Z": 1},
            ranks={"X": 7},
            grid=("cols",),
            keys=(Key("cols"),),
            options={"num_warps": 5},
            exclude=(Exclude(""),),
        )
    text = str(caught.value)
    for part in (
        "'float'",
        "16 stands twice",
        "'Z'",
        "rank 7 and 2 strides",
        "grid x",
        "key 'cols'",
        "is 5",
        "no reason",
    ):
        assert part in text
    assert len(caught.value.problems) == 8


def test_a_broken_link_hides_no_other_problem(declare: Declare) -> None:
    with pytest.raises(DescriptionError) as caught:
        declare(choices={"W": When("Q", [1], then="*fp16")}, grid=("cols",), options={"num_warps": 5})
    assert len(caught.value.problems) == 3


def test_sources_that_are_no_python(declare: Declare, tmp_path: Path) -> None:
    for content in (b"def scale_rows(:\n", b"\xff\xfe\x00", b"\x00"):
        path = tmp_path / "bad.py"
        path.write_bytes(content)
        with pytest.raises(DescriptionError, match=r"bad\.py is no Python"):
            declare(source=path)
    with pytest.raises(DescriptionError, match="can't be read: Is a directory"):
        declare(source=tmp_path)


def test_constexpr_is_known_in_all_its_spellings(tmp_path: Path) -> None:
    path = tmp_path / "spellings.py"
    path.write_text(
        "@jit(noinline=True)\n"
        "def f(a: 'tl.constexpr', b: triton.language.constexpr, /, c: constexpr, *, d: gl.constexpr, e: int):\n"
        "    pass\n"
    )
    from aotriton.describe.source import read_function

    function, problems = read_function(path, "f")
    assert not problems
    assert function is not None
    assert function.arguments == ("a", "b", "c", "d", "e")
    assert function.constexpr == {"a", "b", "c", "d"}
