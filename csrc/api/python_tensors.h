// Tensors of Python's libraries as views, without Python: by DLPack's C exchange API, and NumPy's arrays by their struct.
#pragma once

#include "api/python.h"
#include "drivers/driver.h"

#include <cstdint>
#include <span>

namespace aotriton::api::python {

// DLTensor of DLPack 1.x.
struct DlTensor {
  void* data;
  std::int32_t device_kind;
  std::int32_t device;
  std::int32_t rank;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  const std::int64_t* sizes;
  const std::int64_t* strides;
  std::uint64_t offset;
};

// A type of tensors, and how to read them. NumPy's has no `view`.
struct TensorType {
  const Object* type;  // lives as long as the process: the binding holds it
  int (*view)(Object* tensor, DlTensor* out);
  int (*current_stream)(std::int32_t device_kind, std::int32_t device, void** stream);
  const TensorType* next;
};

// From now on tensors of that very type are read here. Null functions: the type is NumPy's.
void know_type(const Object* type, void* view, void* current_stream);
// NumPy's struct has no code for element types of others, such as bf16: the dtype object says it.
void know_dtype(const Object* dtype, aotriton_dtype is);

struct View {
  aotriton_tensor tensor;
  std::int32_t device_kind;  // DLPack's number
  std::int32_t device;
  bool read_only;
  const TensorType* type;
};

// What follows is false where it can't be done here: nothing happened then, and the binding's general path can do it or
// says what is wrong. Python's error may be set.

// The view of a tensor, in part written where there is none. Takes no reference: it holds as long as the tensor does.
bool read(const Functions& python, Object* object, View& view);

// The stream that the library of a tensor works on at present, where it says; else null, the default one.
bool current_stream(const View& view, aotriton_stream& stream);

// The device that a call with these tensors goes to: that of their memory, or, for host memory, the one that was asked
// for or that AOTRITON_DEVICE names. Null wherever it isn't plain that this is right, and for the device `host`, whose
// launches are bounded by the binding.
aotriton_device* device_of(std::span<const View> views, aotriton_device* asked);

}  // namespace aotriton::api::python
