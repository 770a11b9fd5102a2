"""What the tests of calls share: packs for the recording driver, and a switch to the binding's general paths."""

import pytest

from aotriton.flash.description import ATTN_FWD
from aotriton.runtime import attention, kernels, objects
from aotriton.targets import TARGETS
from tests.tools.fake_code import write_pack
from tests.tools.recording import Recorder

FUNCTIONS = ("attn_fwd", "attn_fwd_params", "kernel_launch")


@pytest.fixture(scope="session")
def sm_90_packs(tmp_path_factory):
    """A pack for sm_90 with head dimension 64 in fp16 and bf16."""
    off = {"BLOCK_DMODEL": 64, "PADDED_HEAD": False, "ENABLE_DROPOUT": False, "BIAS_TYPE": 0, "VARLEN": False}
    types = [f"*{dtype}{aligned}" for dtype in ("fp16", "bf16") for aligned in ("", ":16")]
    wanted = [{**off, "Q": dtype, "CAUSAL_TYPE": causal} for dtype in types for causal in (0, 3)]
    folder = tmp_path_factory.mktemp("objects") / "aotriton.images"
    write_pack(folder, ATTN_FWD, TARGETS["sm_90"], {ATTN_FWD.number_of(axes) for axes in wanted})
    return folder


@pytest.fixture
def on_record(sm_90_packs, monkeypatch):
    """The recording driver, which AOTRITON_DEVICE names, with the packs."""
    monkeypatch.setenv("AOTRITON_PACK_PATH", str(sm_90_packs))
    monkeypatch.setenv("AOTRITON_DEVICE", "record:sm_90")
    found = Recorder()
    found.reset()
    return found


@pytest.fixture
def general(monkeypatch):
    """Switches to the general paths, by letting the library decline all."""

    def switch():
        for name in FUNCTIONS:
            monkeypatch.setattr(objects, name, lambda *_: objects.DECLINED)

    return switch


@pytest.fixture
def only_fast(monkeypatch):
    """Makes the general paths fail, after the types of tensors are known."""

    def general(*_):
        raise AssertionError("the general path was taken")

    def switch():
        monkeypatch.setattr(attention, "_attn_fwd", general)
        monkeypatch.setattr(kernels.Kernel, "_launch", general)

    return switch
