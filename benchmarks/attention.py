"""The forward against PyTorch's FLASH and cuDNN backends: speed, and error against float64 beside each figure.

    python benchmarks/attention.py [--packs FOLDER …] [--hdim 64,128] [--seqlen 512] [--causal no] [--dtype fp16]
                                   [--rounds N] [--out NAME]

16,384 tokens and a hidden size of 2048, split over batch and heads. All that is compared runs in one process on the
same tensors, in turns whose order changes, timed by device events over several launches; medians. The first folder of
packs is timed twice: what lies between its two columns is noise. Two folders compare two builds; without any, the packs
that the library finds are taken. The exit status is 1 if one of ours isn't finite or is beyond the error model's
bounds, or its error is more than 1.1 times the larger one of the backends. Writes NAME.json and NAME.md. Runs from the
tree and from the folder of `make packs-gpu`, by its run.py. PyTorch holds the tensors and is the peer; the library
takes no part of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import timing
import torch
from attention_check import excess, failures, parts_of
from attention_report import AGAIN, CHECKED_HEADS, PEER_NAMES, Measured, Row, report
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD_DIMS, LENGTHS = (64, 128, 256), (512, 2048, 8192, 16384)
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
BACKENDS = (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION)
PEERS = dict(zip(PEER_NAMES, BACKENDS, strict=True))
TOP_LEFT = -2147483647
SAMPLE_MS = 4.0  # what one sample takes at least, in launches one after another

Call = Callable[[], Any]


def arguments_of(row: Row, q: Any, k: Any, v: Any, out: Any, lse: Any) -> dict[str, Any]:
    batch, heads, length, hdim = row.shape
    side = TOP_LEFT if row.causal else 0
    return {
        "Q": q, "K": k, "V": v, "Out": out, "L": lse, "Sm_scale": hdim**-0.5, "Num_head_q": heads, "Num_head_k": heads,
        "Num_seqlens": 0, "Max_seqlen_q": length, "Max_seqlen_k": length, "Hdim_qk": hdim, "Hdim_vo": hdim,
        "ENABLE_DROPOUT": False, "dropout_p": 0.0, "philox_offset2": 0, "CAUSAL_TYPE": 3 if row.causal else 0,
        "Window_left": side, "Window_right": side, "Num_CU": torch.cuda.get_device_properties(0).multi_processor_count,
        "Batch": batch,
    }  # fmt: skip


def peer(backend: SDPBackend, row: Row, q: Any, k: Any, v: Any) -> Call:
    def call() -> Any:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=row.causal)

    return call


def reference(row: Row, q: Any, k: Any, v: Any) -> Any:
    """Attention in float64, some rows at a time."""
    q, k, v = q.double(), k.double(), v.double()
    out, positions = torch.empty_like(q), torch.arange(row.seqlen, device=q.device)
    for rows in positions.split(2048):
        scores = q[:, :, rows] @ k.transpose(-1, -2) * row.hdim**-0.5
        if row.causal:
            scores.masked_fill_(positions > rows[:, None], -math.inf)
        out[:, :, rows] = torch.softmax(scores, -1) @ v
    return out


def sample(call: Call, launches: int) -> float:
    """Microseconds of one launch, the mean of some that follow each other."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / launches


