// HIP, and what presents its face: the simulator and the recording library.
#include "core/log.h"
#include "core/text.h"
#include "drivers/facts.h"
#include "drivers/failures.h"
#include "drivers/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <memory>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;

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
  int (*exchange_capture_mode)(int* mode);  // may be null: since ROCm 5.0
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra);
  const char* (*error_name)(int error);
  const char* (*error_string)(int error);
  // The simulator's own: what there is to say of this thread's last error, and what its next launch may touch.
  const char* (*last_error)();
  void (*launch_extents)(const void* const* addresses, const std::size_t* sizes, std::size_t count);

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
        .optional(exchange_capture_mode, "hipThreadExchangeStreamCaptureMode")
        .required(module_load, "hipModuleLoadData")
        .required(module_unload, "hipModuleUnload")
        .required(module_function, "hipModuleGetFunction")
        .required(launch, "hipModuleLaunchKernel")
        .required(error_name, "hipGetErrorName")
        .required(error_string, "hipGetErrorString")
        .optional(last_error, "aotriton_sim_last_error")
        .optional(launch_extents, "aotriton_sim_launch_extents")
        .status();
  }

  static const char* name_of(const void* api, int error) { return static_cast<const Api*>(api)->error_name(error); }
  static const char* text_of(const void* api, int error) {
    const auto* hip = static_cast<const Api*>(api);
    const char* words = hip->last_error != nullptr ? hip->last_error() : "";
    return *words != '\0' ? words : hip->error_string(error);
  }
};

constexpr Vendor kHip{"HIP", "HIP_LAUNCH_BLOCKING=1", "rocgdb", Api::name_of, Api::text_of};

