"""Wrong arguments: each an error that names the argument, with outputs untouched; and odd ones that are right."""

import ctypes

import numpy as np
import pytest

import aotriton
from aotriton import ArgumentError, DeviceError, TensorSpec, UnsupportedError
from aotriton.runtime.abi import AttnFwdParams, Status
from aotriton.runtime.library import last_error as library_error
from aotriton.runtime.library import library
from pyaotriton import T0, T2, T4, DType, hipError_t, last_error
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params, attn_options
from tests.tools.attention import check, params_of, poisoned

pytestmark = pytest.mark.usefixtures("on_host")


def good():
    """Arguments that work: MHA, 5 queries, 7 keys, head dim 16."""
    chance = np.random.default_rng()
    q, k, v = (chance.standard_normal((2, 2, rows, 16)).astype(np.float16) for rows in (5, 7, 7))
    return {"q": q, "k": k, "v": v, "out": poisoned(q.shape, np.float16), "lse": poisoned((4, 5), np.float32)}


def misaligned(shape, dtype, offset, value=0):
    """An array whose first element is `offset` bytes past an address that 64 divides."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    array = np.ndarray(shape, dtype, raw, start)
    array[...] = value
    return array


def strided(array, strides):
    return np.lib.stride_tricks.as_strided(array, array.shape, strides)


BAD = {
    "a scale in words": ({"scale": "x"}, "scale"),
    "a scale that is no number": ({"scale": float("nan")}, "scale"),
    "an integer q": ({"q": np.zeros((2, 2, 5, 16), np.int32)}, "q"),
    "a double q": ({"q": np.zeros((2, 2, 5, 16), np.float64)}, "q"),
    "k of another type": ({"k": np.zeros((2, 2, 7, 16), np.float32)}, "k"),
    "v of another type": ({"v": np.zeros((2, 2, 7, 16), np.float32)}, "v"),
    "out of another type": ({"out": poisoned((2, 2, 5, 16), np.float32)}, "out"),
    "lse in fp16": ({"lse": poisoned((4, 5), np.float16)}, "lse"),
    "q of rank 3": ({"q": np.zeros((2, 5, 16), np.float16)}, "q"),
    "k of rank 5": ({"k": np.zeros((1, 2, 2, 7, 16), np.float16)}, "k"),
    "out of rank 3": ({"out": poisoned((2, 5, 16), np.float16)}, "out"),
    "lse of rank 1": ({"lse": poisoned((20,), np.float32)}, "lse"),
    "another batch": ({"k": np.zeros((1, 2, 7, 16), np.float16)}, "k"),
    "another head dim of k": ({"k": np.zeros((2, 2, 7, 24), np.float16)}, "k"),
    "another length of v": ({"v": np.zeros((2, 2, 6, 16), np.float16)}, "v"),
    "another head count of v": ({"v": np.zeros((2, 1, 7, 16), np.float16)}, "v"),
    "out of another shape": ({"out": poisoned((2, 2, 6, 16), np.float16)}, "out"),
    "out of another head dim": ({"out": poisoned((2, 2, 5, 24), np.float16)}, "out"),
    "lse of another shape": ({"lse": poisoned((4, 6), np.float32)}, "lse"),
    "q with a last stride of 2": ({"q": np.zeros((2, 2, 5, 32), np.float16)[..., ::2]}, "q"),
    "out with a last stride of 2": ({"out": poisoned((2, 2, 5, 32), np.float16)[..., ::2]}, "out"),
    "k transposed in its last dimensions": ({"k": np.zeros((2, 2, 16, 7), np.float16).swapaxes(2, 3)}, "k"),
    "q backwards": ({"q": np.zeros((2, 2, 5, 16), np.float16)[:, :, ::-1]}, "q"),
    "lse with gaps": ({"lse": poisoned((4, 10), np.float32)[:, ::2]}, "lse"),
    "q off its elements": ({"q": misaligned((2, 2, 5, 16), np.float16, 1)}, "q"),
    "out off its elements": ({"out": misaligned((2, 2, 5, 16), np.float16, 1, np.nan)}, "out"),
    "lse off its elements": ({"lse": misaligned((4, 5), np.float32, 2, np.nan)}, "lse"),
    "rows of out in one place": ({"out": strided(poisoned((2, 2, 5, 16), np.float16), (320, 160, 0, 2))}, "out"),
    "rows of out that overlap": ({"out": strided(poisoned((2, 2, 5, 16), np.float16), (320, 160, 16, 2))}, "out"),
    "heads of out in one place": ({"out": strided(poisoned((2, 2, 5, 16), np.float16), (320, 0, 32, 2))}, "out"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tensors_are_refused_by_name_and_nothing_is_written(name):
    changes, argument = BAD[name]
    arguments = {**good(), **changes}
    before = {key: arguments[key].tobytes() for key in ("out", "lse")}
    with pytest.raises((ArgumentError, UnsupportedError)) as caught:
        aotriton.attn_fwd(**arguments)
    assert argument in str(caught.value)
    assert {key: arguments[key].tobytes() for key in before} == before


@pytest.mark.parametrize("name", ["q", "k", "v", "out"])
def test_what_is_no_tensor_is_refused(name):
    arguments = good()
    lse = arguments["lse"]
    with pytest.raises(ArgumentError, match=f"argument {name} is a list"):
        aotriton.attn_fwd(**{**arguments, name: [1.0]})
    with pytest.raises(ArgumentError, match=f"{name} is a TensorSpec"):
        aotriton.attn_fwd(**{**arguments, name: TensorSpec((2, 2, 5, 16), "fp16")})
    assert np.isnan(lse).all()


def test_read_only_outputs_are_refused():
    for name in ("out", "lse"):
        arguments = good()
        arguments[name].flags.writeable = False
        with pytest.raises(ArgumentError, match=f"{name} is read-only"):
            aotriton.attn_fwd(**arguments)


SIZES = [(-1, 2, 5, 16), (2, 2, -5, 16), (2, 2, 2**40, 16), (2**31, 2**31, 2**31, 16), (2**62, 2, 5, 16)]
SIZES += [(1, 1, 1, 2**33), (2**40, 1, 1, 16), (1, 2**31, 1, 16)]
ABSENT = ["cuda:0", "hip:0", "cuda:99", "nonsense", "record:gfx1", "target:gfx942x", "host:5", "sim:gfx1100"]


def ask(q):
    """Raises for what isn't supported too."""
    found = aotriton.can_attn_fwd(q, q, q)
    if not found:
        raise UnsupportedError(found.reason)


