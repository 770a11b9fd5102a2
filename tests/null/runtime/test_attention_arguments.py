"""What `causal` and `window` become, which device a call goes to, and what a stream may be."""

import itertools
import os

import numpy as np
import pytest

from aotriton import ArgumentError, DeviceError
from aotriton.runtime import device as device_module
from aotriton.runtime.abi import WINDOW_BOTTOM_RIGHT, WINDOW_TOP_LEFT
from aotriton.runtime.attention_call import resolve_window
from aotriton.runtime.device import Device, device_for, stream_handle
from aotriton.runtime.dlpack import CPU, CUDA, CUDA_HOST, ROCM
from aotriton.runtime.tensors import view_of
from aotriton.runtime.view import TensorSpec, View


def visible(causal_type, left, right, rows, columns):
    """The definition of the generalised window, sentinels included."""
    m, n = np.ogrid[:rows, :columns]
    if causal_type == 0:
        return np.ones((rows, columns), bool)
    left = rows if left in (WINDOW_TOP_LEFT, WINDOW_BOTTOM_RIGHT) else left
    right = {WINDOW_TOP_LEFT: 0, WINDOW_BOTTOM_RIGHT: columns - rows}.get(right, right)
    return (m - left <= n) & (n <= m + right)


def wanted(causal, window, rows, columns):
    """What the documentation of attn_fwd promises."""
    m, n = np.ogrid[:rows, :columns]
    shift = columns - rows if causal == "bottom_right" else 0
    seen = np.ones((rows, columns), bool)
    if causal is not False:
        seen = seen & (n <= m + shift)
    left, right = window or (-1, -1)
    if left != -1:
        seen = seen & (m + shift - left <= n)
    if right != -1:
        seen = seen & (n <= m + shift + right)
    return seen


SIDES = [-1, 0, 1, 3, 100, 2**40, -2, -100]


@pytest.mark.parametrize("causal", [False, True, "top_left", "bottom_right"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (3, 7), (7, 3), (1, 4), (4, 1)])
def test_windows_show_what_is_documented(causal, rows, columns):
    windows = [None] + [w for w in itertools.product(SIDES, SIDES) if causal is False or w[1] <= 0]
    for window in windows:
        resolved = resolve_window(causal, window, rows, columns)
        assert all(-(2**31) <= side < 2**31 for side in resolved)
        assert np.array_equal(visible(*resolved, rows, columns), wanted(causal, window, rows, columns)), window


def test_plain_attention_and_plain_causal_keep_their_own_values():
    assert resolve_window(False, None, 4, 4) == (0, 0, 0)
    assert resolve_window(False, (-1, -1), 4, 4) == resolve_window(np.False_, None, 4, 4) == (0, 0, 0)
    assert resolve_window(np.True_, None, 4, 9) == resolve_window(True, None, 4, 9)
    assert resolve_window(True, None, 4, 9) == (3, WINDOW_TOP_LEFT, WINDOW_TOP_LEFT)
    assert resolve_window("bottom_right", None, 4, 9) == (3, WINDOW_BOTTOM_RIGHT, WINDOW_BOTTOM_RIGHT)


@pytest.mark.parametrize(
    ("causal", "window", "words"),
    [
        ("topleft", None, "causal is 'topleft'"),
        (2, None, "causal is 2"),
        ([], None, r"causal is \[\]"),
        (np.ones(2, bool), None, "causal is array"),
        (False, 3, "window is 3"),
        (False, (1, 2, 3), "pair of integers"),
        (False, (1.5, 2), "pair of integers"),
        (False, iter((1, 2)), "pair of integers"),
        (False, {1, 2}, "pair of integers"),
        (False, {"left": 1, "right": 2}, "pair of integers"),
        (True, (1, 2), "contradict"),
    ],
)
def test_other_windows_are_refused(causal, window, words):
    with pytest.raises(ArgumentError, match=words):
        resolve_window(causal, window, 4, 4)


@pytest.mark.parametrize("pair", [list, np.array])
def test_a_window_is_any_pair(pair):
    assert resolve_window(False, pair((2, 1)), 4, 4) == resolve_window(False, (2, 1), 4, 4)


