"""`tl.dot` and `tl.dot_scaled` of Triton, compiled for each architecture and run on the simulator, against float64."""

import itertools
import struct

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aotriton.runtime import library_path
from tests.tools.simulator import Simulator


@triton.jit
def dot(a, b, c, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr, HOW: tl.constexpr):
    """out = c + a b; the tile is ragged."""
    row, column, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    inside = (row < m) & (column < n)
    x = tl.load(a + row * k + depth[None, :], mask=(row < m) & (depth[None, :] < k), other=0.0)
    y = tl.load(b + depth[:, None] * n + column, mask=(depth[:, None] < k) & (column < n), other=0.0)
    z = tl.load(c + row * n + column, mask=inside, other=0.0)
    tl.store(out + row * n + column, tl.dot(x, y, z, input_precision=HOW, out_dtype=SUM), mask=inside)


@triton.jit
def dot_scaled(
    a, b, a_scale, b_scale, out, A: tl.constexpr, B: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A and B have k innermost, numbers of four bits two to a byte; a scale for each 32."""
    i, j, group = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + i[:, None] * (K // A_PACK) + tl.arange(0, K // A_PACK)[None, :])
    y = tl.load(b + j[None, :] * (K // B_PACK) + tl.arange(0, K // B_PACK)[:, None])
    x_scale = tl.load(a_scale + i[:, None] * (K // 32) + group[None, :])
    y_scale = tl.load(b_scale + j[:, None] * (K // 32) + group[None, :])
    tl.store(out + i[:, None] * N + j[None, :], tl.dot_scaled(x, x_scale, A, y, y_scale, B))


# Triton's name of a kind of numbers, NumPy's type, and that of the sums.
KINDS = {
    "fp16": (np.float16, "fp32", np.float32),
    "bf16": (ml_dtypes.bfloat16, "fp32", np.float32),
    "fp32": (np.float32, "fp32", np.float32),
    "fp64": (np.float64, "fp64", np.float64),
    "i8": (np.int8, "i32", np.int32),
    "fp8e4nv": (ml_dtypes.float8_e4m3fn, "fp32", np.float32),
    "fp8e5": (ml_dtypes.float8_e5m2, "fp32", np.float32),
    "fp8e4b8": (ml_dtypes.float8_e4m3fnuz, "fp32", np.float32),
    "fp8e5b16": (ml_dtypes.float8_e5m2fnuz, "fp32", np.float32),
}
ON = {
    "gfx90a": ["fp16", "bf16", "fp32", "i8", "fp64"],
    "gfx942": ["fp16", "bf16", "fp32", "i8", "fp64", "fp8e4b8", "fp8e5b16"],
    "gfx950": ["fp16", "bf16", "fp32", "i8", "fp64", "fp8e4nv", "fp8e5"],
}
TYPES = {"fp32": tl.float32, "i32": tl.int32, "fp64": tl.float64}


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


def compiled(kernel, arch, signature, constants, warps, **options):
    signature |= dict.fromkeys(constants, "constexpr")
    places = {name: at for at, name in enumerate(kernel.arg_names)}
    attrs = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(signature) if signature[name][0] == "*"}
    source = ASTSource(kernel, signature, {(places[name],): value for name, value in constants.items()}, attrs)
    options = {"num_warps": warps, "enable_fp_fusion": True, **options}
    return triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)


def check_dot(simulator, arch, kind, tile, warps, precision="ieee", **options):
    dtype, sums, out_dtype = KINDS[kind]
    shape = tuple(size - 3 for size in tile)  # ragged
    signature = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{sums}", "out": f"*{sums}"} | dict.fromkeys("mnk", "i32")
    constants = dict(zip("MNK", tile, strict=True)) | {"SUM": TYPES[sums], "HOW": precision}
    kernel = compiled(dot, arch, signature, constants, warps, **options)
    small = np.dtype(dtype).itemsize == 1 and arch != "gfx90a" and tile[2] == 16  # which not all kinds have one for
    assert small or "v_mfma" in kernel.asm["amdgcn"]
    m, n, k = shape
    rng = np.random.default_rng(0)
    make = (lambda *s: rng.integers(-128, 128, s)) if kind == "i8" else (lambda *s: rng.standard_normal(s))
    a, b, c = make(m, k).astype(dtype), make(k, n).astype(dtype), make(m, n).astype(out_dtype)
    out = np.full((m, n), -77, out_dtype)
    pointers = [x.ctypes.data for x in (a, b, c, out)]
    arguments = struct.pack("<QQQQiii4xQQ", *pointers, m, n, k, 0, 0)
    simulator.load(kernel.asm["hsaco"]).launch("dot", (1, 1, 1), 64 * warps, arguments, kernel.metadata.shared)
    if kind == "i8":
        np.testing.assert_array_equal(out, c + a.astype(np.int64) @ b.astype(np.int64))
        return
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    unit = 2.0**-53 if kind == "fp64" else 2.0**-24
    bound = (k + 2) * unit * (abs(a) @ abs(b) + abs(c))
    if precision == "tf32":
        bound += 2.0**-10 * (abs(a) @ abs(b))
    assert (abs(out - (c + a @ b)) <= bound).all()


SAMPLE = [((16, 16, 16), 1), ((32, 64, 32), 2), ((64, 32, 128), 4), ((128, 128, 64), 8)]


@pytest.mark.parametrize(("arch", "kind"), [(arch, kind) for arch, kinds in ON.items() for kind in kinds])
def test_dot(simulator, arch, kind):
    tile, warps = SAMPLE[(list(ON).index(arch) + ON[arch].index(kind)) % len(SAMPLE)]
    check_dot(simulator, arch, kind, tile if kind != "fp64" else (32, 32, 32), warps)


def test_dot_with_reduced_precision(simulator):
    check_dot(simulator, "gfx942", "fp32", (64, 64, 32), 4, "tf32")


@pytest.mark.all
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("tile", list(itertools.product([16, 32, 64, 128], repeat=3)))
@pytest.mark.parametrize(("arch", "kind"), [(arch, kind) for arch, kinds in ON.items() for kind in kinds])
def test_every_dot(simulator, arch, kind, tile, warps):
    check_dot(simulator, arch, kind, tile, warps)


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32", "i8"])
@pytest.mark.parametrize("arch", list(ON))
@pytest.mark.all
def test_both_sizes(simulator, arch, kind, size):
    check_dot(simulator, arch, kind, (64, 64, 64), 4, matrix_instr_nonkdim=size)


SCALED = {"e4m3": ("fp8e4nv", KINDS["fp8e4nv"][0], 1), "e5m2": ("fp8e5", KINDS["fp8e5"][0], 1),
          "e2m1": ("u8", ml_dtypes.float4_e2m1fn, 2)}  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [("e4m3", "e4m3", 16), ("e4m3", "e4m3", 32), ("e2m1", "e2m1", 16), ("e4m3", "e2m1", 32), ("e2m1", "e5m2", 16)],
)
def test_dot_scaled(simulator, first, second, size):
    m, n, k, rng = 64, 64, 256, np.random.default_rng(0)
    kinds = (SCALED[first], SCALED[second])
    values = [rng.choice([0, 1, -1, 2, -2, 3], (64, k)).astype(dtype) for _, dtype, _ in kinds]
    scales = [rng.integers(120, 134, (64, k // 32)).astype(np.uint8) for _ in range(2)]
    packed = [value.view(np.uint8) for value in values]
    for i, (_, _, pack) in enumerate(kinds):
        if pack == 2:
            packed[i] = np.ascontiguousarray(packed[i][:, ::2] & 15 | packed[i][:, 1::2] << 4)
    signature = {"a": f"*{kinds[0][0]}", "b": f"*{kinds[1][0]}"} | dict.fromkeys(["a_scale", "b_scale"], "*u8")
    signature["out"] = "*fp32"
    constants = {"A": first, "B": second, "A_PACK": kinds[0][2], "B_PACK": kinds[1][2], "M": m, "N": n, "K": k}
    kernel = compiled(dot_scaled, "gfx950", signature, constants, 4, matrix_instr_nonkdim=size)
    assert f"v_mfma_scale_f32_{size}x{size}x" in kernel.asm["amdgcn"]
    out = np.full((m, n), np.nan, np.float32)
    arguments = struct.pack("<QQQQQQQ", *[x.ctypes.data for x in (*packed, *scales, out)], 0, 0)
    simulator.load(kernel.asm["hsaco"]).launch("dot_scaled", (1, 1, 1), 256, arguments, kernel.metadata.shared)
    factors = [np.repeat(np.exp2(scale - 127.0), 32, axis=1) for scale in scales]
    a, b = (value.astype(np.float64) * factor for value, factor in zip(values, factors, strict=True))
    assert (abs(out - a @ b.T) <= k * 2.0**-24 * (abs(a) @ abs(b).T)).all()