@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_negative_and_huge_sizes_are_errors(shape):
    with pytest.raises((ArgumentError, UnsupportedError)) as caught:
        ask(TensorSpec(shape, "fp16", strides=(160, 80, 16, 1)))
    assert any(str(size) in str(caught.value) for size in shape)


@pytest.mark.parametrize("device", ABSENT)
def test_devices_that_are_not_there(device):
    arguments = good()
    with pytest.raises((DeviceError, ArgumentError)) as caught:
        aotriton.attn_fwd(**arguments, device=device)
    assert device.split(":")[0] in str(caught.value) or device in str(caught.value)
    assert np.isnan(arguments["out"]).all()


def test_a_device_that_can_only_be_asked_launches_nothing():
    arguments = good()
    with pytest.raises(aotriton.AotritonError, match="gfx942"):
        aotriton.attn_fwd(**arguments, device="target:gfx942")
    assert np.isnan(arguments["out"]).all()


def test_host_memory_without_a_device_says_what_would_do(monkeypatch):
    monkeypatch.delenv("AOTRITON_DEVICE")
    arguments = good()
    with pytest.raises(DeviceError, match=r"hint: .*device='host'"):
        aotriton.attn_fwd(**arguments)
    assert np.isnan(arguments["out"]).all()


# ---- the original's interface ----


@pytest.mark.parametrize("version", [2, 4, 0, -1])
def test_another_version_of_the_params_is_refused(version):
    arguments = good()
    params = params_of(**arguments)
    assert attn_fwd(params, version) == hipError_t.hipErrorInvalidSymbol
    assert last_error().startswith(f"attn_fwd_params has version {version}; this package takes version 3")
    assert np.isnan(arguments["out"]).all()


@pytest.mark.parametrize("size", [-8, -1, 1, 7])
def test_another_size_of_the_struct_is_refused(size):
    params = AttnFwdParams(size=ctypes.sizeof(AttnFwdParams) + size)
    if size > 0:  # of a later version: never read past what is known
        params.size = 1 << 40
    status = library().aotriton_attn_fwd(ctypes.byref(params), None, None, None, None)
    assert status == Status.INVALID_VERSION
    assert "size" in library_error()


@pytest.mark.parametrize("field", ["Q", "K", "V", "Out"])
def test_null_where_a_tensor_is_needed(field):
    arguments = good()
    params = params_of(**arguments)
    setattr(params, field, T4(0, [0] * 4, [0] * 4, DType.kFloat16))
    assert attn_fwd(params, 3) == hipError_t.hipErrorInvalidValue
    assert field.lower() in last_error().lower()
    assert np.isnan(arguments["out"]).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("causal_type", 1),
        ("causal_type", 2),
        ("causal_type", 4),
        ("causal_type", -1),
        ("dropout_p", 0.5),
        ("dropout_p", -0.1),
        ("dropout_p", float("nan")),
        ("varlen_type", 1),
        ("varlen_type", 9),
    ],
)
def test_features_that_are_not_there_are_refused(field, value):
    arguments = good()
    params = params_of(**arguments)
    setattr(params, field, value)
    assert attn_fwd(params, 3) in (hipError_t.hipErrorInvalidValue, hipError_t.hipErrorNotSupported)
    assert field.split("_")[0] in last_error()
    assert np.isnan(arguments["out"]).all()


