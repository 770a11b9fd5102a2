"""The description of the family `norm`: what the library has to know of the kernel beside this file."""

from pathlib import Path

from aotriton.describe import Kernel, Key, Performance

KERNELS = (
    Kernel(
        family="norm",
        name="rms_norm",
        source=Path(__file__).with_name("rms_norm.py"),
        choices={
            ("X", "W", "Y"): ["*fp16:16", "*bf16:16", "*fp32:16", "*fp16", "*bf16", "*fp32"],
            "Rows": "i32",
            "Columns": "i32",
            "Epsilon": "fp32",
            "BLOCK_N": [128, 256, 512, 1024, 2048, 4096, 8192],
        },
        ranks={"X": 2, "Y": 2},
        strides={"X": ("stride_xm", "stride_xn"), "W": ("stride_wn",), "Y": ("stride_ym", "stride_yn")},
        # A block holds whole rows: the smallest compiled width that is not below the row's.
        request={"BLOCK_N": "Columns"},
        at_least=("BLOCK_N",),
        # Code for aligned pointers is faster; what isn't aligned goes to code that assumes nothing.
        substitutes={"X": {"*fp16:16": ["*fp16"], "*bf16:16": ["*bf16"], "*fp32:16": ["*fp32"]}},
        performance={"BLOCK_M": Performance(1, [1, 2, 4, 8])},
        options={"waves_per_eu": 0, "num_warps": 4, "num_stages": 1},
        keys=(Key("Rows"),),
        grid=("cdiv(Rows, BLOCK_M)", "1", "1"),
    ),
)
OPERATORS = ()
