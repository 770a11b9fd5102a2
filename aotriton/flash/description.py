"""The flash attention family: what its kernels take and may assume, for which targets, and its operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aotriton.describe import (
    Backend,
    Exclude,
    Functional,
    Kernel,
    Key,
    Like,
    Metro,
    Operator,
    Performance,
    Step,
    When,
)
from aotriton.targets import Target

__all__ = ["ATTN_FWD", "HEAD_DIMS", "KERNELS", "OPERATORS"]

KERNEL_FOLDER = Path(__file__).with_name("kernels")

HEAD_DIMS = [16, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 512]
"""Compiled head dims; each is a sum of at most three powers of two that are not below 16."""

ALIGNED = ["*fp16:16", "*bf16:16", "*fp32:16"]
UNALIGNED = ["*fp16", "*bf16", "*fp32"]
TILES = "cdiv(Max_seqlen_q, BLOCK_M) * Num_head_q * Batch"
# Without a counter a persistent kernel takes the plain schedule, one program per tile.
DRAWN = "PERSISTENT_TYPE == 2 and persistent_atomic_counter != 0"
COUNTS = ("Num_head_q", "Num_head_k", "Num_seqlens", "Max_seqlen_q", "Max_seqlen_k", "Num_CU", "Batch")


def strides(letter: str, dimensions: str) -> tuple[str, ...]:
    """The names of a tensor's stride arguments."""
    return tuple(f"stride_{letter}{dimension}" for dimension in dimensions)


def _causal_with_bias(functional: Functional, target: Target) -> bool:
    return functional["CAUSAL_TYPE"] != 0 and functional["BIAS_TYPE"] != 0


# The order decides which reason is given: what will never be there stands before what isn't there yet.
_EXCLUDE = (
    Exclude("a bias matrix can hold the causal mask: the two together are not offered", when=_causal_with_bias),
    Exclude("dropout is not implemented yet", when=lambda f, target: bool(f["ENABLE_DROPOUT"])),
    Exclude("a bias matrix is not implemented yet", when=lambda f, target: f["BIAS_TYPE"] != 0),
    Exclude(
        "sequences of different lengths (varlen) are not implemented yet", when=lambda f, target: bool(f["VARLEN"])
    ),
    Exclude(
        "no head dim above 256 on RDNA3: its 256 registers hold no tile that wide",
        when=lambda f, target: int(f["BLOCK_DMODEL"]) > 256,
        targets=["RDNA3"],
    ),
)

# With a head dim that is a multiple of 8, eight columns are all inside or all outside: loads stay wide.
_PADDED_HEAD_DIM = When("Q", ALIGNED, then="i32:8", otherwise="i32")

_CHOICES: dict[str | tuple[str, ...], Any] = {
    ("Q", "K", "V", "Out"): [*ALIGNED, *UNALIGNED],
    "B": When("BIAS_TYPE", [1], then=Like("Q")),
    "A": When("USE_ALIBI", [True], then="*fp32"),
    "Sm_scale": "fp32",
    "L": "*fp32",
    COUNTS: "i32",
    ("cu_seqlens_q", "cu_seqlens_k", "seq_strides_q", "seq_strides_k"): When("VARLEN", [True], then="*i32"),
    "BLOCK_DMODEL": HEAD_DIMS,
    ("Hdim_qk", "Hdim_vo"): When("PADDED_HEAD", [True], then=_PADDED_HEAD_DIM, otherwise=Like("BLOCK_DMODEL")),
    "PADDED_HEAD": [False, True],
    "ENABLE_DROPOUT": [False, True],
    "dropout_p": When("ENABLE_DROPOUT", [True], then="fp32"),
    ("philox_seed_ptr", "philox_offset1", "philox_seed_output", "philox_offset_output"): When(
        "ENABLE_DROPOUT", [True], then="*u64"
    ),
    "philox_offset2": When("ENABLE_DROPOUT", [True], then="u64"),
    "CAUSAL_TYPE": [0, 3],
    ("Window_left", "Window_right"): When("CAUSAL_TYPE", [3], then="i32"),
    "BIAS_TYPE": [0, 1],
    "USE_ALIBI": False,
    "VARLEN": [False, True],
    "persistent_atomic_counter": "*i32",
}

ATTN_FWD = Kernel(
    family="flash",
    name="attn_fwd",
    source=KERNEL_FOLDER / "attn_fwd.py",
    choices=_CHOICES,
    ranks={
        "L": 2,
        "persistent_atomic_counter": 0,
        **dict.fromkeys(("philox_seed_ptr", "philox_offset1", "philox_seed_output", "philox_offset_output"), 0),
    },
    strides={
        "Q": strides("q", "zhmk"),
        "K": strides("k", "zhnk"),
        "V": strides("v", "zhnk"),
        "Out": strides("o", "zhmk"),
        "B": strides("b", "zhmn"),
        "A": strides("a", "zh"),
    },
    optional=(
        "L",
        "seq_strides_q",
        "seq_strides_k",
        "philox_seed_output",
        "philox_offset_output",
        "persistent_atomic_counter",
    ),
    # The defaults fit every target, every type and every head dim.
    performance={
        "PERSISTENT_TYPE": Performance(0, [0, 2]),
        "GRID_CU_MULTIP": Performance(2, [1, 2, 4]),
        "BLOCK_M": Performance(16, [16, 32, 64, 128, 256]),
        "BLOCK_N": Performance(16, [16, 32, 64, 128]),
        "PRE_LOAD_V": Performance(False, [False, True]),
        "NUM_XCDS": Performance(1, [1, 8]),
    },
    options={"waves_per_eu": 1, "num_warps": 4, "num_stages": 1},
    keys=(Key("Max_seqlen_q"), Key("Max_seqlen_k")),
    grid=(f"min(Num_CU * GRID_CU_MULTIP, {TILES}) if {DRAWN} else {TILES}",),
    request={
        "BLOCK_DMODEL": "max(Hdim_qk, Hdim_vo)",
        "PADDED_HEAD": "BLOCK_DMODEL != Hdim_qk or BLOCK_DMODEL != Hdim_vo",
        "BIAS_TYPE": "B != 0",
        "VARLEN": "cu_seqlens_q != 0",
    },
    at_least=("BLOCK_DMODEL",),
    substitutes={
        "Q": {aligned: [unaligned] for aligned, unaligned in zip(ALIGNED, UNALIGNED, strict=True)},
        "PADDED_HEAD": {False: [True]},
    },
    exclude=_EXCLUDE,
    partially_tuned={"PADDED_HEAD": False},
)

KERNELS = (ATTN_FWD,)

OPERATORS = (
    Operator(
        family="flash",
        name="attn_fwd",
        backends=[Backend(0, "triton", Metro("triton", [Step(ATTN_FWD)]))],
    ),
)
