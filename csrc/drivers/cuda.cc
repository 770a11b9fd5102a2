// CUDA's driver API, and what presents its face: the recording library.
#include "core/log.h"
#include "core/text.h"
#include "drivers/cuda_launch.h"
#include "drivers/facts.h"
#include "drivers/gpu.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;
using cuda::Api;
using cuda::ContextScope;
using cuda::kSuccess;

constexpr int kNoBinaryForGpu = 209;
constexpr int kStreamCaptureUnsupported = 900;
constexpr std::uint32_t kSharedWithoutAsking = 48 * 1024;
constexpr int kMostDevices = 64;

// CUdevice_attribute, CUfunction_attribute, CUfunc_cache, CUjit_option: numbers of CUDA's ABI.
constexpr int kMaxGridDimX = 5, kWarpSize = 10, kMultiprocessorCount = 16, kCapabilityMajor = 75, kCapabilityMinor = 76,
              kMaxSharedOptin = 97;
constexpr int kMaxDynamicShared = 8;
constexpr int kPreferShared = 1;
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

class CudaDriver final : public GpuDriver {
 public:
  CudaDriver(const char* name, Library library, const Api& api) : GpuDriver(name, std::move(library)), api_(api) {}

  Result<int> device_count() override {
    int count = 0;
    if (const int error = api_.device_count(&count); error != kSuccess) return api_.failure("cuDeviceGetCount", error);
    return count < kMostDevices ? count : kMostDevices;
  }

  Result<Machine> describe(int ordinal) override {
    int device = 0;
    if (const int error = api_.device(&device, ordinal); error != kSuccess) return api_.failure("cuDeviceGet", error);
    std::array<char, 256> text{};
    if (const int error = api_.device_name(text.data(), text.size() - 1, device); error != kSuccess) {
      return api_.failure("cuDeviceGetName", error);
    }
    const int major = attribute(kCapabilityMajor, device, 0);
    const int minor = attribute(kCapabilityMinor, device, 0);
    const std::string target = cat("sm_", major * 10 + minor);
    const MachineFacts* facts = facts_of(target);
    Machine machine = facts != nullptr ? machine_of(*facts) : Machine{};
    machine.target = target;
    machine.description = text.data();
    machine.compute_units = attribute(kMultiprocessorCount, device, machine.compute_units);
    machine.warp_size = attribute(kWarpSize, device, 32);
    machine.shared_memory = attribute(kMaxSharedOptin, device, kSharedWithoutAsking);
    for (int i = 0; i < 3; ++i) machine.grid_limits[i] = attribute(kMaxGridDimX + i, device, 65535);
    return machine;
  }

  Result<int> device_of_stream(aotriton_stream stream) override {
    void* context = nullptr;
    if (stream != nullptr) {
      if (const int error = api_.stream_context(stream, &context); error != kSuccess) {
        return api_.failure("cuStreamGetCtx", error);
      }
    } else if (const int error = api_.get_current(&context); error != kSuccess) {
      return api_.failure("cuCtxGetCurrent", error);
    }
    if (context == nullptr) return 0;  // nothing was chosen yet: CUDA's runtime takes the first device too
    // A primary context that is retained here can't end, so its handle stays its own.
    for (int ordinal = 0; ordinal < kMostDevices; ++ordinal) {
      const void* primary = primaries_[ordinal].load(std::memory_order_acquire);
      if (primary == context) return ordinal;
    }
    const ContextScope scope(api_, context);
    if (!scope.ok()) return scope.status();
    int device = 0;
    if (const int error = api_.context_device(&device); error != kSuccess) return api_.failure("cuCtxGetDevice", error);
    return device;  // a CUdevice is its ordinal
  }

