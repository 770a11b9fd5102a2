"""Makes cdna.inc, the table of instructions, by asking LLVM's disassembler for each opcode of each format.

    python csrc/sim/tables/make_tables.py > csrc/sim/tables/cdna.inc    (needs rocm-llvm-python)

For each opcode the fields of the format get registers that can be told apart; the largest set of fields that LLVM
accepts and prints is the instruction's, their places in the text are its operands,
    and the bits that change the text are its
modifiers. Opcodes that LLVM doesn't know, image and export formats, and duplicates are left out.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "tools"))
from amd_text import Disassembler

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")

# format: (fixed bits, place of the opcode, opcodes, words, {operand field: (place, what it may hold)}).
V, S, D, A = (256, "v"), (0, "s"), (0, "s"), (0, "v")
FORMATS: dict[str, tuple[int, int, int, int, dict[str, tuple[int, list[tuple[int, str]]]]]] = {
    "SOP2": (2 << 30, 23, 96, 1, {"sdst": (16, [S]), "ssrc0": (0, [S]), "ssrc1": (8, [S])}),
    "SOP1": (0x17D << 23, 8, 256, 1, {"sdst": (16, [S]), "ssrc0": (0, [S])}),
    "SOPC": (0x17E << 23, 16, 128, 1, {"ssrc0": (0, [S]), "ssrc1": (8, [S])}),
    "SOPK": (0xB << 28 | 0x1234, 23, 28, 1, {"sdst": (16, [S])}),
    "SOPP": (0x17F << 23, 16, 128, 1, {}),
    "SMEM": (0x30 << 26 | 1 << 17 | 0x24 << 32, 18, 256, 2, {"sdata": (6, [S]), "sbase": (0, [S])}),
    "VOP2": (0, 25, 62, 1, {"vdst": (17, [A]), "src0": (0, [V]), "src1": (9, [A, S])}),
    "VOP1": (0x3F << 25, 9, 256, 1, {"vdst": (17, [A, S]), "src0": (0, [V])}),
    "VOPC": (0x3E << 25, 17, 256, 1, {"src0": (0, [V]), "src1": (9, [A])}),
    "VOP3": (0x34 << 26, 16, 896, 2, {"vdst": (0, [A]), "sdst": (8, [S]), "src0": (32, [V, S]), "src1": (41, [V, S]),
                                       "src2": (50, [V, S])}),
    "VOP3P": (0x1A7 << 23, 16, 128, 2, {"vdst": (0, [A]), "src0": (32, [V]), "src1": (41, [V]), "src2": (50, [V])}),
    "DS": (0x36 << 26 | 0x0304, 17, 256, 2, {"vdst": (56, [A]), "addr": (32, [A]), "data0": (40, [A]), "data1": (48,
        [A])}),
    "FLAT": (0x37 << 26, 18, 128, 2, {"vdst": (56, [A]), "vaddr": (32, [A]), "data0": (40, [A])}),
    "GLOBAL": (0x37 << 26 | 2 << 14 | 0x7F << 48, 18, 128, 2, {"vdst": (56, [A]), "vaddr": (32, [A]), "data0": (40,
        [A])}),
    "SCRATCH": (0x37 << 26 | 1 << 14 | 0x7F << 48, 18, 128, 2, {"vdst": (56, [A]), "vaddr": (32, [A]), "data0": (40,
        [A])}),
    "MUBUF": (0x38 << 26 | 1 << 12, 18, 128, 2, {"vdata": (40, [A]), "vaddr": (32, [A]), "srsrc": (48, [S]),
        "soffset": (56, [S])}),
    "MTBUF": (0x3A << 26 | 1 << 12 | 1 << 19, 15, 16, 2,
              {"vdata": (40, [A]), "vaddr": (32, [A]), "srsrc": (48, [S]), "soffset": (56, [S])}),
}  # fmt: skip
BARE = {"SMEM": 0x30 << 26, "DS": 0x36 << 26, "MUBUF": 0x38 << 26}  # of instructions without an offset
REGISTERS = {"sdst": 20, "vdst": 4, "ssrc0": 8, "src0": 8, "ssrc1": 12, "src1": 12, "src2": 16, "addr": 24, "vaddr": 24,
             "data0": 28, "data1": 36, "vdata": 28, "srsrc": 40, "soffset": 20, "sdata": 8, "sbase": 24}  # fmt: skip
SCALE = {"sbase": 2, "srsrc": 4}  # these fields count in registers of that size
_TAIL = bytes.fromhex("78563412") * 3
_REGISTER = re.compile(r"^([vsa])(?:(\d+)|\[(\d+):(\d+)\])$")
_COMMA = re.compile(r", ?(?![^(]*\))")  # between operands, not within parentheses
_MODIFIER = re.compile(r" (?=(?:offset|offset0|offset1|offen|idxen|op_sel|op_sel_hi|format|lds|glc|sc0|bitop3|gds)\b)")
# What bits beside operands may mean, as (name, bits): the modifiers of a format.
_VOP3_BITS = [("abs0", 8), ("abs1", 9), ("abs2", 10), ("sel0", 11), ("sel1", 12), ("sel2", 13), ("sel3", 14), ("clamp",
    15),
              ("omod", 59), ("neg0", 61), ("neg1", 62), ("neg2", 63)]  # fmt: skip
_VOP3P_BITS = [("neghi0", 8), ("neghi1", 9), ("neghi2", 10), ("sel0", 11), ("sel1", 12), ("sel2", 13), ("selhi2", 14),
               ("clamp", 15), ("selhi0", 59), ("selhi1", 60), ("neg0", 61), ("neg1", 62), ("neg2", 63)]  # fmt: skip
_SDWA_BITS = [("dstsel", 41), ("clamp", 45), ("omod", 46), ("sel0", 49), ("sext0", 51), ("neg0", 52), ("abs0", 53),
              ("sel1", 57), ("sext1", 59), ("neg1", 60), ("abs1", 61)]  # fmt: skip
_DPP_BITS = [("neg0", 52), ("abs0", 53), ("neg1", 54), ("abs1", 55)]


class Prober:
    """One architecture's opcodes, found by asking."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self._disassembler = Disassembler(arch)

    def text(self, word: int, words: int) -> str:
        """LLVM's text; empty where the word is no instruction or doesn't use what is set."""
        size, text = self._disassembler.one(word.to_bytes(4 * words, "little") + _TAIL)
        return text if size >= 4 * words and "Invalid" not in text else ""

    def operands(self, name: str, opcode: int) -> tuple[int, str, list[str]] | None:
        """The word with all fields set that the opcode has, its mnemonic and operands; None where there is none."""
        found = self._search(name, opcode, FORMATS[name][0])
        if found is None and name in BARE:
            found = self._search(name, opcode, BARE[name])
        return found

    def _search(self, name: str, opcode: int, fixed: int) -> tuple[int, str, list[str]] | None:
        _, at, _, words, fields = FORMATS[name]
        if name == "SCRATCH" and self.arch != "gfx90a":
            fixed |= 1 << 13  # from gfx940 on this bit says that there is a vector address
        returns = [0, 1 << 16] if name in ("FLAT", "GLOBAL") else [0]
        best = None
        for count in range(len(fields), -1, -1):
            for chosen in itertools.combinations(fields, count):
                for kinds in itertools.product(*(fields[field][1] for field in chosen)):
                    for extra in returns:
                        word = fixed | opcode << at | extra
                        for field, (base, _) in zip(chosen, kinds, strict=True):
                            word |= base + REGISTERS[field] // SCALE.get(field, 1) << fields[field][0]
                        text = self.text(word, words)
                        found = self._match(text, set(chosen)) if text else None
                        if found and (best is None or len(found[1]) > len(best[2])):
                            best = (word, *found)
            if best:
                return best
        return None

    def _match(self, text: str, chosen: set[str]) -> tuple[str, list[str]] | None:
        mnemonic, _, rest = text.partition(" ")
        rest = _MODIFIER.split(rest)[0]
        operands, seen = [], set()
        for token in filter(None, _COMMA.split(rest)):
            bare = token.strip("-|")
            found = _REGISTER.match(bare)
            if found:
                number = int(found[2] or found[3])
                width = 1 if found[2] else int(found[4]) - number + 1
                field = next((f for f in chosen if REGISTERS[f] == number and f not in seen), None)
                if field is None:
                    field = next((f for f in chosen if REGISTERS[f] == number), None)
                if field is None:
                    return None
                seen.add(field)
                operands.append(f"{field}:{found[1]}{width}")
            else:
                operands.append(_special(bare))
        return (mnemonic, operands) if seen == chosen else None

    def bits(self, word: int, words: int, candidates: list[tuple[str, int]]) -> list[str]:
        """The names of those bits that LLVM accepts and shows."""
        base = self.text(word, words)
        names = []
        for name, bit in candidates:
            changed = self.text(word ^ 1 << bit, words)
            if changed and changed != base:
                names.append(name)
        return names

    def row(self, name: str, opcode: int) -> tuple[str, str, str, str] | None:
        """Mnemonic, format, operands and modifiers."""
        found = self.operands(name, opcode)
        if found is None:
            return None
        word, mnemonic, operands = found
        words = FORMATS[name][3]
        modifiers: list[str] = []
        if name == "VOP3":
            if any(o.startswith("sdst") for o in operands):
                candidates = [b for b in _VOP3_BITS if b[1] > 14]
            else:
                candidates = _VOP3_BITS
            modifiers = self.bits(word, words, candidates)
        elif name == "VOP3P" and not re.match("v_(mfma(?!_ld)|smfmac|accvgpr)", mnemonic):
            modifiers = self.bits(word, words, _VOP3P_BITS)
        elif name in ("VOP1", "VOP2", "VOPC"):
            modifiers = self.extensions(word, name)
        elif name == "DS" and " offset0:" in self.text(word, words):
            modifiers = ["two"]
        elif name in ("FLAT", "GLOBAL") and word >> 16 & 1 and "atomic" in mnemonic and "vdst:" in operands[0]:
            modifiers = ["returns"]
        if name in ("GLOBAL", "SCRATCH"):
            operands = ["saddr" if o == "off" else o for o in operands]
        elif name == "VOP2":
            operands = ["literal" if o == "imm" else o for o in operands]
        elif name == "SMEM":
            operands = [o if o != "imm" else "sdata:i" if i == 0 and "probe" in mnemonic else "soffset"
                        for i, o in enumerate(operands)]  # fmt: skip
        typed = [_type(self, name, word, o) for o in operands]
        return mnemonic, name, " ".join(typed), " ".join(modifiers)

    def extensions(self, word: int, name: str) -> list[str]:
        """The SDWA and DPP forms of a 32-bit vector instruction, with the bits that they take."""
        names = []
        base = word & ~0x1FF
        sdwa = base | 0xF9 | (0x09 | 6 << 16 | 6 << 24 | (0 if name == "VOPC" else 6 << 8)) << 32
        for wide in (sdwa, sdwa & ~(7 << 56), sdwa & ~(7 << 40)):
            if self.text(wide, 2):
                names.append("sdwa=" + ",".join(self.bits(wide, 2, _SDWA_BITS)))
                break
        dpp = base | 0xFA | (0x09 | 0xE4 << 8 | 0xFF << 24) << 32
        if self.text(dpp, 2):
            names.append("dpp=" + ",".join(self.bits(dpp, 2, _DPP_BITS)))
        return names


