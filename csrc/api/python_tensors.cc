#include "api/python_tensors.h"

#include "core/environment.h"
#include "core/text.h"
#include "drivers/devices.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace aotriton::api::python {
namespace {

// DLDeviceType.
constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kRocm = 10, kRocmHost = 11, kCudaManaged = 13;

struct Dtype {
  const Object* dtype;
  aotriton_dtype is;
  const Dtype* next;
};

// Only ever longer, so that they are read with no lock. A handful of entries each.
std::atomic<const TensorType*> types{nullptr};
std::atomic<const Dtype*> dtypes{nullptr};

template <typename Entry>
void put_in_front(std::atomic<const Entry*>& list, Entry* entry) {
  entry->next = list.load(std::memory_order_relaxed);
  while (!list.compare_exchange_weak(entry->next, entry, std::memory_order_release)) {
  }
}

const TensorType* find_type(const Object* type) {
  const TensorType* entry = types.load(std::memory_order_acquire);
  while (entry != nullptr && entry->type != type) entry = entry->next;
  return entry;
}

aotriton_dtype find_dtype(const Object* dtype) {
  const Dtype* entry = dtypes.load(std::memory_order_acquire);
  while (entry != nullptr && entry->dtype != dtype) entry = entry->next;
  return entry != nullptr ? entry->is : AOTRITON_NONE;
}

aotriton_dtype integer_type(bool is_signed, int bits) {
  switch (bits) {
    case 8: return is_signed ? AOTRITON_I8 : AOTRITON_U8;
    case 16: return is_signed ? AOTRITON_I16 : AOTRITON_U16;
    case 32: return is_signed ? AOTRITON_I32 : AOTRITON_U32;
    case 64: return is_signed ? AOTRITON_I64 : AOTRITON_U64;
    default: return AOTRITON_NONE;
  }
}

aotriton_dtype float_type(int bits) {
  switch (bits) {
    case 16: return AOTRITON_FP16;
    case 32: return AOTRITON_FP32;
    case 64: return AOTRITON_FP64;
    default: return AOTRITON_NONE;
  }
}

// DLDataTypeCode.
aotriton_dtype dlpack_type(const DlTensor& raw) {
  if (raw.lanes != 1) return AOTRITON_NONE;
  switch (raw.code) {
    case 0: return integer_type(true, raw.bits);
    case 1: return integer_type(false, raw.bits);
    case 2: return float_type(raw.bits);
    case 4: return raw.bits == 16 ? AOTRITON_BF16 : AOTRITON_NONE;
    case 6: return raw.bits == 8 ? AOTRITON_BOOL : AOTRITON_NONE;
    default: return AOTRITON_NONE;
  }
}

// Row-major steps in elements; false where 64 bits don't hold them.
bool set_row_major(aotriton_tensor& tensor) {
  std::int64_t step = 1;
  for (int i = tensor.rank; i-- > 0;) {
    tensor.strides[i] = step;
    const std::int64_t size = tensor.sizes[i] > 1 ? tensor.sizes[i] : 1;
    if (i > 0 && __builtin_mul_overflow(step, size, &step)) return false;
  }
  return true;
}

// What belongs to no dimension is zero, as the binding's general path has it.
bool set_sizes(aotriton_tensor& tensor, int rank, const std::int64_t* sizes) {
  if (rank < 0 || rank > AOTRITON_MAX_RANK) return false;
  tensor.rank = rank;
  for (int i = 0; i < AOTRITON_MAX_RANK; ++i) {
    tensor.sizes[i] = i < rank ? sizes[i] : 0;
    tensor.strides[i] = 0;
  }
  return true;
}

bool read_exchanged(Object* object, View& view) {
  DlTensor raw;
  if (view.type->view(object, &raw) != 0) return false;
  aotriton_tensor& tensor = view.tensor;
  tensor.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(raw.data) + raw.offset);
  const aotriton_dtype dtype = dlpack_type(raw);
  if (dtype == AOTRITON_NONE || !set_sizes(tensor, raw.rank, raw.sizes)) return false;
  tensor.dtype = dtype;
  if (raw.strides == nullptr) {
    if (!set_row_major(tensor)) return false;
  } else {
    for (int i = 0; i < raw.rank; ++i) tensor.strides[i] = raw.strides[i];
  }
  view.device_kind = raw.device_kind;
  view.device = raw.device;
  view.read_only = false;
  return true;
}

// PyArrayInterface of NumPy's array interface, version 3.
struct ArrayStruct {
  int two;
  int rank;
  char kind;
  int bytes;
  int flags;
  const std::intptr_t* sizes;
  const std::intptr_t* strides;  // in bytes
  void* data;
  Object* description;
};
constexpr int kContiguous = 0x1, kNotSwapped = 0x200, kWriteable = 0x400;

aotriton_dtype array_type(const ArrayStruct& raw) {
  switch (raw.kind) {
    case 'f': return float_type(raw.bytes * 8);
    case 'i': return integer_type(true, raw.bytes * 8);
    case 'u': return integer_type(false, raw.bytes * 8);
    case 'b': return raw.bytes == 1 ? AOTRITON_BOOL : AOTRITON_NONE;
    default: return AOTRITON_NONE;
  }
}

