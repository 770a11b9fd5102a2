"""A tiny sweep on a GPU: checked, timed, stored, baked, and not measured twice."""

from pathlib import Path

import numpy as np
import pytest

from aotriton import open_device, pack_paths
from aotriton.flash.description import ATTN_FWD
from aotriton.targets import parse_target
from aotriton.tune.bake import bake
from aotriton.tune.gpu import Gpu, GpuArray
from aotriton.tune.measure import Order, measure
from aotriton.tune.packs import offers
from aotriton.tune.results import read_results
from aotriton.tune.store import store
from aotriton.tune.timing import Effort

FAMILY = "aotriton.flash.description"
WHERE = {"Q": "*fp16:16", "BLOCK_DMODEL": 64, "PADDED_HEAD": False}


class Quiet:
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.notes = []

    def start(self, groups, configs):
        pass

    def group(self, functional, problem, results):
        pass

    def note(self, text):
        self.notes.append(text)

    def stop(self):
        pass


@pytest.fixture
def device():
    """The current GPU."""
    return open_device(None)


@pytest.fixture
def packs(device):
    """The folder of packs that has attention for this GPU."""
    target = parse_target(device.target)
    found = [Path(one) for one in pack_paths() if (Path(one) / target.pack / "flash" / "attn_fwd.zip").is_file()]
    assert found, f"no pack of attention for {target.name} in {pack_paths()}"
    return found[0]


def test_a_sweep_from_measuring_to_tables(device, packs, tmp_path):
    out = tmp_path / "results.jsonl"
    effort = Effort(rounds=5, seconds=1.0)
    order = Order(packs, "attn_fwd", lengths=(128, 1024), sizes={"tokens": 4096}, where=WHERE, effort=effort)
    summary = measure(order, out, Quiet())
    offered = [one.functional.values for one in offers(packs, ATTN_FWD, parse_target(device.target))]
    assert summary.groups == 2 * sum(values.items() >= WHERE.items() for values in offered) > 0
    assert (summary.wrong, summary.failed) == ([], [])
    found = read_results(out)
    (run,) = found.runs.values()
    assert (run.gpu, run.device) == (f"{device.target}_mod0", device.description)
    assert run.facts["driver"]
    for one in found.results:
        assert 0 < one.errors["out"] <= 1
        assert 0 < one.errors["lse"] <= 1
        assert 1 < one.times.p20 <= one.times.median <= one.times.p80 < 1e5
    assert measure(order, out, Quiet()).groups == 0
    database, tables = tmp_path / "tuning.sql", tmp_path / "tables.json"
    assert len(store([out], database, FAMILY, 0.02, False, print).winners) == summary.groups
    assert bake(database, FAMILY, "attn_fwd", tables, False, print).rows == summary.groups


def test_more_work_takes_longer(packs, tmp_path):
    """Times are of the device: sixteen times the tokens take more than four times as long."""
    medians = []
    for tokens in (8192, 131072):
        out = tmp_path / f"{tokens}.jsonl"
        order = Order(packs, "attn_fwd", lengths=(1024,), sizes={"tokens": tokens}, where={**WHERE, "CAUSAL_TYPE": 0})
        measure(order, out, Quiet())
        medians.append(min(one.times.median for one in read_results(out).results))
    assert medians[1] > 4 * medians[0]


def test_memory_of_a_gpu(device):
    gpu = Gpu(device)
    values = np.arange(1000, dtype=np.float32)
    array = GpuArray(gpu.allocate(values.nbytes).address, values.shape, values.dtype)
    gpu.upload(array, values)
    assert np.array_equal(gpu.download(array), values)
    gpu.poison(array)
    assert np.isnan(gpu.download(array)).all()
    start, end = gpu.event(), gpu.event()
    gpu.record(start)
    gpu.flush()
    gpu.record(end)
    assert 5 < gpu.microseconds(start, end) < 1e5
    assert gpu.reached(end)
