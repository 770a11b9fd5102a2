"""Runs the GPU tests, or a benchmark, from the folder that `make packs-gpu` prepared: this file is its run.py.

    python3 run.py [tests] [PYTEST'S WORDS …]
    python3 run.py launch|attention [WORDS …]

It takes the Python that runs it, which needs pytest, NumPy, ml_dtypes and PyTorch; no compiler and no Triton.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def environment() -> dict[str, str]:
    """The caller's, with this folder's package first and nothing that picks another library or device."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("AOTRITON_")}
    paths = [str(HERE / "lib"), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**found, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def require_gpu() -> None:
    """Tests that all skip would look like tests that pass."""
    try:
        import torch
    except ImportError:
        sys.exit(f"error: {sys.executable} has no PyTorch\n\nhint: make test-gpu GPU_PYTHON=/path/to/python")
    if not torch.cuda.is_available():
        sys.exit(f"error: PyTorch {torch.__version__} sees no GPU on this machine")


def main() -> int:
    if not (HERE / "lib" / "libaotriton_v2.so").exists():
        sys.exit(f"error: {HERE} is no prepared folder\n\nhint: make packs-gpu, and run build/gpu/run.py")
    words = sys.argv[1:]
    if words and (HERE / "benchmarks" / f"{words[0]}.py").exists():
        command = [HERE / "benchmarks" / f"{words[0]}.py", *words[1:]]
    else:
        require_gpu()
        command = ["-m", "pytest", *(words[1:] if words[:1] == ["tests"] else words)]
    return subprocess.run([sys.executable, *command], cwd=HERE, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
