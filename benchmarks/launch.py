"""What a call costs on the host, side by side in one run, and what the first launch of a process costs.

    python benchmarks/launch.py [--device cuda:0] [--head-dim 64] [--calls N] [--json FILE] [--without c,kernel]

Each call enqueues one launch on a tiny problem; its time is until it returns. Without --device: `cuda:0` where PyTorch
sees a GPU, else the recording driver, which costs nothing itself: the figures are then this library's own part. The
exit status is 1 where one of them is over its bar, or has a bar and couldn't be measured: C and C++ calls need the
program of `cmake --build build/cmake --target launch_cost`, `Kernel.launch` the packs of `make packs-gpu`; `--without`
says that they are left out on purpose. Runs from the tree and from the folder of `make packs-gpu`, by its
run.py. The results go to FILE, else into benchmarks/results/ where that is.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import timing
from launch_report import STEPS, over, show, unmeasured

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OVER_DRIVER, PYTHON, FIRST, DECODING = 0.5, 8.0, 20.0, 10.0
"""The bars: µs above the driver's own launch, µs, ms, ms."""
DRIVER = "the driver's own launch"
# What benchmarks/launch_cost.cc calls its rows.
PROGRAM_ROWS = {
    "driver": DRIVER,
    "c_api": "C: aotriton_attn_fwd",
    "c_api_stream_device": "C: the same, its device that of the stream",
    "cpp_v3": "C++: v3::flash::attn_fwd",
    "query_only": "C: the choice alone, no launch",
    "ours": "C++: the call on a driver that does nothing",
    "ours_decided_anew": "C++: the same, nothing remembered",
}
CALLS = [PROGRAM_ROWS[name] for name in ("c_api", "c_api_stream_device", "cpp_v3")]
PYTHON_CALLS = ("aotriton.attn_fwd(q, k, v, out=)", "aotriton.attn_fwd(q, k, v, out=, lse=)")
BINDING, KERNEL = "pyaotriton attn_fwd, params filled", "aotriton.Kernel.launch, rms_norm"
# What --without leaves out, and the rows that go with it.
PARTS = {"c": CALLS, "kernel": [KERNEL]}
# What belongs to a first launch with the context made; the code object's step is decoding, loading and a choice.
COUNTED = ("library", "device", "index", "code object", "launch")
Row = dict[str, Any]


def program() -> Path | None:
    """The C++ program, where it was built."""
    found = [path for path in (ROOT / "lib/launch_cost", ROOT / "build/cmake/lib/launch_cost") if path.exists()]
    return found[0] if found else None


