"""Targets whose code comes out the same: compiled once, stamped for each.

An AMD code object names its target twice: in the machine byte of the ELF header's flags, and in the string
`amdhsa.target` of its metadata. Where a compiler's findings (data/compiler/) say that nothing else differs between two
targets, one is made from the other by rewriting exactly those.
"""

from __future__ import annotations

import struct

from aotriton.compile.elf import Elf, amd_metadata
from aotriton.errors import CompileError

__all__ = ["differences", "stamp"]

# EF_AMDGPU_MACH_* of LLVM's ELF.h.
_MACHINES = {
    "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F,
    "gfx1100": 0x41, "gfx1101": 0x46, "gfx1102": 0x47, "gfx1103": 0x44,
    "gfx1150": 0x43, "gfx1151": 0x4A, "gfx1152": 0x55, "gfx1153": 0x58,
    "gfx1200": 0x48, "gfx1201": 0x4E, "gfx1250": 0x49,
}  # fmt: skip
_AMDGPU = 224


def stamp(image: bytes, source: str, target: str) -> bytes:
    """The code object of `source` as one of `target`.

    Parameters
    ----------
    image : bytes
        An AMD code object that was compiled for `source`.
    source, target : str
        Names of targets with identical code.

    Raises
    ------
    CompileError
        The image isn't one of `source`, or doesn't name its target where it should.
    """
    elf = Elf(image)
    if elf.machine != _AMDGPU or elf.flags & 0xFF != _MACHINES[source]:
        raise CompileError(f"the code object is none of {source}, so it can't be stamped for {target}")
    out = bytearray(image)
    struct.pack_into("<I", out, Elf.FLAGS_OFFSET, elf.flags & ~0xFF | _MACHINES[target])
    offset, description, metadata = amd_metadata(elf)
    old = str(metadata.get("amdhsa.target"))
    new, place = _renamed(old, source, target), description.find(old.encode())
    if old == new or len(new) != len(old) or description.count(old.encode()) != 1:
        raise CompileError(f"the code object of {source} doesn't name its target once, so it can't be stamped")
    out[offset + place : offset + place + len(old)] = new.encode()
    return bytes(out)


def differences(image: bytes, other: bytes, source: str, target: str) -> str | None:
    """Why `other` isn't what stamping `image` for its target gives; nothing where they agree byte for byte."""
    stamped = stamp(image, source, target)
    if stamped == other:
        return None
    if len(stamped) != len(other):
        return f"{len(stamped)} bytes against {len(other)}"
    elf, place = Elf(stamped), next(i for i in range(len(other)) if stamped[i] != other[i])
    section = next((s.name for s in elf.sections if s.offset <= place < s.offset + s.size), "headers")
    return f"byte {place} of {len(other)}, in {section}"


def _renamed(text: str, source: str, target: str) -> str:
    """`amdgpu11.50-amd-amdhsa-unknown-gfx1150` as another target's; older compilers write `amdgcn-…--gfx1150`."""
    digits, others = source.removeprefix("gfx"), target.removeprefix("gfx")
    dotted, others_dotted = (f"{name[:-2]}.{name[-2:]}" for name in (digits, others))
    return text.replace(source, target).replace(f"amdgpu{dotted}", f"amdgpu{others_dotted}")
