"""Matrix instructions on the simulator, against their definition: every place, every kind of number, every modifier."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from aotriton.runtime import library_path
from tests.tools.amd_matrix import KINDS, instructions
from tests.tools.amd_run import AGPR, State, run, run_code
from tests.tools.amd_text import assemble
from tests.tools.simulator import Simulator, SimulatorError

ARCHES = ("gfx90a", "gfx942", "gfx950")
A, B, C, D, INDEX, SCALES = 0, 16, 32, 64, 100, 102  # the registers that the tests use, in either bank


@pytest.fixture(scope="module")
def simulator():
    return Simulator(library_path().parent / "libaotriton_sim.so")


MIXED = [("fp8", "fp4"), ("fp4", "bf6"), ("fp6", "bf8")]


def every(arch):
    """One for each name; of the two kinds that f8f6f4 takes, some."""
    return [one for one in instructions(arch) if not one.formats or one.a == one.b or (one.a, one.b) in MIXED]


CASES = [pytest.param(one, id=f"{one.arch}-{one.name}{one.formats}") for arch in ARCHES for one in every(arch)]
ALL = [pytest.param(one, id=f"{one.arch}-{one.name}{one.formats}") for arch in ARCHES for one in instructions(arch)]


def registers(first, count, bank="v"):
    return f"{bank}{first}" if count == 1 else f"{bank}[{first}:{first + count - 1}]"


def text(one, banks="vvvv", c=None, modifiers=""):
    """Assembly: banks of the result, A, B and C; `c` a constant or the first register of C."""
    a, b, d = one.registers
    parts = [registers(D, d, banks[0]), registers(A, a, banks[1]), registers(B, b, banks[2])]
    if one.sparse:
        parts.append(f"v{INDEX}")
    else:
        parts.append(c if isinstance(c, str) else registers(C if c is None else c, d, banks[3]))
    if "_scale_" in one.name:
        parts += [f"v{SCALES}", f"v{SCALES + 1}"]
    return f"{one.name} {', '.join(parts)}{modifiers}{one.formats}"


@functools.cache
def code_of(arch, line):
    code = assemble(arch, [line])[0]
    assert code, f"`{line}` isn't assembly of {arch}"
    return code


def rows(bank, first):
    return first + (AGPR if bank == "a" else 0)


def indices(rng, one):
    """(size, depth / 2) for each number of A which of B's it meets; and the register that says so."""
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])[rng.integers(0, 6, (one.size, one.depth // 4))]
    items = one.items[0]
    register = np.zeros(64, np.uint64)
    for (i, group, which), value in np.ndenumerate(pairs):
        item, lane = (2 * group + which) % items, i + one.size * ((2 * group + which) // items)
        register[lane] |= np.uint64(value) << np.uint64(2 * item)
    return (pairs + 4 * np.arange(one.depth // 4)[None, :, None]).reshape(one.size, -1), register.astype(np.uint32)


def whole(rng, one, kind, shape):
    """Numbers whose sums of products are exact."""
    values = np.array([0, 1, -1, 2, -2, 3, -3, 4, -4], np.float64)
    if kind in ("f16", "bf16", "f32", "xf32", "f64", "i8"):
        values = np.arange(-100, 101).astype(np.float64)
    return rng.choice(values, shape).astype(one.dtype(kind))


def product(one, a, b, c, chosen=None):
    """The sums in float64, or in integers of 64 bits."""
    wide = np.int64 if one.a == "i8" else np.float64
    a, b, c = a.astype(wide), b.astype(wide), c.astype(wide)
    if one.sparse:
        dense = np.zeros((one.blocks, one.size, one.depth), wide)
        np.put_along_axis(dense, np.broadcast_to(chosen, a.shape), a, axis=2)
        a = dense
    return c + np.einsum("bik,bjk->bij", a, b)


class Setup:
    """One instruction with numbers in its registers."""

    def __init__(self, simulator, one, seed, banks="vvvv", make=whole):
        self.simulator, self.one, self.banks = simulator, one, banks
        rng = np.random.default_rng(seed)
        depth = one.depth // 2 if one.sparse else one.depth
        self.a = make(rng, one, one.a, (one.blocks, one.size, depth))
        self.b = make(rng, one, one.b, (one.blocks, one.size, one.depth))
        self.c = rng.integers(-1000, 1000, (one.blocks, one.size, one.size)).astype(one.out)
        self.chosen, self.index = indices(rng, one) if one.sparse else (None, None)
        self.scales = np.full((2, 64), 127, np.uint32)

    def state(self):
        one, state = self.one, State()
        first = [D if one.sparse else C, A, B]
        values = [one.pack_result(self.c), one.pack(self.a, one.a), one.pack(self.b, one.b)]
        banks = [self.banks[0] if one.sparse else self.banks[3], *self.banks[1:3]]
        for bank, place, registers in zip(banks, first, values, strict=True):
            state.vgpr[rows(bank, place) :][: len(registers)] = registers
        if one.sparse:
            state.vgpr[INDEX] = self.index
        state.vgpr[SCALES : SCALES + 2] = self.scales
        return state

    def run(self, state=None, c=None, modifiers=""):
        """The result; nothing else has changed."""
        one, before = self.one, state or self.state()
        code = code_of(one.arch, text(one, self.banks, c, modifiers))
        after = run_code(self.simulator, one.arch, code, before)
        at = rows(self.banks[0], D)
        result = after.vgpr[at : at + one.registers[2]].copy()
        after.vgpr[at : at + one.registers[2]] = before.vgpr[at : at + one.registers[2]]
        np.testing.assert_array_equal(after.vgpr, before.vgpr)
        np.testing.assert_array_equal(after.sgpr, before.sgpr)
        return one.unpack_result(result)

    def expected(self):
        return product(self.one, self.a, self.b, self.c, self.chosen).astype(self.one.out)


@pytest.mark.parametrize("arch", ARCHES)
def test_no_matrix_instruction_of_the_table_is_left_out(arch):
    table = (Path(__file__).parents[3] / "csrc/sim/tables/cdna.inc").read_text()
    names = {
        match[1]
        for match in re.finditer(r'X\(VOP3PX?, "(v_s?mfmac?_\w+)".*, (\S+), (\S+), (\S+)\)', table)
        if match[2 + ARCHES.index(arch)] != "-1"
    } - {"v_mfma_ld_scale_b32"}
    assert names == {one.name for one in instructions(arch)}


@pytest.mark.parametrize("one", CASES)
def test_each_number_has_its_place(simulator, one):
    for seed, banks in enumerate(["vvvv", "avav", "vaav"] if one.sparse else ["vvvv", "avaa", "vavv"]):
        setup = Setup(simulator, one, seed, banks)
        state = setup.state()
        state.exec = [~0, 0, 0x5][seed] & 2**64 - 1  # which doesn't matter
        np.testing.assert_array_equal(setup.run(state), setup.expected())


@pytest.mark.all
@pytest.mark.parametrize("one", ALL)
def test_one_hot(simulator, one):
    """Every number of A and of B by itself."""
    setup = Setup(simulator, one, 1)
    a, b = setup.a, setup.b
    for name, full in (("a", a), ("b", b)):
        setattr(setup, "b" if name == "a" else "a", b if name == "a" else a)
        for at in np.ndindex(*full.shape):
            single = np.zeros_like(full)
            single[at] = full[at] if float(full[at]) != 0 else 1
            setattr(setup, name, single)
            np.testing.assert_array_equal(setup.run(), setup.expected())


@pytest.mark.parametrize("one", [one for one in CASES if not one.values[0].sparse])
def test_constants_as_c(simulator, one):
    setup = Setup(simulator, one, 3)
    integer = one.a == "i8"
    constants = {"0": 0, "64": 64, "-16": -16} if integer else {"0": 0.0, "0.5": 0.5, "-4.0": -4.0, "1.0": 1.0}
    for constant, value in constants.items():
        setup.c[:] = value
        np.testing.assert_array_equal(setup.run(c=constant), setup.expected())


@pytest.mark.parametrize("one", [one for one in CASES if not one.values[0].sparse])
def test_the_result_may_lie_on_c(simulator, one):
    setup = Setup(simulator, one, 4)
    for first in {D, D - 4 if one.size == 4 else D}:
        state = setup.state()
        state.vgpr[first : first + one.registers[2]] = one.pack_result(setup.c)
        np.testing.assert_array_equal(setup.run(state, c=first), setup.expected())


@pytest.mark.parametrize("one", [one for one in CASES if one.values[0].blocks > 1 and one.values[0].a != "f64"])
def test_blocks_of_a_are_broadcast(simulator, one):
    setup = Setup(simulator, one, 5)
    a = setup.a
    for cbsz in range(1, one.blocks.bit_length()):
        for abid in range(2**cbsz):
            setup.a = a
            state = setup.state()
            setup.a = a[[block >> cbsz << cbsz | abid for block in range(one.blocks)]]
            np.testing.assert_array_equal(setup.run(state, modifiers=f" cbsz:{cbsz} abid:{abid}"), setup.expected())


BLGP = {
    1: lambda lane: lane % 32, 2: lambda lane: 32 + lane % 32, 3: lambda lane: (lane + 16) % 64,
    4: lambda lane: lane % 16, 5: lambda lane: 16 + lane % 16, 6: lambda lane: 32 + lane % 16,
    7: lambda lane: 48 + lane % 16,
}  # fmt: skip


def has_blgp(one):
    return not one.sparse and one.a != "f64" and not one.name.endswith("f8f6f4")


@pytest.mark.parametrize("one", [one for one in CASES if has_blgp(one.values[0])])
def test_lanes_of_b_are_rearranged(simulator, one):
    setup = Setup(simulator, one, 6)
    count = one.registers[1]
    for blgp, source in BLGP.items():
        state = setup.state()
        result = setup.run(state, modifiers=f" blgp:{blgp}")
        state.vgpr[B : B + count] = state.vgpr[B : B + count][:, source(np.arange(64))]
        np.testing.assert_array_equal(result, setup.run(state))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_signs_of_doubles(simulator, arch):
    for one in (one for one in instructions(arch) if one.a == "f64"):
        setup = Setup(simulator, one, 7)
        a, c = setup.a, setup.c
        for bits in range(1, 8):
            setup.a, setup.c = a, c
            state = setup.state()
            signs = [-1 if bits >> i & 1 else 1 for i in range(3)]
            setup.a, setup.c = a * (signs[0] * signs[1]), c * signs[2]
            modifiers = f" neg:[{bits & 1},{bits >> 1 & 1},{bits >> 2}]"
            np.testing.assert_array_equal(setup.run(state, modifiers=modifiers), setup.expected())
            setup.c = np.full_like(c, 2.0 * signs[2])
            np.testing.assert_array_equal(setup.run(state, c="2.0", modifiers=modifiers), setup.expected())


@pytest.mark.parametrize("one", [one for one in CASES if one.values[0].sparse])
def test_abid_says_which_indices(simulator, one):
    setup = Setup(simulator, one, 8)
    width, rng = 2 * one.items[0], np.random.default_rng(8)
    for cbsz in (0, 1):
        for abid in range(32 // width):
            noise = rng.integers(0, 2**32, 64, dtype=np.uint64)
            shift, mask = 0 if cbsz else width * abid, np.uint64(2**width - 1)
            state = setup.state()
            own = setup.index.astype(np.uint64) & mask
            state.vgpr[INDEX] = (noise & ~(mask << np.uint64(shift)) | own << np.uint64(shift)).astype(np.uint32)
            np.testing.assert_array_equal(setup.run(state, modifiers=f" cbsz:{cbsz} abid:{abid}"), setup.expected())


@pytest.mark.parametrize("one", [one for one in CASES if "_scale_" in one.values[0].name])
def test_scales(simulator, one):
    """A byte of each lane scales 32 numbers; which byte, op_sel says."""
    setup, rng = Setup(simulator, one, 9), np.random.default_rng(9)
    setup.c[:] = 0
    groups, scales = one.depth // 32, rng.integers(0, 255, (2, 64, 4))
    scales = np.where(rng.random(scales.shape) < 0.9, scales % 20 + 118, scales)
    scales[0, 5] = 255
    setup.scales = scales.astype(np.uint8).view(np.uint32)[..., 0]
    for byte in [(0, 0), (1, 2), (3, 1), (2, 3)]:
        state = setup.state()
        factors = [np.exp2(scales[i, :, byte[i]] - 127.0).reshape(groups, one.size).T for i in range(2)]
        factors[0][5, 0] = np.nan
        a = setup.a.astype(np.float64) * np.repeat(factors[0], 32, axis=1)
        b = setup.b.astype(np.float64) * np.repeat(factors[1], 32, axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            exact, size = np.einsum("bik,bjk->bij", a, b), np.einsum("bik,bjk->bij", abs(a), abs(b))
            expected = exact.astype(np.float32)
        low, high = ([b_ >> bit & 1 for b_ in byte] for bit in (0, 1))
        got = setup.run(state, modifiers=f" op_sel:[{low[0]},{low[1]},0] op_sel_hi:[{high[0]},{high[1]},0]")
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))
        finite = np.isfinite(expected)
        bound = 2.0**-24 * abs(exact) + one.depth * 2.0**-52 * size + 2.0**-149
        assert (abs(got - exact) <= bound)[finite].all()
        assert (got == expected)[np.isinf(expected)].all()
        assert np.isnan(got[0, 5]).all()


def codes(kind):
    """Codes of a kind of number: all that there are, or edges and some at random."""
    size = {"fp6": 6, "bf6": 6, "fp4": 4}.get(kind, 8 * np.dtype(KINDS[kind]).itemsize)
    if size <= 8:
        return np.arange(2**size).astype(np.uint8)
    rng = np.random.default_rng(10)
    sign, exponent, mantissa = {"f16": (15, 5, 10), "bf16": (15, 8, 7), "f32": (31, 8, 23), "xf32": (31, 8, 23),
                                "f64": (63, 11, 52)}[kind]  # fmt: skip
    edges = [0, 1, 2**mantissa - 1, 2**mantissa, (2**exponent - 1) << mantissa, ((2**exponent - 1) << mantissa) - 1]
    edges += [((2**exponent - 1) << mantissa) + 1, 3 << (mantissa - 1), (2 ** (exponent - 1) - 1) << mantissa]
    edges += [0x1000, 0x1001, 0x3000, 0x2FFF, 0x3F801000, 0x3F803000] if size >= 32 else []
    some = [int(x) for x in rng.integers(0, 2**63, 100)]
    all_codes = [(code ^ s << sign) & (1 << size) - 1 for code in edges + some for s in (0, 1)]
    return np.array(all_codes, f"u{size // 8}")


def decoded(one, kind, values):
    """What the codes stand for, in float64."""
    numbers = values.view(one.dtype(kind))
    if kind == "xf32":  # rounded to ten bits of mantissa, to nearest, ties to even
        wide = numbers.astype(np.float64)
        with np.errstate(invalid="ignore"):
            exponent = np.frexp(wide)[1]
            denormal = np.maximum(exponent, -125)
            rounded = np.ldexp(np.rint(np.ldexp(wide, 11 - denormal)), denormal - 11)
        return np.where(np.isfinite(wide), rounded, wide)
    with np.errstate(invalid="ignore"):
        wide = numbers.astype(np.float64)
    if one.arch == "gfx90a" and kind in ("f16", "bf16"):  # denormal inputs are zero there
        least = 2.0**-14 if kind == "f16" else 2.0**-126
        wide = np.where(np.abs(wide) < least, 0.0, wide)
    return wide


def one_of_each_kind(arch):
    found = {}
    for one in instructions(arch):
        if one.blocks == 1 and not one.sparse:
            found.setdefault((one.a, one.b), one)
    return list(found.values())


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=f"{arch}-{one.a}-{one.b}") for arch in ARCHES for one in one_of_each_kind(arch)]
)
def test_every_kind_of_number(simulator, one):
    """A row of A has one number, which B's 1 takes to the result; then the same with A and B exchanged."""
    setup = Setup(simulator, one, 11)
    setup.c[:] = 0
    unit = {"i8": np.uint8(1)}
    for name, kind, other, other_kind in [("a", one.a, "b", one.b), ("b", one.b, "a", one.a)]:
        values = codes(kind)
        values = np.resize(values, -(-len(values) // one.size) * one.size).reshape(-1, 1, one.size)
        for part in values:
            mine = np.zeros((1, one.size, one.depth), values.dtype)
            mine[:, :, 0] = part
            ones = np.zeros((1, one.size, one.depth), one.dtype(other_kind))
            ones[:, :, 0] = unit.get(other_kind, 1)
            setattr(setup, name, mine.view(one.dtype(kind)))
            setattr(setup, other, ones)
            with np.errstate(over="ignore", invalid="ignore"):
                expected = decoded(one, kind, part[0]).astype(one.out)
            if one.arch == "gfx90a" and kind == "bf16":
                expected = np.where(np.abs(expected) < 2.0**-126, 0, expected)
            got = setup.run()[0]
            got = got[:, 0] if name == "a" else got[0]
            np.testing.assert_array_equal(got, expected)


def normal(rng, one, kind, shape):
    return rng.standard_normal(shape).astype(one.dtype(kind))


@pytest.mark.parametrize("one", [one for one in CASES if one.values[0].a != "i8"])
def test_sums_are_as_exact_as_their_type(simulator, one):
    setup = Setup(simulator, one, 12, make=normal)
    setup.c = np.random.default_rng(1).standard_normal(setup.c.shape).astype(one.out)
    a, b = setup.a, setup.b
    if one.a == "xf32":
        setup.a, setup.b = (decoded(one, "xf32", x.view(np.uint32)) for x in (a, b))
    exact = product(one, setup.a, setup.b, setup.c.astype(np.float64), setup.chosen)
    size = product(one, abs(setup.a.astype(np.float64)), abs(setup.b.astype(np.float64)), abs(setup.c), setup.chosen)
    setup.a, setup.b = a, b
    unit = 2.0**-53 if one.out is np.float64 else 2.0**-24
    terms = one.depth // 2 if one.sparse else one.depth
    reference = (terms + 2) * 2.0**-53 * size
    assert (np.abs(setup.run() - exact) <= (terms + 1) * unit * size + reference).all()


@pytest.mark.parametrize("arch", ARCHES)
def test_integers_wrap(simulator, arch):
    one = next(one for one in instructions(arch) if one.a == "i8" and one.blocks == 1 and not one.sparse)
    setup = Setup(simulator, one, 13)
    setup.a[:], setup.b[:], setup.c[:] = -128, -128, 2**31 - 1
    expected = (2**31 - 1 + one.depth * 16384 + 2**31) % 2**32 - 2**31
    assert (setup.run() == expected).all()


def test_infinities_and_denormals(simulator):
    for arch in ARCHES:
        one = next(one for one in instructions(arch) if one.a == "f16" and one.blocks == 1)
        setup = Setup(simulator, one, 14)
        setup.a[:], setup.b[:], setup.c[:] = 1, 1, 0
        setup.a[0, 0, 0], setup.a[0, 1, 0], setup.a[0, 2, 0] = np.inf, np.inf, np.nan
        setup.b[0, 3, 0], setup.c[0, 1, 2] = 0, -np.inf
        got = setup.run()[0]
        assert np.isinf(got[0, 0])
        assert np.isnan([got[0, 3], got[1, 2], *got[2]]).all()
        setup.a[:], setup.b[:], setup.c[:] = 0, 0, 2.0**-130
        assert (setup.run() == (0 if arch == "gfx90a" else 2.0**-130)).all()


@pytest.mark.parametrize(
    ("arch", "line"),
    [
        ("gfx90a", "v_mfma_f32_32x32x8f16 v[64:79], v[0:1], v[2:3], v[64:79] cbsz:1"),
        ("gfx90a", "v_mfma_f64_16x16x4f64 v[64:71], v[0:1], v[2:3], v[64:71] blgp:1"),
        ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, v[64:67] abid:1"),
        ("gfx942", "v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[2:5], v8 abid:4"),
    ],
)
def test_modifiers_that_are_not_defined_are_named(simulator, arch, line):
    with pytest.raises(SimulatorError, match=r"cbsz, abid or blgp say what isn't defined for it: `v_s?mfma"):
        run(simulator, arch, line, State())
