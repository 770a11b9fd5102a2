"""What the packs of this tree say of scratch: none for 16-bit types up to head dim 128, on every target."""

import re
from pathlib import Path

import pytest

from aotriton.runtime import index_of, pack_paths
from aotriton.targets import TARGETS

WIDEST_WITHOUT_SPILLS = {"CDNA": 512}  # DEFAULT elsewhere
DEFAULT = 128


def images():
    """(target, functional, spills) of every 16-bit code object in the first folder of packs that has attention."""
    for folder in map(Path, pack_paths()):
        files = sorted(folder.glob("*/flash/attn_fwd.zip"))
        if not files:
            continue
        for file in files:
            for target in index_of(file)["targets"]:
                for functional in target["functionals"]:
                    for image in functional["images"]:
                        yield target["name"], functional["text"], image["spills"]
        return


def test_sixteen_bit_types_do_not_spill():
    seen = set()
    spilled = []
    for target, functional, spills in images():
        width = int(re.search(r"BLOCK_DMODEL=(\d+)", functional)[1])
        widest = WIDEST_WITHOUT_SPILLS.get(TARGETS[target].family, DEFAULT)
        if target == "host" or "fp32" in functional or width > widest:
            continue
        seen.add(target)
        if spills != 0:
            spilled.append((target, functional, spills))
    if not seen:
        pytest.skip("there are no packs for GPUs; `make setup` builds them")
    assert not spilled
