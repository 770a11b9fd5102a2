"""Tensors in: by DLPack's exchange API, by its protocol, by the array interfaces; and what is refused."""

import numpy as np
import pytest

from aotriton import ArgumentError, TensorSpec
from aotriton.runtime.dlpack import CUDA, ROCM, current_stream, exchange_view, protocol_view
from aotriton.runtime.tensors import empty_like, view_of
from aotriton.runtime.view import contiguous_strides
from tests.tools.exchange import exchanging

ml_dtypes = pytest.importorskip("ml_dtypes")

NUMPY = {
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "bf16": ml_dtypes.bfloat16, "bool": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_arrays_of_every_type(name):
    array = np.zeros((2, 3, 5), NUMPY[name])
    view = view_of(array, "x")
    assert (view.data, view.dtype, view.shape, view.strides) == (array.ctypes.data, name, (2, 3, 5), (15, 5, 1))
    assert view.device[0] == 1
    assert not view.read_only


def test_strides_and_offsets_of_numpy_views():
    array = np.zeros((4, 6, 8), np.float16)
    view = view_of(array.transpose(2, 0, 1)[1:, :, ::2], "x")
    assert view.data == array.ctypes.data + 2
    assert (view.shape, view.strides) == ((7, 4, 3), (1, 48, 16))
    assert view_of(array[:, ::-1], "x").strides == (48, -8, 1)
    assert view.extent() == (array.ctypes.data + 2, array.ctypes.data + 2 + 2 * (6 * 1 + 3 * 48 + 2 * 16 + 1))
    backwards = view_of(array[0, ::-1], "x")
    assert backwards.extent() == (array.ctypes.data, array.ctypes.data + 2 * 48)


def test_empty_and_scalar_arrays():
    view = view_of(np.zeros((2, 0, 4), np.float32), "x")
    assert view.extent()[0] == view.extent()[1]
    assert (view_of(np.array(3, np.int32), "x").shape, view_of(np.array(3, np.int32), "x").strides) == ((), ())


def test_read_only_arrays_are_marked():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert view_of(array, "x").read_only


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(4, ">f4"), "big-endian"),
        (np.zeros(4, np.complex64), "complex64"),
        (np.zeros(4, "S3"), "S3"),
        (np.zeros(4, [("a", np.int8), ("b", np.float32)])["b"], "strides of"),
        (np.ma.masked_array(np.zeros(4, np.float32), [0, 1, 0, 0]), "a masked array, and kernels read no mask"),
        (np.ma.masked_array(np.zeros(4, np.float32)), "pass its .filled(value) or its .data"),
        ([1.0, 2.0], "list"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_tensor_for_a_kernel_is_refused_by_name(array, words):
    with pytest.raises(ArgumentError) as caught:
        view_of(array, "the_name")
    assert "the_name" in str(caught.value)
    assert words in str(caught.value)


class Protocol:
    """A tensor that speaks DLPack by its Python protocol only."""

    def __init__(self, array, versioned):
        self.array, self.versioned, self.asked = array, versioned, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        if "max_version" in options and not self.versioned:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
def test_the_dlpack_protocol(versioned):
    array = np.arange(24, dtype=np.float16).reshape(2, 3, 4)[:, 1:]
    view = view_of(Protocol(array, versioned), "x")
    assert (view.data, view.dtype, view.shape, view.strides) == (array.ctypes.data, "fp16", (2, 2, 4), (12, 4, 1))
    assert view.device == (1, 0)


def test_the_protocol_passes_read_only_on():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    assert protocol_view(Protocol(array, True)).read_only


@pytest.mark.parametrize("capsule", [True, False])
def test_the_exchange_api(capsule):
    tensor = exchanging((ROCM, 3), capsule)(0x7000, (2, 3), (3, 1))
    view = view_of(tensor, "x")
    assert (view.data, view.dtype, view.shape, view.strides) == (0x7004, "fp16", (2, 3), (3, 1))
    assert view.device == (ROCM, 3)
    assert view.owner is tensor
    assert current_stream(tensor, view.device) == 0x1000 * ROCM + 3


def test_the_exchange_api_without_strides_is_row_major():
    tensor = exchanging((CUDA, 0), True)(0x7000, (2, 3, 4), None, 4)
    assert view_of(tensor, "x").strides == (12, 4, 1)
    assert view_of(tensor, "x").dtype == "bf16"


def test_an_exchange_api_of_another_major_version_is_left_alone():
    assert exchange_view(exchanging((CUDA, 0), True, major=2)(0, (1,), (1,))) is None


def test_types_that_no_kernel_takes_are_refused_by_name():
    kind = exchanging((CUDA, 0), True)
    with pytest.raises(ArgumentError, match="argument x: a tensor of element type complex64"):
        view_of(kind(0, (1,), (1,), 5, 64), "x")


class CudaArray:
    def __init__(self, **interface):
        self.__cuda_array_interface__ = {"version": 3, **interface}


def test_the_cuda_array_interface():
    view = view_of(CudaArray(shape=(2, 4), typestr="<f2", data=(0x9000, False), strides=(32, 2)), "x")
    assert (view.data, view.dtype, view.shape, view.strides) == (0x9000, "fp16", (2, 4), (16, 1))
    assert view.device[0] == CUDA


def test_specs_can_be_viewed_and_know_their_strides():
    view = view_of(TensorSpec((2, 3), "bf16", alignment=2), "x")
    assert (view.dtype, view.shape, view.strides, view.data % 4) == ("bf16", (2, 3), (3, 1), 2)
    with pytest.raises(ArgumentError, match="no element type 'float16'"):
        view_of(TensorSpec((2,), "float16"), "x")


def test_new_tensors_come_from_the_library_of_the_model():
    made = empty_like(np.zeros(3, ml_dtypes.bfloat16), (2, 5), None, "out")
    assert (type(made), made.shape, made.dtype) == (np.ndarray, (2, 5), ml_dtypes.bfloat16)
    assert empty_like(made, (2,), "fp32", "lse").dtype == np.float32
    with pytest.raises(ArgumentError, match="pass out= with shape"):
        empty_like(Protocol(made, True), (2, 5), None, "out")


def test_row_major_strides():
    assert contiguous_strides((2, 3, 4)) == (12, 4, 1)
    assert contiguous_strides((2, 0, 4)) == (4, 4, 1)
    assert contiguous_strides(()) == ()
