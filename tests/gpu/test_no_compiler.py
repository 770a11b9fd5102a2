"""Nothing is compiled, and no Triton is there: by a process that makes its first launch, and by the whole run."""

import json
import subprocess
import sys

FIRST_LAUNCH = """
import json, os, sys, tempfile
from pathlib import Path
from tests.tools.watch import CompilerWatch
watch = CompilerWatch()
watch.start(Path(tempfile.mkdtemp(dir=sys.argv[1])))
import torch
import aotriton
q = torch.zeros(1, 2, 37, 64, device="cuda", dtype=torch.float16)
v = torch.ones_like(q)
out, lse = aotriton.attn_fwd(q, q, v, causal=True, lse=True)
torch.cuda.synchronize()
print(json.dumps({
    "right": bool((out == 1).all()),
    "modules": [name for name in ("triton", "flatc", "aotriton.compile", "aotriton.describe") if name in sys.modules],
    "package": aotriton.__file__,
    "compilers": watch.called(),
}))
"""


def test_the_first_launch_of_a_process(prepared, child_environment, tmp_path):
    command = [sys.executable, "-c", FIRST_LAUNCH, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["right"]
    assert found["modules"] == []
    assert found["compilers"] == []
    assert found["package"] == str(prepared / "lib" / "aotriton" / "__init__.py")


def test_the_packs_are_small(prepared):
    facts = json.loads((prepared / "facts.json").read_text(encoding="utf-8"))
    assert 0 < facts["pack_bytes"] <= 40_000_000
    assert facts["bytes"] <= 64 * 2**20


def test_nothing_was_compiled_in_the_whole_run(compiler_watch):
    """The last test of all: conftest.py sees to that."""
    assert "triton" not in sys.modules
    assert compiler_watch.called() == []
