"""Descriptor arguments and attributes of launches in the index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aotriton.compile.objects import TensorMap
from aotriton.describe import load_family
from aotriton.errors import BuildError
from aotriton.pack.flatbuffer import read_index
from aotriton.pack.index import Contents, Packed, Part, index_bytes
from aotriton.targets import parse_target
from tests.tools import sample_pack

BUILD = {"build_set": "test"}
TILES = {
    kernel.name: kernel
    for kernel in load_family(Path(__file__).parents[2] / "gpu" / "kernels" / "tiles" / "description.py").kernels
}
SM_90 = parse_target("sm_90")


def written(name: str, *maps: TensorMap, **launch: object):
    kernel = TILES[name]
    functional, config = kernel.functional(0), kernel.default_config
    made = sample_pack.fake_object(functional, config, SM_90)
    made = replace(made, resources=replace(made.resources, tensor_maps=maps, **launch))
    part = Part(SM_90, (Packed(functional, (), (0,), "default", (made,)),))
    return read_index(index_bytes(Contents(kernel, (part,)), BUILD))


def test_arguments_and_images() -> None:
    index = written("show_tiles", TensorMap((1, 16, 64), 128), dependent=True, num_ctas=2)
    x, y = index["arguments"][:2]
    assert (x["role"], x["rank"], x["fills_nan"]) == ("descriptor", 3, True)
    assert (y["role"], y["fills_nan"]) == ("tensor", False)
    assert index["signatures"][0]["parameters"][0] == {"argument": 0, "type": "fp16", "pointer": True, "alignment": 1}
    image = index["targets"][0]["functionals"][0]["images"][0]
    assert image["tensor_maps"] == [{"block": [1, 16, 64], "swizzle": 128}]
    assert (image["dependent"], image["cooperative"], image["num_ctas"]) == (True, False, 2)


def test_code_without_tensor_maps() -> None:
    image = written("matmul")["targets"][0]["functionals"][0]["images"][0]
    assert not image["tensor_maps"]


def test_other_maps_than_descriptors_are_an_error() -> None:
    with pytest.raises(BuildError, match="code with 1 tensor maps for the descriptors A, B, C"):
        written("matmul", TensorMap((64, 64), 128))
