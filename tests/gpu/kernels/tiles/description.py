"""The description of the family `tiles`: kernels that take descriptors, and launches with attributes."""

from pathlib import Path

from aotriton.describe import Descriptor, Exclude, Kernel, Performance

HERE = Path(__file__).parent
GRID = ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)")
ONE_WAY = {
    "family": "tiles",
    "source": HERE / "tiles.py",
    "choices": {("X", "Y"): ["*fp16", "*bf16", "*fp32"], "M": "i32", "N": "i32", "factor": "fp32"},
    "descriptors": {"X": ("BLOCK_M", "BLOCK_N")},
    "strides": {"Y": ("stride_ym", "stride_yn")},
    "performance": {"BLOCK_M": Performance(64, [32, 64, 128]), "BLOCK_N": Performance(32, [32, 64])},
    "grid": GRID,
}
PRODUCT = {
    "family": "tiles",
    "source": HERE / "tiles.py",
    "function": "matmul",
    "choices": {("A", "B", "C"): ["*fp16", "*bf16"], ("M", "N", "K"): "i32"},
    "descriptors": {"A": ("BLOCK_M", "BLOCK_K"), "B": ("BLOCK_K", "BLOCK_N"), "C": ("BLOCK_M", "BLOCK_N")},
    "performance": {
        "BLOCK_M": Performance(128, [64, 128]),
        "BLOCK_N": Performance(128, [64, 128]),
        "BLOCK_K": Performance(64, [32, 64]),
    },
    "grid": GRID,
}
FOR_SM_90 = Exclude("clusters and dependent launches are sm_90's and later", targets=("amd", "host", "sm_8x"))

KERNELS = (
    Kernel(name="scale", options={"num_warps": 4}, **ONE_WAY),
    Kernel(
        name="scale_together",
        function="scale",
        options={"num_warps": 4, "launch_cooperative_grid": True},
        **ONE_WAY,
    ),
    Kernel(name="scale_after", options={"num_warps": 4, "launch_pdl": True}, exclude=(FOR_SM_90,), **ONE_WAY),
    Kernel(
        family="tiles",
        name="show_tiles",
        source=HERE / "tiles.py",
        choices={("X", "Y"): ["*fp16", "*fp32"], ("B", "M", "N"): "i32"},
        descriptors={"X": Descriptor((1, "BLOCK_M", "BLOCK_N"), fill="nan")},
        strides={"Y": ("stride_yb", "stride_ym", "stride_yn")},
        performance={"BLOCK_M": Performance(16, [16]), "BLOCK_N": Performance(64, [64])},
        options={"num_warps": 4},
        grid=(*GRID, "B"),
    ),
    Kernel(name="matmul", options={"num_warps": 4, "num_stages": 3}, **PRODUCT),
    Kernel(
        name="matmul_cluster",
        options={"num_warps": 4, "num_stages": 3, "num_ctas": 2},
        exclude=(FOR_SM_90,),
        **PRODUCT,
    ),
    Kernel(
        family="tiles",
        name="copy",
        source=HERE / "tiles_gluon.py",
        choices={("X", "Y"): ["*fp16", "*fp32"], "M": "i32", "N": "i32"},
        descriptors={
            "X": Descriptor(("BLOCK_M", "BLOCK_N"), swizzle=64),
            "Y": Descriptor(("BLOCK_M", "BLOCK_N"), swizzle=64),
        },
        performance={"BLOCK_M": Performance(64, [64]), "BLOCK_N": Performance(32, [16, 32])},
        options={"num_warps": 4},
        grid=GRID,
    ),
)
OPERATORS = ()