def in_turns(calls: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    warm = {name: min(sample(call, 2) for _ in range(2)) for name, call in calls.items()}
    launches = {name: max(2, math.ceil(SAMPLE_MS * 1e3 / time)) for name, time in warm.items()}
    order, samples = list(calls), {name: [] for name in calls}
    chance = random.Random(20)
    for _ in range(rounds):
        chance.shuffle(order)
        for name in order:
            samples[name].append(sample(calls[name], launches[name]))
    return samples


def measure(row: Row, dtype: Any, kernels: dict[str, Any], rounds: int) -> Measured:
    """Checks, then times, all that is compared on one row."""
    q, k, v = (torch.randn(row.shape, device="cuda", dtype=dtype) for _ in range(3))
    exact = reference(row, *(tensor[:1, :CHECKED_HEADS] for tensor in (q, k, v)))
    out, lse = torch.empty_like(q), torch.empty(row.shape[0] * row.shape[1], row.seqlen, device="cuda")
    given = arguments_of(row, q, k, v, out, lse)
    stream = torch.cuda.current_stream()
    calls: dict[str, Call] = {name: peer(backend, row, q, k, v) for name, backend in PEERS.items()}
    errors = {name: relative_error(call(), exact) for name, call in calls.items()}
    parts = parts_of(*map(array, (q, k, v)), row.hdim**-0.5, row.causal)
    configs, over = {}, {}
    for name, kernel in kernels.items():
        calls[name] = lambda kernel=kernel: kernel.launch(given, stream=stream)
        out.fill_(math.nan)
        lse.fill_(math.nan)
        calls[name]()
        finite = bool(torch.isfinite(out).all() and torch.isfinite(lse).all())
        errors[name] = relative_error(out, exact) if finite else math.nan
        over[name] = excess(parts, array(out), array(lse.view(row.shape[:3])))
        configs[name] = config_text(kernel.explain(given))
    samples = in_turns(calls, rounds)
    speed = {name: row.operations / statistics.median(times) / 1e6 for name, times in samples.items()}
    return Measured(row, speed, samples, errors, configs, over)


def array(tensor: Any) -> Any:
    """The heads of a tensor that are checked, for NumPy, which has no bf16 of its own."""
    head = tensor[:1, :CHECKED_HEADS].contiguous()
    if head.dtype != torch.bfloat16:
        return head.cpu().numpy()
    import ml_dtypes

    return head.view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)


def relative_error(out: Any, exact: Any) -> float:
    return float((out[:1, :CHECKED_HEADS].double() - exact).norm() / exact.norm())


def config_text(answer: Any) -> str:
    trace = getattr(answer, "trace", answer)
    return str(trace.get("config", ""))


def facts_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """On what and with what is measured, the same run's matrix product among it: what these figures can be held to."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = statistics.median(sample(lambda: a @ b, 4) for _ in range(5))
    return {
        **timing.facts("attention", torch.cuda.get_device_name()),
        "cuDNN": torch.backends.cudnn.version(),
        "type": arguments.dtype,
        "rounds": arguments.rounds,
        "product": round(2 * 8192**3 / product / 1e6),
    }


def parsed() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packs", action="append", metavar="FOLDER")
    parser.add_argument("--hdim", type=numbers, default=list(HEAD_DIMS))
    parser.add_argument("--seqlen", type=numbers, default=list(LENGTHS))
    parser.add_argument("--causal", choices=["no", "yes", "both"], default="both")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, help="a file's name without its ending")
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    timing.library_on_path()
    from aotriton.runtime import open_kernel

    folders = arguments.packs or [None]
    names = [Path(folder).name if len(folders) > 1 else "aotriton" for folder in folders]
    if len(set(names)) != len(names):
        sys.exit("two folders of packs have the same name; their columns could not be told apart")
    kernels = {name: open_kernel("flash", "attn_fwd", folder) for name, folder in zip(names, folders, strict=True)}
    kernels[AGAIN] = kernels[names[0]]
    facts = facts_of(arguments)
    causal = {"no": [False], "yes": [True], "both": [False, True]}[arguments.causal]
    results = []
    for row in itertools.starmap(Row, itertools.product(arguments.hdim, arguments.seqlen, causal)):
        results.append(measure(row, DTYPES[arguments.dtype], kernels, arguments.rounds))
        print(row, {name: round(value) for name, value in results[-1].tflops.items()}, file=sys.stderr, flush=True)
    wrong = [f"WRONG: {what}" for what in failures(results, [*names, AGAIN])]
    text = "\n".join([*report(results, [*names, AGAIN], facts), *wrong]) + "\n"
    print(text)
    if arguments.out:
        arguments.out.with_suffix(".md").write_text(text)
        rows = [asdict(one) for one in results]
        arguments.out.with_suffix(".json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
