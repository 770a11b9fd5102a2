"""Vector instructions beside plain arithmetic: moves between lanes, modes, mixed and dot products, short formats."""

import itertools
import math
import random

import ml_dtypes
import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_functions import bit_operation
from tests.tools.amd_numbers import encode, rounded
from tests.tools.amd_run import State, run
from tests.tools.simulator import Simulator

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(library_path().parent / "libaotriton_sim.so")


def words(rng=RNG):
    return rng.integers(0, 2**32, 64, np.uint32)


def state_with(**rows):
    state = State()
    for name, values in rows.items():
        state.vgpr[int(name[1:])] = values
    return state


def test_lanes_are_read_and_written(simulator):
    values, state = words(), State()
    state.vgpr[1] = values
    for lane in (0, 5, 63, 64 + 7):
        state.sgpr[8] = lane
        assert run(simulator, "gfx942", "v_readlane_b32 s2, v1, s8", state).sgpr[2] == values[lane & 63]
        state.exec = 0  # these ignore it
        after = run(simulator, "gfx942", "v_writelane_b32 v1, 17, s8", state)
        assert after.vgpr[1, lane & 63] == 17
        assert (np.delete(after.vgpr[1], lane & 63) == np.delete(values, lane & 63)).all()
    for mask, lane in ((1 << 9 | 1 << 20, 9), (2**64 - 1, 0), (0, 0), (1 << 63, 63)):
        state.exec = mask
        assert run(simulator, "gfx942", "v_readfirstlane_b32 s2, v1", state).sgpr[2] == values[lane]


def test_registers_are_exchanged(simulator):
    a, b = words(), words()
    state = state_with(v1=a, v2=b)
    state.exec = 0xF0F0
    on = np.array([state.exec >> i & 1 for i in range(64)], bool)
    after = run(simulator, "gfx942", "v_swap_b32 v1, v2", state)
    assert (after.vgpr[1] == np.where(on, b, a)).all()
    assert (after.vgpr[2] == np.where(on, a, b)).all()
    for row in (16, 32):
        after = run(simulator, "gfx950", f"v_permlane{row}_swap_b32 v1, v2", state_with(v1=a, v2=b))
        first, second = a.reshape(-1, 2, row).copy(), b.reshape(-1, 2, row).copy()
        first[:, 1], second[:, 0] = b.reshape(-1, 2, row)[:, 0], a.reshape(-1, 2, row)[:, 1]
        assert (after.vgpr[1] == first.ravel()).all()
        assert (after.vgpr[2] == second.ravel()).all()


def test_lanes_below_are_counted(simulator):
    mask, base = words(), words()
    after = run(
        simulator,
        "gfx942",
        ["v_mbcnt_lo_u32_b32 v3, v1, v2", "v_mbcnt_hi_u32_b32 v4, v1, v2"],
        state_with(v1=mask, v2=base),
    )
    for lane in range(64):
        low = int(mask[lane]) & ((1 << min(lane, 32)) - 1)
        high = int(mask[lane]) & ((1 << max(lane - 32, 0)) - 1)
        assert after.vgpr[3, lane] == (int(base[lane]) + low.bit_count()) & 0xFFFFFFFF
        assert after.vgpr[4, lane] == (int(base[lane]) + high.bit_count()) & 0xFFFFFFFF


@pytest.mark.parametrize("table", [0, 0xCA, 0x96, 0x80, 0xFE, 0xFF, 0x1D])
def test_truth_tables(simulator, table):
    a, b, c = words(), words(), words()
    state = state_with(v1=a, v2=b, v3=c, v4=words())
    after = run(simulator, "gfx950", f"v_bitop3_b32 v4, v1, v2, v3 bitop3:{table:#x}", state)
    assert (after.vgpr[4] == bit_operation(table, 32)(a, b, c)).all()
    after = run(simulator, "gfx950", f"v_bitop3_b16 v4, v1, v2, v3 bitop3:{table:#x}", state)
    assert (after.vgpr[4] & 0xFFFF == bit_operation(table, 16)(a, b, c)).all()
    assert (after.vgpr[4] >> 16 == state.vgpr[4] >> 16).all()


