"""The simulator's decoder and printer, against LLVM's disassembler and Triton's assembler."""

import concurrent.futures
from collections.abc import Iterator
from pathlib import Path

import pytest

from aotriton.pack.aks2 import Image, decode
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.flatzip import INDEX, open_zip
from aotriton.runtime import library_path as runtime_path
from aotriton.runtime import pack_paths
from tests.tools.amd_samples import samples
from tests.tools.amd_text import Disassembler, assemble, library_path, text_section
from tests.tools.simulator import Simulator

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
ENOUGH = 4000  # distinct instructions of an architecture's packs that are put through the assembler

pytestmark = pytest.mark.skipif(library_path() is None, reason="needs the package rocm-llvm-python")


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(runtime_path().parent / "libaotriton_sim.so")


def images(arch: str) -> Iterator[bytes]:
    """The code objects of an architecture in the packs of this tree."""
    for folder in map(Path, pack_paths()):
        for file in sorted(folder.glob(f"amd-{arch}/**/*.zip")):
            with open_zip(file) as archive:
                for target in read_index(archive.read(INDEX))["targets"]:
                    if target["name"] == arch:
                        for functional in target["functionals"]:
                            found = decode(archive.read(functional["text"]))
                            yield from (image.data for image in found if _is_for(image, arch))


def _is_for(image: Image, arch: str) -> bool:
    return image.name.endswith(f";;arch={arch}")


def instructions(arch: str) -> dict[bytes, str]:
    """The distinct instructions of those code objects, with LLVM's text."""
    llvm, found = Disassembler(arch), {}
    for image in images(arch):
        code, at = text_section(image), 0
        while at < len(code):
            size, text = llvm.one(code[at : at + 20])
            if size:
                found[code[at : at + size]] = text
            at += size or 4
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_code_objects_print_as_llvm_prints_them_and_assemble_to_the_same_bytes(arch, simulator):
    found = instructions(arch)
    if not found:
        pytest.skip(f"no packs for {arch}")
    for code, text in found.items():
        assert simulator.disassemble(arch, code) == (len(code), text)
    some = list(found)[:: max(1, len(found) // ENOUGH)]
    assert assemble(arch, [found[code] for code in some]) == some


def _sampled(arch: str, path: str) -> tuple[list[tuple[str, bytes, str]], list[str]]:
    """Samples that LLVM takes too, with its text; and where the simulator's differs."""
    simulator, llvm = Simulator(Path(path)), Disassembler(arch)
    taken, wrong = [], []
    for mnemonic, code in samples(arch, simulator, seed=1):
        size, text = llvm.one(code)
        if size != len(code) or "Invalid" in text or "Warning" in text:
            continue
        taken.append((mnemonic, code, text))
        if simulator.disassemble(arch, code) != (size, text):
            wrong.append(f"{code.hex()}: {simulator.disassemble(arch, code)}, LLVM: {text}")
    return taken, wrong


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_row_prints_as_llvm_prints_it_and_assembles_to_the_same_bytes(arch, simulator):
    # In a process of its own: LLVM crashes on some words that are no instructions.
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        taken, wrong = pool.submit(_sampled, arch, str(runtime_path().parent / "libaotriton_sim.so")).result()
    lines = [simulator.disassemble(arch, code)[1] for _, code, _ in taken]
    back = assemble(arch, lines)
    canonical = {mnemonic for (mnemonic, code, _), again in zip(taken, back, strict=True) if code == again}
    print(f"{arch}: {len(taken)} samples, {len(canonical)} mnemonics of {len({m for m, _, _ in taken})} come back")
    assert not wrong
    assert len(canonical) > 700


@pytest.mark.parametrize("code", ["ffffffff", "000090bf"[:6], "0000fcdf00000000", "ff000400"])
def test_what_is_no_instruction_is_named(code, simulator):
    size, text = simulator.disassemble("gfx942", bytes.fromhex(code))
    assert size == 0
    assert "not an instruction of gfx942 at 0x0" in text


def test_an_unknown_architecture_is_named(simulator):
    assert simulator.disassemble("gfx906", bytes(4)) == (
        0, "the simulator knows no `gfx906`; it knows gfx90a, gfx942 and gfx950",
    )  # fmt: skip
