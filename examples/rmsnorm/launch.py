"""Builds rms_norm into packs of its own and launches it from Python.

    python examples/rmsnorm/launch.py [FOLDER_OF_PACKS]

Runs on the device `host`, so on any machine; for a GPU, build for its target and pass tensors in its memory.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

import aotriton

HERE = Path(__file__).parent
ROWS, COLUMNS, EPSILON = 37, 1000, 1e-6


def build(packs: Path) -> None:
    command = [sys.executable, "-m", "aotriton", "build", "--target", "host", "--out", packs]
    subprocess.run([*command, "--family", HERE / "description.py", "--set", HERE / "set.json"], check=True)


def main() -> int:
    packs = Path(sys.argv[1] if len(sys.argv) > 1 else "build/rmsnorm")
    if not packs.is_dir():
        build(packs)
    kernel = aotriton.open_kernel("norm", "rms_norm", folder=packs, device="host")

    random = np.random.default_rng(20)
    x = random.standard_normal((ROWS, COLUMNS)).astype(np.float16)
    w = random.standard_normal(COLUMNS).astype(np.float16)
    y = np.full_like(x, np.nan)
    arguments = {"X": x, "W": w, "Y": y, "Rows": ROWS, "Columns": COLUMNS, "Epsilon": EPSILON}
    kernel.launch(**arguments)

    exact = x.astype(np.float64)
    exact *= w / np.sqrt((exact**2).mean(-1, keepdims=True) + EPSILON)
    error = float(np.abs(y - exact).max())
    print(f"{kernel.explain(**arguments)['functional']['signature']}: largest error against float64 {error:.1e}")
    return 0 if error < 4e-3 else 1  # fp16 has steps of 2e-3 below 4, and 4e-3 above


if __name__ == "__main__":
    sys.exit(main())
