"""Kernels by name and the original's binding: the same launches by the short way and by the general one."""

import copy

import numpy as np
import pytest

import aotriton
from aotriton import ArgumentError
from aotriton.describe import Kernel, Performance
from aotriton.targets import TARGETS
from pyaotriton import T2, T4, DType, Stream, hipError_t, last_error
from pyaotriton.v3.flash import attn_fwd, attn_fwd_params, attn_options
from tests.tools.attention import params_of
from tests.tools.fake_code import write_pack
from tests.tools.tensors import SHAPE, TENSORS, CudaStream, failure, kernel_arguments, numpy_tensors

LAUNCHES = [{}, {"grid": (7,)}, {"grid": [3, 2, 5]}, {"grid": (np.int64(4), 1)}, {"config": 0}, {"stream": 0}]
LAUNCHES += [{"Sm_scale": 1}, {"Sm_scale": np.float32(0.5)}, {"Window_left": np.int32(4)}, {"CAUSAL_TYPE": True + 2}]


@pytest.mark.parametrize("made", ["numpy fp16", "numpy bf16"])
def test_both_paths_of_a_kernel_launch_the_same(on_record, general, made):
    arguments = kernel_arguments(*TENSORS[made]())
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    kernel.launch(arguments)
    on_record.reset()
    fast = []
    for more in LAUNCHES:
        kernel.launch(**{**arguments, **more})
        fast.append(on_record.launches())
        assert len(fast[-1]) == 1
    general()
    for more, launches in zip(LAUNCHES, fast, strict=True):
        kernel.launch(**{**arguments, **more})
        assert on_record.launches() == launches, more


def test_a_launch_of_plain_arguments_takes_the_short_way(on_record, only_fast):
    arguments = kernel_arguments(*numpy_tensors())
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    kernel.launch(arguments)
    only_fast()
    kernel.launch(arguments, grid=[3])
    kernel.launch(**arguments, config=0, stream=CudaStream(0))
    assert len(on_record.launches()) == 3


def test_both_paths_of_a_kernel_refuse_with_the_same_words(on_record, general):
    q, k, v, out, lse = numpy_tensors()
    arguments = kernel_arguments(q, k, v, out, lse)
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    kernel.launch(arguments)
    on_record.reset()
    wrong = [{"grid": grid} for grid in ((), (1, 2, 3, 4), (-1,), (1 << 32,), 5, ("a",))]
    wrong += [{"config": 99}, {"config": -7}, {"stream": -1}, {"stream": "0"}, {"nonsense": 1}, {"Batch": 1 << 64}]
    wrong += [{"Batch": -(1 << 63) - 1}, {"Batch": 1.5}, {"Q": 5}, {"Q": None}, {"Q": [1]}, {"Q": q[0]}, {"Batch": q}]
    wrong += [{"Q": aotriton.TensorSpec(SHAPE, "fp16")}, {"Batch": "2"}, {"Batch": None}, {"\ud800": 1}]
    fast = [failure(kernel.launch, **{**arguments, **more}) for more in wrong]
    assert on_record.launches() == []
    general()
    assert [failure(kernel.launch, **{**arguments, **more}) for more in wrong] == fast


CONFIGS = [1 << 40, 1 << 31, -(1 << 31) - 1, 1 << 20000, "x", 0.0, []]


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_a_config_is_a_position(on_record, config):
    arguments = kernel_arguments(*numpy_tensors())
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    kernel.launch(arguments)
    on_record.reset()
    for call in (kernel.launch, kernel.load, kernel.explain):
        with pytest.raises(ArgumentError, match=r"config is .*; it is the position of a config, or None"):
            call(arguments, config=config)
    assert on_record.launches() == []


def test_a_config_may_be_numpys(on_record):
    arguments = kernel_arguments(*numpy_tensors())
    aotriton.open_kernel("flash", "attn_fwd").launch(arguments, config=np.int64(0))
    assert len(on_record.launches()) == 1


@pytest.mark.parametrize("name", ["Batch\0", "\0", "Batch\0more"])
def test_names_are_not_cut_at_a_nul(on_record, general, name):
    """`Batch` in another's name would be taken for it."""
    arguments = kernel_arguments(*numpy_tensors())
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    kernel.launch(arguments)
    on_record.reset()
    batch = arguments.pop("Batch")
    for switch in (lambda: None, general):
        switch()
        for call in (kernel.launch, kernel.load, kernel.explain):
            with pytest.raises(ArgumentError, match="holds a NUL"):
                call({**arguments, name: batch})
    assert on_record.launches() == []
    with pytest.raises(ArgumentError, match="names a kernel, and holds a NUL"):
        aotriton.open_kernel("flash", "attn_fwd\0")


def test_names_are_text(on_record):
    kernel = aotriton.open_kernel("flash", "attn_fwd")
    for call in (kernel.launch, kernel.load, kernel.explain):
        with pytest.raises(ArgumentError, match="no text that UTF-8 can hold"):
            call({**kernel_arguments(*numpy_tensors()), "\ud800": 1})


# ---- integers of 2**63 and more ----

