"""Arguments that stand for a whole tensor: what is declared, what comes of it, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aotriton.describe import Descriptor, Exclude, Kernel, Performance, When, load_family
from aotriton.errors import DescriptionError
from aotriton.targets import TARGETS, parse_target

TILES = {
    kernel.name: kernel
    for kernel in load_family(Path(__file__).parents[2] / "gpu" / "kernels" / "tiles" / "description.py").kernels
}
SOURCE = """
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import jit
import triton.experimental.gluon.language as gl

@triton.jit
def plain(X, Y, N, HDIM: tl.constexpr, BLOCK: tl.constexpr):
    pass

@gluon.jit
def first(X, Y, N, HDIM: gl.constexpr, BLOCK: gl.constexpr):
    pass

@jit
def second(X, Y, N, HDIM: gl.constexpr, BLOCK: gl.constexpr):
    pass

@triton.experimental.gluon.jit
def third(X, Y, N, HDIM: gl.constexpr, BLOCK: gl.constexpr):
    pass
"""


@pytest.fixture
def declare(tmp_path: Path) -> Any:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE)

    def kernel(**changes: Any) -> Kernel:
        parts: dict[str, Any] = {
            "family": "demo",
            "name": "plain",
            "source": path,
            "choices": {("X", "Y"): ["*fp16", "*fp32"], "N": "i32", "HDIM": [16, 32]},
            "performance": {"BLOCK": Performance(64, [32, 64])},
            "descriptors": {"X": ("BLOCK", "HDIM")},
        }
        for name, change in changes.items():
            both = isinstance(change, dict) and isinstance(parts.get(name), dict)
            parts[name] = {**parts[name], **change} if both else change
        return Kernel(**parts)

    return kernel


def test_it_shares_choices_with_plain_tensors_and_changes_no_axis(declare: Any) -> None:
    kernel, without = declare(), declare(descriptors={"X": ("BLOCK", "HDIM")}, ranks={"X": 2})
    plain = Kernel(**{**vars(declare().declaration), "descriptors": {}, "ranks": {"X": 2}})
    assert [axis.label for axis in kernel.axes] == ["X", "HDIM"]
    assert [one.signature for one in kernel.functionals()] == [one.signature for one in plain.functionals()]
    assert [one.digest for one in kernel.functionals()] == [one.digest for one in plain.functionals()]
    found = kernel.argument("X")
    assert (found.role, found.rank, found.descriptor) == ("descriptor", 2, Descriptor(("BLOCK", "HDIM")))
    assert kernel.argument("Y").role == "tensor"
    assert kernel.functional(0).triton_signature == ("tensordesc<fp16[BLOCK, HDIM]>", "*fp16", "i32", "16")
    assert kernel.caller_arguments == ("X", "Y", "N", "HDIM")
    assert kernel.description_hash == without.description_hash != plain.description_hash
    other = declare(descriptors={"X": Descriptor(("BLOCK", "HDIM"), fill="nan")})
    assert kernel.description_hash != other.description_hash


def test_the_block_is_known_for_each_config(declare: Any) -> None:
    descriptor = declare().argument("X").descriptor
    assert descriptor.shape({"BLOCK": 32, "HDIM": 16, "N": 3}) == (32, 16)
    assert Descriptor((1, "BLOCK")).shape({"BLOCK": 64}) == (1, 64)


def test_one_that_is_null_while_a_feature_is_off_is_no_parameter(declare: Any) -> None:
    kernel = declare(choices={("X", "Y"): "*fp16"})
    choices = {"X": When("HDIM", [16], "*fp16"), "Y": "*fp16", "N": "i32", "HDIM": [16, 32]}
    declaration = {**vars(kernel.declaration), "choices": choices}
    on, off = Kernel(**declaration).functionals()
    assert [one.argument for one in on.parameters] == ["X", "Y", "N"]
    assert [one.argument for one in off.parameters] == ["Y", "N"]
    assert off.constants == {"X": 0, "HDIM": 32}


@pytest.mark.parametrize("name", ["first", "second", "third"])
def test_gluon_is_known_by_its_import(declare: Any, name: str) -> None:
    kernel = declare(function=name)
    assert kernel.gluon
    assert not declare().gluon
    bars = {target: kernel.functional(0).excluded(parse_target(target)) for target in TARGETS}
    assert {target for target, bar in bars.items() if bar is None} == {"sm_90", "sm_100", "sm_120"}
    assert bars["host"] == "Gluon functions have no interpreter"


def test_where_no_launch_can_build_one_it_is_excluded(declare: Any) -> None:
    kernel = declare(exclude=(Exclude("mine", targets=("host",)),))
    bars = {target: kernel.functional(0).excluded(parse_target(target)) for target in TARGETS}
    assert {target for target, bar in bars.items() if bar is not None} == {"gfx1250", "host"}
    assert "another form" in (bars["gfx1250"] or "")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown argument": ({"descriptors": {"Z": (64,)}}, "descriptors name 'Z', which has no choices"),
    "a size of three": ({"descriptors": {"X": (3, 64)}}, "has the size 3; sizes are powers of two"),
    "a size of no kind": ({"descriptors": {"X": (True, 64)}}, "has the size True; sizes are powers of two"),
    "a name's value of 48": (
        {"performance": {"BLOCK": Performance(64, [48, 64])}},
        "the block of descriptor 'X' has the size 48 of 'BLOCK'; sizes are powers of two",
    ),
    "a name that is no constant": ({"descriptors": {"X": ("N", 64)}}, "names 'N', which is no compile-time integer"),
    "a name of nothing": ({"descriptors": {"X": ("BLOCK", "K")}}, "names 'K', which is no compile-time integer"),
    "rows too short": (
        {"descriptors": {"X": ("BLOCK", 4)}},
        "has 4 elements of fp16 in its last dimension, 8 bytes; 16 is the least",
    ),
    "no block": ({"descriptors": {"X": ()}}, "has 0 dimensions; there are 1 to 5"),
    "six dimensions": ({"descriptors": {"X": (1, 1, 1, 1, 1, 64)}}, "has 6 dimensions; there are 1 to 5"),
    "a text": ({"descriptors": {"X": "BLOCK"}}, "the block of descriptor 'X' is 'BLOCK'; it has one size for each"),
    "another rank": ({"ranks": {"X": 3}}, "'X' has rank 3 and a block of 2 sizes"),
    "optional": ({"optional": ("X",)}, "descriptor 'X' is optional"),
    "a number": ({"descriptors": {"N": (64,)}}, "tensor 'N' has the choice 'i32'"),
    "a swizzle of Triton's": ({"descriptors": {"X": Descriptor((64, 64), 64)}}, "that is for Gluon functions"),
    "an unknown swizzle": (
        {"function": "first", "descriptors": {"X": Descriptor((64, 64), 48)}},
        "has the swizzle 48; it is 0, 32, 64 or 128 bytes",
    ),
    "an unknown fill": ({"descriptors": {"X": Descriptor((64, 64), fill="one")}}, "fills with 'one'; it is"),
    "NaN among integers": (
        {"choices": {("X", "Y"): "*i32"}, "descriptors": {"X": Descriptor((64, 64), fill="nan")}},
        "fills with nan, which i32 doesn't have",
    ),
    "booleans": ({"choices": {("X", "Y"): "*i1"}}, "has elements of type i1"),
    "pdl": ({"options": {"launch_pdl": 1}}, "option 'launch_pdl' is 1; it is True or False"),
    "cluster of three": ({"options": {"num_ctas": 3}}, "option 'num_ctas' is 3; a cluster has 1, 2, 4, 8 or 16 blocks"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named(declare: Any, name: str) -> None:
    changes, text = BAD[name]
    with pytest.raises(DescriptionError) as caught:
        declare(**changes)
    assert any(text in problem for problem in caught.value.problems), caught.value.problems


def test_options_of_a_launch_are_left_out_where_they_mean_nothing() -> None:
    config = TILES["matmul_cluster"].default_config
    assert dict(config.for_target("sm_90").options)["num_ctas"] == 2
    assert "num_ctas" not in dict(config.for_target("gfx942").options)
    together = TILES["scale_together"].default_config
    assert together.for_target("host").options_text == together.for_target("gfx942").options_text == "num_warps=4"
    assert together.for_target("sm_80").options_text == "num_warps=4;launch_cooperative_grid=True"
