"""Handlers of the simulator that are broken, one at a time: the tests of single instructions catch each break."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aotriton.runtime import library_path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ("test_arithmetic.py", "test_scalar.py", "test_vector_others.py")
# The file, what stands there, what breaks it, and the tests that see it.
BREAKS = [
    ("lanes_basic.cc", '"v_add_u32", [](u32 a, u32 b) { return a + b', '"v_add_u32", [](u32 a, u32 b) { return a | b'),
    ("lanes_basic.cc", 'lanes("v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); })',
     'lanes("v_lshlrev_b32", [](u32 a, u32 b) { return a > 31 ? 0 : b << (a & 31); })'),
    ("lanes_basic.cc", "return choose.set != 0 ? b : a;", "return choose.set != 0 ? a : b;"),
    ("lanes_integer.cc", "return Carry<u32>{a - b, a < b};", "return Carry<u32>{a - b, a <= b};"),
    ("lanes_integer.cc", "a == 0 ? ~0u : static_cast<u32>(std::countr", "static_cast<u32>(std::countr"),
    ("lanes_saturate.cc", "return within<i16>(a + b);", "return static_cast<i16>(a + b);"),
    ("lanes_short.cc", "return static_cast<i16>(b >> (a & 15));", "return static_cast<i16>(b >> (a & 31));"),
    ("lanes_short.cc", "return odd_float(static_cast<f64>(f32(a))", "return static_cast<f32>(static_cast<f64>(f32(a))"),
    ("lane_math.h", "0x200 | (magnitude >> 13 & 0x3ff)", "0x200"),
    ("lane_math.h", "bits_of(a) | bits_of(b)); }", "bits_of(a) & bits_of(b)); }"),
    ("lanes_float.cc", "static_cast<f32>(log2_of(flushed(a)))", "static_cast<f32>(log2_of(a))"),
    ("lanes_convert.cc", "inside * 65535.0f", "inside * 65536.0f"),
    ("lanes_compare.cc", "return !(T(a) >= T(b));", "return T(a) < T(b);"),
    ("lanes_bytes.cc", "choice == 12 ? 0u", "choice == 12 ? 255u"),
    ("vector_general.cc", "valid = source >= 0 && (exec >> source & 1) != 0;", "valid = source >= 0;"),
    ("vector_general.cc", "if (m.dst_unused == 2)", "if (m.dst_unused == 3)"),
    ("vector_general.cc", "case 0x141: return lane ^ 7;", "case 0x141: return lane ^ 15;"),
    ("vector_packed.cc", "m.op_sel_hi, m.neg, m.neg_hi};", "m.op_sel_hi, m.neg, m.neg};"),
    ("scalar.cc", "scc.set = wanted > a;", "scc.set = wanted >= a;"),
    ("scalar_wave.cc", 'saves("s_orn1_saveexec_b64", [](u64 a, u64 exec) { return ~a | exec; })',
     'saves("s_orn1_saveexec_b64", [](u64 a, u64 exec) { return a | exec; })'),
]  # fmt: skip


def build(folder: Path) -> None:
    subprocess.run(["ninja", "-C", str(folder / "build")], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(folder / "build" / "libaotriton_sim.so", folder / "lib")


def passes(folder: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not all"]
    command += [str(Path(__file__).parent / name) for name in TESTS]
    environment = os.environ | {"AOTRITON_LIBRARY": str(folder / "lib" / library_path().name)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode == 0


@pytest.mark.all
def test_breaks_are_caught(tmp_path):
    source, folder = tmp_path / "sim", tmp_path
    shutil.copytree(ROOT / "csrc" / "sim", source)
    (folder / "lib").mkdir()
    shutil.copy(library_path(), folder / "lib")
    subprocess.run(
        ["cmake", "-S", str(source), "-B", str(folder / "build"), "-G", "Ninja"], check=True, capture_output=True
    )
    build(folder)
    assert passes(folder)
    missed = []
    for name, before, after in BREAKS:
        path = source / name
        text = path.read_text()
        assert text.count(before) >= 1, (name, before)
        path.write_text(text.replace(before, after, 1))
        build(folder)
        if passes(folder):
            missed.append((name, after))
        path.write_text(text)
    assert not missed
