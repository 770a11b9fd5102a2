"""The original's counts, digits, hashes, stems and signatures come out of this layer."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from aotriton.describe import load_family, stem
from aotriton.targets import parse_target

FAMILY = load_family(Path(__file__).with_name("original.py"))
KERNELS = {kernel.name: kernel for kernel in FAMILY.kernels}
FWD = KERNELS["attn_fwd"]
UNIFIED = "Q='*fp16:16';BLOCK_DMODEL=16;PADDED_HEAD=False;ENABLE_DROPOUT=False;CAUSAL_TYPE=0;BIAS_TYPE=0"

BACKWARD_DIGITS = "Q 3x{0} BLOCK_DMODEL {1}x16 CAUSAL_TYPE 2x8 ENABLE_DROPOUT 2x4 PADDED_HEAD 2x2 BIAS_TYPE 2x1"
DIGITS = {
    "attn_fwd": "Q 3x192 BLOCK_DMODEL 12x16 PADDED_HEAD 2x8 ENABLE_DROPOUT 2x4 CAUSAL_TYPE 2x2 BIAS_TYPE 2x1",
    "bwd_kernel_dk_dv": BACKWARD_DIGITS.format(192, 12),
    "bwd_kernel_dq": BACKWARD_DIGITS.format(192, 12),
    "bwd_kernel_fuse": BACKWARD_DIGITS.format(176, 11),
    "bwd_preprocess": "Out 3x24 D_HEAD 12x2 PADDED_HEAD 2x1",
    "debug_simulate_encoded_softmax": "R 3x1",
}
TOTALS = dict(zip(DIGITS, (576, 576, 576, 528, 72, 3), strict=True))
ENABLED = {
    "attn_fwd": {"gfx90a": 432, "gfx942": 432, "gfx1201": 432, "gfx950": 396, "gfx1100": 396},
    "bwd_kernel_dk_dv": {"gfx942": 432, "gfx950": 360, "gfx1100": 396},
    "bwd_kernel_dq": {"gfx942": 432, "gfx950": 360, "gfx1100": 396},
    "bwd_kernel_fuse": {"gfx942": 396, "gfx950": 324, "gfx1100": 396},
    "bwd_preprocess": {"gfx942": 72, "gfx1100": 72},
    "debug_simulate_encoded_softmax": {"gfx942": 3},
}


@pytest.mark.parametrize("name", DIGITS)
def test_axes_and_totals(name: str) -> None:
    kernel = KERNELS[name]
    digits = " ".join(f"{axis.label} {axis.radix}x{axis.stride}" for axis in kernel.axes)
    assert digits == DIGITS[name]
    assert kernel.total == TOTALS[name] == len(list(kernel.functionals()))


@pytest.mark.parametrize(("name", "target"), [(name, target) for name in ENABLED for target in ENABLED[name]])
def test_enabled_functionals(name: str, target: str) -> None:
    functionals = KERNELS[name].functionals()
    assert sum(functional.excluded(parse_target(target)) is None for functional in functionals) == ENABLED[name][target]


def test_exclusions_keep_their_reason() -> None:
    values = {**FWD.functional(0).values, "CAUSAL_TYPE": 3, "BIAS_TYPE": 1}
    excluded = FWD.functional(FWD.number_of(values))
    assert excluded.excluded(parse_target("gfx942")) == "causal masks and a bias matrix exclude each other"
    large = FWD.functional(FWD.number_of({**FWD.functional(0).values, "BLOCK_DMODEL": 512}))
    assert large.excluded(parse_target("gfx1103")) == "no head dim above 256 on RDNA3"
    assert large.excluded(parse_target("gfx942")) is None


def test_unified_signature_and_its_hash() -> None:
    functional = FWD.functional(0)
    assert functional.signature == UNIFIED
    assert functional.digest == "4bdef2c052c1dbb0f03201794a275f9929a2d5705f6ff9ad566cd61c7b1d3f61"


def test_hash_of_functional_and_target() -> None:
    text = f"#F;{FWD.functional(0).signature};;arch=gfx942"
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "b4681c19dc74be300eff8982816007ff2c8127d8bdfdf6b93c54343a6f548acd"
    )


def test_stem_and_its_hashes() -> None:
    name = stem(FWD.functional(0), FWD.config({"NUM_XCDS": 8}), "gfx942")
    assert name == (
        f";;#F;{UNIFIED}"
        ";;#P;PERSISTENT_TYPE=0;GRID_CU_MULTIP=2;BLOCK_M=16;BLOCK_N=16;PRE_LOAD_V=False;NUM_XCDS=8"
        ";;#CO;waves_per_eu=2;num_warps=4;num_stages=1;;arch=gfx942"
    )
    assert hashlib.sha256(name.encode()).hexdigest() == (
        "babe56d0a2d3b7d012c07a2285fbe012bffc6b90d6b0907ab6cb8da9b92f76db"
    )
    located = f"amd-gfx942/flash/attn_fwd.zip{name}".encode()
    assert hashlib.blake2b(located, digest_size=8).hexdigest() == "212b926c22f97b5e"


def test_amd_options_leave_the_names_of_other_vendors() -> None:
    config = FWD.default_config
    assert config.for_target(parse_target("gfx942")) == config
    assert config.for_target(parse_target("sm_90")).options_text == "num_warps=4;num_stages=1"
    assert stem(FWD.functional(0), config, "sm_90").endswith(";;#CO;num_warps=4;num_stages=1;;arch=sm_90")


def test_triton_signature_without_features() -> None:
    expected = (
        ["*fp16:16"] * 3 + ["0", "0", "fp32", "*fp32:16", "*fp16:16"] + ["0"] * 5
        + ["u64:8", "u64:8", "u64:8", "1"] * 4 + ["0", "0", "0", "1"] + ["0", "1"]
        + ["i32"] * 3 + ["*i32:16"] * 2 + ["i32"] * 2 + ["*i32:16"] * 2
    )  # fmt: skip
    texts = FWD.functional(0).triton_signature
    assert list(texts[: len(expected)]) == expected
    # A head dim that isn't padded is the compiled one; with features off, their arguments are constants.
    assert texts[len(expected) :] == (
        "16", "16", "16", "False", "False", "0", "0", "0", "0", "0", "0", "False", "0", "0", "0", "0", "0",
        "False", "False", "False", "False", "0", "i32", "i32",
    )  # fmt: skip


def test_features_bring_their_arguments_back() -> None:
    values = {**FWD.functional(0).values, "Q": "*bf16:16", "PADDED_HEAD": True, "ENABLE_DROPOUT": True, "BIAS_TYPE": 1}
    functional = FWD.functional(FWD.number_of(values))
    types = {parameter.argument: (parameter.type, parameter.alignment) for parameter in functional.parameters}
    assert types["B"] == ("*bf16", 16)
    assert types["stride_bz"] == ("u64", 8)
    assert functional.fixed["stride_bn"] == 1
    assert types["Hdim_qk"] == ("i32", 1)
    assert types["dropout_p"] == ("fp32", 1)
    assert types["philox_seed_ptr"] == ("*u64", 1)
    assert "A" not in types
    assert functional.constants["A"] == 0


def test_types_of_constants_follow_the_thresholds() -> None:
    types = {name: FWD.choices_of(name)[0].type for name in ("BLOCK_DMODEL", "CAUSAL_TYPE", "BIAS_TYPE", "PADDED_HEAD")}
    assert types == {"BLOCK_DMODEL": "i16", "CAUSAL_TYPE": "i8", "BIAS_TYPE": "i8", "PADDED_HEAD": "i1"}
    performance = {name: choices[0].type for name, choices in FWD.performance.items()}
    assert performance == {
        "PERSISTENT_TYPE": "i8", "GRID_CU_MULTIP": "i8", "BLOCK_M": "i16", "BLOCK_N": "i16", "PRE_LOAD_V": "i1",
        "NUM_XCDS": "i8",
    }  # fmt: skip


def test_arguments_stand_in_the_order_of_the_source() -> None:
    assert len(FWD.arguments) == 74
    roles = {argument.name: argument.role for argument in FWD.arguments}
    assert [roles[name] for name in ("Q", "Sm_scale", "stride_qz", "CAUSAL_TYPE", "BLOCK_M", "Hdim_qk", "A")] == [
        "tensor", "scalar", "stride", "choice", "performance", "scalar", "tensor",
    ]  # fmt: skip
    stride = FWD.argument("stride_vk")
    assert (stride.tensor, stride.dimension, stride.type) == ("V", 2, "u64")


def test_kernels_are_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        FWD.name = "other"  # type: ignore[misc]
