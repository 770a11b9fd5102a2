"""The benchmark of attention fails where what it times is wrong: bounds on arrays, and verdicts on numbers."""

import importlib
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from aotriton.flash.reference import TOP_LEFT, Window, forward

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.fixture
def check(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    yield importlib.import_module("attention_check")
    for name in ("attention_check", "attention_report"):
        sys.modules.pop(name, None)


def problem(dtype="fp16", causal=False, length=200, scale=0.25):
    """q, k, v; and the exact result in the types of a kernel."""
    chance = np.random.default_rng(7)
    q, k, v = (chance.standard_normal((1, 2, length, 16)).astype(DTYPES[dtype]) for _ in range(3))
    exact = forward(q, k, v, scale, window=Window(TOP_LEFT, TOP_LEFT) if causal else None)
    return (q, k, v), exact.out.astype(q.dtype), exact.lse.astype(np.float32)


@pytest.mark.parametrize("length", [1, 50, 96, 97, 512, 16384])
def test_the_first_the_middle_and_the_last_rows_are_held(check, length):
    parts = check.sampled(length)
    assert (parts[0].start, parts[-1].stop) == (0, length)
    assert all(0 <= part.start < part.stop <= length for part in parts)
    assert len(parts) == (1 if length <= 96 else 3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [70, 200])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_right_is_within_its_bounds(check, dtype, length, causal):
    given, out, lse = problem(dtype, causal, length)
    assert 0 < check.excess(check.parts_of(*given, 0.25, causal), out, lse) <= 1


@pytest.mark.parametrize("which", ["out", "lse"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_wrong_in_any_row(check, which, value):
    given, out, lse = problem(length=300)
    ({"out": out, "lse": lse}[which])[0, 1, 80] = value  # not of a sampled part
    assert check.excess(check.parts_of(*given, 0.25, False), out, lse) == math.inf


@pytest.mark.parametrize("row", [0, 100, 199])
@pytest.mark.parametrize(("which", "step"), [("out", 0.05), ("lse", 0.001)])
def test_what_is_beyond_its_bounds_is_wrong(check, which, step, row):
    given, out, lse = problem()
    ({"out": out, "lse": lse}[which])[0, 1, row] += step
    assert check.excess(check.parts_of(*given, 0.25, False), out, lse) > 1


def test_another_scale_or_mask_is_wrong(check):
    given, out, lse = problem(causal=True)
    assert check.excess(check.parts_of(*given, 0.26, True), out, lse) > 1
    assert check.excess(check.parts_of(*given, 0.25, False), out, lse) > 1
    given, out, lse = problem(causal=False)
    assert check.excess(check.parts_of(*given, 0.25, True), out, lse) > 1


def lines(check, ours, excess, flash=2.0e-3, cudnn=2.2e-3, names=("aotriton", "again")):
    from attention_report import Measured, Row

    errors = {"FLASH": flash, "cuDNN": cudnn, "aotriton": ours, "again": 1e-3}
    over = {"aotriton": excess, "again": 0.5}
    one = Measured(Row(64, 512, True), {}, {}, errors, excess={n: e for n, e in over.items() if e is not None})
    return list(check.failures([one], names))


@pytest.mark.parametrize("ours", [0.0, 2.2e-3, 1.1 * 2.2e-3])
def test_the_larger_error_of_the_backends_counts(check, ours):
    assert lines(check, ours, 1.0) == []
    assert lines(check, ours, 1.0, flash=2.2e-3, cudnn=1e-3) == []


@pytest.mark.parametrize(
    ("ours", "excess", "said"),
    [
        (2.43e-3, 0.5, ["off by 2.43e-03, more than 1.1 times the backends' 2.20e-03"]),
        (2e-3, 1.01, ["off by 1.01 times its bound"]),
        (2e-3, None, ["off by nan times its bound"]),
        (math.nan, math.inf, ["not finite", "off by inf times its bound"]),
        (math.inf, 0.5, ["not finite"]),
    ],
)
def test_what_is_wrong_is_named(check, ours, excess, said):
    found = lines(check, ours, excess)
    assert len(found) == len(said)
    for line, text in zip(found, said, strict=True):
        assert line.startswith("hdim 64, seqlen 512, causal: aotriton ")
        assert text in line


def test_a_backend_that_was_not_measured_sets_no_limit(check):
    assert lines(check, 2.3e-3, 0.5, cudnn=math.nan) != []
    assert lines(check, 1.0, 0.5, flash=math.nan, cudnn=math.nan) == []
    assert lines(check, 1.0, 1.5, flash=math.nan, cudnn=math.nan) != []


@pytest.fixture
def program(check, monkeypatch):
    """benchmarks/attention.py where PyTorch may be missing: nothing of it is called."""
    torch, attention = ModuleType("torch"), ModuleType("torch.nn.attention")
    torch.bfloat16, torch.float16 = "bf16", "fp16"
    attention.SDPBackend, attention.sdpa_kernel = SimpleNamespace(FLASH_ATTENTION=0, CUDNN_ATTENTION=1), None
    for name, module in {"torch": torch, "torch.nn": ModuleType("torch.nn"), "torch.nn.attention": attention}.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield importlib.import_module("attention")
    for name in ("attention", "timing"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("error", "code"), [(2e-3, 0), (math.nan, 1), (3e-3, 1)])
def test_the_exit_code_and_the_report_say_that_a_row_is_wrong(program, monkeypatch, tmp_path, capsys, error, code):
    def measure(row, *_):
        errors = {"FLASH": 2e-3, "cuDNN": 2e-3, "aotriton": error, "again": 2e-3}
        return program.Measured(row, dict.fromkeys(errors, 100.0), {}, errors, {}, dict.fromkeys(errors, 0.5))

    facts = dict.fromkeys(("date", "commit", "device", "driver", "cuDNN", "compiler", "type", "product"), "x")
    monkeypatch.setattr(program, "measure", measure)
    monkeypatch.setattr(program, "facts_of", lambda _: {**facts, "versions": {}})
    monkeypatch.setattr(program.timing, "library_on_path", lambda: None)
    monkeypatch.setattr("aotriton.runtime.open_kernel", lambda *_: None)
    words = ["--hdim", "64", "--seqlen", "512", "--causal", "no", "--out", str(tmp_path / "found")]
    monkeypatch.setattr(sys, "argv", ["attention.py", *words])
    assert program.main() == code
    text = (tmp_path / "found.md").read_text(encoding="utf-8")
    assert ("WRONG: hdim 64, seqlen 512, not causal: aotriton is" in text) == (code == 1)
    assert text in capsys.readouterr().out
