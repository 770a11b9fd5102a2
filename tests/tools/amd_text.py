"""AMD machine code as text and back, by LLVM's own disassembler (`rocm-llvm-python`) and Triton's assembler.

The disassembler is reached through LLVM's C API by ctypes, without the package's own bindings, which need its ROCm.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import struct
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Disassembler", "assemble", "library_path", "text_section"]


def library_path() -> Path | None:
    """LLVM's shared library in the package `rocm-llvm-python`; None where that isn't installed."""
    try:
        found = importlib.util.find_spec("rocm.llvm")
    except ModuleNotFoundError:
        return None
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(next(iter(found.submodule_search_locations))) / "librocmllvm.so"
    return path if path.exists() else None


@functools.cache
def _llvm() -> ctypes.CDLL:
    path = library_path()
    if path is None:
        raise ModuleNotFoundError("the package `rocm-llvm-python` is not installed")
    llvm = ctypes.CDLL(str(path))
    for name in ("TargetInfo", "Target", "TargetMC", "Disassembler"):
        getattr(llvm, f"LLVMInitializeAMDGPU{name}")()
    llvm.LLVMCreateDisasmCPU.restype = ctypes.c_void_p
    text, pointer = ctypes.c_char_p, ctypes.c_void_p
    llvm.LLVMCreateDisasmCPU.argtypes = [text, text, pointer, ctypes.c_int, pointer, pointer]
    llvm.LLVMDisasmInstruction.restype = ctypes.c_size_t
    llvm.LLVMDisasmInstruction.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t,
    ]  # fmt: skip
    return llvm


class Disassembler:
    """LLVM's disassembler of one architecture, such as `gfx942`."""

    def __init__(self, arch: str) -> None:
        self._llvm = _llvm()
        self._context = self._llvm.LLVMCreateDisasmCPU(b"amdgcn-amd-amdhsa", arch.encode(), None, 0, None, None)
        if not self._context:
            raise ValueError(f"LLVM knows no `{arch}`")
        self._text = ctypes.create_string_buffer(512)

    def one(self, code: bytes, address: int = 0) -> tuple[int, str]:
        """The first instruction's size in bytes, 0 where it isn't one, and its text with single spaces."""
        size = self._llvm.LLVMDisasmInstruction(self._context, code, len(code), address, self._text, len(self._text))
        return size, " ".join(self._text.value.decode().split())


def assemble(arch: str, lines: Sequence[str]) -> list[bytes]:
    """The bytes of each line of assembly text; empty where the assembler refuses it."""
    from triton.backends.amd.compiler import assemble_amdgcn

    marker = bytes.fromhex("efbeadde") * 4
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"\n.text\n'
    text += "".join(f"{line}\n.long 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef\n" for line in lines)
    try:
        image = assemble_amdgcn(text, arch, "")
    except RuntimeError:
        image = b""
    parts = text_section(image).split(marker)[:-1]
    if len(parts) == len(lines):
        return parts
    if len(lines) == 1:
        return [b""]
    middle = len(lines) // 2
    return assemble(arch, lines[:middle]) + assemble(arch, lines[middle:])


def text_section(image: bytes) -> bytes:
    """The bytes of an ELF file's section `.text`."""
    if not image:
        return b""
    (start,) = struct.unpack_from("<Q", image, 40)
    entry, count, names = struct.unpack_from("<HHH", image, 58)
    sections = [struct.unpack_from("<IIQQQQ", image, start + i * entry) for i in range(count)]
    for name, _, _, _, offset, size in sections:
        if image[sections[names][4] + name :].split(b"\0", 1)[0] == b".text":
            return image[offset : offset + size]
    return b""
