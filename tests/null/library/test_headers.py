"""The public headers: each compiles alone, with HIP's headers and without, and both give the same symbols."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from .conftest import run, tool

HEADERS = ["aotriton.h", "config.h", "dtypes.h", "flash.h", "hip_types.h", "runtime.h", "util.h"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
USER = """
hipError_t ask(const aotriton::v3::flash::attn_fwd_params& params, hipStream_t stream) {
  aotriton::v3::flash::attn_options options;
  const hipError_t status = attn_fwd(params, aotriton::v3::flash::attn_fwd_params::kVersion, stream, &options);
  return aotriton::getGpuFromStream(stream) == aotriton::GPU_ARCH_UNKNOWN ? hipErrorNoDevice : status;
}
hipStream_t take(hipStream_t stream, hipError_t) { return aotriton::Stream(stream).native(); }
static_assert(sizeof(hipError_t) == 4 && hipErrorInvalidSymbol == 13 && hipErrorNoBinaryForGpu == 209 &&
              hipErrorNotSupported == 801 && hipErrorInvalidImage == 200 && hipErrorProfilerNotInitialized == 6 &&
              hipErrorLaunchFailure == 719 && hipErrorUnknown == 999 && hipErrorNoDevice == 100);
"""
ONLY_OURS = "#include <aotriton/flash.h>\n"
HIP_FIRST = "#include <hip/hip_runtime_api.h>\n#include <aotriton/flash.h>\n"
HIP_LAST = "#include <aotriton/flash.h>\n#include <hip/hip_runtime_api.h>\n"


def hip_headers() -> Path | None:
    """A folder with HIP's headers: ROCm's, Debian's (libamdhip64-dev), or those in Triton's package."""
    triton = Path(sysconfig.get_path("purelib")) / "triton" / "backends" / "amd" / "include"
    for folder in (Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "include", Path("/usr/include"), triton):
        if (folder / "hip" / "hip_runtime_api.h").exists():
            return folder
    return None


def compile_source(compiler, prefix, folder, text, *options) -> Path:
    source = folder / "user.cc"
    source.write_text(text)
    built = folder / "user.o"
    run(compiler, "-std=c++20", *WARNINGS, "-isystem", prefix / "include", *options, "-c", source, "-o", built)
    return built


def symbols(built: Path) -> set[str]:
    """The names, mangled, that an object file defines and wants."""
    return {line.split()[-1] for line in run(tool("nm"), built).splitlines() if line.split()[-2] in "TU"}


def test_each_header_compiles_alone(compiler, prefix, tmp_path):
    found = sorted(path.name for path in (prefix / "include" / "aotriton").iterdir())
    assert found == HEADERS
    for header in HEADERS:
        source = tmp_path / "alone.cc"
        source.write_text(f"#include <aotriton/{header}>\n#include <aotriton/{header}>\n")
        run(compiler, "-std=c++17", *WARNINGS, f"-I{prefix / 'include'}", "-fsyntax-only", source)


def test_the_c_api_is_c(prefix, tmp_path):
    source = tmp_path / "user.c"
    source.write_text(
        "#include <aotriton/aotriton.h>\n"
        "int main(void) {\n"
        "  aotriton_attn_options options = AOTRITON_ATTN_OPTIONS_INIT;\n"
        "  aotriton_launch_options launch = AOTRITON_LAUNCH_OPTIONS_INIT;\n"
        "  aotriton_attn_fwd_params params = {0};\n"
        "  params.size = sizeof params;\n"
        "  return options.force_backend + 1 + (launch.config + 1) + (int)(params.size != sizeof params);\n"
        "}\n"
    )
    run(tool("gcc"), "-std=c11", *WARNINGS, f"-I{prefix / 'include'}", source, "-o", tmp_path / "user")
    run(tmp_path / "user")


def test_with_and_without_hip_the_symbols_are_the_same(compiler, prefix, tmp_path):
    hip = hip_headers()
    if hip is None:
        pytest.skip("HIP's headers are not here: Debian has them in libamdhip64-dev, Triton's package brings them too")
    without = symbols(compile_source(compiler, prefix, tmp_path, ONLY_OURS + USER, "-DAOTRITON_NO_HIP_HEADERS"))
    assert any("attn_fwd" in name for name in without)
    assert any("P12ihipStream_t10hipError_t" in name for name in without)
    for text in (ONLY_OURS, HIP_LAST):
        assert symbols(compile_source(compiler, prefix, tmp_path, text + USER, "-isystem", hip)) == without
    # Whoever includes HIP's first has said which platform it is.
    platform = "-D__HIP_PLATFORM_AMD__=1"
    assert symbols(compile_source(compiler, prefix, tmp_path, HIP_FIRST + USER, "-isystem", hip, platform)) == without
    assert symbols(compile_source(compiler, prefix, tmp_path, HIP_LAST + USER, "-isystem", hip, platform)) == without
    exported = run(tool("nm"), "-D", "--defined-only", prefix / "lib" / "libaotriton_v2.so")
    assert {name for name in without if "aotriton" in name} - set(exported.split()) == {
        name for name in without if "3ask" in name
    }


def test_what_the_library_needs_and_shows(prefix, tmp_path):
    library = prefix / "lib" / "libaotriton_v2.so"
    dynamic = run(tool("readelf"), "-d", library)
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
    assert "soname: [libaotriton_v2.so.0.1.0]" in dynamic
    assert "AOTriton 0.1.0" in run(tool("readelf"), "-p", ".comment", library)
    shown = run(tool("nm"), "-DC", "--defined-only", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in shown]
    assert [name for name in names if not name.startswith(("aotriton_", "aotriton::"))] == []
    assert "aotriton_attn_fwd" in names
    run(tool("strip"), "-o", tmp_path / "stripped.so", library)
    assert (tmp_path / "stripped.so").stat().st_size < 2_000_000
