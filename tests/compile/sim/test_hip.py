"""A program that is written against HIP's headers runs on the simulator, unchanged."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from aotriton.runtime import library_path
from tests.compile.sim.test_vector_add import compiled

SOURCE = Path(__file__).resolve().parents[2] / "consumer" / "hip" / "vector_add.cpp"
HEADERS = Path(os.environ.get("HIP_INCLUDE_PATH", "/usr/include"))
LIBRARY = library_path().parent / "libaotriton_sim.so"

pytestmark = pytest.mark.skipif(
    not (HEADERS / "hip" / "hip_runtime_api.h").is_file(),
    reason="needs HIP's headers (libamdhip64-dev on Debian, or HIP_INCLUDE_PATH)",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Linked as on a machine with ROCm: against a library whose own name is libamdhip64.so.5."""
    folder = tmp_path_factory.mktemp("hip")
    stub = folder / "libamdhip64.so"
    flags = ["-w", "-D__HIP_PLATFORM_AMD__", f"-I{HEADERS}"]
    functions = sorted(set(re.findall(r"\b(hip[A-Z]\w+)\(", SOURCE.read_text())))
    text = "\n".join(f'extern "C" void {name}() {{}}' for name in functions)
    shared = ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-Wl,-soname,libamdhip64.so.5", "-o", stub]
    subprocess.run(shared, input=text, text=True, check=True)
    made = folder / "vector_add"
    subprocess.run(["c++", "-std=c++17", *flags, SOURCE, "-o", made, f"-L{folder}", "-lamdhip64"], check=True)
    stub.unlink()
    return made


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_vector_add_by_hip(program, tmp_path, arch):
    names = tmp_path / "hip"
    names.mkdir()
    (names / "libamdhip64.so.5").symlink_to(LIBRARY)
    code = tmp_path / "add.hsaco"
    code.write_bytes(compiled(arch, "fp32", True, 4).asm["hsaco"])
    environment = os.environ | {"LD_LIBRARY_PATH": str(names)}
    run = subprocess.run([program, code, arch], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all is well" in run.stdout
    assert f"simulated {arch}" in run.stdout
