"""What `import aotriton` gives and needs."""

import subprocess
import sys
import types

import aotriton
import aotriton.runtime
import pyaotriton

BLOCKED = ["triton", "torch", "numpy", "ml_dtypes", "rich", "flatc", "elftools", "msgpack"]


def in_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_run_time_part_imports_with_nothing_else_installed():
    block = f"import sys\nfor name in {BLOCKED}: sys.modules[name] = None\n"
    done = in_new_process(
        block + "import aotriton, pyaotriton\nfrom pyaotriton.v3.flash import attn_fwd, attn_options\n"
    )
    assert done.returncode == 0, done.stderr


def test_importing_opens_no_library_and_no_driver():
    done = in_new_process("import aotriton, pyaotriton\nprint(open('/proc/self/maps').read())")
    assert done.returncode == 0, done.stderr
    assert not any(name in done.stdout for name in ("libaotriton", "libamdhip", "libcuda.so"))


def public_names(module):
    return {n for n, v in vars(module).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}


def test_public_names_are_those_of_all():
    for module in (aotriton, aotriton.runtime):
        assert public_names(module) == set(module.__all__) - {"__version__"}, module.__name__
        assert len(module.__all__) == len(set(module.__all__))
    assert public_names(pyaotriton) | {"v3"} == set(pyaotriton.__all__)


def test_every_public_name_has_a_docstring():
    undocumented = [name for name in aotriton.__all__ if name != "__version__" and not getattr(aotriton, name).__doc__]
    assert undocumented == []
