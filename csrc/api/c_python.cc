// Calls from Python with its objects as they are. Each function takes the objects by position, as METH_FASTCALL does, and
// answers with a status as an int, or with kDeclined where it can't serve the arguments: nothing happened then, and the
// binding's general path does it or says what is wrong. So no text of an error is here.
#include "api/python_tensors.h"
#include "drivers/devices.h"
#include "pack/index.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace {

using namespace aotriton::api::python;

constexpr long kDeclined = -1;
constexpr int kFastCall = 0x0080;  // METH_FASTCALL

// The status of a call that was made; none where it was declined, or Python's error is set.
using Answer = std::optional<aotriton_status>;
constexpr std::nullopt_t kDecline = std::nullopt;

// A launch may wait for a place in the driver's queue, and what the driver calls back may want the interpreter.
template <typename Call>
Answer run_released(const Functions& python, Call call) {
  const Released released(python);
  return call();
}

// An int within limits; nothing else, not even what Python would take for one.
bool read_integer(const Functions& python, Object* object, long long least, long long most, long long& value) {
  if (python.kind_of(object) != python.int_type) return false;
  value = python.to_integer(object);
  return value >= least && value <= most && (value != -1 || python.error() == nullptr);
}

template <typename Integer>
bool read_integer(const Functions& python, Object* object, Integer& value) {
  using Limits = std::numeric_limits<Integer>;
  long long wide = 0;
  if (!read_integer(python, object, Limits::min(), Limits::max(), wide)) return false;
  value = static_cast<Integer>(wide);
  return true;
}

// An address, given as an int.
template <typename Pointee>
bool read_pointer(const Functions& python, Object* object, Pointee*& pointer) {
  if (python.kind_of(object) != python.int_type) return false;
  const unsigned long long address = python.to_address(object);
  pointer = reinterpret_cast<Pointee*>(static_cast<std::uintptr_t>(address));
  return address != std::numeric_limits<unsigned long long>::max() || python.error() == nullptr;
}

// The stream that was given, or for None that of the first tensor's library.
bool read_stream(const Functions& python, Object* object, std::span<const View> views, aotriton_stream& stream) {
  if (object != python.none) return read_pointer(python, object, stream);
  stream = nullptr;
  return views.empty() || current_stream(views.front(), stream);
}

// ---- attn_fwd(q, k, v, out, lse, scale, mask, device, stream) ----

bool read_scale(const Functions& python, Object* object, std::int64_t head_dim, float& scale) {
  if (object == python.none) {
    scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim > 1 ? head_dim : 1)));
    return true;
  }
  const Object* const kind = python.kind_of(object);
  if (kind != python.float_type && kind != python.int_type) return false;
  const double value = python.to_real(object);
  scale = static_cast<float>(value);
  return value != -1 || python.error() == nullptr;
}

// None, or a tuple of the causal type and both sides of the window.
bool read_mask(const Functions& python, Object* object, aotriton_attn_fwd_params& params) {
  if (object == python.none) return true;
  if (python.kind_of(object) != python.tuple_type || python.tuple_size(object) != 3) return false;
  return read_integer(python, python.tuple_item(object, 0), params.causal_type) &&
         read_integer(python, python.tuple_item(object, 1), params.window_left) &&
         read_integer(python, python.tuple_item(object, 2), params.window_right);
}

// The tensors of a call, of which q, k and v have four dimensions and the others may be written.
bool read_attention(const Functions& python, Object* const* given, std::span<View> views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!read(python, given[i], views[i])) return false;
    if (i < 3 ? views[i].tensor.rank != 4 : views[i].read_only) return false;
  }
  return true;
}

Answer attn_fwd(const Functions& python, Object* const* given) {
  std::array<View, 5> all;
  const bool with_lse = given[4] != python.none;
  const std::span<View> views(all.data(), with_lse ? 5 : 4);
  if (!read_attention(python, given, views)) return kDecline;
  aotriton_attn_fwd_params params{};
  params.size = sizeof params;
  params.q = all[0].tensor;
  params.k = all[1].tensor;
  params.v = all[2].tensor;
  params.out = all[3].tensor;
  if (with_lse) params.lse = all[4].tensor;
  if (with_lse && params.lse.data == nullptr) return kDecline;  // the C API would take it for no tensor
  aotriton_device* asked = nullptr;
  aotriton_stream stream = nullptr;
  if (!read_scale(python, given[5], params.q.sizes[3], params.scale) || !read_mask(python, given[6], params) ||
      (given[7] != python.none && !read_pointer(python, given[7], asked)) ||
      !read_stream(python, given[8], views, stream)) {
    return kDecline;
  }
  aotriton_device* const device = device_of(views, asked);
  if (device == nullptr) return kDecline;
  return run_released(python, [&] { return aotriton_attn_fwd(&params, device, stream, nullptr, nullptr); });
}

// ---- attn_fwd_params(address of the struct, stream, address of the options or 0) ----

Answer attn_fwd_params(const Functions& python, Object* const* given) {
  const aotriton_attn_fwd_params* params = nullptr;
  const aotriton_attn_options* options = nullptr;
  aotriton_stream stream = nullptr;
  if (!read_pointer(python, given[0], params) || !read_pointer(python, given[1], stream) ||
      !read_pointer(python, given[2], options)) {
    return kDecline;
  }
  const auto device = aotriton::drivers::device_of_stream(stream);
  if (!device.ok() || (*device)->name == "host") return kDecline;
  return run_released(python, [&] { return aotriton_attn_fwd(params, *device, stream, options, nullptr); });
}

