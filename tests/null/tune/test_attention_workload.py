"""The check of attention's configs: what is right passes, what is a little wrong, or not written, does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from aotriton.flash.description import ATTN_FWD
from aotriton.flash.reference import Window, forward
from aotriton.tune.attention import AttentionForward
from tests.tools.host_gpu import HostGpu
from tests.tools.tuning import FEATURES

Change = Callable[[Any, Any], None]


def launch(gpu: HostGpu, scale: float = 1.0, change: Change = lambda out, lse: None, window: int = 0) -> Any:
    """A kernel that is right but for what is asked for: float64, rounded to the output's type."""

    def launch(arguments: Mapping[str, Any]) -> None:
        q, k, v = (gpu.download(arguments[name]) for name in ("Q", "K", "V"))
        sides = arguments["Window_left"], arguments["Window_right"]
        seen = Window(sides[0], sides[1] + window) if arguments["CAUSAL_TYPE"] else None
        found = forward(q, k, v, arguments["Sm_scale"] * scale, window=seen)
        out, lse = found.out.astype(q.dtype), found.lse.astype(np.float32)
        change(out, lse)
        gpu.upload(arguments["Out"], out)
        gpu.upload(arguments["L"], lse)

    return launch


def errors(gpu: HostGpu, launched: Any, **values: Any) -> dict[str, float]:
    functional = ATTN_FWD.functional(ATTN_FWD.number_of({**FEATURES, "BLOCK_DMODEL": 16, **values}))
    return AttentionForward().errors(gpu, functional, launched)  # type: ignore[arg-type]  # a stand-in


@pytest.fixture
def gpu() -> HostGpu:
    return HostGpu(None)


@pytest.mark.parametrize("kind", ["*fp16:16", "*bf16:16", "*fp32:16", "*fp16"])
@pytest.mark.parametrize(("causal", "padded"), [(0, False), (3, True)])
def test_what_is_right_passes(gpu: HostGpu, kind: str, causal: int, padded: bool) -> None:
    found = errors(gpu, launch(gpu), Q=kind, CAUSAL_TYPE=causal, PADDED_HEAD=padded)
    assert 0 < found["out"] <= 1
    assert 0 < found["lse"] <= 1


def nothing(arguments: Mapping[str, Any]) -> None:
    """Launches nothing: the outputs stay what they were."""


def last_row(out: Any, lse: Any) -> None:
    out[-1, -1, -1, -1] = np.nan


def first_sum(out: Any, lse: Any) -> None:
    lse[0, 0, 0] = np.inf


def test_what_is_wrong_does_not(gpu: HostGpu) -> None:
    assert set(errors(gpu, nothing).values()) == {np.inf}
    assert errors(gpu, launch(gpu, change=last_row))["out"] == np.inf
    assert errors(gpu, launch(gpu, change=first_sum))["lse"] == np.inf
    assert errors(gpu, launch(gpu, scale=1.01))["lse"] > 1
    assert errors(gpu, launch(gpu, window=1), CAUSAL_TYPE=3)["out"] > 1


def test_timed_problems_are_as_large_as_asked_for_and_select_the_functional(gpu: HostGpu) -> None:
    workload = AttentionForward(tokens=64, hidden=64)
    values = {**FEATURES, "BLOCK_DMODEL": 32, "Q": "*fp16", "CAUSAL_TYPE": 3, "PADDED_HEAD": True}
    functional = ATTN_FWD.functional(ATTN_FWD.number_of(values))
    keys = {"Max_seqlen_q": 16, "Max_seqlen_k": 32}
    given = workload.timed(gpu, functional, keys)  # type: ignore[arg-type]  # a stand-in
    assert (given["Q"].shape, given["K"].shape) == ((2, 2, 16, 24), (2, 2, 32, 24))
    assert given["Q"].address % 16 == 2  # no better aligned than the functional takes it
    assert (given["Window_left"], given["Window_right"]) == (-2147483646, -2147483646)
    assert not np.isnan(gpu.download(given["V"]).astype(np.float32)).any()
    workload.poison(gpu, given)  # type: ignore[arg-type]
    assert not workload.written(gpu, given)  # type: ignore[arg-type]
    launch(gpu)(given)
    assert workload.written(gpu, given)  # type: ignore[arg-type]
    longer = workload.timed(gpu, functional, {"Max_seqlen_q": 256, "Max_seqlen_k": 256})  # type: ignore[arg-type]
    assert longer["Q"].shape == (1, 2, 256, 24)