  Result<Function> load(int ordinal, const CodeObject& code) override {
    Result<void*> context = primary(ordinal);
    if (!context.ok()) return context.status();
    const ContextScope scope(api_, *context);
    if (!scope.ok()) return scope.status();
    std::array<char, 4096> log{};
    std::array<int, 2> options{kErrorLog, kErrorLogBytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
    void* module = nullptr;
    if (const int error = api_.module_load(&module, code.image, options.size(), options.data(), values.data());
        error != kSuccess) {
      const char* separator = log[0] != '\0' ? "; the driver's log: " : "";
      return Status(AOTRITON_DRIVER_ERROR, cat(api_.words("cuModuleLoadDataEx", error), hint(error), separator, log.data()));
    }
    void* function = nullptr;
    if (Status status = prepare(module, code.symbol, code.shared, &function); !status.ok()) {
      api_.module_unload(module);
      return status;
    }
    AOTRITON_LOG(debug, name(), ":", ordinal, " loaded ", code.symbol);
    return function;
  }

  // The process keeps what it loaded.
  void unload(int, Function) override {}

  Status launch(int ordinal, const Launch& launch, aotriton_stream stream) override {
    Result<void*> context = primary(ordinal);
    if (!context.ok()) return context.status();
    const ContextScope scope(api_, *context);
    if (!scope.ok()) return scope.status();
    const auto& [x, y, z] = launch.grid;
    const bool plain = !cuda::has_attributes(launch);
    const int error = plain ? api_.launch(launch.function, x, y, z, launch.threads, 1, 1, launch.shared, stream,
                                          const_cast<void**>(launch.parameters), nullptr)
                            : cuda::launch_with_attributes(api_, launch, stream);
    if (error == kSuccess) return {};
    return Status(AOTRITON_DRIVER_ERROR,
                  cat(api_.words(plain ? "cuLaunchKernel" : "cuLaunchKernelEx", error), "; grid ", x, " x ", y, " x ", z, ", ", launch.threads,
                      " threads, ", launch.shared, " bytes of shared memory on ", name(), ":", ordinal,
                      ", in the device's primary context"));
  }

  Status encode(int ordinal, const TensorMapRequest& request, TensorMap& map) override {
    Result<void*> context = primary(ordinal);
    if (!context.ok()) return context.status();
    const ContextScope scope(api_, *context);
    return scope.ok() ? cuda::encode(api_, request, map) : scope.status();
  }

 private:
  // The context that CUDA's runtime and PyTorch use, retained once and for good.
  Result<void*> primary(int ordinal) {
    if (ordinal < 0 || ordinal >= kMostDevices) {
      return Status(AOTRITON_NO_DEVICE, cat("CUDA device ", ordinal, " is beyond the ", kMostDevices, " that are served"));
    }
    std::atomic<void*>& slot = primaries_[ordinal];
    if (void* context = slot.load(std::memory_order_acquire)) return context;
    const std::lock_guard lock(mutex_);
    if (void* context = slot.load(std::memory_order_relaxed)) return context;
    int device = 0;
    if (const int error = api_.device(&device, ordinal); error != kSuccess) return api_.failure("cuDeviceGet", error);
    void* context = nullptr;
    if (const int error = api_.primary_retain(&context, device); error != kSuccess) {
      return api_.failure("cuDevicePrimaryCtxRetain", error);
    }
    slot.store(context, std::memory_order_release);
    return context;
  }

  // Finds the entry and raises its limit of shared memory where it needs more than every kernel gets.
  Status prepare(void* module, const char* symbol, std::uint32_t shared, void** function) const {
    if (const int error = api_.module_function(function, module, symbol); error != kSuccess) {
      return Status(AOTRITON_DRIVER_ERROR,
                    cat(api_.words("cuModuleGetFunction", error), "; the code object was asked for '", symbol, "'"));
    }
    if (shared <= kSharedWithoutAsking) return {};
    if (const int error = api_.function_attribute(*function, kMaxDynamicShared, static_cast<int>(shared));
        error != kSuccess) {
      return Status(AOTRITON_DRIVER_ERROR, cat(api_.words("cuFuncSetAttribute", error), "; ", symbol, " needs ", shared,
                                               " bytes of shared memory"));
    }
    if (const int error = api_.function_cache(*function, kPreferShared); error != kSuccess) {
      return api_.failure("cuFuncSetCacheConfig", error);
    }
    return {};
  }

  int attribute(int number, int device, int otherwise) const {
    int value = 0;
    return api_.attribute(&value, number, device) == kSuccess && value > 0 ? value : otherwise;
  }

  static const char* hint(int error) {
    if (error == kNoBinaryForGpu) {
      return "; code with the suffix `a` (sm_90a and later) serves its own compute capability only, other code those of "
             "its major version";
    }
    if (error == kStreamCaptureUnsupported) return "; load the code object before the capture begins";
    return "";
  }

  Api api_;
  std::mutex mutex_;  // of retaining primary contexts
  std::array<std::atomic<void*>, kMostDevices> primaries_{};
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_cuda(const char* name, Library library) {
  Api api{};
  if (Status status = api.bind(library); !status.ok()) return status;
  if (const int error = api.init(0); error != kSuccess) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", api.words("cuInit", error)));
  }
  int count = 0;
  if (const int error = api.device_count(&count); error != kSuccess) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", api.words("cuDeviceGetCount", error)));
  }
  if (count < 1) return Status(AOTRITON_NO_DEVICE, library.path() + " finds no device");
  return std::unique_ptr<GpuDriver>(std::make_unique<CudaDriver>(name, std::move(library), api));
}

}  // namespace aotriton::drivers
