"""Random instructions of every row of the simulator's table: registers, constants and modifiers at random."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "csrc" / "sim" / "tables"))
from make_tables import BARE, FORMATS, Prober

from tests.tools.simulator import Simulator

__all__ = ["samples"]

_PER_ROW, _ATTEMPTS = 6, 80
_SPECIAL = (102, 104, 106, 107, 108, 124, 126, 127, 235, 253)


def samples(arch: str, simulator: Simulator, seed: int) -> Iterator[tuple[str, bytes]]:
    """(mnemonic, bytes) of some instructions of each opcode, such as the simulator decodes."""
    prober, rng = Prober(arch), random.Random(seed)
    for name, (_, _, count, words, _) in FORMATS.items():
        for opcode in range(count):
            found = prober.operands(name, opcode)
            if found is None:
                continue
            seen: set[bytes] = set()
            for _ in range(_ATTEMPTS):
                code = _random(rng, name, opcode, bool(found[2])).to_bytes(4 * words, "little")
                if words == 1:
                    code += _second_word(rng, name, code)
                size, _ = simulator.disassemble(arch, code)
                if size >= 4 * words and code[:size] not in seen:
                    seen.add(code[:size])
                    yield found[1], code[:size]
                if len(seen) == _PER_ROW:
                    break


def _random(rng: random.Random, name: str, opcode: int, has_operands: bool) -> int:
    """The fixed bits of the format, and beside them a field or a bit set here and there."""
    fixed, at, _, words, fields = FORMATS[name]
    if name in BARE and not has_operands:
        fixed = BARE[name]
    word = fixed | opcode << at
    taken = set(range(26, 32)) | set(range(at, at + 10))
    for place, kinds in fields.values():
        wide = words == 2 and any(kind == (256, "v") for kind in kinds)
        bits = 9 if wide or (256, "v") in kinds else 8
        if rng.random() < 0.85:
            word = word & ~((1 << bits) - 1 << place) if words == 2 and place >= 32 else word
            word |= _operand(rng, bits) << place
        taken |= set(range(place, place + bits))
    if words == 2:
        for bit in set(range(64)) - taken:
            word ^= (rng.random() < 0.12) << bit
    elif name in ("SOPK", "SOPP"):
        word = word & ~0xFFFF | rng.randrange(65536) >> rng.choice([0, 8, 12])
    return word & (1 << 32 * words) - 1


def _operand(rng: random.Random, bits: int) -> int:
    kind = rng.random()
    if bits == 8 or kind < 0.5:
        return (256 if bits == 9 else 0) + 2 * rng.randrange(32 if bits == 8 else 110) + (rng.random() < 0.3)
    if kind < 0.7:
        return rng.randrange(100)
    return rng.choice([rng.choice(_SPECIAL), rng.randrange(128, 209), rng.randrange(240, 249)])


def _second_word(rng: random.Random, name: str, code: bytes) -> bytes:
    """A literal, or now and then the second half of an SDWA or DPP instruction, whose first half that changes."""
    forms = [bytes([rng.randrange(256), 6, 6, 6]), bytes([rng.randrange(256), 0xE4, 0, 0xFF])]
    return rng.choice([rng.randbytes(4), *forms])
