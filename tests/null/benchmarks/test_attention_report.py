"""The benchmark of attention: what it counts, its table and its means. Measuring itself needs a GPU and PyTorch."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
RESULTS = sorted(BENCHMARKS.glob("results/*-attention.json"))


@pytest.fixture
def attention(monkeypatch):
    spec = importlib.util.spec_from_file_location("attention_report", BENCHMARKS / "attention_report.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "attention_report", module)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_a_row_is_so_many_tokens_of_so_large_a_hidden_size(attention):
    row = attention.Row(128, 2048, False)
    batch, heads, length, hdim = row.shape
    assert (batch * length, heads * hdim) == (16384, 2048)
    assert row.operations == 4 * batch * heads * length**2 * hdim
    assert attention.Row(128, 2048, True).operations == row.operations / 2


def measured(attention, row, ours):
    speed = {"FLASH": 100.0, "cuDNN": 400.0, "aotriton": ours, "again": ours}
    return attention.Measured(row, speed, {}, dict.fromkeys(speed, 2.2e-3))


FACTS = {
    "versions": {"torch": "2"}, "date": "2026-12-01T00:00:00", "commit": "abc", "device": "a GPU", "driver": "1",
    "cuDNN": 9, "type": "bf16", "product": 700, "compiler": "3.9.0",
}  # fmt: skip


def test_the_report_has_each_row_and_geometric_means_over_all_and_by_group(attention):
    rows = [attention.Row(64, 512, False), attention.Row(128, 512, True)]
    results = [measured(attention, row, ours) for row, ours in zip(rows, (100.0, 400.0), strict=True)]
    text = "\n".join(attention.report(results, ["aotriton", "again"], FACTS))
    assert "| 64 | 512 | no | 100 (2.20e-03) | 400 (2.20e-03) | 100 (2.20e-03) | 100 (2.20e-03) | 1.00 | 0.25 |" in text
    assert "| all rows | 2.000 | 0.500 | 1.000 |" in text
    assert "| hdim 128 | 4.000 | 1.000 | 1.000 |" in text
    assert "| causal | 4.000 | 1.000 | 1.000 |" in text
    assert "packs by Triton 3.9.0" in text


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_kept_results_say_in_words_what_they_say_in_numbers(attention, path):
    found = json.loads(path.read_text(encoding="utf-8"))
    results = [attention.Measured(**{**row, "row": attention.Row(**row["row"])}) for row in found["rows"]]
    text = "\n".join(attention.report(results, ["aotriton", "again"], found["facts"])) + "\n"
    assert path.with_suffix(".md").read_text(encoding="utf-8") == text
    for one in results:
        assert one.errors["aotriton"] <= 1.1 * one.errors["cuDNN"], one.row
