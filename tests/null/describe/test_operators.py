"""Operators, metros and affine backends declare and validate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aotriton.describe import Affine, Backend, Key, Limit, Metro, Operator, Step, load_family
from aotriton.errors import DescriptionError

KERNELS = {kernel.name: kernel for kernel in load_family(Path(__file__).with_name("original.py")).kernels}
FWD, DEBUG = KERNELS["attn_fwd"], KERNELS["debug_simulate_encoded_softmax"]
ARGUMENTS = (
    "Q", "K", "V", "B", "Sm_scale", "L", "Out", "Num_head_q", "Num_head_k", "Num_seqlens", "cu_seqlens_q",
    "cu_seqlens_k", "Max_seqlen_q", "Max_seqlen_k", "seq_strides_q", "seq_strides_k", "Hdim_qk", "Hdim_vo",
    "ENABLE_DROPOUT", "dropout_p", "philox_seed_ptr", "philox_offset1", "philox_offset2", "philox_seed_output",
    "philox_offset_output", "encoded_softmax", "CAUSAL_TYPE", "Window_left", "Window_right", "BIAS_TYPE",
    "persistent_atomic_counter", "Num_CU", "Batch",
)  # fmt: skip
TRITON = Metro("triton", [Step(FWD), Step(DEBUG, when="encoded_softmax != 0", names={"R": "encoded_softmax"})])
ASSEMBLY = Affine(
    "fmha_v3_fwd",
    targets=["gfx942", "gfx950"],
    types={"Q": ["*bf16:16"], "ENABLE_DROPOUT": [False], "BIAS_TYPE": [0]},
    limits=[
        Limit("as many heads of K as of Q", "Num_head_q == Num_head_k"),
        Limit("no sequences of different lengths", "Num_seqlens == 0"),
        Limit("head dims 128 or 192, and 128", "(Hdim_qk == 128 or Hdim_qk == 192) and Hdim_vo == 128"),
        Limit("byte strides below 2^32", "stride_qz * 2 < 4294967296 and stride_kz * 2 < 4294967296"),
    ],
)


def forward(**changes: Any) -> Operator:
    parts: dict[str, Any] = {
        "family": "flash",
        "name": "attn_fwd",
        "arguments": ARGUMENTS,
        "backends": [Backend(0, "triton", TRITON), Backend(1, "aiter", ASSEMBLY)],
    }
    return Operator(**{**parts, **changes})


def test_the_forward_operator() -> None:
    operator = forward()
    assert (operator.total, [axis.label for axis in operator.axes][:2]) == (576, ["Q", "BLOCK_DMODEL"])
    assert [key.argument for key in operator.keys or ()] == ["Max_seqlen_q", "Max_seqlen_k"]
    assert operator.partially_tuned == {"PADDED_HEAD": False}
    assert [[step.kernel.name for step in backend.steps] for backend in operator.backends] == [
        ["attn_fwd", "debug_simulate_encoded_softmax"], [],
    ]  # fmt: skip
    condition = operator.condition("encoded_softmax != 0")
    assert (condition.evaluate({"encoded_softmax": 0}), condition.evaluate({"encoded_softmax": 4096})) == (0, 1)


def test_the_backward_operator_splits_or_fuses() -> None:
    pre, dk_dv, dq, fuse = (
        KERNELS[f"bwd_{name}"] for name in ("preprocess", "kernel_dk_dv", "kernel_dq", "kernel_fuse")
    )
    names = {"Delta": "D", "D_HEAD": "BLOCK_DMODEL", "seqlen_q": "max_seqlen_q", "head_dim": "hdim_vo"}
    split = Metro("triton_split", [Step(pre, names=names), Step(dk_dv), Step(dq)])
    arguments = (
        "Q", "K", "V", "B", "sm_scale", "Out", "DO", "DK", "DV", "DQ", "DB", "L", "D", "num_head_q", "num_head_k",
        "max_seqlen_q", "max_seqlen_k", "hdim_vo", "BLOCK_DMODEL", "dropout_p", "Window_left", "Window_right",
        "CAUSAL_TYPE", "ENABLE_DROPOUT", "PADDED_HEAD", "BIAS_TYPE",
    )  # fmt: skip
    assembly = Affine(
        "fmha_v3_bwd", targets=["gfx942"], limits=[Limit("head dims by 8", "hdim_vo % 8 == 0")], deterministic=False
    )
    backends = [Backend(0, "split", split), Backend(1, "fuse", fuse), Backend(2, "aiter", assembly)]
    operator = Operator(family="flash", name="attn_bwd", arguments=arguments, backends=backends)
    assert operator.like is dk_dv
    assert operator.total == 576


def test_an_operator_of_one_kernel_needs_no_more() -> None:
    operator = Operator(family="flash", name="debug", backends=[Backend(0, "triton", DEBUG)])
    assert operator.arguments[0] == "R"
    assert operator.total == 3


def triton(*steps: Step) -> list[Backend]:
    return [Backend(0, "triton", Metro("triton", list(steps)))]


def affine(**changes: Any) -> list[Backend]:
    parts = {"name": "other", "targets": ["gfx942"], **changes}
    return [Backend(0, "triton", TRITON), Backend(1, "other", Affine(**parts))]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no backends": ({"backends": []}, "it has no backends"),
    "index twice": (
        {"backends": [Backend(0, "a", TRITON), Backend(0, "b", TRITON)]},
        "the backend index 0 stands twice",
    ),
    "name twice": (
        {"backends": [Backend(0, "a", TRITON), Backend(1, "a", TRITON)]},
        "the backend name 'a' stands twice",
    ),
    "negative index": ({"backends": [Backend(0, "a", TRITON), Backend(-1, "b", TRITON)]}, "'b' has the index -1"),
    "no steps": ({"backends": triton()}, "metro 'triton' of backend 'triton' has no steps"),
    "all conditional": ({"backends": triton(Step(FWD, when="Batch > 1"))}, "every step has a condition"),
    "unknown condition": (
        {"backends": triton(Step(FWD), Step(DEBUG, when="debug", names={"R": "encoded_softmax"}))},
        "backend 'triton': the condition of debug_simulate_encoded_softmax: 'debug' is no argument",
    ),
    "argument that nobody gives": (
        {"backends": triton(Step(FWD), Step(DEBUG))},
        "argument 'R' of debug_simulate_encoded_softmax is none of the operator's",
    ),
    "rename of nothing": ({"backends": triton(Step(FWD, names={"X": "Q"}))}, "'X' is no argument of attn_fwd"),
    "fallback unknown": ({"fallback": 7}, "the fallback is backend 7, which there is not"),
    "fallback with limits": ({"fallback": 1}, "the fallback 'aiter' is an affine kernel"),
    "another family": ({"family": "other"}, "backend 'triton' launches flash.attn_fwd, which is of another family"),
    "no target": ({"backends": affine(targets=[])}, "backend 'other': 'other' has no targets"),
    "unknown target": ({"backends": affine(targets=["gfx000"])}, "backend 'other': there is no target 'gfx000'"),
    "unknown axis": ({"backends": affine(types={"P": [1]})}, "'P' is no axis of the operator; its axes are Q, BLOCK_D"),
    "unknown choice": ({"backends": affine(types={"Q": ["*fp8"]})}, "'*fp8' is not among the choices '*fp16:16'"),
    "unknown in a limit": ({"backends": affine(limits=[Limit("few", "Heads < 3")])}, "the limit 'few': 'Heads' is no"),
    "limit with no reason": ({"backends": affine(limits=[Limit("", "Batch")])}, "the limit 'Batch' has no reason"),
    "key unknown": ({"keys": [Key("Seqlen")]}, "key 'Seqlen' is none of its arguments"),
    "fallback of a functional": ({"partially_tuned": {"PADDED_HEAD": 3}}, "partially_tuned has PADDED_HEAD=3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_operator(name: str) -> None:
    changes, message = BAD[name]
    with pytest.raises(DescriptionError) as caught:
        forward(**changes)
    assert message in str(caught.value)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(DescriptionError) as caught:
        forward(backends=affine(targets=["gfx000"], types={"P": [1]}), keys=[Key("Seqlen")], fallback=1)
    assert len(caught.value.problems) == 4


def test_families_with_operators(tmp_path: Path) -> None:
    original = Path(__file__).with_name("original.py")
    path = tmp_path / "with_operator.py"
    path.write_text(
        "from aotriton.describe import Backend, Operator, load_family\n"
        f"KERNELS = load_family({str(original)!r}).kernels[-1:]\n"
        "OPERATORS = (Operator(family='flash', name='debug', backends=[Backend(0, 'triton', KERNELS[0])]),)\n"
    )
    family = load_family(path)
    assert [operator.name for operator in family.operators] == ["debug"]
    path.write_text(path.read_text() + "OPERATORS *= 2\n")
    with pytest.raises(DescriptionError, match="the operator 'debug' stands twice"):
        load_family(path)
