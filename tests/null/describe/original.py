"""The original's axes, as a fixture for the golden vectors."""

from __future__ import annotations

from pathlib import Path

from aotriton.describe import (
    Exclude,
    Functional,
    Kernel,
    Key,
    Like,
    Performance,
    When,
)
from aotriton.targets import Target

SOURCE = Path(__file__).with_name("original_kernels.py")
DTYPES = ["*fp16:16", "*bf16:16", "*fp32:16"]
HEAD_DIMS = [16, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 512]
OPTIONS = {"waves_per_eu": 2, "num_warps": 4, "num_stages": 1}
BLOCKS = {"BLOCK_M": Performance(16, [16, 32, 64, 128]), "BLOCK_N": Performance(16, [16, 32, 64, 128])}
DROPOUT = "ENABLE_DROPOUT"


def _strides(letter: str, dimensions: str) -> tuple[str, ...]:
    return tuple(f"stride_{letter}{dimension}" for dimension in dimensions)


def _causal_with_bias(f: Functional, target: Target) -> bool:
    return f["CAUSAL_TYPE"] != 0 and f["BIAS_TYPE"] != 0


EXCLUDE = (
    Exclude("causal masks and a bias matrix exclude each other", when=_causal_with_bias),
    Exclude("no head dim above 256 on RDNA3", when=lambda f, t: f["BLOCK_DMODEL"] > 256, targets=["RDNA3"]),
)
BWD_EXCLUDE = (
    *EXCLUDE,
    Exclude("compiler bug", when=lambda f, target: target.name == "gfx950" and f["BLOCK_DMODEL"] in (48, 80)),
)

ATTN_FWD = Kernel(
    family="flash",
    name="attn_fwd",
    source=SOURCE,
    choices={
        ("Q", "K", "V", "Out"): DTYPES,
        "B": When("BIAS_TYPE", [1], then=Like("Q"), otherwise=0),
        "A": When("USE_ALIBI", [True], then="*fp32:16", otherwise=0),
        "Sm_scale": "fp32",
        "L": "*fp32:16",
        ("Q_descale", "K_descale", "P_scale", "P_descale", "V_descale"): 0,
        ("Num_head_q", "Num_head_k", "Num_seqlens", "Max_seqlen_q", "Max_seqlen_k", "Num_CU", "Batch"): "i32",
        ("cu_seqlens_q", "cu_seqlens_k", "seq_strides_q", "seq_strides_k"): "*i32:16",
        "BLOCK_DMODEL": HEAD_DIMS,
        ("Hdim_qk", "Hdim_vo"): When("PADDED_HEAD", [True], then="i32", otherwise=Like("BLOCK_DMODEL")),
        "PADDED_HEAD": [False, True],
        "ENABLE_DROPOUT": [False, True],
        "dropout_p": When(DROPOUT, [True], then="fp32"),
        ("philox_seed_ptr", "philox_offset1", "philox_seed_output", "philox_offset_output"): When(
            DROPOUT, [True], then="*u64", otherwise=0
        ),
        "philox_offset2": When(DROPOUT, [True], then="u64"),
        "RETURN_ENCODED_SOFTMAX": False,
        "encoded_softmax": 0,
        "CAUSAL_TYPE": [0, 3],
        ("Window_left", "Window_right"): When("CAUSAL_TYPE", [3], then="i32"),
        "BIAS_TYPE": [0, 1],
        ("USE_ALIBI", "INT8", "INT8_KV", "USE_P_SCALE"): False,
        "persistent_atomic_counter": When("CAUSAL_TYPE", [3], then="*i32"),
    },
    ranks={"L": 2, **dict.fromkeys(("philox_seed_ptr", "philox_offset1"), 0), "encoded_softmax": 4},
    strides={
        "Q": _strides("q", "zhmk"),
        "K": _strides("k", "zhnk"),
        "V": _strides("v", "zhkn"),
        "Out": _strides("o", "zhmn"),
        "B": _strides("b", "zhmn"),
        "A": _strides("a", "zh"),
    },
    performance={
        "PERSISTENT_TYPE": Performance(0, [0, 2]),
        "GRID_CU_MULTIP": Performance(2, [2]),
        **BLOCKS,
        "PRE_LOAD_V": Performance(False, [False, True]),
        "NUM_XCDS": Performance(1, [1, 8]),
    },
    options=OPTIONS,
    keys=(Key("Max_seqlen_q"), Key("Max_seqlen_k")),
    grid=("cdiv(Max_seqlen_q, BLOCK_M)", "Num_head_q", "Batch"),
    request={
        "BLOCK_DMODEL": "max(Hdim_qk, Hdim_vo)",
        "PADDED_HEAD": "BLOCK_DMODEL != Hdim_qk or BLOCK_DMODEL != Hdim_vo",
    },
    at_least=("BLOCK_DMODEL",),
    exclude=(
        *EXCLUDE,
        Exclude("compiler bug", when=lambda f, target: f["BLOCK_DMODEL"] == 16, targets=["gfx950"]),
    ),
    partially_tuned={"PADDED_HEAD": False},
)


