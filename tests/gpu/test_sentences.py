"""A real model's attentions: the inputs of each layer of examples/sentence_search.py, recorded beforehand."""

import ml_dtypes
import numpy as np
import pytest

from tests.tools.attention import check, poisoned
from tests.tools.cases import run

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}


@pytest.fixture(scope="module")
def calls(prepared):
    """q, k, v of each call."""
    with np.load(prepared / "data" / "sentences.npz") as recorded:
        numbers = sorted({name.split("-")[0] for name in recorded.files})
        return [[recorded[f"{number}-{name}"] for name in "qkv"] for number in numbers]


@pytest.mark.parametrize("dtype", DTYPES)
def test_attentions_of_a_sentence_encoder(calls, memory, dtype):
    assert len(calls) == 24
    for call in calls:
        q, k, v = (tensor.astype(DTYPES[dtype]) for tensor in call)
        assert q.shape[1::2] == (12, 32)
        out, lse = run(memory, q, k, v, out=poisoned(q.shape, q.dtype))
        check(q, k, v, out, lse, None)
