"""Statuses of the library become the exceptions that belong to them, with the library's text."""

import re
import types
from pathlib import Path

import pytest

import aotriton
from aotriton.errors import AotritonError, ArgumentError, DeviceError, PackError, UnsupportedError
from aotriton.runtime import library
from aotriton.runtime.abi import Status
from pyaotriton import DType, hipError_t
from pyaotriton.errors import hip_error_of

CLASSES = {
    Status.INVALID_ARGUMENT: ArgumentError,
    Status.INVALID_VERSION: ArgumentError,
    Status.NO_DEVICE: DeviceError,
    Status.NO_PACK: PackError,
    Status.BAD_PACK: PackError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NOT_BUILT: UnsupportedError,
    Status.DRIVER_ERROR: DeviceError,
    Status.OUT_OF_MEMORY: DeviceError,
    Status.INTERNAL_ERROR: AotritonError,
}


@pytest.fixture
def failing(monkeypatch):
    fake = types.SimpleNamespace(aotriton_last_error=lambda: "asked ü, found, do".encode())
    monkeypatch.setattr(library, "_opened", fake)


def test_every_status_is_mapped():
    assert set(CLASSES) | {Status.SUCCESS} == set(Status)


@pytest.mark.parametrize("status", CLASSES)
def test_statuses_raise_their_class_with_the_text(failing, status):
    with pytest.raises(AotritonError) as caught:
        library.check(status)
    assert type(caught.value) is CLASSES[status]
    assert str(caught.value) == "asked ü, found, do"


def test_success_raises_nothing(failing):
    library.check(Status.SUCCESS)


def test_an_interrupt_in_a_callback_goes_on_to_the_caller(failing):
    library.pending.exception = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        library.check(Status.DRIVER_ERROR)
    with pytest.raises(DeviceError):  # it is raised once
        library.check(Status.DRIVER_ERROR)


def test_a_library_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(library, "_opened", None)
    monkeypatch.setenv("AOTRITON_LIBRARY", "/nowhere/libaotriton_v2.so")
    with pytest.raises(AotritonError, match=r"/nowhere/libaotriton_v2\.so"):
        aotriton.drivers()
    monkeypatch.delenv("AOTRITON_LIBRARY")
    monkeypatch.setattr(library, "_candidates", list)
    with pytest.raises(AotritonError, match="hint: build it"):
        aotriton.drivers()


def test_a_file_that_is_no_library_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "_opened", None)
    (tmp_path / "libaotriton_v2.so").write_bytes(b"not an ELF file")
    monkeypatch.setenv("AOTRITON_LIBRARY", str(tmp_path / "libaotriton_v2.so"))
    with pytest.raises(AotritonError, match="can't be opened"):
        aotriton.drivers()


def test_a_library_of_another_version_is_said(monkeypatch):
    monkeypatch.setattr(library, "_opened", None)
    monkeypatch.setattr(library, "library_path", lambda: "libc.so.6")
    with pytest.raises(AotritonError, match="has no function aotriton_"):
        aotriton.drivers()


def test_every_status_has_the_code_of_hip_that_it_has_in_cpp():
    codes = {status: hip_error_of(status) for status in Status}
    cpp = (Path(__file__).parents[3] / "csrc" / "api" / "cpp_flash.cc").read_text()
    said = dict(re.findall(r"case AOTRITON_(\w+): return (hip\w+);", cpp))
    assert len(said) > 5
    assert {status.name: codes[status].name for status in Status if status.name in said} == said
    assert [status for status, code in codes.items() if code == hipError_t.hipSuccess] == [Status.SUCCESS]
    assert codes[Status.INVALID_VERSION] == hipError_t.hipErrorInvalidSymbol
    assert codes[Status.UNSUPPORTED] == hipError_t.hipErrorNotSupported
    assert codes[Status.NO_PACK] == hipError_t.hipErrorNoBinaryForGpu


def test_values_print_as_the_original_prints_them():
    assert str(hipError_t.hipErrorNoBinaryForGpu) == "hipError_t.hipErrorNoBinaryForGpu"
    assert f"{DType.kBFloat16}" == "DType.kBFloat16"
