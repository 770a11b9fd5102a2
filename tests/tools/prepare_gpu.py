"""Prepares a folder with all that the GPU tests need, to be copied to a machine with a GPU. Needs none itself.

    python tests/tools/prepare_gpu.py FOLDER [--workers N] [--set h200]

The folder is an installed prefix (lib/, include/) with the packs of the build set, and beside them the tests, the packs
of their kernels, the programs in C++, the benchmarks, and inputs recorded from a model. What is there is brought up to
date; code objects come from the build's cache.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.tools.altered_packs import write_altered  # noqa: E402 - this file is run as a program, from anywhere

BUILD = ROOT / "build" / "cmake"
MOST_PACKS, MOST_ALL = 40_000_000, 64 * 2**20
# Kernels beside flash's: a description and a build set each, whose packs go to packs/<name>/.
SETS = [ROOT / "examples/rmsnorm/set.json", *sorted((ROOT / "tests/gpu/kernels").glob("*/set.json"))]
TARGET = "sm_90"
PROGRAMS = ["launch_cost"]
COPIED = ["tests/gpu", "tests/tools", "tests/consumer", "benchmarks", "examples"]
# Not in an installation: what results are compared with, and what measuring for tuning needs.
REFERENCES = ["aotriton/flash/reference.py", "aotriton/flash/error_model.py"]
TUNING = ["aotriton/tune/*.py", "aotriton/describe/*.py"]
TUNING += ["aotriton/flash/description.py", "aotriton/flash/kernels/*.py"]
TUNING += [f"aotriton/pack/{name}.py" for name in ("__init__", "files", "signature")]
PYTEST_INI = """[pytest]
addopts = -q --strict-markers --import-mode=importlib -p no:cacheprovider -rs
testpaths = tests/gpu
markers =
    all: takes long or needs much
    gpu: needs a GPU
"""


def run(*words: object) -> str:
    """A command's output; the program ends with what it said where it fails."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, words))} failed\n\n{done.stdout}{done.stderr}")
    return done.stdout


def tool(name: str) -> Path | str:
    """A program of this environment, else of PATH."""
    beside = Path(sys.executable).with_name(name)
    return beside if beside.exists() else name


def build_packs(out: Path, build_set: Path | str, workers: int, *more: object, target: str = TARGET) -> None:
    """Packs of a set, shown as they are built."""
    command = [sys.executable, "-m", "aotriton", "build", "--set", build_set, "--target", target, "--out", out]
    command += ["--workers", workers, *more]
    if subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode:
        sys.exit(1)


def install(folder: Path) -> None:
    """Library, headers and Python package, as a user installs them; the programs; the users' programs in C++."""
    run(tool("cmake"), "--install", BUILD, "--prefix", folder)
    known = run(tool("cmake"), "--build", BUILD, "--target", "help")
    wanted = [name for name in PROGRAMS if f"{name}:" in known]
    (folder / "bin").mkdir(exist_ok=True)
    for name in wanted:
        run(tool("cmake"), "--build", BUILD, "--target", name)
        shutil.copy(BUILD / "lib" / name, folder / "lib" / name)  # it looks for what it takes beside itself
    for source in sorted((ROOT / "tests" / "consumer" / "cpp").glob("*.cpp")):
        options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{folder / 'include'}", f"-L{folder / 'lib'}"]
        options += ["-laotriton_v2", "-Wl,-rpath,$ORIGIN/../lib", "-o", folder / "bin" / f"consumer_{source.stem}"]
        run("g++", source, *options)


def copy_tests(folder: Path) -> None:
    """Tests, benchmarks and examples as they stand, in place of earlier ones."""
    for name in COPIED:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    for source in [path for pattern in (*REFERENCES, *TUNING) for path in sorted(ROOT.glob(pattern))]:
        target = folder / "lib" / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    (folder / "pytest.ini").write_text(PYTEST_INI, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "tools" / "run_gpu.py", folder / "run.py")


def build_altered(packs: Path, workers: int) -> None:
    """Packs whose code a driver refuses, made of those of the family `faults`."""
    faults = ROOT / "tests/gpu/kernels/faults"
    with tempfile.TemporaryDirectory(prefix="aotriton-foreign-") as made:
        foreign = Path(made, "foreign.json")
        asked = json.loads((faults / "set.json").read_text(encoding="utf-8"))
        foreign.write_text(json.dumps({**asked, "targets": ["sm_80"]}), encoding="utf-8")
        build_packs(Path(made), foreign, workers, "--family", faults / "description.py", target="sm_80")
        good = packs / "faults" / "nvidia-sm90" / "faults" / "poke.zip"
        write_altered(packs, good, Path(made, "nvidia-sm80", "faults", "poke.zip"))


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def facts(folder: Path, build_set: str) -> dict[str, object]:
    """What was prepared, from what, and how large it is."""
    kept = ("aotriton", "csrc", "tests/gpu", "benchmarks")
    changed = run("git", "status", "--porcelain", "--untracked-files=no", "--", *kept)
    return {
        "prepared": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        "commit": run("git", "rev-parse", "--short", "HEAD").strip() + (" with changes" if changed.strip() else ""),
        "set": build_set,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("triton", "aotriton")}},
        "pack_bytes": bytes_of(folder / "lib" / "aotriton.images"),
        "bytes": bytes_of(folder),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--set", default="h200", help="the build set whose packs are tested (default: %(default)s)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    install(folder)
    copy_tests(folder)
    (folder / "data").mkdir(exist_ok=True)
    print(run(sys.executable, "tests/tools/record_sentences.py", folder / "data" / "sentences.npz").strip())
    for path in SETS:
        family = path.with_name("description.py")
        build_packs(folder / "packs" / path.parent.name, path, arguments.workers, "--family", family)
    build_altered(folder / "packs", arguments.workers)
    build_packs(folder / "lib" / "aotriton.images", arguments.set, arguments.workers)
    made = facts(folder, arguments.set)
    (folder / "facts.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    packs, whole = made["pack_bytes"], made["bytes"]
    print(f"{folder}: {whole / 1e6:.1f} MB, of which packs of the set {arguments.set} {packs / 1e6:.1f} MB")
    for what, size, most in (("packs", packs, MOST_PACKS), ("folder", whole, MOST_ALL)):
        if size > most:
            sys.exit(f"error: the {what} has {size} bytes, more than the {most} that it may have")
    return 0


if __name__ == "__main__":
    sys.exit(main())