def _special(token: str) -> str:
    for prefix in ("hwreg(", "sendmsg(", "gpr_idx(", "vmcnt("):
        if token.startswith(prefix):
            return prefix[:-1] if prefix != "vmcnt(" else "waitcnt"
    if re.match(r"^-?(0x)?[0-9a-f]+$", token):
        return "imm"
    return token


def _type(prober: Prober, name: str, word: int, operand: str) -> str:
    """Adds `h` or `w` to a source's width: constants there are halves of floats, or of integers."""
    if name not in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P") or not operand.startswith("src"):
        return operand
    place, kinds = FORMATS[name][4][operand[:4]]
    if kinds == [A] or (name == "VOP2" and operand.startswith("src1")):
        return operand
    text = prober.text(word & ~(0x1FF << place) | 0xF0 << place, FORMATS[name][3])
    if "0x3800" in text:
        return operand + "w"
    text = prober.text(word & ~(0x1FF << place) | 0xFF, 1) if FORMATS[name][3] == 1 else ""
    return operand + "h" if "0x5678" in text else operand


# Scales and a matrix instruction together; the opcode is the latter's.
_SCALED = "vdst:v{0} src0:v8 src1:v8 src2:v{0} scale0:v1 scale1:v1"
SCALED = "\n".join(
    f'X(VOP3PX, "v_mfma_scale_f32_{shape}_f8f6f4", "{_SCALED.format(width)}", "", -1, -1, {opcode})'
    for shape, width, opcode in (("16x16x128", 4, "0x2d"), ("32x32x64", 16, "0x2e"))
)
HEAD = """\
// Instructions of gfx90a, gfx942 and gfx950, made by make_tables.py from what LLVM's disassembler (LLVM 22 of ROCm 7.2,
// Apache License 2.0 with LLVM exception) accepts and prints; facts of encodings only.
// X(format, mnemonic, operands in the order of the text, modifiers, opcode on gfx90a, gfx942, gfx950)
// An opcode of -1: there is none. An operand: field, or field:bank and width in registers (v vector, s scalar,
// a accumulation; i immediate), then `h` where constants are halves of floats, `w` where they are 16-bit integers."""