# ---- the register MODE ----

WAYS = ["nearest", "up", "down", "zero"]


def of_mode(state, line, value, simulator, arch="gfx942"):
    return run(simulator, arch, [f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), {value:#x}", line], state)


@pytest.mark.parametrize("way", range(4))
def test_rounding(simulator, way):
    from fractions import Fraction

    a, b = RNG.normal(size=64).astype(np.float32), (RNG.normal(size=64) * 1e-3).astype(np.float32)
    state = state_with(v1=a.view(np.uint32), v2=b.view(np.uint32))
    got = of_mode(state, "v_add_f32 v3, v1, v2", 0x3F0 | way, simulator).vgpr[3].view(np.float32)
    want = [rounded(Fraction(float(x)) + Fraction(float(y)), "f32", WAYS[way]) for x, y in zip(a, b, strict=True)]
    assert (got == np.array(want, np.float32)).all()
    got = of_mode(state, "v_cvt_f16_f32 v3, v1", 0x3F0 | way << 2, simulator).vgpr[3].astype(np.uint16).view(np.float16)
    assert (got.astype(float) == [rounded(Fraction(float(x)), "f16", WAYS[way]) for x in a]).all()
    # The other field has no effect, and numbers are rounded to the nearest integer whatever the mode.
    got = of_mode(state, "v_add_f32 v3, v1, v2", 0x3F0 | way << 2, simulator).vgpr[3].view(np.float32)
    assert (got == a + b).all()
    got = of_mode(state, "v_rndne_f32 v3, v1", 0x3F0 | way, simulator).vgpr[3].view(np.float32)
    assert (got == np.rint(a)).all()


def test_overflow_rounds_as_the_mode_says(simulator):
    state = state_with(v1=np.full(64, np.float32(1e6)).view(np.uint32))
    for way, bits in enumerate((0x7C00, 0x7C00, 0x7BFF, 0x7BFF)):
        assert (of_mode(state, "v_cvt_f16_f32 v3, v1", 0x3F0 | way << 2, simulator).vgpr[3] == bits).all()


@pytest.mark.parametrize(("inputs", "outputs"), list(itertools.product([True, False], repeat=2)))
def test_denormals(simulator, inputs, outputs):
    tiny = np.float32(1e-39)
    normal = np.finfo(np.float32).tiny
    state = state_with(v1=np.full(64, tiny).view(np.uint32), v2=np.full(64, normal).view(np.uint32))
    mode = 0x3C0 | inputs << 4 | outputs << 5
    kept = tiny if inputs else np.float32(0)
    got = of_mode(state, "v_add_f32 v3, v1, v2", mode, simulator).vgpr[3].view(np.float32)
    assert (got == kept + normal).all()
    got = of_mode(state, "v_mul_f32 v3, 0.5, v2", mode, simulator).vgpr[3].view(np.float32)
    assert (got == (normal / 2 if outputs else 0)).all()
    assert (of_mode(state, "v_mov_b32 v3, v1", mode, simulator).vgpr[3] == state.vgpr[1]).all()


def test_output_modifiers(simulator):
    a = np.linspace(-2, 2, 64, dtype=np.float32)
    state = state_with(v1=a.view(np.uint32))
    for text, factor in (("mul:2", 2), ("mul:4", 4), ("div:2", 0.5)):
        line = f"v_add_f32_e64 v3, v1, 1.0 {text}"
        # Without IEEE and without denormals they count, else not.
        assert (of_mode(state, line, 0x1C0, simulator).vgpr[3].view(np.float32) == (a + 1) * np.float32(factor)).all()
        for mode in (0x3F0, 0x3C0, 0x1F0):
            assert (of_mode(state, line, mode, simulator).vgpr[3].view(np.float32) == a + 1).all()


def test_a_clamp_of_nan(simulator):
    state = state_with(v1=np.full(64, 0x7FC00000, np.uint32))
    assert (of_mode(state, "v_add_f32_e64 v3, v1, 1.0 clamp", 0x3F0, simulator).vgpr[3] == 0).all()
    assert np.isnan(of_mode(state, "v_add_f32_e64 v3, v1, 1.0 clamp", 0x2F0, simulator).vgpr[3].view(np.float32)).all()


def test_mode_is_read_back(simulator):
    after = of_mode(State(), "s_getreg_b32 s3, hwreg(HW_REG_MODE, 2, 6)", 0x3A7, simulator)
    assert after.sgpr[3] == 0x3A7 >> 2 & 63


# ---- mixed and dot products ----


def test_mixed_products(simulator):
    rng = random.Random(3)
    halves, floats = RNG.normal(size=(3, 2, 64)).astype(np.float16), RNG.normal(size=(3, 64)).astype(np.float32)
    packed = halves[:, 0].view(np.uint16).astype(np.uint32) | halves[:, 1].view(np.uint16).astype(np.uint32) << 16
    old = words()
    for _ in range(24):
        short, upper, neg, absolute = (rng.randrange(8) for _ in range(4))
        state, values, texts = State(), [], []
        state.vgpr[9] = old
        for i in range(3):
            is_half = short >> i & 1
            state.vgpr[1 + i] = packed[i] if is_half else floats[i].view(np.uint32)
            value = (halves[i, upper >> i & 1] if is_half else floats[i]).astype(np.float64)
            value = np.abs(value) if absolute >> i & 1 else value
            values.append(-value if neg >> i & 1 else value)
            text = f"|v{1 + i}|" if absolute >> i & 1 else f"v{1 + i}"
            texts.append(f"-{text}" if neg >> i & 1 else text)
        lists = [f"[{','.join(str(bits >> i & 1) for i in range(3))}]" for bits in (upper & short, short)]
        tail = f"{', '.join(texts)} op_sel:{lists[0]} op_sel_hi:{lists[1]}"
        want = (values[0] * values[1] + values[2]).astype(np.float32)
        got = run(simulator, "gfx942", f"v_fma_mix_f32 v9, {tail}", state).vgpr[9].view(np.float32)
        np.testing.assert_allclose(got, want, rtol=2**-23, atol=1e-9)
        bits = got.astype(np.float16).view(np.uint16).astype(np.uint32)
        assert (
            run(simulator, "gfx942", f"v_fma_mixlo_f16 v9, {tail}", state).vgpr[9] == (old & 0xFFFF0000 | bits)
        ).all()
        assert (
            run(simulator, "gfx942", f"v_fma_mixhi_f16 v9, {tail}", state).vgpr[9] == (old & 0xFFFF | bits << 16)
        ).all()


def parts(values, bits, signed):
    out = [values.astype(np.int64) >> bits * i & (1 << bits) - 1 for i in range(32 // bits)]
    return [np.where(p >> bits - 1 & 1, p - (1 << bits), p) if signed else p for p in out]


@pytest.mark.parametrize(
    ("kind", "bits"), [("i32_i16", 16), ("u32_u16", 16), ("i32_i8", 8), ("u32_u8", 8), ("i32_i4", 4), ("u32_u4", 4)]
)
@pytest.mark.parametrize("clamp", [False, True])
def test_integer_dot_products(simulator, kind, bits, clamp):
    a, b, c = words(), words(), words()
    signed = kind[0] == "i"
    count = 32 // bits
    sums = sum(x * y for x, y in zip(parts(a, bits, signed), parts(b, bits, signed), strict=True))
    state = state_with(v1=a, v2=b, v3=c)
    after = run(simulator, "gfx942", f"v_dot{count}_{kind} v4, v1, v2, v3{' clamp' if clamp else ''}", state)
    total = [int(s) + int(v) for s, v in zip(sums, c.view(np.int32) if signed else c, strict=True)]
    if clamp:
        total = [min(max(t, -(1 << 31) if signed else 0), (1 << 31) - 1 if signed else (1 << 32) - 1) for t in total]
    assert [int(v) for v in after.vgpr[4]] == [t & 0xFFFFFFFF for t in total]
    if signed and not clamp:
        after = run(simulator, "gfx942", f"v_dot{count}c_{kind} v3, v1, v2", state)
        assert [int(v) for v in after.vgpr[3]] == [t & 0xFFFFFFFF for t in total]


def test_float_dot_products(simulator):
    a, b = RNG.normal(size=(2, 64, 2)).astype(np.float16)
    c = RNG.normal(size=64).astype(np.float32)
    rows = {"v1": a.view(np.uint32).ravel(), "v2": b.view(np.uint32).ravel(), "v3": c.view(np.uint32)}
    want = (a.astype(float) * b.astype(float)).sum(1) + c
    for line in ("v_dot2_f32_f16 v3, v1, v2, v3", "v_dot2c_f32_f16 v3, v1, v2"):
        np.testing.assert_allclose(
            run(simulator, "gfx942", line, state_with(**rows)).vgpr[3].view(np.float32), want, rtol=1e-5, atol=1e-6
        )


# ---- numbers of 8 bits and fewer ----

EIGHT = {
    ("gfx942", "fp8"): ml_dtypes.float8_e4m3fnuz,
    ("gfx942", "bf8"): ml_dtypes.float8_e5m2fnuz,
    ("gfx950", "fp8"): ml_dtypes.float8_e4m3fn,
    ("gfx950", "bf8"): ml_dtypes.float8_e5m2,
}
SHORT = {
    "fp8": (ml_dtypes.float8_e4m3fn, 8),
    "bf8": (ml_dtypes.float8_e5m2, 8),
    "fp6": (ml_dtypes.float6_e2m3fn, 6),
    "bf6": (ml_dtypes.float6_e3m2fn, 6),
    "fp4": (ml_dtypes.float4_e2m1fn, 4),
}


def same(a, b):
    return ((a == b) | (np.isnan(a) & np.isnan(b))).all()


@pytest.mark.parametrize(("arch", "name"), list(EIGHT))
def test_eight_bits(simulator, arch, name):
    dtype = EIGHT[arch, name]
    for first in range(0, 256, 64):
        codes = np.arange(first, first + 64, dtype=np.uint8)
        other = codes[::-1].copy()
        state = state_with(v1=codes | other.astype(np.uint32) << 8, v4=words())
        after = run(simulator, arch, [f"v_cvt_f32_{name} v2, v1", f"v_cvt_pk_f32_{name} v[6:7], v1"], state)
        assert same(after.vgpr[2].view(np.float32), codes.view(dtype).astype(np.float32))
        assert same(after.vgpr[6].view(np.float32), codes.view(dtype).astype(np.float32))
        assert same(after.vgpr[7].view(np.float32), other.view(dtype).astype(np.float32))
    a, b = ((RNG.normal(size=64) * 10.0 ** RNG.integers(-4, 2, 64)).astype(np.float32) for _ in range(2))
    state = state_with(v1=a.view(np.uint32), v2=b.view(np.uint32), v4=words())
    want = a.astype(dtype).view(np.uint8).astype(np.uint32) | b.astype(dtype).view(np.uint8).astype(np.uint32) << 8
    after = run(simulator, arch, f"v_cvt_pk_{name}_f32 v4, v1, v2", state)
    assert (after.vgpr[4] == (state.vgpr[4] & 0xFFFF0000 | want)).all()
    after = run(simulator, arch, f"v_cvt_pk_{name}_f32 v4, v1, v2 op_sel:[0,0,1]", state)
    assert (after.vgpr[4] == (state.vgpr[4] & 0xFFFF | want << 16)).all()
    # Without random bits the value is cut, with all of them it is the next one up, if it isn't exact.
    state.vgpr[3], exact = 0, a.astype(dtype).astype(np.float32)
    cut = (
        run(simulator, arch, f"v_cvt_sr_{name}_f32 v4, v1, v3", state)
        .vgpr[4]
        .astype(np.uint8)
        .view(dtype)
        .astype(np.float32)
    )
    assert (np.abs(cut) <= np.abs(a)).all()
    assert (np.where(np.abs(exact) <= np.abs(a), cut == exact, True)).all()


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
@pytest.mark.parametrize("exponent", [0, 3, -5])
def test_scaled_pairs(simulator, name, exponent):
    dtype, bits = SHORT[name]
    scale = np.full(64, np.float32(2.0**exponent)).view(np.uint32)
    a, b = (RNG.normal(size=64).astype(np.float32) for _ in range(2))
    old = words()
    state = state_with(v1=a.view(np.uint32), v2=b.view(np.uint32), v3=scale, v4=old)
    codes = [(v / np.float32(2.0**exponent)).astype(dtype) for v in (a, b)]
    value = codes[0].view(np.uint8).astype(np.uint32) | codes[1].view(np.uint8).astype(np.uint32) << bits
    mask = np.uint32((1 << 2 * bits) - 1)
    after = run(simulator, "gfx950", f"v_cvt_scalef32_pk_{name}_f32 v4, v1, v2, v3", state)
    assert (after.vgpr[4] == (old & ~mask | value)).all()
    after = run(simulator, "gfx950", f"v_cvt_scalef32_pk_f32_{name} v[6:7], v1, v3", state_with(v1=value, v3=scale))
    for i in range(2):
        assert same(after.vgpr[6 + i].view(np.float32), codes[i].astype(np.float32) * np.float32(2.0**exponent))


@pytest.mark.parametrize("name", ["fp6", "bf6"])
def test_scaled_blocks(simulator, name):
    dtype, _ = SHORT[name]
    codes = RNG.integers(0, 64, (64, 32)).astype(np.uint8)
    numbers = codes.view(dtype).astype(np.float32)
    state = State()
    for lane in range(64):
        whole = sum(int(code) << 6 * i for i, code in enumerate(codes[lane]))
        state.vgpr[2:8, lane] = [whole >> 32 * i & 0xFFFFFFFF for i in range(6)]
    state.vgpr[1] = np.full(64, np.float32(4)).view(np.uint32)
    wide = run(simulator, "gfx950", f"v_cvt_scalef32_pk32_f32_{name} v[16:47], v[2:7], v1", state)
    assert (numbers * 4 == wide.vgpr[16:48].view(np.float32).T).all()
    half = run(simulator, "gfx950", f"v_cvt_scalef32_pk32_f16_{name} v[16:31], v[2:7], v1", state)
    values = np.ascontiguousarray(half.vgpr[16:32].T).view(np.float16)
    assert (values.astype(np.float32) == numbers * 4).all()
    back = run(simulator, "gfx950", f"v_cvt_scalef32_pk32_{name}_f16 v[50:55], v[16:31], v1", half)
    zero = (codes & 31) == 0
    for lane in range(64):
        whole = sum(int(v) << 32 * i for i, v in enumerate(back.vgpr[50:56, lane]))
        got = np.array([whole >> 6 * i & 63 for i in range(32)])
        assert ((got == codes[lane]) | zero[lane]).all()
    interleaved = run(simulator, "gfx950", f"v_cvt_scalef32_2xpk16_{name}_f32 v[60:65], v[16:31], v[32:47], v1", wide)
    whole = sum(int(v) << 32 * i for i, v in enumerate(interleaved.vgpr[60:66, 5]))
    assert [whole >> 6 * i & 63 for i in range(32)] == [int(codes[5, i // 2 + 16 * (i % 2)]) for i in range(32)]


# ---- division in steps, as compilers write it ----


@pytest.mark.parametrize(("kind", "dtype", "width"), [("f32", np.float32, 1), ("f64", np.float64, 2)])
def test_division(simulator, kind, dtype, width):
    edges = np.array(
        [
            0.0,
            -0.0,
            1.0,
            -3.0,
            math.inf,
            -math.inf,
            math.nan,
            np.finfo(dtype).tiny,
            np.finfo(dtype).max,
            np.finfo(dtype).smallest_subnormal,
            1e-30,
            7e20,
        ],
        dtype,
    )
    a, b = RNG.choice(edges, 64), RNG.choice(edges, 64)
    a[:20], b[:20] = RNG.normal(size=20), RNG.normal(size=20)
    state = State()

    def reg(i):
        return f"v{2 * i}" if width == 1 else f"v[{2 * i}:{2 * i + 1}]"

    for i, values in ((0, a), (1, b)):
        if width == 1:
            state.vgpr[2 * i] = encode(values, kind)
        else:
            state.set_wide(2 * i, values)
    n, d, sd, sn, r, e, q, out = (reg(i) for i in range(8))
    lines = [
        f"v_div_scale_{kind} {sd}, s[0:1], {d}, {d}, {n}",
        f"v_div_scale_{kind} {sn}, vcc, {n}, {d}, {n}",
        f"v_rcp_{kind} {r}, {sd}",
        f"v_fma_{kind} {e}, -{sd}, {r}, 1.0",
        f"v_fma_{kind} {r}, {e}, {r}, {r}",
        f"v_fma_{kind} {e}, -{sd}, {r}, 1.0",
        f"v_fma_{kind} {r}, {e}, {r}, {r}",
        f"v_mul_{kind} {q}, {sn}, {r}",
        f"v_fma_{kind} {e}, -{sd}, {q}, {sn}",
        f"v_fma_{kind} {q}, {e}, {r}, {q}",
        f"v_fma_{kind} {e}, -{sd}, {q}, {sn}",
        f"v_div_fmas_{kind} {q}, {e}, {r}, {q}",
        f"v_div_fixup_{kind} {out}, {q}, {d}, {n}",
    ]
    after = run(simulator, "gfx942", lines, state)
    got = after.vgpr[14].view(np.float32) if width == 1 else after.wide(14, np.float64)
    with np.errstate(all="ignore"):
        want = a / b
    tiny = np.abs(want) < np.finfo(dtype).tiny  # where the last step may round twice
    assert ((got == want) | (np.isnan(got) & np.isnan(want)) | tiny).all()
    assert (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()


# ---- the rest ----


def test_two_over_pi(simulator):
    bits = f"{0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561:0256b}"
    state = State()
    for step in range(4):
        for exponent in (0, 100, 1077 - 1023, 1090 - 1023, 1968 - 1023):
            state.set_wide(2, np.full(64, 2.0**exponent))
            shift = 53 * step + max(exponent + 1023 - 1077, 0)
            if shift + 53 > len(bits):
                continue
            want = math.ldexp(int(bits[shift : shift + 53], 2), -53 - shift + (128 if exponent + 1023 >= 1968 else 0))
            after = run(simulator, "gfx942", f"v_trig_preop_f64 v[4:5], v[2:3], {step}", state)
            assert (after.wide(4, np.float64) == want).all(), (step, exponent)


def test_masked_sums_of_four(simulator):
    a, b, c = (RNG.integers(0, 2**32, (n, 64), np.uint32) for n in (2, 1, 4))
    b[0] &= RNG.choice(np.array([0xFFFFFFFF, 0xFF00FF, 0], np.uint32), 64)
    state = State()
    state.vgpr[2:4], state.vgpr[4], state.vgpr[8:12] = a, b[0], c
    after = run(simulator, "gfx942", "v_mqsad_u32_u8 v[12:15], v[2:3], v4, v[8:11]", state)
    for lane in range(64):
        data, reference = int(a[0, lane]) | int(a[1, lane]) << 32, int(b[0, lane]).to_bytes(4, "little")
        for i in range(4):
            window = (data >> 8 * i & 0xFFFFFFFF).to_bytes(4, "little")
            total = int(c[i, lane]) + sum(abs(x - y) for x, y in zip(window, reference, strict=True) if y)
            assert after.vgpr[12 + i, lane] == total & 0xFFFFFFFF


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_scaled_pairs_of_halves(simulator, name, kind):
    dtype, bits = SHORT[name]
    half = np.float16 if kind == "f16" else ml_dtypes.bfloat16
    a = RNG.normal(size=(64, 2)).astype(half)
    old, scale = words(), np.full(64, np.float32(2)).view(np.uint32)
    state = state_with(v1=np.ascontiguousarray(a).view(np.uint32).ravel(), v3=scale, v4=old)
    codes = (a.astype(np.float32) / np.float32(2)).astype(dtype)
    value = codes.view(np.uint8)[:, 0].astype(np.uint32) | codes.view(np.uint8)[:, 1].astype(np.uint32) << bits
    after = run(simulator, "gfx950", f"v_cvt_scalef32_pk_{name}_{kind} v4, v1, v3", state)
    assert (after.vgpr[4] == (old & ~np.uint32((1 << 2 * bits) - 1) | value)).all()
    after = run(simulator, "gfx950", f"v_cvt_scalef32_pk_{kind}_{name} v4, v1, v3", state_with(v1=value, v3=scale))
    got = np.ascontiguousarray(after.vgpr[4]).view(np.uint16).view(half).reshape(64, 2)
    assert same(got.astype(np.float32), codes.astype(np.float32) * 2)


@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_scaled_single_numbers(simulator, name):
    dtype, _ = SHORT[name]
    codes = RNG.integers(0, 256, (64, 4)).astype(np.uint8)
    scale = np.full(64, np.float32(0.5)).view(np.uint32)
    state = state_with(v1=np.ascontiguousarray(codes).view(np.uint32).ravel(), v3=scale, v4=words())
    for place in range(4):
        selection = f"op_sel:[{place & 1},{place >> 1},0]"
        want = codes[:, place].copy().view(dtype).astype(np.float32) / 2
        after = run(simulator, "gfx950", f"v_cvt_scalef32_f32_{name} v5, v1, v3 {selection}", state)
        assert same(after.vgpr[5].view(np.float32), want)


def test_sums_of_brain_floats(simulator):
    a, b = (RNG.normal(size=(64, 2)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = RNG.normal(size=64).astype(np.float32)
    rows = {
        "v1": np.ascontiguousarray(a).view(np.uint32).ravel(),
        "v2": np.ascontiguousarray(b).view(np.uint32).ravel(),
    }
    want = (a.astype(float) * b.astype(float)).sum(1) + c
    for line in ("v_dot2_f32_bf16 v3, v1, v2, v3", "v_dot2c_f32_bf16 v3, v1, v2"):
        got = run(simulator, "gfx950", line, state_with(**rows, v3=c.view(np.uint32))).vgpr[3].view(np.float32)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_accumulation_registers_move(simulator):
    values = words()
    lines = ["v_accvgpr_write_b32 a3, v1", "v_accvgpr_mov_b32 a4, a3", "v_accvgpr_read_b32 v2, a4"]
    after = run(simulator, "gfx942", lines, state_with(v1=values))
    assert (after.vgpr[2] == values).all()
    assert (after.vgpr[256 + 3] == values).all()


def test_packed_sums_of_products(simulator):
    a, b, c = RNG.normal(size=(3, 64, 2)).astype(np.float16)
    rows = {f"v{i + 1}": np.ascontiguousarray(v).view(np.uint32).ravel() for i, v in enumerate((a, b, c))}
    after = run(simulator, "gfx942", "v_pk_fmac_f16 v3, v1, v2", state_with(**rows))
    got = np.ascontiguousarray(after.vgpr[3]).view(np.float16).reshape(64, 2)
    assert (got == (a.astype(float) * b.astype(float) + c.astype(float)).astype(np.float16)).all()