def program_rows(device: str, calls: int, left_out: list[str]) -> Iterator[Row]:
    """The driver's own launch, and C and C++ calls, as the program measures them."""
    path = program()
    if path is None:
        left_out.append("C and C++ calls and the driver's own launch: launch_cost isn't built")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "launch.json"
        words = [str(path), "--device", device, "--calls", str(calls), "--json", str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode or not file.exists():
            said = done.stderr.strip() or f"exit code {done.returncode}"
            left_out.append(f"C and C++ calls and the driver's own launch: launch_cost failed: {said}")
            return
        found = json.loads(file.read_text(encoding="utf-8"))
    for row in found["rows"]:
        name = PROGRAM_ROWS.get(row["name"], row["name"])
        yield {"what": name, **{key: round(row[key], 3) for key in ("median", "p10", "p90", "calls")}}


class Tensors:
    """q, k, v, out, lse of the problem, in the device's memory; x, w, y for rms_norm."""

    def __init__(self, device: str, head_dim: int) -> None:
        shape = (1, 8, 128, head_dim)
        if device.startswith(("cuda", "hip")):
            import torch

            self.made = torch.device("cuda", int(device.split(":")[1]))
            self.drain: Callable[[], Any] = torch.cuda.synchronize
            new, half, single = torch.randn, {"dtype": torch.float16, "device": self.made}, {"device": self.made}
            self.q, self.k, self.v, self.out = (new(*shape, **half) for _ in range(4))
            self.x, self.y, self.w = new(4, 1000, **half), new(4, 1000, **half), new(1000, **half)
            self.lse = new(8, 128, **single)
            self.stream = torch.cuda.current_stream().cuda_stream
        else:
            import numpy as np

            from tests.tools.recording import Recorder

            self.drain, self.stream = Recorder().reset, 0  # or its list of launches would grow
            self.q, self.k, self.v, self.out = (np.zeros(shape, np.float16) for _ in range(4))
            self.x, self.y, self.w = (np.zeros(size, np.float16) for size in ((4, 1000), (4, 1000), 1000))
            self.lse = np.zeros((8, 128), np.float32)


def view(tensor: Any) -> Any:
    """The binding's view of a tensor of PyTorch or NumPy."""
    from pyaotriton import T2, T4, DType

    kind = {"float16": DType.kFloat16, "float32": DType.kFloat32}[str(tensor.dtype).removeprefix("torch.")]
    if hasattr(tensor, "data_ptr"):
        address, strides = tensor.data_ptr(), tensor.stride()
    else:
        address, strides = tensor.ctypes.data, [step // tensor.itemsize for step in tensor.strides]
    return {2: T2, 4: T4}[len(tensor.shape)](address, tuple(tensor.shape), strides, kind)


def python_calls(
    device: str, tensors: Tensors, without: list[str], left_out: list[str]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Our own calls from Python."""
    import aotriton
    from pyaotriton import Stream, hipError_t
    from pyaotriton.v3.flash import attn_fwd, attn_fwd_params

    q, k, v, out, lse = tensors.q, tensors.k, tensors.v, tensors.out, tensors.lse
    asked = {} if device.startswith(("cuda", "hip")) else {"device": device}  # GPU tensors say where they are
    yield PYTHON_CALLS[0], lambda: aotriton.attn_fwd(q, k, v, out=out, **asked)
    yield PYTHON_CALLS[1], lambda: aotriton.attn_fwd(q, k, v, out=out, lse=lse, **asked)
    params, stream = attn_fwd_params(), Stream(tensors.stream)
    params.Q, params.K, params.V, params.Out = (view(tensor) for tensor in (q, k, v, out))
    params.Sm_scale = q.shape[3] ** -0.5
    status = attn_fwd(params, attn_fwd_params.kVersion, stream)
    if status != hipError_t.hipSuccess:
        left_out.append(f"pyaotriton: {status}")
    else:
        yield BINDING, lambda: attn_fwd(params, attn_fwd_params.kVersion, stream)
    if "kernel" in without:
        return
    folder = ROOT / "packs" / "rmsnorm"
    if not folder.is_dir():
        left_out.append("Kernel.launch: the packs of examples/rmsnorm are in the folder of `make packs-gpu` only")
        return
    kernel = aotriton.open_kernel("norm", "rms_norm", folder=folder, device=device)
    arguments = {"X": tensors.x, "W": tensors.w, "Y": tensors.y, "Rows": 4, "Columns": 1000, "Epsilon": 1e-6}
    yield KERNEL, lambda: kernel.launch(**arguments)


def other_calls(device: str, tensors: Tensors, left_out: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """PyTorch's and Triton's, where they and a GPU are."""
    if not device.startswith("cuda"):
        left_out.append(f"PyTorch's and Triton's launches: they don't run on {device}")
        return
    import launch_contenders

    for title, call in launch_contenders.pytorch_calls(tensors.q, tensors.k, tensors.v):
        if isinstance(call, str):
            left_out.append(f"{title}: {call}")
        else:
            yield title, call
    if importlib.util.find_spec("triton") is None:
        left_out.append("Triton's JIT launcher: Triton is not installed")
        return
    yield from launch_contenders.triton_calls(tensors.made)


def with_bars(rows: list[Row]) -> list[Row]:
    """The program's rows; C and C++ calls have a bar if the driver's own launch was measured."""
    own = next((row["median"] for row in rows if row["what"] == DRIVER), None)
    bars = {} if own is None else dict.fromkeys(CALLS, round(own + OVER_DRIVER, 3))
    return [{**row, "bar": bars[row["what"]]} if row["what"] in bars else row for row in rows]


def wanted_rows(without: list[str]) -> dict[str, str]:
    """By title, the bars in words of the rows that a run must measure."""
    bars = dict.fromkeys(CALLS, f"driver's own + {OVER_DRIVER:.2f}")
    bars |= dict.fromkeys((*PYTHON_CALLS, BINDING, KERNEL), f"{PYTHON:.2f}")
    given_up = [title for part in without for title in PARTS[part]]
    return {title: bar for title, bar in bars.items() if title not in given_up}


def warm_rows(device: str, head_dim: int, calls: int, without: list[str], left_out: list[str]) -> list[Row]:
    """All rows with what they took; ours with their bars."""
    rows = [] if "c" in without else with_bars(list(program_rows(device, calls, left_out)))
    tensors = Tensors(device, head_dim)
    rows.append({"what": "clock: nothing called", **timing.sample(lambda: None, tensors.drain, calls)})
    for what, call in python_calls(device, tensors, without, left_out):
        rows.append({"what": what, **timing.sample(call, tensors.drain, calls), "bar": PYTHON})
    for what, call in other_calls(device, tensors, left_out):
        rows.append({"what": what, **timing.sample(call, tensors.drain, calls)})
    return rows


def one_process(device: str, head_dim: int, how: str) -> dict[str, float]:
    """The steps of one new process, decoding and the driver's loading taken from its log."""
    environment = {**os.environ, "AOTRITON_DEBUG_LEVEL": "3"}
    command = [sys.executable, str(HERE / "first_launch.py"), device, str(head_dim), how]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed\n\n{done.stderr}")
    steps: dict[str, float] = json.loads(done.stdout)
    if how == "steps":
        steps |= from_log(done.stderr)
    return steps


def from_log(text: str) -> dict[str, float]:
    """Decoding and the driver's loading in ms, as the library's log says; the program ends if it doesn't."""
    log = re.search(r"decoding took (\d+) us, the driver (\d+) us", text)
    if log is None:
        wanted = "`decoding took … us, the driver … us`"
        hint = "is the library that AOTRITON_LIBRARY names of this version?"
        sys.exit(f"error: the log of a first launch (AOTRITON_DEBUG_LEVEL=3) has no line {wanted}; {hint}\n\n{text}")
    return dict(zip(("decoding", "module"), (int(number) / 1000 for number in log.groups()), strict=True))


def first_launch(device: str, head_dim: int, processes: int) -> dict[str, Any]:
    """Medians over processes, ms: each step; the sum of those that count; and the same without steps."""
    found = [one_process(device, head_dim, "steps") for _ in range(processes)]
    whole = [one_process(device, head_dim, "whole") for _ in range(processes)]
    steps = {name: round(statistics.median(one[name] for one in found), 3) for name in STEPS}
    together = [sum(one[name] for name in ("library", "device", "launch")) for one in whole]
    return {
        "processes": processes,
        "steps": steps,
        "sum": round(statistics.median(sum(one[name] for name in COUNTED) for one in found), 3),
        "whole": round(statistics.median(together), 3),
        "bar": FIRST,
        "decoding_bar": DECODING,
    }


def default_device() -> str:
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return "cuda:0"
    return "record:sm_90"


def parts(text: str) -> list[str]:
    found = text.split(",")
    if not set(found) <= set(PARTS):
        raise argparse.ArgumentTypeError(f"{text} is not of {', '.join(PARTS)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="cuda:0, record:sm_90, … (default: the GPU, else the recording driver)")
    parser.add_argument("--head-dim", type=int, default=64, help="of the problem (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=5000, help="of each kind (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=7, help="of first launches (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument(
        "--without", type=parts, default=[], metavar="PART,…", help=f"rows to leave out: {', '.join(PARTS)}"
    )
    arguments = parser.parse_args()
    timing.library_on_path()
    sys.path.insert(1, str(ROOT))
    import aotriton

    device = arguments.device or default_device()
    opened = aotriton.open_device(device)
    if not device.startswith(("cuda", "hip")):
        os.environ["AOTRITON_DEVICE"] = device  # how pyaotriton is told
    left_out = [f"{', '.join(PARTS[part])}: by --without {part}" for part in arguments.without]
    found = {**timing.facts("launch", opened.description or opened.name)}
    found["problem"] = f"fp16, (1, 8, 128, {arguments.head_dim})"
    found["rows"] = warm_rows(device, arguments.head_dim, arguments.calls, arguments.without, left_out)
    found["not_measured"] = unmeasured(found["rows"], wanted_rows(arguments.without))
    found["first_launch"] = first_launch(device, arguments.head_dim, arguments.processes)
    if device.startswith("record"):
        left_out.append("any driver's cost: the recording driver notes a launch and returns")
    found["left_out"] = left_out
    print("\n".join(show(found)))
    path = arguments.json
    if path is None and (HERE / "results").is_dir() and not device.startswith("record"):
        path = HERE / "results" / f"{found['date'][:10]}-{found['device'].split()[-1].lower()}-launch.json"
    if path is not None:
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"kept in {path}")
    return 1 if over(found) or found["not_measured"] else 0


if __name__ == "__main__":
    sys.exit(main())
