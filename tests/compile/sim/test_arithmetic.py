"""Vector arithmetic on the simulator, instruction by instruction: every form against its definition."""

import re
from pathlib import Path

import pytest

from aotriton.runtime import library_path
from tests.tools.amd_forms import cases, check, rows, state_of, text_of
from tests.tools.amd_functions import DEFINITIONS
from tests.tools.amd_packed import check_packed, packed_cases, packed_state, packed_text
from tests.tools.amd_run import run_code
from tests.tools.amd_text import assemble
from tests.tools.simulator import Simulator

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
# The table has these for all three, since LLVM's disassembler takes them, but its assembler refuses them.
NOT_ASSEMBLED = {"gfx942": "cube", "gfx950": "cube", "gfx90a": ""}


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(library_path().parent / "libaotriton_sim.so")


def failures(simulator: Simulator, arch: str, seed: int, step: int = 1) -> tuple[int, list[str]]:
    chosen = [
        (case, DEFINITIONS[row.name])
        for row in rows(arch)
        if row.name in DEFINITIONS and not (NOT_ASSEMBLED[arch] and row.name.startswith(f"v_{NOT_ASSEMBLED[arch]}"))
        for case in list(cases(row, DEFINITIONS[row.name], seed))[seed % step :: step]
    ]
    texts = [text_of(case) for case, _ in chosen]
    wrong = []
    for text, code, (case, definition) in zip(texts, assemble(arch, texts), chosen, strict=True):
        if not code:
            wrong.append(f"{text}: isn't assembly")
            continue
        before = state_of(case, definition)
        differs = check(case, definition, before, run_code(simulator, arch, code, before))
        if differs:
            wrong.append(f"{text} with exec {case.exec:#x}: {differs}")
    return len(chosen), wrong


@pytest.mark.parametrize(("arch", "seed"), [("gfx90a", 1), ("gfx942", 0), ("gfx950", 2)])
def test_some_forms_of_every_instruction(simulator, arch, seed):
    count, wrong = failures(simulator, arch, seed, step=3)
    assert count > 1000
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.all
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("seed", range(3))
def test_every_form_of_every_instruction(simulator, arch, seed):
    _, wrong = failures(simulator, arch, seed)
    assert not wrong, "\n".join(wrong[:20])


PACKED = re.compile("v_pk_(?!fmac)|v_pk_mov")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_packed_instructions(simulator, arch):
    chosen = [
        case for row in rows(arch) if row.format == "VOP3P" and PACKED.match(row.name) for case in packed_cases(row, 0)
    ]
    texts, wrong = [packed_text(case) for case in chosen], []
    for text, code, case in zip(texts, assemble(arch, texts), chosen, strict=True):
        if not code:
            wrong.append(f"{text}: isn't assembly")
            continue
        before = packed_state(case)
        differs = check_packed(case, before, run_code(simulator, arch, code, before))
        if differs:
            wrong.append(f"{text} with exec {case.exec:#x}: {differs}")
    assert len(chosen) > 200
    assert not wrong, "\n".join(wrong[:20])


# What test_vector_others.py and test_matrix.py hold; no result: v_nop, v_clrexcp.
ELSEWHERE = re.compile(
    "v_(accvgpr_|bitop3|clrexcp|nop|cvt_scalef32|cvt_sr_|cvt_.*(fp8|bf8)|div_|dot|fma_mix|mbcnt|mqsad_u32|permlane"
    "|read|write|swap|trig_preop|pk_fmac)"
)


def test_every_vector_instruction_has_a_definition():
    text = (Path(__file__).parents[3] / "csrc" / "sim" / "tables" / "unexecuted.txt").read_text()
    unexecuted = {line.split()[0] for line in text.splitlines() if not line.startswith("#")}
    names = {row.name for arch in ARCHITECTURES for row in rows(arch) if row.format.startswith("VOP")}
    known = DEFINITIONS.keys() | unexecuted
    assert not {n for n in names - known if not ELSEWHERE.match(n) and not PACKED.match(n)}
