// HIP, and what presents its face: the simulator and the recording library.
#include "core/log.h"
#include "core/text.h"
#include "drivers/facts.h"
#include "drivers/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;

constexpr int kSuccess = 0;
constexpr int kNoBinaryForGpu = 209;
constexpr int kStreamCaptureUnsupported = 900;

// Numbers of hipDeviceAttribute_t, which ROCm 5, 6 and 7 share.
enum Attribute { kMaxGridDimX = 29, kMultiprocessorCount = 63, kMaxSharedMemoryPerBlock = 74, kWarpSize = 87 };

// The part of HIP that is used. Its enums are ints, its handles pointers.
struct Api {
  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*get_device)(int* ordinal);
  int (*set_device)(int ordinal);
  int (*properties_r0600)(void* properties, int ordinal);
  int (*properties_before)(void* properties, int ordinal);
  int (*attribute)(int* value, int attribute, int ordinal);
  int (*stream_device)(void* stream, int* ordinal);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra);
  const char* (*error_name)(int error);
  const char* (*error_string)(int error);

  Status bind(const Library& library) {
    return Binder(library)
        .required(init, "hipInit")
        .required(device_count, "hipGetDeviceCount")
        .required(get_device, "hipGetDevice")
        .required(set_device, "hipSetDevice")
        .optional(properties_r0600, "hipGetDevicePropertiesR0600")
        .optional(properties_before, "hipGetDeviceProperties")
        .required(attribute, "hipDeviceGetAttribute")
        .optional(stream_device, "hipStreamGetDevice")
        .required(module_load, "hipModuleLoadData")
        .required(module_unload, "hipModuleUnload")
        .required(module_function, "hipModuleGetFunction")
        .required(launch, "hipModuleLaunchKernel")
        .required(error_name, "hipGetErrorName")
        .required(error_string, "hipGetErrorString")
        .status();
  }

  // HIP's own name, number and text of an error.
  std::string words(const char* function, int error) const {
    const char* name = error_name(error);
    const char* text = error_string(error);
    return cat(function, " failed: ", name != nullptr ? name : "unknown error", " (", error, "): ",
               text != nullptr ? text : "no text");
  }
  Status failure(const char* function, int error) const { return Status(AOTRITON_DRIVER_ERROR, words(function, error)); }
};

// hipDeviceProp_t: its size and the place of the architecture's name changed with ROCm 6, but in both layouts a fixed
// text, the device's name, comes first, and the architecture's is the one that starts with `gfx` and a digit after it.
struct Properties {
  static constexpr std::size_t kNameBytes = 256;
  alignas(16) std::array<char, 8192> bytes{};

  std::string device_name() const { return std::string(bytes.data(), strnlen(bytes.data(), kNameBytes)); }

  // `gfx942` of `gfx942:sramecc+:xnack-`; empty if there is none.
  std::string architecture() const {
    constexpr std::string_view kPrefix = "gfx";
    const std::string_view all(bytes.data(), bytes.size());
    for (std::size_t at = all.find(kPrefix, kNameBytes); at != all.npos; at = all.find(kPrefix, at + 1)) {
      std::size_t end = at + kPrefix.size();
      while (end < all.size() && std::isxdigit(static_cast<unsigned char>(all[end])) != 0) ++end;
      if (all[at - 1] == '\0' && end > at + kPrefix.size()) return std::string(all.substr(at, end - at));
    }
    return {};
  }
};

