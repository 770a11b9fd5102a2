"""What binaries say of themselves, and what stamping changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aotriton.compile.elf import Elf
from aotriton.compile.objects import TensorMap
from aotriton.compile.resources import read_resources
from aotriton.compile.stamp import differences, stamp
from aotriton.errors import CompileError
from aotriton.targets import parse_target
from tests.null.compile_stage.elves import amd_object, cubin

METADATA = {"name": "axpy", "shared": 4096, "num_warps": 4, "num_ctas": 1, "warp_size": 64, "global_scratch_size": 0}
GFX942, SM_90 = parse_target("gfx942"), parse_target("sm_90")


def test_amd() -> None:
    image = amd_object(private_segment_fixed_size=48, vgpr_count=100, vgpr_spill_count=12)
    found = read_resources(image, METADATA, GFX942, 2.5)
    assert (found.registers, found.spills, found.shared, found.threads, found.symbol) == (100, 48, 4096, 256, "axpy")
    assert (found.num_warps, found.num_ctas, found.seconds) == (4, 1, 2.5)
    assert dict(found.details)["vgpr_spill_count"] == 12


def test_nvidia() -> None:
    found = read_resources(cubin(registers=168, stack=976), {**METADATA, "warp_size": 32, "num_warps": 8}, SM_90, 1.0)
    assert (found.registers, found.spills, found.threads) == (168, 976, 256)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_scratch_size": 128}, "128 bytes of global_scratch"),
        ({"profile_scratch_size": 8}, "8 bytes of profile_scratch"),
        ({"shared": 65537}, "65537 bytes of shared memory, gfx942 has 65536"),
        ({"name": "other"}, "no metadata of a kernel 'other'"),
    ],
)
def test_what_cannot_be_launched_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        read_resources(amd_object(), {**METADATA, **changes}, GFX942, 1.0)


def test_tensor_maps_and_attributes_of_launches() -> None:
    found = {"swizzle": 3, "block_size": [64, 64], "fp4_padded": False, "is_im2col": False}
    metadata = {**METADATA, "warp_size": 32, "tensordesc_meta": [found], "launch_pdl": True}
    resources = read_resources(cubin(), {**metadata, "launch_cooperative_grid": True, "num_ctas": 2}, SM_90, 1.0)
    assert resources.tensor_maps == (TensorMap((64, 64), 128),)
    assert (resources.dependent, resources.cooperative, resources.num_ctas) == (True, True, 2)
    with pytest.raises(CompileError, match="not of plain tiles"):
        read_resources(cubin(), {**metadata, "tensordesc_meta": [{**found, "is_im2col": True}]}, SM_90, 1.0)
    with pytest.raises(CompileError, match="a form of gfx942's own"):
        read_resources(amd_object(), {**METADATA, "tensordesc_meta": [found]}, GFX942, 1.0)


def test_a_cubin_without_its_kernel_is_refused() -> None:
    with pytest.raises(CompileError, match="no kernel 'axpy'"):
        read_resources(cubin(name="mm"), METADATA, SM_90, 1.0)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_elf_files_are_errors_or_readable(data: st.DataObject) -> None:
    image = bytearray(data.draw(st.sampled_from([amd_object(), cubin()])))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(image) - 1))
        image[place] ^= data.draw(st.integers(1, 255))
    image = image[: data.draw(st.integers(0, len(image)))] if data.draw(st.booleans()) else image
    try:
        elf = Elf(bytes(image))
        for section in elf.sections:
            elf.data(section)
        list(elf.symbols())
        list(elf.notes())
    except CompileError:
        pass


def test_stamping_changes_the_machine_and_the_name_only() -> None:
    image, native = amd_object(target="gfx1150"), amd_object(target="gfx1152")
    stamped = stamp(image, "gfx1150", "gfx1152")
    assert stamped == native
    assert differences(image, native, "gfx1150", "gfx1152") is None
    changed = [place for place in range(len(image)) if image[place] != stamped[place]]
    assert len(changed) == 3  # the machine byte, and the last digit twice
    assert Elf(stamped).flags == 0x55


def test_stamping_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(CompileError, match="none of gfx1150"):
        stamp(amd_object(target="gfx942"), "gfx1150", "gfx1152")
    with pytest.raises(CompileError, match="none of gfx1150"):
        stamp(cubin(), "gfx1150", "gfx1152")


def test_differences_name_the_section() -> None:
    image, other = amd_object(target="gfx1150"), amd_object(target="gfx1152", text=b"cOde")
    assert "in .text" in str(differences(image, other, "gfx1150", "gfx1152"))
    assert "bytes against" in str(differences(image, other + b"x", "gfx1150", "gfx1152"))
