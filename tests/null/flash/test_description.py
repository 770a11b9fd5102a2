"""The description of the forward kernel: its axes, what its code takes, its grid, and what is left out and why."""

import ast

import pytest

from aotriton.describe import load_family
from aotriton.flash.description import ATTN_FWD, HEAD_DIMS, KERNELS, OPERATORS
from aotriton.targets import TARGETS

PLAIN = {
    "Q": "*fp16:16",
    "BLOCK_DMODEL": 64,
    "PADDED_HEAD": False,
    "ENABLE_DROPOUT": False,
    "CAUSAL_TYPE": 0,
    "BIAS_TYPE": 0,
    "VARLEN": False,
}


def functional(**values):
    return ATTN_FWD.functional(ATTN_FWD.number_of({**PLAIN, **values}))


def types(**values):
    return {p.argument: (p.type, p.alignment) for p in functional(**values).parameters}


def test_family():
    family = load_family("aotriton.flash.description")
    assert family.name == "flash"
    assert family.kernels == KERNELS
    assert family.operators == OPERATORS
    assert [(backend.index, backend.name) for backend in OPERATORS[0].backends] == [(0, "triton")]


def test_axes():
    axes = [(axis.label, axis.radix, axis.stride) for axis in ATTN_FWD.axes]
    assert axes == [
        ("Q", 6, 384),
        ("BLOCK_DMODEL", 12, 32),
        ("PADDED_HEAD", 2, 16),
        ("ENABLE_DROPOUT", 2, 8),
        ("CAUSAL_TYPE", 2, 4),
        ("BIAS_TYPE", 2, 2),
        ("VARLEN", 2, 1),
    ]
    assert functional().signature == (
        "Q='*fp16:16';BLOCK_DMODEL=64;PADDED_HEAD=False;ENABLE_DROPOUT=False;CAUSAL_TYPE=0;BIAS_TYPE=0;VARLEN=False"
    )


def test_head_dims_are_few_powers_of_two_that_matrix_units_take():
    for width in HEAD_DIMS:
        assert width.bit_count() <= 3
        assert width % 16 == 0


def test_every_argument_of_the_source_is_described():
    tree = ast.parse(ATTN_FWD.source.read_text())
    names = {node.name: [argument.arg for argument in node.args.args] for node in tree.body if hasattr(node, "args")}
    assert [argument.name for argument in ATTN_FWD.arguments] == names["attn_fwd"]


def test_an_aligned_functional_assumes_alignment_and_an_unaligned_one_nothing():
    aligned, plain = types(PADDED_HEAD=True), types(Q="*fp16", PADDED_HEAD=True)
    assert aligned["K"] == ("*fp16", 16)
    assert aligned["stride_km"[:-1] + "n"] == ("u64", 8)
    assert aligned["Hdim_qk"] == ("i32", 8)
    assert plain["K"] == ("*fp16", 1)
    assert {alignment for _, alignment in plain.values()} == {1}
    assert aligned["L"] == ("*fp32", 1)


def test_what_is_off_is_constant():
    taken = types()
    for absent in ("B", "A", "cu_seqlens_q", "dropout_p", "philox_seed_ptr", "Window_left", "Hdim_qk", "stride_qk"):
        assert absent not in taken
    constants = functional().constants
    assert constants["Hdim_vo"] == 64
    assert constants["stride_bz"] == 0
    assert types(CAUSAL_TYPE=3)["Window_left"] == ("i32", 1)
    assert functional().fixed == {
        "stride_qk": 1, "stride_kk": 1, "stride_vk": 1, "stride_ok": 1, "Hdim_qk": 64, "Hdim_vo": 64, "USE_ALIBI": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("persistent", "counter", "wanted"), [(0, 0, 90), (0, 4096, 90), (2, 0, 90), (2, 4096, 8), (2, 4096 * 8, 8)]
)
def test_grid(persistent, counter, wanted):
    values = {"Max_seqlen_q": 130, "Num_head_q": 5, "Batch": 2, "BLOCK_M": 16, "Num_CU": 4, "GRID_CU_MULTIP": 2}
    values |= {"PERSISTENT_TYPE": persistent, "persistent_atomic_counter": counter}
    assert [expression.evaluate(values) for expression in ATTN_FWD.grid] == [wanted, 1, 1]
    few = {**values, "Max_seqlen_q": 1, "Num_head_q": 1}
    assert ATTN_FWD.grid[0].evaluate(few) == 2


def test_requests():
    axes = {axis.label: axis for axis in ATTN_FWD.axes}
    assert axes["BLOCK_DMODEL"].rule == "at_least"
    assert axes["BLOCK_DMODEL"].request.evaluate({"Hdim_qk": 48, "Hdim_vo": 72}) == 72
    padded = axes["PADDED_HEAD"].request
    assert padded.evaluate({"BLOCK_DMODEL": 80, "Hdim_qk": 80, "Hdim_vo": 72}) == 1
    assert padded.evaluate({"BLOCK_DMODEL": 80, "Hdim_qk": 80, "Hdim_vo": 80}) == 0
    assert axes["BIAS_TYPE"].request.evaluate({"B": 4096}) == 1
    assert axes["VARLEN"].request.evaluate({"cu_seqlens_q": 0}) == 0
    texts = [choice.value for choice in axes["Q"].choices]
    for aligned, others in zip(texts[:3], axes["Q"].substitutes[:3], strict=True):
        assert [texts[other] for other in others] == [aligned.removesuffix(":16")]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"ENABLE_DROPOUT": True}, "dropout"),
        ({"BIAS_TYPE": 1}, "a bias matrix is not implemented"),
        ({"BIAS_TYPE": 1, "CAUSAL_TYPE": 3}, "can hold the causal mask"),
        ({"VARLEN": True}, "varlen"),
    ],
)
def test_what_is_not_there_yet_is_left_out_with_a_reason(values, reason):
    for target in TARGETS.values():
        assert reason in functional(**values).excluded(target)


def test_all_that_is_there_is_offered_on_every_target():
    for target in TARGETS.values():
        offered = [one for one in ATTN_FWD.functionals() if one.excluded(target) is None]
        assert len(offered) == (264 if target.family == "RDNA3" else 288), target.name
    assert "head dim" in functional(BLOCK_DMODEL=512).excluded(TARGETS["gfx1100"])