// Makes a device the thread's current one, and the former one again at the end.
class DeviceScope {
 public:
  DeviceScope(const Api& api, int ordinal) : api_(api) {
    if ((error_ = api_.get_device(&before_)) != kSuccess) {
      function_ = "hipGetDevice";
    } else if (before_ != ordinal) {
      error_ = api_.set_device(ordinal);
      function_ = "hipSetDevice";
      changed_ = error_ == kSuccess;
    }
  }
  ~DeviceScope() {
    if (changed_) api_.set_device(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  bool ok() const { return error_ == kSuccess; }
  Status status() const { return ok() ? Status() : api_.failure(function_, error_); }

 private:
  const Api& api_;
  int before_ = 0;
  int error_ = kSuccess;
  const char* function_ = "";
  bool changed_ = false;
};

class HipDriver final : public GpuDriver {
 public:
  HipDriver(const char* name, Library library, const Api& api) : GpuDriver(name, std::move(library)), api_(api) {}

  Result<int> device_count() override {
    int count = 0;
    if (const int error = api_.device_count(&count); error != kSuccess) return api_.failure("hipGetDeviceCount", error);
    return count;
  }

  Result<Machine> describe(int ordinal) override {
    Properties properties;
    const auto get = api_.properties_r0600 != nullptr ? api_.properties_r0600 : api_.properties_before;
    if (get == nullptr) return Status(AOTRITON_NO_DEVICE, library().path() + " has no function hipGetDeviceProperties");
    if (const int error = get(properties.bytes.data(), ordinal); error != kSuccess) {
      return api_.failure("hipGetDeviceProperties", error);
    }
    const std::string target = properties.architecture();
    if (target.empty()) {
      return Status(AOTRITON_NO_DEVICE, cat("HIP device ", ordinal, " (", properties.device_name(),
                                            ") has no architecture name that starts with gfx"));
    }
    const MachineFacts* facts = facts_of(target);
    Machine machine = facts != nullptr ? machine_of(*facts) : Machine{};
    machine.target = target;
    machine.description = properties.device_name();
    machine.compute_units = attribute(kMultiprocessorCount, ordinal, machine.compute_units);
    machine.warp_size = attribute(kWarpSize, ordinal, machine.warp_size);
    machine.shared_memory = attribute(kMaxSharedMemoryPerBlock, ordinal, static_cast<int>(machine.shared_memory));
    for (int i = 0; i < 3; ++i) {
      machine.grid_limits[i] = attribute(kMaxGridDimX + i, ordinal, std::numeric_limits<int>::max());
    }
    return machine;
  }

  Result<int> device_of_stream(aotriton_stream stream) override {
    int ordinal = 0;
    // Before ROCm 5.6 a stream didn't tell its device.
    if (stream == nullptr || api_.stream_device == nullptr) {
      if (const int error = api_.get_device(&ordinal); error != kSuccess) return api_.failure("hipGetDevice", error);
    } else if (const int error = api_.stream_device(stream, &ordinal); error != kSuccess) {
      return api_.failure("hipStreamGetDevice", error);
    }
    return ordinal;
  }

  Result<Function> load(int ordinal, const CodeObject& code) override {
    const DeviceScope scope(api_, ordinal);
    if (!scope.ok()) return scope.status();
    void* module = nullptr;
    if (const int error = api_.module_load(&module, code.image); error != kSuccess) {
      return Status(AOTRITON_DRIVER_ERROR, api_.words("hipModuleLoadData", error) + hint(error));
    }
    void* function = nullptr;
    if (const int error = api_.module_function(&function, module, code.symbol); error != kSuccess || function == nullptr) {
      api_.module_unload(module);
      return Status(AOTRITON_DRIVER_ERROR, cat(api_.words("hipModuleGetFunction", error), "; the code object was asked for '",
                                               code.symbol, "'"));
    }
    AOTRITON_LOG(debug, name(), ":", ordinal, " loaded ", code.symbol);
    return function;
  }

  // The process keeps what it loaded.
  void unload(int, Function) override {}

  Status launch(int ordinal, const Launch& launch, aotriton_stream stream) override {
    // HIP counts work-items of a dimension in 32 bits.
    if (std::uint64_t{launch.grid[0]} * launch.threads > std::numeric_limits<std::uint32_t>::max()) {
      return Status(AOTRITON_UNSUPPORTED, cat("the grid has ", launch.grid[0], " blocks of ", launch.threads,
                                              " threads; HIP takes less than 2^32 threads; split the problem"));
    }
    const DeviceScope scope(api_, ordinal);
    if (!scope.ok()) return scope.status();
    const auto& [x, y, z] = launch.grid;
    const int error = api_.launch(launch.function, x, y, z, launch.threads, 1, 1, launch.shared, stream,
                                  const_cast<void**>(launch.parameters), nullptr);
    if (error == kSuccess) return {};
    return Status(AOTRITON_DRIVER_ERROR,
                  cat(api_.words("hipModuleLaunchKernel", error), "; grid ", x, " x ", y, " x ", z, ", ", launch.threads,
                      " threads, ", launch.shared, " bytes of shared memory on ", name(), ":", ordinal));
  }

 private:
  int attribute(int number, int ordinal, int otherwise) const {
    int value = 0;
    return api_.attribute(&value, number, ordinal) == kSuccess && value > 0 ? value : otherwise;
  }

  static const char* hint(int error) {
    if (error == kNoBinaryForGpu) return "; the code object is not for this device's architecture";
    if (error == kStreamCaptureUnsupported) return "; load the code object before the capture begins";
    return "";
  }

  Api api_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_hip(const char* name, Library library) {
  Api api{};
  if (Status status = api.bind(library); !status.ok()) return status;
  if (const int error = api.init(0); error != kSuccess) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", api.words("hipInit", error)));
  }
  int count = 0;
  if (const int error = api.device_count(&count); error != kSuccess) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", api.words("hipGetDeviceCount", error)));
  }
  if (count < 1) return Status(AOTRITON_NO_DEVICE, library.path() + " finds no device");
  return std::unique_ptr<GpuDriver>(std::make_unique<HipDriver>(name, std::move(library), api));
}

}  // namespace aotriton::drivers
