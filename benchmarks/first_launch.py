"""One process's first launch of flash attention by the C API, in steps: a program that benchmarks/launch.py starts.

    python benchmarks/first_launch.py DEVICE HEAD_DIM steps|whole

Nothing but this package and the driver is in the process. The driver's context and the tensors' memory are made first,
as in a program that has a GPU at work; then come library, device, index, code object and launch. With `whole` the last
three are one call, which says whether the steps add up. Prints JSON, milliseconds by step; the log on stderr says how
long decoding and the driver's loading took.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import timing

HEADS, LENGTH = 8, 128
BYTES = 2 * HEADS * LENGTH * 512  # fp16; of the largest head dim


class Cuda:
    """The driver by ctypes: the primary context of device 0, and memory of it."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function of the driver."""
        error = getattr(self.cuda, name)(*arguments)
        if error:
            sys.exit(f"error: {name} failed with {error}")

    def memory(self) -> int:
        """The address of new memory."""
        pointer = ctypes.c_void_p()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(BYTES))
        return pointer.value or 0

    def finish(self) -> None:
        """Waits for the GPU."""
        self.call("cuCtxSynchronize")


class Host:
    """The recording driver reads nothing."""

    def memory(self) -> int:
        """The address of new memory."""
        self.kept = [*getattr(self, "kept", []), ctypes.create_string_buffer(BYTES + 64)]
        return (ctypes.addressof(self.kept[-1]) + 63) // 64 * 64

    def finish(self) -> None:
        """It is never busy."""


def main(name: str, head_dim: int, how: str) -> None:
    shape = (1, HEADS, LENGTH, head_dim)
    strides = (HEADS * LENGTH * head_dim, LENGTH * head_dim, head_dim, 1)
    steps: dict[str, float] = {}
    last = time.perf_counter()

    def done(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        steps[step] = (now - last) * 1000
        last = time.perf_counter()

    driver = Cuda() if name.startswith("cuda") else Host()
    done("context")
    addresses = [driver.memory() for _ in range(4)]
    last = time.perf_counter()
    timing.library_on_path()
    from aotriton.runtime.abi import DTYPES, AttnFwdParams, AttnOptions, write_tensor
    from aotriton.runtime.library import check, library

    done("package")
    functions = library()
    done("library")
    device = ctypes.c_void_p()
    check(functions.aotriton_device_open(name.encode(), ctypes.byref(device)))
    done("device")
    params = AttnFwdParams(size=ctypes.sizeof(AttnFwdParams), scale=head_dim**-0.5)
    for field, address in zip(("q", "k", "v", "out"), addresses, strict=True):
        offset = getattr(AttnFwdParams, field).offset
        write_tensor(params, offset, address, DTYPES["fp16"][0], shape, strides)

    def call(query: int, load: int) -> None:
        options = AttnOptions(ctypes.sizeof(AttnOptions), -1, 0, query, load)
        check(functions.aotriton_attn_fwd(ctypes.byref(params), device, None, ctypes.byref(options), None))

    last = time.perf_counter()
    if how == "steps":
        call(1, 0)
        done("index")
        call(0, 1)
        done("code object")
    call(0, 0)
    done("launch")
    driver.finish()
    done("finish")
    print(json.dumps(steps))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
