"""Small ELF files made by hand: an AMD code object and a cubin with nothing in them but what is read."""

from __future__ import annotations

import struct

import msgpack

AMD_MACHINE, CUDA_MACHINE = 224, 190
FLAGS = {"gfx942": 0x54C, "gfx1150": 0x43, "gfx1152": 0x55}


def make_elf(machine: int, flags: int, sections: list[tuple[str, int, bytes, int]]) -> bytes:
    """An ELF file with these sections: name, type, data, link. The first is number 1; names come last."""
    names, body, rows = b"\0", b"", [(0,) * 10]
    for name, kind, data, link in [*sections, (".shstrtab", 3, b"", 0)]:
        place = len(names)
        names += name.encode() + b"\0"
        data = names if name == ".shstrtab" else data
        rows.append((place, kind, 0, 0, 64 + len(body), len(data), link, 0, 1, 0))
        body += data + b"\0" * (-len(data) % 8)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 2, machine, 1, 0, 0, 64 + len(body), flags, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return header + body + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)


def symbols(names: list[str]) -> tuple[bytes, bytes]:
    """A symbol table with global functions of these names, and its strings; the first has the number 1."""
    table, strings = bytes(24), b"\0"
    for name in names:
        table += struct.pack("<IBBHQQ", len(strings), 1 << 4 | 2, 0, 1, 0, 640)
        strings += name.encode() + b"\0"
    return table, strings


def note(owner: bytes, kind: int, description: bytes) -> bytes:
    pad = lambda data: data + b"\0" * (-len(data) % 4)  # noqa: E731
    return struct.pack("<III", len(owner) + 1, len(description), kind) + pad(owner + b"\0") + pad(description)


def amd_object(name: str = "axpy", target: str = "gfx942", text: bytes = b"code", **kernel: int) -> bytes:
    numbers = {"vgpr_count": 24, "sgpr_count": 16, "private_segment_fixed_size": 0, "vgpr_spill_count": 0, **kernel}
    digits = target.removeprefix("gfx")
    metadata = {
        "amdhsa.kernels": [{".name": name, ".symbol": f"{name}.kd", **{f".{k}": v for k, v in numbers.items()}}],
        "amdhsa.target": f"amdgpu{digits[:-2]}.{digits[-2:]}-amd-amdhsa-unknown-{target}",
    }
    packed = note(b"AMDGPU", 32, msgpack.packb(metadata))
    return make_elf(AMD_MACHINE, FLAGS[target], [(".note", 7, packed, 0), (".text", 1, text, 0)])


def cubin(name: str = "axpy", registers: int = 40, stack: int = 0, other: str = "helper") -> bytes:
    table, strings = symbols([other, name])
    info = b"".join(
        struct.pack("<BBHII", 4, attribute, 8, symbol, value)
        for attribute, symbol, value in [
            (0x2F, 1, 7),
            (0x2F, 2, registers),
            (0x11, 2, stack),
            (0x12, 1, 4),
            (0x12, 2, stack),
        ]
    )
    info = struct.pack("<BBH", 3, 0x50, 0) + info
    return make_elf(
        CUDA_MACHINE,
        0x6005A04,
        [
            (".text." + name, 1, b"code", 0),
            (".symtab", 2, table, 3),
            (".strtab", 3, strings, 0),
            (".nv.info", 1, info, 0),
        ],
    )
