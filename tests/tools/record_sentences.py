"""Records the inputs of a real model's attentions: q, k, v of each layer and sentence of examples/sentence_search.py.

    python tests/tools/record_sentences.py FILE.npz

The encoder runs in float32 on the CPU, its attention in float64. What is kept is fp16, the example's own precision.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sentence_search.py"
MOST_BYTES = 2_000_000


def load_example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("sentence_search", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(path: Path) -> int:
    """Writes the file; gives the number of attentions in it."""
    example = load_example()
    folder = example.model_folder()
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    calls = []

    def attention(q, k, v):
        calls.append([np.ascontiguousarray(x, np.float16) for x in (q, k, v)])
        return example.exact_attention(*(x.astype(np.float64) for x in (q, k, v))).astype(q.dtype)

    for sentence in example.SENTENCES:
        example.encode(weights, tokenizer.encode(sentence).ids, attention)
    named = {f"{number:02}-{name}": x for number, call in enumerate(calls) for name, x in zip("qkv", call, strict=True)}
    np.savez_compressed(path, **named)
    if path.stat().st_size > MOST_BYTES:
        sys.exit(f"error: {path} has {path.stat().st_size} bytes, more than {MOST_BYTES}")
    return len(calls)


if __name__ == "__main__":
    print(f"{record(Path(sys.argv[1]))} attentions recorded in {sys.argv[1]}")
