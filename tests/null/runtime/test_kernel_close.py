"""What closing a kernel unloads, and what dropping it doesn't."""

import gc
import shutil

import pytest

import aotriton
from tests.tools.tensors import kernel_arguments, numpy_tensors

LOADED, UNLOADED = "cuLibraryLoadData", "cuLibraryUnload"


@pytest.fixture
def opened(on_record, sm_90_packs, tmp_path):
    """Opens the kernel in packs of the test's own: what others loaded is loaded elsewhere."""
    folder = tmp_path / "aotriton.images"
    shutil.copytree(sm_90_packs, folder)
    on_record.calls()
    return lambda: aotriton.open_kernel("flash", "attn_fwd", folder=folder)


@pytest.fixture
def arguments():
    return kernel_arguments(*numpy_tensors())


def test_a_closed_kernel_is_unloaded(on_record, opened, arguments):
    kernel = opened()
    kernel.launch(arguments)
    kernel.launch(arguments)
    kernel.close()
    kernel.close()
    calls = on_record.calls()
    assert (calls[LOADED], calls[UNLOADED]) == (1, 1)
    assert len(on_record.launches()) == 2
    for refused in (kernel.launch, kernel.load, kernel.explain):
        with pytest.raises(aotriton.ArgumentError, match=r"Kernel\(flash/attn_fwd on record:sm_90\) is closed"):
            refused(arguments)
    assert on_record.launches() == []
    del kernel
    gc.collect()
    with opened() as again:
        again.launch(arguments)
    calls = on_record.calls()
    assert (calls[LOADED], calls[UNLOADED]) == (1, 1)
    assert len(on_record.launches()) == 1


def test_the_last_one_unloads(on_record, opened, arguments):
    with opened() as first:
        with opened() as second:
            second.launch(arguments)
        first.launch(arguments)
        calls = on_record.calls()
        assert calls[LOADED] == 1
        assert UNLOADED not in calls
    assert on_record.calls()[UNLOADED] == 1


def test_a_dropped_kernel_stays_loaded(on_record, opened, arguments):
    for _ in range(3):
        opened().launch(arguments)
        gc.collect()
    with opened() as closed:
        closed.launch(arguments)
    calls = on_record.calls()
    assert calls[LOADED] == 1
    assert UNLOADED not in calls
