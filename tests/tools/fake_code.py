"""Code objects that no compiler made: ELF files that say which parameters a kernel takes, with no code in them.

The recording driver reads from a code object for whom it is and what its kernels take, and runs nothing. So packs of
these bring a call from Python to recorded argument bytes for any target, with no Triton.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgpack

from aotriton.compile.objects import CodeObject, Compiler, Resources
from aotriton.compile.tables import table_for
from aotriton.describe import Functional, Kernel
from aotriton.pack.clusters import write_kernel
from aotriton.pack.index import Contents, Packed, Part
from aotriton.targets import Target

AMD_MACHINES = {
    "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1100": 0x41, "gfx1101": 0x46, "gfx1102": 0x47, "gfx1103": 0x44,
    "gfx1150": 0x43, "gfx1151": 0x4A, "gfx1152": 0x55, "gfx1153": 0x58, "gfx1200": 0x48, "gfx1201": 0x4E,
    "gfx1250": 0x49,
}  # fmt: skip
"""EF_AMDGPU_MACH of LLVM's AMDGPU documentation."""
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "fp16": 2, "fp32": 4, "fp64": 8}
SCRATCH = 2  # null pointers that Triton appends to every launch


def elf(machine: int, flags: int, abi: int, sections: Sequence[tuple[str, int, bytes]]) -> bytes:
    """A 64-bit little-endian ELF file of sections (name, type, contents)."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in sections) + b".shstrtab\0"
    parts = [*sections, (".shstrtab", 3, names)]
    body, headers, at = b"", [bytes(64)], 64
    for name, kind, contents in parts:
        where = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append(struct.pack("<IIQQQQIIQQ", where, kind, 0, 0, at + len(body), len(contents), 0, 0, 4, 0))
        body += contents + bytes(-len(contents) % 8)
    identity = b"\x7fELF" + bytes([2, 1, 1, 64, abi]) + bytes(7)
    table = at + len(body)
    count = len(headers)
    header = struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, table, flags, 64, 0, 0, 64, count, count - 1)
    return identity + header + body + b"".join(headers)


def layout(sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Offset and size of each parameter, each aligned to its size."""
    found, at = [], 0
    for size in sizes:
        at += -at % size
        found.append((at, size))
        at += size
    return found


def amd_code(target: str, symbol: str, sizes: Sequence[int]) -> bytes:
    """An hsaco: a note with the kernel's metadata."""
    arguments = [{".offset": at, ".size": size, ".value_kind": "by_value"} for at, size in layout(sizes)]
    kernel = {".name": symbol, ".args": arguments, ".max_flat_workgroup_size": 1024}
    metadata = msgpack.packb({"amdhsa.kernels": [kernel], "amdhsa.target": f"amdgcn-amd-amdhsa--{target}"})
    note = struct.pack("<III", 7, len(metadata), 32) + b"AMDGPU\0\0" + metadata + bytes(-len(metadata) % 4)
    return elf(224, AMD_MACHINES[target], 3, [(".note", 7, note)])


def nvidia_code(target: str, symbol: str, sizes: Sequence[int]) -> bytes:
    """A cubin: a section of attributes with one record for each parameter."""
    attributes = b""
    for ordinal, (at, size) in enumerate(layout(sizes)):
        attributes += struct.pack("<BBHIHHI", 4, 0x17, 12, 0, ordinal, at, size << 18)
    capability = int(target.removeprefix("sm_"))
    return elf(190, capability << 8, 8, [(f".nv.info.{symbol}", 0x70000000, attributes)])


def sizes_of(functional: Functional) -> list[int]:
    """What a launch of a functional passes: its parameters and Triton's scratch pointers."""
    types = [parameter.type for parameter in functional.parameters]
    return [8 if kind.startswith("*") else SIZES[kind.split(":")[0]] for kind in types] + [8] * SCRATCH


def fake_object(functional: Functional, config: object, target: Target) -> CodeObject:
    """A code object of a functional with one config."""
    symbol = functional.kernel.symbol
    make = amd_code if target.vendor == "amd" else nvidia_code
    image = make(target.name, symbol, sizes_of(functional))
    image += repr(config).encode()  # so that each config's is another
    warps = int(dict(config.options)["num_warps"])
    return CodeObject(
        image=image,
        target=target.name,
        functional=functional,
        config=config,
        compiler=Compiler("0.0", "made up"),
        sha256=hashlib.sha256(image).hexdigest(),
        resources=Resources(4096 + 16 * warps, warps * target.warp_size, warps, 1, 64, 0, symbol, 0.0),
    )


def packed(functional: Functional, target: Target) -> Packed:
    """A functional with the tables that it really has."""
    table = table_for(functional.kernel, functional, target)
    configs = list(dict.fromkeys(config.for_target(target) for config in table.configs))
    cells = tuple(configs.index(table.configs[cell].for_target(target)) for cell in table.cells)
    objects = tuple(fake_object(functional, config, target) for config in configs)
    return Packed(functional, table.keys, cells, table.source, objects)


def write_pack(folder: Path, kernel: Kernel, target: Target, numbers: Iterable[int]) -> Path:
    """Writes the kernel's ZIP for one target with these functionals, and returns the file."""
    parts = (Part(target, tuple(packed(kernel.functional(number), target) for number in sorted(numbers))),)
    path = folder / target.pack / kernel.family / f"{kernel.name}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_kernel(file, Contents(kernel, parts), {"build_set": "made up", "project_version": "0"})
    return path