COUNTING = """
import triton
import triton.language as tl

@triton.jit
def count(X, rows, many, few, some, BLOCK: tl.constexpr):
    pass
"""


@pytest.fixture
def counting(on_record, tmp_path):
    """A kernel with integers of several types, one of which the description leaves to the call."""
    source = tmp_path / "count.py"
    source.write_text(COUNTING)
    description = Kernel(
        family="demo", name="count", source=source, ranks={"X": 1},
        choices={"X": "*fp32", "rows": "i32", "many": "u64", "few": "i64", "some": "fp32"},
        performance={"BLOCK": Performance(64, [64])}, options={"num_warps": 4, "num_stages": 1}, grid=("rows",),
    )  # fmt: skip
    write_pack(tmp_path / "packs", description, TARGETS["sm_90"], {0})
    kernel = aotriton.open_kernel("demo", "count", tmp_path / "packs", "record:sm_90")
    arguments = {"X": np.zeros(4, np.float32), "rows": 1, "many": 1, "few": 1, "some": 1.0}
    kernel.launch(arguments)
    on_record.reset()
    return kernel, arguments


@pytest.mark.parametrize("value", [1 << 63, (1 << 64) - 1])
def test_a_u64_takes_integers_of_64_bits(counting, on_record, value):
    kernel, arguments = counting
    kernel.load({**arguments, "many": value})
    kernel.launch({**arguments, "many": value})
    kernel.launch({**arguments, "many": np.uint64(value)})
    launches = on_record.launches()
    assert [one["arguments"][2]["hex"] for one in launches] == [value.to_bytes(8, "little").hex()] * 2


@pytest.mark.parametrize("value", [1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize(("name", "kind"), [("rows", "i32"), ("few", "i64")])
def test_other_types_dont_take_them_for_negative_numbers(counting, on_record, name, kind, value):
    kernel, arguments = counting
    for call in (kernel.launch, kernel.load, kernel.explain):
        with pytest.raises(ArgumentError, match=f"'{name}' is {value}, which {kind} can't hold"):
            call({**arguments, name: value})
    assert on_record.launches() == []


def test_real_numbers_are_not_taken_for_negative_ones(counting, on_record):
    kernel, arguments = counting
    with pytest.raises(ArgumentError, match=r"give 1\.8446744073709552e\+19"):
        kernel.launch({**arguments, "some": (1 << 64) - 1})
    assert on_record.launches() == []


# ---- the original's binding ----


def test_params_are_what_they_were_set_to_last(on_record, general):
    q, k, v, out, lse = numpy_tensors()
    rows = lse.reshape(8, 37)
    params = params_of(q, k, v, out, rows)
    launches = []

    def launched():
        status = attn_fwd(params, attn_fwd_params.kVersion, Stream(), attn_options())
        assert status == hipError_t.hipSuccess, last_error()
        (one,) = on_record.launches()
        launches.append([argument["hex"] for argument in one["arguments"]])

    for switch in (lambda: None, general):
        switch()
        params.L, params.Sm_scale, params.causal_type = T2(rows.ctypes.data, (8, 37), (37, 1), DType.kFloat32), 0.5, 0
        launched()
        params.L = T2(0, (0, 0), (0, 0), DType.kUnknown)
        launched()
        params.Sm_scale, params.causal_type, params.window_left = 0.25, 3, 9
        launched()
        params.window_left = 0
    half = len(launches) // 2
    assert launches[:half] == launches[half:]
    assert len({tuple(one) for one in launches}) == half


def test_what_the_struct_would_cut_off_is_refused(on_record):
    options, params = attn_options(), attn_fwd_params()
    for number in (1 << 31, 1 << 40, -(1 << 31) - 1):
        with pytest.raises(TypeError, match="force_backend_index is from"):
            options.force_backend_index = number
    assert options.force_backend_index == -1
    with pytest.raises(TypeError, match="which no float holds"):
        params.Sm_scale = 10**400
    with pytest.raises(TypeError, match="Sm_scale takes float"):
        params.Sm_scale = "wide"
    with pytest.raises(TypeError, match="takes attn_options or None, not a int"):
        attn_fwd(params, attn_fwd_params.kVersion, None, 5)


def test_copies_of_params_are_their_own(on_record):
    q, k, v, out, _ = numpy_tensors()
    params = params_of(q, k, v, out)
    for duplicate in (copy.copy(params), copy.deepcopy(params)):
        duplicate.Out = T4(0x7000, SHAPE, (1, 1, 1, 1), DType.kFloat16)
        assert params.Out.data_ptr == out.ctypes.data
        assert duplicate.Q.data_ptr == q.ctypes.data
        assert attn_fwd(params, attn_fwd_params.kVersion) == hipError_t.hipSuccess, last_error()
    options = attn_options()
    options.force_backend_index, options.deterministic = 4, True
    twin = copy.copy(options)
    options.force_backend_index = -1
    assert (twin.force_backend_index, twin.deterministic) == (4, True)
    assert attn_fwd(params, attn_fwd_params.kVersion, None, twin) != hipError_t.hipSuccess
    assert "4" in last_error()
