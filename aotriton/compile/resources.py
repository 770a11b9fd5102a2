"""What a binary says of itself: registers, scratch, shared memory, entry symbol. No vendor tool is asked."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from aotriton.compile.elf import Elf, amd_metadata
from aotriton.compile.objects import Resources, TensorMap
from aotriton.errors import CompileError
from aotriton.targets import Target

__all__ = ["read_resources"]

# Attributes of the section .nv.info, whose 4-byte-headed records hold a symbol's number and a value.
# Checked against `cuobjdump -res-usage` and `ptxas -v` in tests/compile/pool.
_REGISTERS, _STACK, _HAS_VALUE = 0x2F, 0x12, 4
_FUNCTION, _LOCAL = 2, 0

_SWIZZLES = (0, 32, 64, 128)  # by the numbers that Triton and CUDA's CUtensorMapSwizzle give them


def read_resources(image: bytes, metadata: Mapping[str, Any], target: Target, seconds: float) -> Resources:
    """The resources of a binary.

    Parameters
    ----------
    image : bytes
        The binary, an ELF file.
    metadata : mapping
        What the compiler said beside it: `name`, `shared`, `num_warps`, `num_ctas`, `warp_size`, scratch sizes.
    target : Target
        What it was compiled for.
    seconds : float
        How long that took.

    Raises
    ------
    CompileError
        The binary can't be launched on the target: it asks for scratch that nobody allocates, for more shared memory
        than there is, or doesn't hold its kernel.
    """
    for kind in ("global_scratch_size", "profile_scratch_size"):
        if metadata.get(kind, 0):
            raise CompileError(f"the kernel asks for {metadata[kind]} bytes of {kind[:-5]}, which no launch allocates")
    shared, name = int(metadata["shared"]), str(metadata["name"])
    if shared > target.shared_memory:
        raise CompileError(
            f"the kernel needs {shared} bytes of shared memory, {target.name} has {target.shared_memory}",
            "choose smaller blocks or fewer stages for this target",
        )
    maps = _tensor_maps(metadata.get("tensordesc_meta") or (), target)
    details = _amd(Elf(image), name) if target.vendor == "amd" else _nvidia(Elf(image), name)
    warps, warp_size = int(metadata["num_warps"]), int(metadata.get("warp_size", target.warp_size))
    return Resources(
        shared=shared,
        threads=warps * warp_size,
        num_warps=warps,
        num_ctas=int(metadata.get("num_ctas", 1)),
        registers=details.pop("registers"),
        spills=details.pop("spills"),
        symbol=name,
        seconds=seconds,
        details=tuple(sorted(details.items())),
        tensor_maps=maps,
        dependent=bool(metadata.get("launch_pdl")),
        cooperative=bool(metadata.get("launch_cooperative_grid")),
    )


def _tensor_maps(found: Sequence[Mapping[str, Any]], target: Target) -> tuple[TensorMap, ...]:
    """What the compiler says of the descriptors that it kept as such, one for each; it lowers all of them or none."""
    if found and target.vendor != "nvidia":
        raise CompileError(f"the kernel takes descriptors in a form of {target.name}'s own, which no launch builds")
    for one in found:
        if one.get("is_im2col") or one.get("fp4_padded"):
            raise CompileError("the kernel takes a descriptor that is not of plain tiles, which no launch builds")
    return tuple(TensorMap(tuple(one["block_size"]), _SWIZZLES[one["swizzle"]]) for one in found)


def _amd(elf: Elf, name: str) -> dict[str, int]:
    kernels = amd_metadata(elf)[2]["amdhsa.kernels"]
    found = next((kernel for kernel in kernels if kernel[".name"] == name), None)
    if found is None:
        raise CompileError(f"the code object has no metadata of a kernel {name!r}")
    numbers = {key[1:]: value for key, value in found.items() if isinstance(value, int)}
    # On gfx90a and later vgpr_count is the unified file's: AGPRs are part of it.
    return {**numbers, "registers": numbers["vgpr_count"], "spills": numbers["private_segment_fixed_size"]}


def _nvidia(elf: Elf, name: str) -> dict[str, int]:
    kernel = next((s for s in elf.symbols() if s.name == name and s.kind == _FUNCTION and s.binding != _LOCAL), None)
    info = elf.section(".nv.info")
    if kernel is None or info is None:
        raise CompileError(f"the cubin has no kernel {name!r}")
    values = {(attribute, symbol): value for attribute, symbol, value in _records(elf.data(info))}
    if (_REGISTERS, kernel.number) not in values:
        raise CompileError(f"the cubin doesn't say how many registers {name!r} takes")
    static = elf.section(f".nv.shared.{name}")
    return {
        "registers": values[_REGISTERS, kernel.number],
        "spills": values.get((_STACK, kernel.number), 0),
        "static_shared": 0 if static is None else static.size,
        "code_size": kernel.size,
    }


def _records(data: bytes) -> list[tuple[int, int, int]]:
    records, offset = [], 0
    while offset + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, offset)
        offset += 4
        if form == _HAS_VALUE:
            if size == 8 and offset + 8 <= len(data):
                records.append((attribute, *struct.unpack_from("<II", data, offset)))
            offset += size
    return records