struct HipCode : LoadedCode {
  void* module = nullptr;
  void* function = nullptr;
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
    failed_ = {"hipGetDevice", api_.get_device(&before_)};
    if (!failed_.ok() || before_ == ordinal) return;
    failed_ = {"hipSetDevice", api_.set_device(ordinal)};
    changed_ = failed_.ok();
  }
  ~DeviceScope() {
    if (changed_) api_.set_device(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  const Failed& failed() const { return failed_; }

 private:
  const Api& api_;
  int before_ = 0;
  Failed failed_;
  bool changed_ = false;
};

// Lets the thread do, while a stream is captured, what doesn't go into the capture.
class OutsideOfCapture {
 public:
  explicit OutsideOfCapture(const Api& api) : api_(api) { exchange(); }
  ~OutsideOfCapture() { exchange(); }
  OutsideOfCapture(const OutsideOfCapture&) = delete;
  OutsideOfCapture& operator=(const OutsideOfCapture&) = delete;

 private:
  static constexpr int kRelaxed = 2;

  void exchange() {
    if (api_.exchange_capture_mode != nullptr) api_.exchange_capture_mode(&mode_);
  }

  const Api& api_;
  int mode_ = kRelaxed;
};

// The null stream and the legacy and per-thread default ones are of the current device.
bool is_handle(aotriton_stream stream) { return reinterpret_cast<std::uintptr_t>(stream) > 2; }

class HipDriver final : public GpuDriver {
 public:
  HipDriver(const char* name, Library library, const Api& api)
      : GpuDriver(name, std::move(library)), api_(api), failures_(name, kHip, &api_) {}

  Result<int> device_count() override {
    int count = 0;
    if (const Failed failed{"hipGetDeviceCount", api_.device_count(&count)}; !failed.ok()) return failures_.status(-1, failed);
    return count;
  }

  Result<Machine> describe(int ordinal) override {
    Properties properties;
    const auto get = api_.properties_r0600 != nullptr ? api_.properties_r0600 : api_.properties_before;
    if (get == nullptr) return Status(AOTRITON_NO_DEVICE, library().path() + " has no function hipGetDeviceProperties");
    if (const int error = get(properties.bytes.data(), ordinal); error != kSuccess) {
      return failures_.status(ordinal, {"hipGetDeviceProperties", error});
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
    const bool asks_stream = is_handle(stream) && api_.stream_device != nullptr;
    const Failed failed = asks_stream ? Failed{"hipStreamGetDevice", api_.stream_device(stream, &ordinal)}
                                      : Failed{"hipGetDevice", api_.get_device(&ordinal)};
    if (!failed.ok()) return failures_.status(-1, failed);
    return ordinal;
  }

  Result<Function> load(int ordinal, const CodeObject& object) override {
    const DeviceScope scope(api_, ordinal);
    if (!scope.failed().ok()) return failures_.status(ordinal, scope.failed());
    const OutsideOfCapture outside(api_);
    auto code = std::make_unique<HipCode>();
    code->ordinal = ordinal;
    code->label = object.label.empty() ? object.symbol : object.label;
    Failed failed{"hipModuleLoadData", api_.module_load(&code->module, object.image)};
    if (!failed.ok()) return failures_.status(ordinal, failed, why_not_loaded(failed));
    failed = {"hipModuleGetFunction", api_.module_function(&code->function, code->module, object.symbol)};
    if (!failed.ok()) {
      api_.module_unload(code->module);
      return failures_.status(ordinal, failed, cat("; the code object was asked for '", object.symbol, "'"));
    }
    AOTRITON_LOG(debug, name(), ":", ordinal, " loaded ", code->label);
    return static_cast<Function>(code.release());
  }

  void unload(int ordinal, Function function) override {
    const std::unique_ptr<HipCode> code(static_cast<HipCode*>(function));
    failures_.forget(*code);
    if (process_ends()) return;
    const DeviceScope scope(api_, ordinal);
    const OutsideOfCapture outside(api_);
    if (scope.failed().ok()) api_.module_unload(code->module);
  }

  bool wants_tensors() const override { return api_.launch_extents != nullptr; }

  Status launch(int ordinal, const Launch& launch, aotriton_stream stream) override {
    // HIP counts work-items of a dimension in 32 bits.
    if (std::uint64_t{launch.grid[0]} * launch.threads > std::numeric_limits<std::uint32_t>::max()) {
      return Status(AOTRITON_UNSUPPORTED, cat("the grid has ", launch.grid[0], " blocks of ", launch.threads,
                                              " threads; HIP takes less than 2^32 threads; split the problem"));
    }
    const DeviceScope scope(api_, ordinal);
    if (!scope.failed().ok()) return failures_.status(ordinal, scope.failed());
    if (api_.launch_extents != nullptr) tell(launch.tensors);
    const auto& code = *static_cast<const HipCode*>(launch.function);
    const auto& [x, y, z] = launch.grid;
    const Failed failed{"hipModuleLaunchKernel", api_.launch(code.function, x, y, z, launch.threads, 1, 1, launch.shared,
                                                             stream, const_cast<void**>(launch.parameters), nullptr)};
    if (!failed.ok()) return launch_failure(ordinal, launch, stream, failed);
    failures_.launched(code);
    return {};
  }

 private:
  Status launch_failure(int ordinal, const Launch& launch, aotriton_stream stream, const Failed& failed) const {
    int device = ordinal;
    const bool may_be_another = failed.error == kInvalidHandle && is_handle(stream) && api_.stream_device != nullptr;
    if (may_be_another && api_.stream_device(stream, &device) == kSuccess && device != ordinal) {
      return Status(AOTRITON_INVALID_ARGUMENT, cat("the stream is of ", name(), ":", device, ", and the launch was to go to ",
                                                   name(), ":", ordinal, "; pass a stream of that device"));
    }
    if (api_.last_error != nullptr) {
      // A simulated kernel's fault is that launch's own, and nothing is lost by it.
      return Status(AOTRITON_DRIVER_ERROR, cat("the simulator ended the launch with ", api_.error_name(failed.error), ": ",
                                               api_.last_error(), grid_text(launch), "; the process can go on"));
    }
    return failures_.status(ordinal, failed, grid_text(launch));
  }

  void tell(std::span<const Extent> tensors) const {
    constexpr std::size_t kMost = 64;
    std::array<const void*, kMost> addresses;
    std::array<std::size_t, kMost> sizes;
    const std::size_t count = tensors.size() <= kMost ? tensors.size() : 0;
    for (std::size_t i = 0; i < count; ++i) addresses[i] = tensors[i].address, sizes[i] = tensors[i].bytes;
    api_.launch_extents(addresses.data(), sizes.data(), count);
  }

  static const char* why_not_loaded(const Failed& failed) {
    if (failed.error == kNoBinaryForGpu) {
      return "; the code object is not for this device's architecture; build the pack for this device's target";
    }
    if (failed.error == kInvalidImage) {
      return "; the code object is damaged, or no code object of AMD's; check the pack by `aotriton verify`, or build it again";
    }
    return "";
  }

  int attribute(int number, int ordinal, int otherwise) const {
    int value = 0;
    return api_.attribute(&value, number, ordinal) == kSuccess && value > 0 ? value : otherwise;
  }

  const Api api_;
  Failures failures_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_hip(const char* name, Library library) {
  Api api{};
  if (Status status = api.bind(library); !status.ok()) return status;
  const Failures failures(name, kHip, &api);
  const auto failure = [&](const Failed& failed) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", failures.status(-1, failed).text()));
  };
  if (const Failed failed{"hipInit", api.init(0)}; !failed.ok()) return failure(failed);
  int count = 0;
  if (const Failed failed{"hipGetDeviceCount", api.device_count(&count)}; !failed.ok()) return failure(failed);
  if (count < 1) return Status(AOTRITON_NO_DEVICE, library.path() + " finds no device");
  watch_for_the_end();
  return std::unique_ptr<GpuDriver>(std::make_unique<HipDriver>(name, std::move(library), api));
}

}  // namespace aotriton::drivers
