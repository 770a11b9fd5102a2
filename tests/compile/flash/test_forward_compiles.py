"""The forward kernel compiles for every target with the config that the tables give it, and fits."""

import pytest

from aotriton.compile import CodeObject, Task, compile_tasks, table_for
from aotriton.flash.description import ATTN_FWD
from aotriton.targets import TARGETS

GPUS = [target for target in TARGETS.values() if target.vendor != "host"]
CAUSAL = {
    "Q": "*fp16:16",
    "BLOCK_DMODEL": 64,
    "PADDED_HEAD": False,
    "ENABLE_DROPOUT": False,
    "CAUSAL_TYPE": 3,
    "BIAS_TYPE": 0,
    "VARLEN": False,
}


def task(target, **values):
    functional = ATTN_FWD.functional(ATTN_FWD.number_of({**CAUSAL, **values}))
    return Task(ATTN_FWD, functional, table_for(ATTN_FWD, functional, target).configs[0], target)


@pytest.fixture(scope="module")
def objects():
    """The commonest causal attention for every target; the build of packs has them in its cache."""
    tasks = {target.name: task(target) for target in GPUS}
    outcomes = compile_tasks(list(tasks.values()), workers=1)
    return {name: outcomes[one] for name, one in tasks.items()}


@pytest.mark.parametrize("target", GPUS, ids=lambda target: target.name)
def test_it_compiles_fits_and_spills_nothing(objects, target):
    found = objects[target.name]
    assert isinstance(found, CodeObject), found
    assert found.resources.symbol == "attn_fwd"
    assert found.resources.shared <= target.shared_memory
    assert found.resources.threads == found.resources.num_warps * target.warp_size
    assert found.resources.spills == 0


def test_every_functional_has_a_table_of_its_own_and_only_causal_ones_are_persistent():
    for target in TARGETS.values():
        for functional in ATTN_FWD.functionals():
            if functional.excluded(target) is None:
                table = table_for(ATTN_FWD, functional, target)
                assert table.source != "default", (target.name, functional.signature)
                persistent = any(dict(config.performance)["PERSISTENT_TYPE"] for config in table.configs)
                assert not persistent or functional["CAUSAL_TYPE"], (target.name, functional.signature)
