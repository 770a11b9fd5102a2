"""The description of the family `faults`: kernels for the tests of the driver."""

from pathlib import Path

from aotriton.describe import Kernel, Performance

SOURCE = Path(__file__).with_name("faults.py")

KERNELS = (
    Kernel(
        family="faults",
        name="poke",
        source=SOURCE,
        choices={"Y": "*i32", "address": "u64", "N": "i32"},
        performance={"BLOCK": Performance(128, [128])},
        options={"num_warps": 4},
        grid=("cdiv(N, BLOCK)",),
    ),
    Kernel(
        family="faults",
        name="product",
        source=SOURCE,
        choices={("A", "B"): "*fp16:16", "C": "*fp32:16", "N": "i32"},
        performance={"BLOCK": Performance(128, [128])},
        options={"num_warps": 8, "num_stages": 3},
        grid=("cdiv(N, BLOCK)", "cdiv(N, BLOCK)"),
    ),
)
