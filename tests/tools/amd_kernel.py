"""Whole code objects from assembly, and code objects with single instructions changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.tools.amd_text import text_section
from tests.tools.simulator import Simulator

__all__ = ["code_object", "places_of", "without"]

_TEXT = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{body}
s_endpgm
.section .rodata,"a",@progbits
.p2align 6, 0x0
.amdhsa_kernel kernel
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_kernarg_size {size}
  .amdhsa_user_sgpr_count 2
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 64
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--{arch}
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: {size}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 0
    .max_flat_workgroup_size: 1024
    .args:
{arguments}
...
.end_amdgpu_metadata
"""

_ARGUMENT = """      - .offset: {offset}
        .size: 8
        .value_kind: global_buffer
        .address_space: global
"""

_NOP = bytes.fromhex("000080bf")


def code_object(arch: str, body: str, pointers: int, lds: int = 0) -> bytes:
    """A code object with one kernel, `kernel`: s[0:1] hold the address of its arguments, so many pointers, and v0 the
    thread's number. `lds`: bytes. Raises RuntimeError where the assembler refuses it."""
    from triton._C.libtriton import amd
    from triton.backends.amd.compiler import assemble_amdgcn

    arguments = "".join(_ARGUMENT.format(offset=8 * i) for i in range(pointers)).rstrip()
    text = _TEXT.format(arch=arch, body=body, lds=lds, size=8 * pointers, arguments=arguments)
    with tempfile.TemporaryDirectory() as folder:
        relocatable, linked = Path(folder, "in.o"), Path(folder, "out.hsaco")
        relocatable.write_bytes(assemble_amdgcn(text, arch, ""))
        amd.link_hsaco(str(relocatable), str(linked))
        return linked.read_bytes()


def places_of(simulator: Simulator, arch: str, image: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Where in the file an instruction of four bytes is, and its text, for all of that mnemonic."""
    code = text_section(image)
    start, at = image.index(code), 0
    while at < len(code):
        size, text = simulator.disassemble(arch, code[at : at + 20])
        if text.split(" ")[0] == name:
            yield start + at, text
        at += size or 4


def without(image: bytes, place: int) -> bytes:
    """The file with a nop in place of the four bytes there."""
    return image[:place] + _NOP + image[place + 4 :]