def on(kind, number=0):
    return View(0x1000, "fp16", (1,), (1,), (kind, number))


@pytest.fixture
def machine(monkeypatch):
    """Devices that need not exist, by their names."""
    monkeypatch.delenv("AOTRITON_DEVICE", raising=False)

    def open_device(name=None):
        name = name or os.environ.get("AOTRITON_DEVICE") or "hip:0"
        return Device(name, name.split(":")[0], "gfx942", "", "", 1, 1, 1, 0, None)

    monkeypatch.setattr(device_module, "open_device", open_device)


@pytest.mark.parametrize(("kind", "number", "name"), [(CUDA, 1, "cuda:1"), (ROCM, 2, "hip:2"), (13, 0, "cuda:0")])
def test_gpu_memory_says_the_device(machine, kind, number, name):
    assert device_for([("q", on(kind, number)), ("k", on(kind, number))], None).name == name
    assert device_for([("q", on(kind, number))], name).name == name


@pytest.mark.parametrize("name", [5, b"host", "host\0", ["host"]])
def test_a_device_is_named_by_text(name):
    with pytest.raises(ArgumentError, match="it is a name such as"):
        device_module.open_device(name)


def test_a_spec_is_on_the_device_of_the_tensors_beside_it(machine):
    spec = view_of(TensorSpec((1, 1, 4, 16), "fp16"), "out", 3)
    assert device_for([("q", on(CUDA, 1)), ("out", spec)], None).name == "cuda:1"
    assert device_for([("out", spec), ("q", on(ROCM))], None).name == "hip:0"


def test_host_memory_takes_what_was_asked_for(machine, monkeypatch):
    assert device_for([("q", on(CPU)), ("k", on(CUDA_HOST))], "host").name == "host"
    monkeypatch.setenv("AOTRITON_DEVICE", "record:gfx942")
    assert device_for([("q", on(CPU))], None).name == "record:gfx942"


def test_host_memory_and_nothing_asked_for_names_what_would_do(machine):
    with pytest.raises(DeviceError, match=r"hint: .*device='host'"):
        device_for([("q", on(CPU))], None)


@pytest.mark.parametrize(
    ("kinds", "asked", "words"),
    [
        ([(CUDA, 0), (CUDA, 1)], None, "b is on cuda:1 and a on cuda:0"),
        ([(CUDA, 0), (CPU, 0)], None, "b is in host memory and a on cuda:0"),
        ([(CPU, 0), (ROCM, 0)], None, "a is in host memory and b on hip:0"),
        ([(CUDA, 0)], "host", "device host was asked for, and a is on cuda:0"),
        ([(CPU, 0)], "cuda:0", "which cuda:0 doesn't read"),
        ([(8, 0)], None, "kind 8"),
    ],
)
def test_tensors_elsewhere_are_refused(machine, kinds, asked, words):
    views = [(name, on(*kind)) for name, kind in zip("abc", kinds, strict=False)]
    with pytest.raises(ArgumentError, match=words):
        device_for(views, asked)


class Cuda:
    cuda_stream = 0x55


class Standard:
    def __cuda_stream__(self):
        return (0, 0x66)


def test_streams():
    view = on(CUDA)
    assert stream_handle(7, None, view) == 7
    assert stream_handle(Cuda(), None, view) == 0x55
    assert stream_handle(Standard(), None, view) == 0x66
    assert stream_handle(None, object(), view) == 0
    assert stream_handle(None, object(), on(CPU)) == 0
    with pytest.raises(ArgumentError, match="a str is no stream"):
        stream_handle("0", None, view)


@pytest.mark.parametrize("handle", [-1, 1 << 64])
def test_a_stream_is_an_address(handle):
    stream = Cuda()
    stream.cuda_stream = handle
    for given in (handle, stream):
        with pytest.raises(ArgumentError, match="the stream's handle is"):
            stream_handle(given, None, on(CUDA))
    stream.cuda_stream = "0x55"
    with pytest.raises(ArgumentError, match="a Cuda is no stream"):
        stream_handle(stream, None, on(CUDA))
