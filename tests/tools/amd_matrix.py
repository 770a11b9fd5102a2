"""Matrix instructions by their definition: where each number lies in registers, and what comes out, in NumPy.

The places are those that AMD publishes in its ISA documents and its matrix instruction calculator.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import ml_dtypes
import numpy as np

__all__ = ["KINDS", "MatrixInstruction", "instructions"]

# Bits of one number, and the type of its codes.
_BITS = {
    "f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4,
}  # fmt: skip
KINDS = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2, "fp6": ml_dtypes.float6_e2m3fn,
    "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
_FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
_F8F6F4 = ("fp8", "bf8", "fp6", "bf6", "fp4")  # as cbsz and blgp say it
_OUT = {"f64": np.float64, "i8": np.int32}


@dataclass(frozen=True)
class MatrixInstruction:
    """`blocks` products of (size, depth) by (depth, size); of `sparse` ones, A has two of every four numbers."""

    arch: str
    name: str
    size: int
    depth: int
    blocks: int
    a: str
    b: str
    sparse: bool = False

    @property
    def formats(self) -> str:
        """The modifiers that say the kinds of numbers, where the name doesn't."""
        if not self.name.endswith("f8f6f4"):
            return ""
        return f" cbsz:{_F8F6F4.index(self.a)} blgp:{_F8F6F4.index(self.b)}"

    def dtype(self, kind: str) -> type:
        """NumPy's type of a kind of numbers here."""
        return _FNUZ.get(kind, KINDS[kind]) if self.arch == "gfx942" else KINDS[kind]

    @property
    def out(self) -> type:
        """The type of the sums."""
        return _OUT.get(self.a, np.float32)

    @property
    def items(self) -> tuple[int, int]:
        """How many numbers of A and of B a lane holds."""
        each = self.size * self.depth * self.blocks // 64
        return each // (2 if self.sparse else 1), each

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many registers A, B and the result take."""
        a, b = (n * _BITS[kind] // 32 for n, kind in zip(self.items, (self.a, self.b), strict=True))
        return a, b, self.size**2 * self.blocks * np.dtype(self.out).itemsize // 256

    def input_place(self, kind: str, block: int, i: int, k: int, items: int) -> tuple[int, int]:
        """(item, lane) of row i of A, or column i of B, where each lane holds `items` numbers of that kind."""
        if self.name.endswith("f8f6f4") and _BITS[kind] == 8:  # two runs of 16, half of k apart
            half, k = divmod(k, self.depth // 2)
            return 16 * half + k % 16, i + self.size * (k // 16)
        return k % items, i + self.size * (block + self.blocks * (k // items))

    def output_place(self, block: int, i: int, j: int) -> tuple[int, int]:
        """(item, lane) of an element of the result."""
        high = 1 if self.out is np.float64 else 4
        across = 64 // self.size
        shared = max(1, 64 * high // self.size**2)
        item = block * self.size**2 // 64 // high * high + i // (high * across) * high + i % high
        return item, (block % shared) * self.size + i // high % across * shared * self.size + j

    def pack(self, values: np.ndarray, kind: str) -> np.ndarray:
        """Registers (n, 64) of A's rows or B's columns, `values` (blocks, size, k) of the kind's type."""
        bits, items = _BITS[kind], values.size // 64
        codes = values.view(np.uint8).reshape(*values.shape, -1)
        lanes = np.zeros((64, items, codes.shape[-1]), np.uint8)
        item, lane = _input_places(self, kind, values.shape, items)
        lanes[lane, item] = codes
        each = np.unpackbits(lanes, axis=2, bitorder="little")[:, :, :bits].reshape(64, -1)
        return np.ascontiguousarray(np.packbits(each, axis=1, bitorder="little").view(np.uint32).T)

    def pack_result(self, values: np.ndarray) -> np.ndarray:
        """Registers (n, 64) of results or of C, (blocks, size, size)."""
        wide = values.dtype.itemsize // 4
        words = np.ascontiguousarray(values).view(np.uint32).reshape(*values.shape, wide)
        item, lane = _output_places(self)
        rows = np.zeros((self.registers[2] // wide, 64, wide), np.uint32)
        rows[item, lane] = words
        return np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(-1, 64)

    def unpack_result(self, rows: np.ndarray) -> np.ndarray:
        """(blocks, size, size) from registers (n, 64)."""
        wide = np.dtype(self.out).itemsize // 4
        words = np.ascontiguousarray(rows.reshape(-1, wide, 64).transpose(0, 2, 1))
        return words[_output_places(self)].view(self.out)[..., 0]


@functools.cache
def _input_places(
    one: MatrixInstruction, kind: str, shape: tuple[int, ...], items: int
) -> tuple[np.ndarray, np.ndarray]:
    places = np.array([one.input_place(kind, *at, items) for at in np.ndindex(*shape)]).reshape(*shape, 2)
    return places[..., 0], places[..., 1]


@functools.cache
def _output_places(one: MatrixInstruction) -> tuple[np.ndarray, np.ndarray]:
    shape = (one.blocks, one.size, one.size)
    places = np.array([one.output_place(*at) for at in np.ndindex(*shape)]).reshape(*shape, 2)
    return places[..., 0], places[..., 1]


def _dense(arch: str) -> list[tuple[str, int, int, int, str, str]]:
    """(name, size, depth, blocks, kind of A, kind of B) of V_MFMA."""
    old = arch == "gfx90a"
    rows: list[tuple[str, int, int, int, str, str]] = []

    def add(kind: str, shapes: list[tuple[int, int, int]], other: str | None = None, suffix: str | None = None) -> None:
        text = suffix or (kind if other is None else f"{kind}_{other}")
        out = {"f64": "f64", "i8": "i32"}.get(kind, "f32")
        for size, depth, blocks in shapes:
            block_text = "" if old else "_" if blocks == 1 else f"_{blocks}b_"
            name = f"v_mfma_{out}_{size}x{size}x{depth}{block_text}{text}"
            rows.append((name, size, depth, blocks, kind, other or kind))

    add("f32", [(32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)])
    add("f64", [(16, 4, 1), (4, 4, 4)])
    halves = [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]
    add("f16", halves)
    add("bf16", halves, suffix="bf16_1k" if old else "bf16")
    add("i8", halves[:3])
    if old:
        add("bf16", [(32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)])
        add("i8", halves[3:])
        return rows
    add("i8", [(32, 16, 1), (16, 32, 1)])
    for a, b in [("bf8", "bf8"), ("bf8", "fp8"), ("fp8", "bf8"), ("fp8", "fp8")]:
        add(a, [(16, 32, 1), (32, 16, 1)], b)
    if arch == "gfx942":
        add("xf32", [(16, 8, 1), (32, 4, 1)])
        return rows
    for kind in ("f16", "bf16"):
        add(kind, [(16, 32, 1), (32, 16, 1)])
    add("i8", [(16, 64, 1), (32, 32, 1)])
    for scale in ("", "scale_"):
        for size, depth in [(16, 128), (32, 64)]:
            name = f"v_mfma_{scale}f32_{size}x{size}x{depth}_f8f6f4"
            rows += [(name, size, depth, 1, a, b) for a in _F8F6F4 for b in _F8F6F4]
    return rows


def _sparse(arch: str) -> list[tuple[str, int, int, int, str, str]]:
    """The same of V_SMFMAC."""
    if arch == "gfx90a":
        return []
    rows = []
    for times in (1, 2) if arch == "gfx950" else (1,):
        for size, depth in [(16, 32 * times), (32, 16 * times)]:
            for kind in ("f16", "bf16"):
                rows.append((f"v_smfmac_f32_{size}x{size}x{depth}_{kind}", size, depth, 1, kind, kind))
            rows.append((f"v_smfmac_i32_{size}x{size}x{2 * depth}_i8", size, 2 * depth, 1, "i8", "i8"))
            for a in ("fp8", "bf8"):
                for b in ("fp8", "bf8"):
                    rows.append((f"v_smfmac_f32_{size}x{size}x{2 * depth}_{a}_{b}", size, 2 * depth, 1, a, b))
    return rows


def instructions(arch: str) -> list[MatrixInstruction]:
    """All matrix instructions of an architecture; those of f8f6f4 once for each two kinds."""
    dense = [MatrixInstruction(arch, *row) for row in _dense(arch)]
    return dense + [MatrixInstruction(arch, *row, sparse=True) for row in _sparse(arch)]