bool take_array(const ArrayStruct& raw, aotriton_dtype dtype, View& view) {
  aotriton_tensor& tensor = view.tensor;
  const bool sound = raw.two == 2 && raw.bytes > 0 && (raw.flags & kNotSwapped) != 0 && dtype != AOTRITON_NONE;
  if (!sound || !set_sizes(tensor, raw.rank, raw.sizes)) return false;
  tensor.data = raw.data;
  tensor.dtype = dtype;
  if ((raw.flags & kContiguous) != 0 || raw.strides == nullptr) {
    if (!set_row_major(tensor)) return false;
  } else {
    for (int i = 0; i < raw.rank; ++i) {
      if (raw.strides[i] % raw.bytes != 0) return false;
      tensor.strides[i] = raw.strides[i] / raw.bytes;
    }
  }
  view.device_kind = kCpu;
  view.device = 0;
  view.read_only = (raw.flags & kWriteable) == 0;
  return true;
}

// The element type of an array by its dtype object.
aotriton_dtype named_type(const Functions& python, Object* array) {
  static Object* const name = python.interned("dtype");  // as long as the process
  Object* const object = python.attribute(array, name);
  if (object == nullptr) return AOTRITON_NONE;
  const aotriton_dtype dtype = find_dtype(object);
  python.drop(object);
  return dtype;
}

bool read_array(const Functions& python, Object* array, View& view) {
  static Object* const name = python.interned("__array_struct__");  // as long as the process
  Object* const capsule = python.attribute(array, name);
  if (capsule == nullptr) return false;
  const auto* const raw = static_cast<const ArrayStruct*>(python.capsule_pointer(capsule, nullptr));
  const bool taken = raw != nullptr && take_array(*raw, raw->kind == 'V' ? named_type(python, array) : array_type(*raw), view);
  python.drop(capsule);
  return taken;
}

bool is_host_memory(std::int32_t kind) { return kind == kCpu || kind == kCudaHost || kind == kRocmHost; }

// The device of GPU memory; null where there is none, and for other kinds.
aotriton_device* memory_device(std::int32_t kind, std::int32_t number) {
  static std::array<std::array<std::atomic<aotriton_device*>, 64>, 2> opened{};
  const bool cuda = kind == kCuda || kind == kCudaManaged;
  if ((!cuda && kind != kRocm) || number < 0 || number >= 64) return nullptr;
  std::atomic<aotriton_device*>& slot = opened[cuda][static_cast<std::size_t>(number)];
  if (aotriton_device* const device = slot.load(std::memory_order_acquire)) return device;
  const core::Result<aotriton_device*> device = drivers::open_device(core::cat(cuda ? "cuda:" : "hip:", number));
  if (!device.ok()) return nullptr;
  slot.store(*device, std::memory_order_release);
  return *device;
}

aotriton_device* host_memory_device(aotriton_device* asked) {
  aotriton_device* device = asked;
  if (device == nullptr) {
    if (*core::environment(core::Variable::device) == '\0') return nullptr;
    const core::Result<aotriton_device*> named = drivers::device_of_stream(nullptr);
    if (!named.ok()) return nullptr;
    device = *named;
  }
  const std::string_view name = device->name;
  return name.starts_with("record:") || name.starts_with("sim:") ? device : nullptr;
}

}  // namespace

void know_type(const Object* type, void* view, void* current_stream) {
  if (find_type(type) != nullptr) return;
  put_in_front(types, new TensorType{type, reinterpret_cast<decltype(TensorType::view)>(view),
                                     reinterpret_cast<decltype(TensorType::current_stream)>(current_stream), nullptr});
}

void know_dtype(const Object* dtype, aotriton_dtype is) {
  if (find_dtype(dtype) == AOTRITON_NONE) put_in_front(dtypes, new Dtype{dtype, is, nullptr});
}

bool read(const Functions& python, Object* object, View& view) {
  view.type = find_type(python.kind_of(object));
  if (view.type == nullptr) return false;
  return view.type->view != nullptr ? read_exchanged(object, view) : read_array(python, object, view);
}

bool current_stream(const View& view, aotriton_stream& stream) {
  stream = nullptr;
  if (is_host_memory(view.device_kind) || view.type->current_stream == nullptr) return true;
  return view.type->current_stream(view.device_kind, view.device, &stream) == 0;
}

aotriton_device* device_of(std::span<const View> views, aotriton_device* asked) {
  if (views.empty()) return asked == nullptr || asked->name == "host" ? nullptr : asked;
  const View& first = views.front();
  const bool on_host = is_host_memory(first.device_kind);
  for (const View& view : views) {
    const bool beside = view.device_kind == first.device_kind && view.device == first.device;
    if (on_host ? !is_host_memory(view.device_kind) : !beside) return nullptr;
  }
  if (on_host) return host_memory_device(asked);
  aotriton_device* const home = memory_device(first.device_kind, first.device);
  return asked == nullptr || asked == home ? home : nullptr;
}

}  // namespace aotriton::api::python
