"""What a good declaration comes to: choices, ranks, conditions, alignment, enumeration, configs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aotriton.describe import Exclude, Kernel, Like, Performance, Strides, When, load_family
from aotriton.errors import ArgumentError, DescriptionError
from aotriton.targets import parse_target

Declare = Callable[..., Kernel]
FWD = next(iter(load_family(Path(__file__).with_name("original.py")).kernels))


def at(kernel: Kernel, **values: object):
    whole = {**kernel.functional(0).values, **values}
    return kernel.functional(kernel.number_of(whole))  # type: ignore[arg-type]


def test_a_group_moves_together(declare: Declare) -> None:
    kernel = declare()
    assert [axis.label for axis in kernel.axes] == ["X", "HDIM", "HAS_W"]
    assert kernel.axes[0].arguments == ("X", "Y")
    for functional in kernel.functionals():
        assert functional["X"] == functional["Y"] == functional.values["X"]


def test_a_shared_choice_is_specialised_by_rank_and_then_settled(declare: Declare) -> None:
    kernel = declare(ranks={"W": 0})
    shared = kernel.axes[0].choices[0]
    assert not shared.settled
    assert kernel.axes[1].choices[0].settled
    functional = kernel.functional(0)
    assert [functional.choice(name).rank for name in ("X", "Y")] == [2, 3]
    assert at(kernel, HAS_W=True).choice("W").rank == 0
    assert all(choice.settled for name in ("X", "Y", "W", "HDIM") for choice in kernel.choices_of(name))
    assert functional.choice("X").specialise(2) == functional.choice("X")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([15], "i8"), ([-15, 3], "i8"), ([16], "i16"), ([8, 16], "i16"), ([8191], "i16"), ([8192], "i32"),
        ([-8192], "i32"), ([2**31 - 1], "i32"), ([2**31], "i64"), ([False, True], "i1"), ([0.5, 1.0], "fp32"),
        (np.array([1, 2], np.int64), "i64"), (np.array([16, 512], np.uint16), "u16"),
        (np.array([False, True]), "i1"), ([np.int8(1), np.int8(2)], "i8"), (np.int32(7), "i32"),
        (range(1, 4), "i8"),
    ],
)  # fmt: skip
def test_types_of_constants(declare: Declare, values: object, kind: str) -> None:
    kernel = declare(choices={("HDIM",): values})
    assert {choice.type for choice in kernel.choices_of("HDIM")} == {kind}
    assert all(type(choice.value) in (bool, int, float) for choice in kernel.choices_of("HDIM"))


def test_numpy_values_are_plain_in_signatures(declare: Declare) -> None:
    kernel = declare(choices={("HDIM",): np.array([16, 32], np.int8)})
    assert kernel.functional(0).signature == "X='*fp16:16';HDIM=16;HAS_W=False"


def test_a_null_tensor_is_a_constant_with_its_strides(declare: Declare, source: Path) -> None:
    kernel = declare(choices={"Y": When("HAS_W", [True], then=Like("X")), ("X", "Y"): None, "X": ["*fp16:16", "*fp16"]})
    off, on = at(kernel), at(kernel, HAS_W=True)
    assert {name: off.constants[name] for name in ("Y", "stride_yz", "stride_ym", "stride_yn")} == {
        "Y": 0, "stride_yz": 0, "stride_ym": 0, "stride_yn": 1,
    }  # fmt: skip
    assert "stride_yn" not in off.fixed
    assert on.fixed == {"stride_xn": 1, "stride_yn": 1}
    assert [p.argument for p in on.parameters] == ["X", "Y", "W", "stride_xm", "stride_yz", "stride_ym", "rows", "eps"]


def test_alignment_of_pointers_reaches_their_strides(declare: Declare) -> None:
    kernel = declare()
    for value, pointer, stride in (("*fp16:16", ("*fp16", 16), ("u64", 8)), ("*fp16", ("*fp16", 1), ("u64", 1))):
        types = {p.argument: (p.type, p.alignment) for p in at(kernel, X=value).parameters}
        assert types["X"] == pointer
        assert types["stride_xm"] == types["stride_yz"] == stride
    assert at(kernel, X="*fp32", HAS_W=True).triton_signature == (
        "*fp32", "*fp32", "*fp32", "u64", "1", "u64", "u64", "1", "i32", "fp32", "16", "True",
    )  # fmt: skip


def test_the_unit_stride_can_stand_elsewhere(declare: Declare) -> None:
    names = ("stride_xm", "stride_xn")
    first = declare(strides={"X": Strides(names, unit=0)}).functional(0)
    assert first.fixed["stride_xm"] == 1
    assert "stride_xn" not in first.constants
    none = declare(strides={"X": Strides(names, unit=None)}).functional(0)
    assert not {"stride_xm", "stride_xn"} & set(none.constants)


def test_dimensions_without_stride_arguments_are_dense(declare: Declare) -> None:
    kernel = declare(strides={"Y": ("stride_yz", "stride_ym", "stride_yn", None)})
    assert (kernel.argument("Y").rank, kernel.argument("Y").dense, kernel.argument("Y").unit) == (4, 1, None)
    assert "stride_yn" not in kernel.functional(0).fixed
    assert kernel.argument("X").dense == 0
    assert kernel.argument("W").dense == kernel.argument("W").rank == 1


def test_conditions_can_be_nested_and_point_forward(declare: Declare) -> None:
    inner = When("X", ["*fp32"], then="*fp32", otherwise="*fp16")
    kernel = declare(choices={"W": When("HAS_W", True, then=inner)})
    assert at(kernel)["W"] == 0
    assert at(kernel, HAS_W=True)["W"] == "*fp16"
    assert at(kernel, HAS_W=True, X="*fp32")["W"] == "*fp32"
    assert kernel.argument("W").type is None


def test_a_feature_that_is_settled_off_takes_its_tensor_with_it(declare: Declare) -> None:
    kernel = declare(choices={"HAS_W": False})
    assert kernel.argument("W").role == "tensor"
    assert kernel.functional(0).constants["W"] == 0
    assert kernel.functional(0).fixed["HAS_W"] == 0
    assert "W" not in kernel.caller_arguments


def test_constants_of_parameters_that_are_followed_are_checked(declare: Declare) -> None:
    kernel = declare(choices={"rows": When("HAS_W", [True], then="i32", otherwise=Like("HDIM"))})
    assert at(kernel, HDIM=48).fixed["rows"] == at(kernel, HDIM=48).constants["rows"] == 48
    assert "rows" not in at(kernel, HAS_W=True).constants


def test_scalars_can_have_hints(declare: Declare) -> None:
    kernel = declare(choices={"rows": "i32:16", "eps": "u64:8"})
    types = {p.argument: (p.type, p.alignment) for p in kernel.functional(0).parameters}
    assert (types["rows"], types["eps"]) == (("i32", 16), ("u64", 8))
    assert declare(choices={"rows": "i32:1"}).functional(0).constants["rows"] == 1


def test_requests_rules_and_substitutes(declare: Declare) -> None:
    kernel = declare(
        request={"HDIM": "max(rows, 1)", "HAS_W": "HDIM != rows and W"},
        at_least=("HDIM",),
        substitutes={"HAS_W": {False: [True]}, "X": {"*fp16:16": ["*fp16"], "*fp16": []}},
    )
    x, hdim, has_w = kernel.axes
    assert (hdim.rule, x.rule, has_w.rule) == ("at_least", "exact", "exact")
    assert x.substitutes == ((1,), (), ())
    assert has_w.substitutes == ((1,), ())
    assert has_w.request is not None
    assert has_w.request.evaluate({"HDIM": 16, "rows": 15, "W": 4096}) == 1
    assert hdim.substitutes == ()
    assert kernel.caller_arguments == ("X", "Y", "W", "rows", "eps")


def test_grid(declare: Declare) -> None:
    grid = declare().grid
    assert [expression.text for expression in grid] == ["cdiv(rows, BLOCK)", "1", "1"]
    assert grid[0].evaluate({"rows": 130, "BLOCK": 64}) == 3
    assert declare(grid=()).grid == ()


def test_configs(declare: Declare) -> None:
    kernel = declare()
    assert kernel.default_config.performance_text == "BLOCK=64"
    config = kernel.config({"num_warps": 8, "BLOCK": 128})
    assert (config.performance, config.options) == ((("BLOCK", 128),), (("num_warps", 8),))
    assert len({config, kernel.config({"BLOCK": 128, "num_warps": 8}), kernel.default_config}) == 2
    with pytest.raises(ArgumentError, match="BLOCK is 100; its values are 32, 64, 128"):
        kernel.config({"BLOCK": 100})
    with pytest.raises(ArgumentError, match="no performance argument or option 'BLOKC'"):
        kernel.config({"BLOKC": 64})


def test_exclusions_by_target_and_for_all(declare: Declare) -> None:
    kernel = declare(
        exclude=(
            Exclude("no 48", when=lambda f, target: f["HDIM"] == 48),
            Exclude("not on AMD", when=lambda f, target: f["HDIM"] == 64, targets=["amd"]),
            Exclude("not on Hopper", targets=["sm_90"]),
        )
    )
    assert at(kernel, HDIM=48).excluded(parse_target("gfx942")) == "no 48"
    assert at(kernel, HDIM=64).excluded(parse_target("gfx1100")) == "not on AMD"
    assert at(kernel, HDIM=64).excluded(parse_target("sm_80")) is None
    assert at(kernel).excluded(parse_target("sm_90")) == "not on Hopper"


def test_a_kernel_without_axes_has_one_functional_with_a_name(declare: Declare) -> None:
    kernel = declare(choices={("X", "Y"): "*fp16", ("HDIM",): 16, "HAS_W": True})
    assert (kernel.total, kernel.axes) == (1, ())
    assert kernel.functional(0).signature == "single"
    assert kernel.functional(0).fixed == {"stride_xn": 1, "stride_yn": 1, "HDIM": 16, "HAS_W": 1}


@given(st.integers(0, FWD.total - 1))
def test_numbers_and_values_are_one_to_one(number: int) -> None:
    functional = FWD.functional(number)
    assert FWD.number_of(functional.values) == number
    assert functional == FWD.functional(number)
    assert functional.signature.count("=") == len(FWD.axes)
    names = [parameter.argument for parameter in functional.parameters]
    assert len(names) + len(functional.constants) + len(FWD.performance) == len(FWD.arguments)
    assert not set(names) & set(functional.constants)


def test_every_signature_is_different() -> None:
    assert len({functional.signature for functional in FWD.functionals()}) == FWD.total


def test_wrong_numbers_and_values(declare: Declare) -> None:
    kernel = declare()
    for number in (-1, kernel.total):
        with pytest.raises(ArgumentError, match="has the functionals 0 to 23"):
            kernel.functional(number)
    with pytest.raises(ArgumentError, match="'HDMI' is no axis; 'HAS_W' has no value"):
        kernel.number_of({"X": "*fp32", "HDIM": 16, "HDMI": 16})
    with pytest.raises(ArgumentError, match=r"HAS_W of demo\.scale_rows is 1; its choices are False, True"):
        kernel.number_of({"X": "*fp32", "HDIM": 16, "HAS_W": 1})
    with pytest.raises(ArgumentError, match="no argument 'Z'"):
        kernel.functional(0).choice("Z")
    with pytest.raises(ArgumentError, match="it is a stride argument"):
        kernel.functional(0)["stride_xm"]


def test_the_description_hash_follows_what_dispatch_relies_on(declare: Declare) -> None:
    first = declare().description_hash
    assert declare().description_hash == first
    assert declare(grid=("cdiv(rows, 64)",)).description_hash != first
    assert declare(performance={"BLOCK": Performance(64, [64])}).description_hash != first
    assert declare(ranks={"W": 2}).description_hash != first


def test_families_load_from_a_path_and_say_what_is_wrong(tmp_path: Path) -> None:
    family = load_family(Path(__file__).with_name("original.py"))
    assert (family.name, len(family.kernels)) == ("flash", 6)
    broken = tmp_path / "broken.py"
    broken.write_text("KERNELS = ()\n")
    with pytest.raises(DescriptionError, match="no KERNELS"):
        load_family(broken)
    broken.write_text("1 / 0\n")
    with pytest.raises(DescriptionError, match="ZeroDivisionError"):
        load_family(str(broken))
    with pytest.raises(DescriptionError, match="no such Python file"):
        load_family(tmp_path / "absent.py")
    with pytest.raises(DescriptionError, match="No module named"):
        load_family("aotriton.absent")
