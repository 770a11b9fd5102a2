"""A compile worker: a process that imports Triton once and compiles one task after another.

It is run by its path, in the Python of any environment, so it needs nothing but the standard library and Triton:

    python -P worker.py READ WRITE MEMORY

Over the pipe READ come tasks, JSON objects. Over WRITE goes first one empty message, when Triton is imported, then for
each task a JSON object and, if it went well, the binary. MEMORY is what a task may take, in bytes.
What Triton and LLVM print goes into the task's log, by way of the file descriptors: crashes write there, too.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()


def main() -> None:
    """Serve tasks until the pipe closes."""
    # Without this a worker would compile on after its build was killed.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    incoming = Connection(int(sys.argv[1]), writable=False)
    outgoing = Connection(int(sys.argv[2]), readable=False)
    for number in (incoming.fileno(), outgoing.fileno()):
        os.set_inheritable(number, False)  # the assembler is a process of its own and must not keep the pipe open
    faulthandler.enable()
    _import_triton()
    _limit_memory(int(sys.argv[3]))
    outgoing.send_bytes(b"")
    while True:
        try:
            task = json.loads(incoming.recv_bytes())
        except EOFError:
            return
        _redirect(task["log"])
        answer, image = _serve(task)
        answer["resident"] = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
        outgoing.send_bytes(json.dumps(answer, default=str).encode())
        if image is not None:
            outgoing.send_bytes(image)


def _redirect(log: str) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)


def _import_triton() -> None:
    import triton
    import triton.compiler
    import triton.runtime.cache

    # Triton's own cache hashes all of Triton, half a second for each process. The folder that it goes to lasts for
    # one task only, so its key need not tell versions apart.
    if hasattr(triton.runtime.cache, "triton_key"):
        triton.runtime.cache.triton_key = lambda: triton.__version__


def _limit_memory(limit: int) -> None:
    """Let the process take `limit` bytes beyond what it has now; address space, so that it fails at once."""
    have = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE
    resource.setrlimit(resource.RLIMIT_AS, (have + limit, have + limit))


def _serve(task: dict[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    try:
        image, metadata, seconds = _compile(task)
    except MemoryError:
        traceback.print_exc()
        return {"status": "Memory", "reason": "the compiler took more memory than it may"}, None
    except BaseException as error:
        # A kernel's source may raise anything, SystemExit among it; only the task fails.
        traceback.print_exc()
        return {"status": "Exception", "reason": _reason(error)}, None
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    return {"status": "Complete", "metadata": metadata, "seconds": seconds}, image


def _reason(error: BaseException) -> str:
    """The innermost cause in one line: Triton wraps an error once for each call that it inlines."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    return f"{type(error).__name__}: {text}"[:500]


def _compile(task: dict[str, Any]) -> tuple[bytes, dict[str, Any], float]:
    import triton
    from triton.backends.compiler import GPUTarget

    source = _source(task)
    target = GPUTarget(task["target"]["backend"], task["target"]["arch"], task["target"]["warp_size"])
    start, before = time.perf_counter(), os.times()
    compiled = triton.compile(source, target=target, options=task["options"])
    seconds, after = time.perf_counter() - start, os.times()
    drop = ("target", "hash", "extern_libs")  # objects and paths of this machine; the key says the rest
    metadata = {name: value for name, value in compiled.metadata._asdict().items() if name not in drop}
    # The assembler is a child. On a busy machine this is less than the time that passed, and what an estimate needs.
    metadata["cpu_seconds"] = sum(after[:4]) - sum(before[:4])
    return compiled.kernel, metadata, seconds


def _source(task: dict[str, Any]) -> Any:
    """The function with its signature, as what Triton compiles: one of its own, or of Gluon's."""
    from triton.compiler import ASTSource

    function = _function(task)
    positions = {name: number for number, name in enumerate(function.arg_names)}
    attributes = {(positions[name],): [["tt.divisibility", value]] for name, value in task["attributes"].items()}
    signature = task["signature"]
    if type(function).__name__ != "GluonJITFunction":
        return ASTSource(function, signature, task["constants"], attributes)
    from triton.experimental.gluon._runtime import GluonASTSource

    swizzles = task.get("swizzles", {})
    types = {name: _with_layout(kind, swizzles.get(name)) for name, kind in signature.items()}
    return GluonASTSource(function, types, task["constants"], attributes)


def _with_layout(kind: str, swizzle: int | None) -> str:
    """A descriptor's type with the layout of its block in shared memory, which Gluon's functions read from it."""
    if not kind.startswith("tensordesc<"):
        return kind
    import triton.language as tl
    from triton.experimental.gluon.language import NVMMASharedLayout

    element, _, shape = kind[len("tensordesc<") : -len("]>")].partition("[")
    block, dtype = [int(size) for size in shape.split(",")], tl.str_to_ty(element, None)
    if swizzle is None:
        layout = NVMMASharedLayout.get_default_for(block, dtype)
    else:
        layout = NVMMASharedLayout(swizzle, dtype.primitive_bitwidth, len(block))
    return f"{kind[:-1]},{layout!r}>"


def _function(task: dict[str, Any]) -> Any:
    """The Triton function, from its module in the folder of sources."""
    package = task["package"]
    name = f"{package}.{task['module']}"
    if name not in sys.modules:
        before = set(sys.modules)
        sys.path[:0] = [task["folder"], os.path.join(task["folder"], package)]  # noqa: PTH118
        try:
            importlib.import_module(name)
        finally:
            del sys.path[:2]
            # Files beside the kernel that were imported by their bare names: another kernel may have others.
            for other in set(sys.modules) - before:
                place = getattr(sys.modules[other], "__file__", None) or ""
                if place.startswith(task["folder"]) and not other.startswith(package):
                    del sys.modules[other]
    function = getattr(sys.modules[name], task["function"])
    while type(function).__name__ in ("Autotuner", "Heuristics"):
        function = function.fn
    if not hasattr(function, "arg_names"):
        raise TypeError(f"{task['function']} of {task['module']} is no @triton.jit function")
    return function


if __name__ == "__main__":
    main()