def probe(arch: str) -> list[tuple[str, str, str, str, int]]:
    """All rows of one architecture, with their opcodes."""
    prober = Prober(arch)
    return [(*row, opcode) for name, (_, _, count, _, _) in FORMATS.items() for opcode in range(count)
            if (row := prober.row(name, opcode))]  # fmt: skip


def main() -> None:
    """Prints the table."""
    with concurrent.futures.ProcessPoolExecutor() as pool:
        results = dict(zip(ARCHITECTURES, pool.map(probe, ARCHITECTURES), strict=True))
    rows: dict[tuple[str, str, str, str], dict[str, int]] = defaultdict(dict)
    for arch, found in results.items():
        for *key, opcode in found:
            rows[tuple(key)].setdefault(arch, opcode)  # type: ignore[index]  # a row is four texts and the opcode
    print(HEAD)
    order = {name: i for i, name in enumerate(FORMATS)}
    for key, opcodes in sorted(rows.items(), key=lambda kv: (order[kv[0][1]], min(kv[1].values()), kv[0])):
        mnemonic, name, operands, modifiers = key
        numbers = ", ".join(f"0x{opcodes[a]:02x}" if a in opcodes else "-1" for a in ARCHITECTURES)
        print(f'X({name}, "{mnemonic}", "{operands}", "{modifiers}", {numbers})')
    print(SCALED)


if __name__ == "__main__":
    main()
