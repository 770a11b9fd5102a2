"""Programs of the original's users, as they stand, on a GPU."""

import re
import subprocess
import sys

import pytest


def ran(command, environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_attention_through_pyaotriton(prepared, child_environment):
    program = prepared / "tests" / "consumer" / "python" / "attn_fwd_v3.py"
    text = ran([sys.executable, program, "cuda"], child_environment)
    assert re.match(r"largest error: out \d\.\d\de-\d\d, lse \d\.\d\de-\d\d", text)


@pytest.mark.parametrize("name", ["tensor_view", "stream", "gpu_detection"])
def test_programs_in_cpp(prepared, child_environment, name):
    """Those that launch nothing on host memory, with a GPU there; compiled where the folder was prepared."""
    ran([prepared / "bin" / f"consumer_{name}"], child_environment)
    ran([prepared / "bin" / f"consumer_{name}"], {**child_environment, "AOTRITON_DEVICE": "cuda:0"})
