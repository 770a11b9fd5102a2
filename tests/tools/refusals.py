"""What devices say to the packs of `altered_packs`: a program that meets them, and what it has to print."""

from __future__ import annotations

import re

__all__ = ["ALTERED", "MOST_SHARED", "PROGRAM", "check"]

ALTERED = ("damaged", "foreign", "hungry")
"""What is wrong with the code, which is the name of the folder of packs."""
MOST_SHARED = 1 << 20
"""Bytes of shared memory that no device has."""
PROGRAM = """
import sys, aotriton
folder, device, what = sys.argv[1:]
if device.startswith("cuda"):
    import torch
    y = torch.full((1000,), -1, dtype=torch.int32, device="cuda")
    done = torch.cuda.synchronize
else:
    import numpy
    y, done = numpy.full(1000, -1, numpy.int32), lambda: None
good = aotriton.open_kernel("faults", "poke", folder=f"{folder}/faults", device=device)
bad = aotriton.open_kernel("faults", "poke", folder=f"{folder}/{what}", device=device)
for _ in range(2):
    try:
        bad.launch(Y=y, address=0, N=1000)
        print("launched")
    except aotriton.AotritonError as error:
        print(f"{type(error).__name__}: {error}")
done()
print("untouched", bool((y == -1).all()))
good.launch(Y=y, address=0, N=1000)
done()
print("then", int(y.sum()))
"""
"""For a process of its own, since drivers may crash: refused code, twice, and then good one.

Its arguments are the folder with the folders of packs, the device, and one of ALTERED.
"""
_WORDS = {
    "damaged": ("DeviceError", r"cu\w+ failed: CUDA_ERROR_(INVALID_IMAGE|INVALID_SOURCE|NOT_FOUND|NO_BINARY_FOR_GPU) "),
    "foreign": ("DeviceError", r"cu\w+ failed: CUDA_ERROR_NO_BINARY_FOR_GPU \(209\): .*the code object is for sm_80; "),
    "hungry": ("UnsupportedError", rf"needs {MOST_SHARED} bytes of shared memory, a block has 232448"),
}


def check(said: str, what: str, device: str) -> None:
    """What the program has to print for one of ALTERED: both refusals with names, and that nothing was written."""
    kind, words = _WORDS[what]
    refused = rf"{kind}: faults\.poke.* on {re.escape(device)} \(sm_90\): .*{words}.*"
    refused += rf"; pack .*{what}/nvidia-sm90/faults/poke\.zip$"
    assert len(re.findall(refused, said, re.MULTILINE)) == 2, said
    assert "launched" not in said
    assert "untouched True" in said
