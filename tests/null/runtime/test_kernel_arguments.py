"""Arguments of a kernel by name: as a mapping too, so that no name of a Triton function is out of reach."""

import pytest

from aotriton import ArgumentError, Kernel

NAMES = {"self": 1, "more": 2, "grid": 3, "stream": 4, "config": 5}


class Asked(Exception):
    """What a call would have asked the library."""


@pytest.fixture
def kernel(monkeypatch):
    def prepare(self, grid, config, arguments, may_ask):
        raise Asked(grid, config, arguments)

    monkeypatch.setattr(Kernel, "_prepare", prepare)
    return object.__new__(Kernel)


@pytest.mark.parametrize("call", ["launch", "load", "explain"])
def test_every_name_can_be_given(kernel, call):
    with pytest.raises(Asked) as caught:
        getattr(kernel, call)(NAMES, config=7, X=8)
    assert caught.value.args == (None, 7, {**NAMES, "X": 8})
    with pytest.raises(Asked) as caught:
        getattr(kernel, call)(self=1, more=2)
    assert caught.value.args == (None, None, {"self": 1, "more": 2})


@pytest.mark.parametrize("more", [5, [("X", 1)], {5: 1}])
def test_what_is_no_mapping_from_names_is_refused(kernel, more):
    with pytest.raises(ArgumentError, match="as a mapping from names"):
        kernel.launch(more)


def test_an_argument_is_given_once(kernel):
    with pytest.raises(ArgumentError, match="X is given twice"):
        kernel.launch({"X": 1}, X=1)