def test_bias_and_encoded_softmax_are_refused():
    for field, shape in (("B", (2, 2, 5, 7)), ("encoded_softmax", (2, 2, 5, 7))):
        arguments = good()
        params = params_of(**arguments)
        extra = np.zeros(shape, np.float16)
        setattr(params, field, T4(extra.ctypes.data, shape, [s // 2 for s in extra.strides], DType.kFloat16))
        assert attn_fwd(params, 3) == hipError_t.hipErrorNotSupported
        assert np.isnan(arguments["out"]).all()


@pytest.mark.parametrize(("backend", "status"), [(-1, 0), (0, 0), (1, 1), (2, 1), (-2, 1)])
def test_backends(backend, status):
    arguments = good()
    options = attn_options()
    options.force_backend_index = backend
    found = attn_fwd(params_of(**arguments), 3, None, options)
    assert (found != hipError_t.hipSuccess) == bool(status)
    assert np.isnan(arguments["out"]).all() == bool(status)
    if status:
        assert str(backend) in last_error()


def test_the_binding_takes_what_the_original_takes_and_nothing_else():
    params = attn_fwd_params()
    assert attn_fwd_params.kVersion == params.kVersion == 3
    for field, value in (("Q", T2(0, [0, 0], [0, 0], DType.kFloat16)), ("Q", None), ("L", 0), ("window_left", 1.5)):
        with pytest.raises(TypeError, match=field):
            setattr(params, field, value)
    with pytest.raises(TypeError, match="window_left"):
        params.window_left = 1 << 31
    with pytest.raises(AttributeError):
        params.sm_scale = 1.0  # the original writes Sm_scale
    with pytest.raises(TypeError, match="4 sizes"):
        T4(0, [1, 2], [1, 1], DType.kFloat16)
    with pytest.raises(TypeError, match="negative"):
        T2(0, [1, -2], [1, 1], DType.kFloat16)
    view = T4(64, (1, 2, 3, 4), (24, 12, 4, 1), DType.kBFloat16)
    assert (view.size(2), view.stride(1), view.sizes, view.strides) == (3, 12, [1, 2, 3, 4], [24, 12, 4, 1])
    assert (view.data_ptr, view.dtype) == (64, DType.kBFloat16)
    assert (T0(8, DType.kUInt64).size(0), T0(8, DType.kUInt64).stride(1)) == (1, 0)
    with pytest.raises(AttributeError):
        view.dtype = DType.kFloat16


# ---- odd, and right ----


@pytest.mark.parametrize("which", ["q", "k", "v", "out"])
@pytest.mark.parametrize("offset", [2, 8, 14])
def test_bases_that_are_not_16_byte_aligned_are_right(which, offset):
    arguments = good()
    moved = misaligned(arguments[which].shape, np.float16, offset)
    moved[...] = arguments[which]
    arguments[which] = moved
    aotriton.attn_fwd(**arguments)
    check(*arguments.values(), None)


@pytest.mark.parametrize("which", ["q", "k", "v", "out"])
@pytest.mark.parametrize("extra", [1, 3, 8])
def test_odd_strides_are_right(which, extra):
    arguments = good()
    b, h, s, d = arguments[which].shape
    wide = np.full((b, h + 1, s + 2, d + extra), np.nan, np.float16)
    wide[:, :h, 1 : s + 1, :d] = arguments[which]
    arguments[which] = wide[:, :h, 1 : s + 1, :d]
    aotriton.attn_fwd(**arguments)
    check(*arguments.values(), None)
    if which == "out":  # what lies between the rows is somebody else's
        assert np.isnan(wide[:, h:]).all()
        assert np.isnan(wide[:, :, [0, s + 1]]).all()
        assert np.isnan(wide[..., d:]).all()


def test_inputs_may_share_memory_and_be_broadcast():
    arguments = good()
    key = np.ascontiguousarray(arguments["k"][:1, :1])
    arguments["k"] = arguments["v"] = np.broadcast_to(key, (2, 2, 7, 16))
    aotriton.attn_fwd(**arguments)
    check(*arguments.values(), None)


def test_lse_of_three_dimensions_and_none():
    arguments = good()
    arguments["lse"] = poisoned((2, 2, 5), np.float32)
    out, lse = aotriton.attn_fwd(**arguments)
    assert lse is arguments["lse"]
    check(*arguments.values(), None)
    assert aotriton.attn_fwd(**{**arguments, "lse": None}) is out
