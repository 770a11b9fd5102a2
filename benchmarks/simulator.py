"""How fast the AMD simulator executes instructions, on one core, checks off.

    python benchmarks/simulator.py [--calls N] [--json FILE]

Each row runs a loop of some instructions in one wave with all lanes on; the time is the processor's for this thread,
the best of N runs. The exit status is 1 where a row with a bar is below it. What else runs on the machine slows a core
down where two share their units: the load average is printed. Needs Triton, whose assembler it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aotriton.runtime import library_path
from tests.tools.amd_run import State, run_code
from tests.tools.amd_text import assemble
from tests.tools.simulator import Simulator

LENGTH, INSTRUCTIONS = 48, 60_000  # of the loop's body, and in one run


@dataclass(frozen=True)
class Loop:
    """Instructions that a loop repeats; `work` is what one of them counts for, in `unit`s."""

    name: str
    arch: str
    lines: tuple[str, ...]
    work: float
    unit: str
    bar: float | None = None


def matrix(arch: str, name: str, a: int, b: int, d: int, work: int, bar: float | None = None, more: str = "") -> Loop:
    """A matrix instruction on registers of that many: three accumulators in turns, as kernels have them."""
    lines = []
    for i in range(3):
        first = 64 + 32 * i
        result = f"v[{first}:{first + d - 1}]"
        left, right = (f"v{at}" if n == 1 else f"v[{at}:{at + n - 1}]" for at, n in ((0, a), (16, b)))
        lines.append(f"{name} {result}, {left}, {right}, {'v40' if 'smfmac' in name else result}{more}")
    return Loop(name, arch, tuple(lines), work / 1e9, "GFLOP/s", bar)


VECTOR = (
    "v_fma_f32 v1, v2, v3, v4", "v_mul_f32_e32 v5, v1, v6", "v_add_u32_e32 v7, v8, v9", "v_lshlrev_b32_e32 v10, 3, v7",
    "v_and_b32_e32 v11, v10, v12", "v_max_f32_e32 v13, v5, v1", "v_cmp_lt_f32_e32 vcc, v13, v5",
    "v_cndmask_b32_e32 v14, v13, v5, vcc", "v_add_f32_e32 v15, v14, v1", "v_sub_f32_e32 v16, v15, v2",
    "v_or_b32_e32 v17, v11, v7", "v_mov_b32_e32 v18, v17",
)  # fmt: skip

LOOPS = [
    Loop("a mix of vector instructions", "gfx942", VECTOR, 1e-6, "million instructions/s", 40),
    matrix("gfx942", "v_mfma_f32_32x32x8_f16", 2, 2, 16, 2 * 32 * 32 * 8, bar=40),
    matrix("gfx90a", "v_mfma_f32_32x32x8f16", 2, 2, 16, 2 * 32 * 32 * 8),
    matrix("gfx942", "v_mfma_f32_16x16x16_f16", 2, 2, 4, 2 * 16**3),
    matrix("gfx942", "v_mfma_f32_32x32x8_bf16", 2, 2, 16, 2 * 32 * 32 * 8),
    matrix("gfx950", "v_mfma_f32_32x32x16_f16", 4, 4, 16, 2 * 32 * 32 * 16),
    matrix("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 2, 2, 16, 2 * 32 * 32 * 16),
    matrix("gfx942", "v_mfma_f32_32x32x2_f32", 1, 1, 16, 2 * 32 * 32 * 2),
    matrix("gfx942", "v_mfma_i32_32x32x16_i8", 2, 2, 16, 2 * 32 * 32 * 16),
    matrix("gfx942", "v_mfma_f64_16x16x4_f64", 2, 2, 8, 2 * 16 * 16 * 4),
    matrix("gfx942", "v_smfmac_f32_16x16x32_f16", 2, 4, 4, 16 * 16 * 32),
    matrix("gfx950", "v_mfma_f32_16x16x128_f8f6f4", 8, 8, 4, 2 * 16 * 16 * 128),
    matrix("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", 8, 8, 4, 2 * 16 * 16 * 128, more=", v40, v41"),
]


def program(loop: Loop, rounds: int) -> bytes:
    """The loop's code: the body, a counter in s0 and a branch back."""
    body = [loop.lines[i % len(loop.lines)] for i in range(LENGTH)]
    parts = assemble(loop.arch, [f"s_movk_i32 s0, {rounds}", *body, "s_sub_u32 s0, s0, 1", "s_cmp_lg_u32 s0, 0"])
    if not all(parts):
        raise SystemExit(f"error: the assembler refuses the loop of {loop.name}")
    words = (sum(map(len, parts[1:])) + 4) // 4
    return b"".join(parts) + (0xBF850000 | -words & 0xFFFF).to_bytes(4, "little")  # s_cbranch_scc1


def rate(simulator: Simulator, loop: Loop, calls: int) -> float:
    """What the loop does in a second of the processor's time, in its unit."""
    state, rounds = State(), INSTRUCTIONS // LENGTH
    state.vgpr[:] = 0x3C003C00  # ones in f16; small numbers in others
    code, empty = program(loop, rounds), program(loop, 1)

    def best(code: bytes) -> float:
        times = []
        for _ in range(calls):
            start = time.thread_time()
            run_code(simulator, loop.arch, code, state)
            times.append(time.thread_time() - start)
        return min(times)

    return loop.work * LENGTH * (rounds - 1) / (best(code) - best(empty))


def main() -> int:
    """Prints a row for each loop; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=5, metavar="N", help="runs of each loop, of which the best counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go, too")
    options = parser.parse_args()
    simulator = Simulator(library_path().parent / "libaotriton_sim.so")
    load, below, rows = os.getloadavg()[0], False, []
    print(f"load average {load:.1f} on {os.cpu_count()} processors")
    with np.errstate(all="ignore"):
        for loop in LOOPS:
            reached = rate(simulator, loop, options.calls)
            below |= loop.bar is not None and reached < loop.bar
            bar = "" if loop.bar is None else f", bar {loop.bar:g}{'' if reached >= loop.bar else ': below'}"
            print(f"{loop.arch}  {loop.name:36} {reached:7.1f} {loop.unit}{bar}", flush=True)
            rows.append(asdict(loop) | {"reached": round(reached, 2)})
    if options.json:
        options.json.write_text(json.dumps({"load": load, "rows": rows}, indent=1) + "\n")
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