def _backward(name: str, tensors: tuple[str, ...], head_dims: list[int]) -> Kernel:
    fp32 = ("L",) if name == "bwd_kernel_fuse" else ("L", "D")
    return Kernel(
        family="flash",
        name=name,
        source=SOURCE,
        choices={
            ("Q", "K", "V", "DO", *tensors): DTYPES,
            ("B", *(("DB",) if name != "bwd_kernel_dk_dv" else ())): When("BIAS_TYPE", [1], then=Like("Q")),
            fp32: "*fp32:16",
            "sm_scale": "fp32",
            ("num_head_q", "num_head_k", "max_seqlen_q", "max_seqlen_k"): "i32",
            "BLOCK_DMODEL": head_dims,
            "dropout_p": When(DROPOUT, [True], then="fp32"),
            ("Window_left", "Window_right"): When("CAUSAL_TYPE", [3], then="i32"),
            "CAUSAL_TYPE": [0, 3],
            "ENABLE_DROPOUT": [False, True],
            "PADDED_HEAD": [False, True],
            "BIAS_TYPE": [0, 1],
        },
        ranks=dict.fromkeys(fp32, 2),
        strides={"Q": _strides("q", "zhmk")},
        performance=BLOCKS,
        options=OPTIONS,
        keys=(Key("max_seqlen_q"), Key("max_seqlen_k")),
        grid=("cdiv(max_seqlen_k, BLOCK_N)", "num_head_k", "1"),
        exclude=BWD_EXCLUDE,
    )


BWD_DK_DV = _backward("bwd_kernel_dk_dv", ("DK", "DV"), HEAD_DIMS)
BWD_DQ = _backward("bwd_kernel_dq", ("DQ",), HEAD_DIMS)
BWD_FUSE = _backward("bwd_kernel_fuse", ("DK", "DV", "DQ"), HEAD_DIMS[:-1])

BWD_PREPROCESS = Kernel(
    family="flash",
    name="bwd_preprocess",
    source=SOURCE,
    choices={
        ("Out", "DO"): DTYPES,
        "Delta": "*fp32:16",
        ("seqlen_q", "head_dim"): "i32",
        "D_HEAD": HEAD_DIMS,
        "PADDED_HEAD": [False, True],
    },
    ranks={"Delta": 2},
    strides={"Out": _strides("o", "zhmn"), "DO": _strides("do", "zhmn")},
    performance={"BLOCK_M": Performance(128, [128])},
    options=OPTIONS,
    grid=("cdiv(seqlen_q, 128)", "1", "1"),
)

DEBUG = Kernel(
    family="flash",
    name="debug_simulate_encoded_softmax",
    source=SOURCE,
    choices={
        "R": DTYPES,
        "dropout_p": "fp32",
        ("Num_head_q", "Max_seqlen_q", "Max_seqlen_k"): "i32",
        ("philox_seed_ptr", "philox_offset1"): "*u64",
        "philox_offset2": "u64",
    },
    ranks={"philox_seed_ptr": 0, "philox_offset1": 0},
    strides={"R": _strides("r", "zhmn")},
    optional=("philox_seed_ptr", "philox_offset1"),
    performance={"BLOCK_M": Performance(64, [64]), "BLOCK_N": Performance(32, [32])},
    options=OPTIONS,
    grid=("cdiv(Max_seqlen_q, BLOCK_M)", "Num_head_q", "1"),
)

KERNELS = (ATTN_FWD, BWD_DK_DV, BWD_DQ, BWD_FUSE, BWD_PREPROCESS, DEBUG)
OPERATORS = ()