// ---- kernel_launch(kernel, device, arguments, grid, config, stream) ----

// Arguments and the views of those that are tensors, on the stack: only as many as there are get written.
class Arguments {
 public:
  Arguments() {}

  // None of them where the value is None.
  bool add(const Functions& python, Object* name, Object* value) {
    if (value == python.none) return true;
    if (count_ == kMost) return false;
    aotriton_argument& argument = arguments_[count_];
    Size bytes = 0;
    argument.name = python.to_text(name, &bytes);
    argument.reserved = 0;
    // A NUL in a name would end it.
    if (argument.name == nullptr || std::strlen(argument.name) != static_cast<std::size_t>(bytes)) return false;
    if (!read_value(python, value, argument)) return false;
    ++count_;
    return true;
  }

  std::span<const View> views() const { return {views_, view_count_}; }
  const aotriton_argument* data() const { return arguments_; }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kMost = aotriton::pack::kMaxArguments;

  bool read_value(const Functions& python, Object* value, aotriton_argument& argument) {
    const Object* const kind = python.kind_of(value);
    if (kind == python.float_type) {
      argument.kind = AOTRITON_ARGUMENT_REAL;
      argument.real = python.to_real(value);
      return true;
    }
    if (kind == python.int_type || kind == python.bool_type) {
      argument.kind = AOTRITON_ARGUMENT_INTEGER;
      argument.integer = python.to_integer(value);
      return argument.integer != -1 || python.error() == nullptr;
    }
    View& view = views_[view_count_];
    if (!read(python, value, view)) return false;
    ++view_count_;
    argument.kind = AOTRITON_ARGUMENT_TENSOR;
    argument.tensor = view.tensor;
    return true;
  }

  union {
    aotriton_argument arguments_[kMost];
  };
  union {
    View views_[kMost];
  };
  std::size_t count_ = 0;
  std::size_t view_count_ = 0;
};

// None, or a tuple of one to three sizes.
bool read_grid(const Functions& python, Object* object, std::array<std::uint32_t, 3>& sizes, const std::uint32_t*& grid) {
  if (object == python.none) return true;
  if (python.kind_of(object) != python.tuple_type) return false;
  const Size count = python.tuple_size(object);
  if (count < 1 || count > 3) return false;
  sizes = {1, 1, 1};
  for (Size i = 0; i < count; ++i) {
    if (!read_integer(python, python.tuple_item(object, i), sizes[static_cast<std::size_t>(i)])) return false;
  }
  grid = sizes.data();
  return true;
}

Answer kernel_launch(const Functions& python, Object* const* given) {
  aotriton_kernel* kernel = nullptr;
  aotriton_device* device = nullptr;
  if (!read_pointer(python, given[0], kernel) || !read_pointer(python, given[1], device)) return kDecline;
  Arguments arguments;
  Size position = 0;
  for (Object *name, *value; python.dict_next(given[2], &position, &name, &value) != 0;) {
    if (!arguments.add(python, name, value)) return kDecline;
  }
  aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
  std::array<std::uint32_t, 3> sizes;
  aotriton_stream stream = nullptr;
  if (!read_grid(python, given[3], sizes, options.grid) ||
      (given[4] != python.none && !read_integer(python, given[4], options.config)) ||
      !read_stream(python, given[5], arguments.views(), stream)) {
    return kDecline;
  }
  if (device == nullptr || device_of(arguments.views(), device) == nullptr) return kDecline;
  return run_released(python, [&] {
    return aotriton_kernel_launch(kernel, arguments.data(), arguments.size(), stream, &options);
  });
}

// ---- know_type(type, view, current_stream), know_dtype(dtype, number) ----

Answer learn_type(const Functions& python, Object* const* given) {
  void* view = nullptr;
  void* stream = nullptr;
  if (!read_pointer(python, given[1], view) || !read_pointer(python, given[2], stream)) return kDecline;
  know_type(given[0], view, stream);
  return AOTRITON_SUCCESS;
}

Answer learn_dtype(const Functions& python, Object* const* given) {
  std::int32_t number = 0;
  if (!read_integer(python, given[1], number)) return kDecline;
  know_dtype(given[0], static_cast<aotriton_dtype>(number));
  return AOTRITON_SUCCESS;
}

// A function as Python calls it: an int, or null with Python's error set.
template <Answer (*body)(const Functions&, Object* const*), Size arity>
Object* method(Object*, Object* const* given, Size count) noexcept {
  const Functions& python = *functions();
  Answer answer;
  try {
    if (count == arity) answer = body(python, given);
  } catch (...) {  // no memory: the general path finds none either, and says so
  }
  if (!answer && python.error() != nullptr) return nullptr;
  return python.integer(answer ? static_cast<long>(*answer) : kDeclined);
}

// PyMethodDef.
struct Method {
  const char* name;
  Object* (*function)(Object* self, Object* const* given, Size count) noexcept;
  int flags;
  const char* doc;
};

constexpr Method kMethods[] = {
    {"attn_fwd", method<attn_fwd, 9>, kFastCall, nullptr},
    {"attn_fwd_params", method<attn_fwd_params, 3>, kFastCall, nullptr},
    {"kernel_launch", method<kernel_launch, 6>, kFastCall, nullptr},
    {"know_type", method<learn_type, 3>, kFastCall, nullptr},
    {"know_dtype", method<learn_dtype, 2>, kFastCall, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

const void* aotriton_python_methods(void) { return functions() != nullptr ? kMethods : nullptr; }
