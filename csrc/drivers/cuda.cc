// CUDA's driver API, and what presents its face: the recording library.
#include "core/log.h"
#include "core/text.h"
#include "drivers/cuda_launch.h"
#include "drivers/facts.h"
#include "drivers/gpu.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;
using cuda::Api;
using cuda::ContextScope;

constexpr std::uint32_t kSharedWithoutAsking = 48 * 1024;

// CUdevice_attribute, CUfunction_attribute, CUfunc_cache, CUjit_option: numbers of CUDA's ABI.
constexpr int kMaxGridDimX = 5, kWarpSize = 10, kMultiprocessorCount = 16, kCapabilityMajor = 75, kCapabilityMinor = 76,
              kMaxSharedOptin = 97;
constexpr int kMaxDynamicShared = 8, kLargeClusterAllowed = 14;
constexpr int kPreferShared = 1;
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

constexpr Vendor kCuda{"CUDA", "CUDA_LAUNCH_BLOCKING=1", "compute-sanitizer", Api::name_of, Api::text_of};

// Code that a library of CUDA's holds: that belongs to no context, and the driver brings it into each that launches it.
struct CudaCode : LoadedCode {
  void* library = nullptr;
  void* kernel = nullptr;
  std::atomic<void*> in_primary{nullptr};  // the kernel's function in the device's primary context, once it was there
};

// Whether the handle says its context: the null stream and the two legacy and per-thread default ones take the current.
bool is_handle(aotriton_stream stream) { return reinterpret_cast<std::uintptr_t>(stream) > 2; }

class CudaDriver final : public GpuDriver {
 public:
  CudaDriver(const char* name, Library library, const Api& api)
      : GpuDriver(name, std::move(library)), api_(api), failures_(name, kCuda, &api_) {}

  Result<int> device_count() override {
    int count = 0;
    if (const Failed failed{"cuDeviceGetCount", api_.device_count(&count)}; !failed.ok()) return failures_.status(-1, failed);
    return count < kMostDevices ? count : kMostDevices;
  }

  Result<Machine> describe(int ordinal) override {
    int device = 0;
    Failed failed{"cuDeviceGet", api_.device(&device, ordinal)};
    if (!failed.ok()) return failures_.status(ordinal, failed);
    std::array<char, 256> text{};
    failed = {"cuDeviceGetName", api_.device_name(text.data(), text.size() - 1, device)};
    if (!failed.ok()) return failures_.status(ordinal, failed);
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
    if (is_handle(stream)) {
      const Failed failed{"cuStreamGetCtx", api_.stream_context(stream, &context)};
      if (!failed.ok()) return failures_.status(-1, failed);
    } else {
      const Failed failed{"cuCtxGetCurrent", api_.get_current(&context)};
      if (!failed.ok()) return failures_.status(-1, failed);
    }
    if (context == nullptr) return 0;  // nothing was chosen yet: CUDA's runtime takes the first device too
    return device_of(context);
  }

  Result<Function> load(int ordinal, const CodeObject& object) override {
    auto code = std::make_unique<CudaCode>();
    code->ordinal = ordinal;
    code->label = object.label.empty() ? object.symbol : object.label;
    Status status = in_context(ordinal, nullptr, [&](void* context, std::string& detail) {
      const cuda::OutsideOfCapture outside(api_);
      const Failed failed = load_here(object, context, *code);
      if (!failed.ok()) detail = why_not_loaded(object, failed);
      if (!failed.ok() && code->library != nullptr) api_.library_unload(code->library);
      return failed;
    });
    if (!status.ok()) return status;
    AOTRITON_LOG(debug, name(), ":", ordinal, " loaded ", code->label);
    return static_cast<Function>(code.release());
  }

  void unload(int, Function function) override {
    const std::unique_ptr<CudaCode> code(static_cast<CudaCode*>(function));
    failures_.forget(*code);
    if (process_ends()) return;
    const cuda::OutsideOfCapture outside(api_);
    api_.library_unload(code->library);  // fails where the driver is gone, or in a forked process: nothing is left to free
  }

  // A function belongs to a context, and the driver refuses to launch it on another's stream. So where a stream's handle is
  // given the primary context's is tried at once; without one, the thread's current context decides.
  Status launch(int ordinal, const Launch& launch, aotriton_stream stream) override {
    auto& code = *static_cast<CudaCode*>(launch.function);
    if (void* const function = code.in_primary.load(std::memory_order_acquire);
        function != nullptr && (is_handle(stream) || primary_is_current(ordinal))) {
      const Failed failed = cuda::enqueue(api_, function, launch, stream);
      if (failed.ok()) {
        failures_.launched(code);
        return {};
      }
      const bool other = failed.error == kInvalidHandle || failed.error == kInvalidContext || failed.error == kContextDestroyed;
      if (!other) return failures_.status(ordinal, failed, grid_text(launch));
    }
    return launch_in_any_context(ordinal, code, launch, stream);
  }

  Status encode(int ordinal, const TensorMapRequest& request, TensorMap& map) override {
    if (!cuda::has_tensor_map(request.type)) {
      return Status(AOTRITON_UNSUPPORTED, cat("no tensor map has elements of dtype ", int{request.type}));
    }
    return in_context(ordinal, nullptr, [&](void*, std::string& detail) { return cuda::encode(api_, request, map, detail); });
  }

 private:
  Status launch_in_any_context(int ordinal, CudaCode& code, const Launch& launch, aotriton_stream stream) {
    Status status = in_context(ordinal, stream, [&](void* context, std::string& detail) {
      void* function = nullptr;
      Failed failed;
      {
        const cuda::OutsideOfCapture outside(api_);  // the code may come into this context only now
        failed = function_here(context, code, function);
      }
      if (failed.ok()) failed = cuda::enqueue(api_, function, launch, stream);
      if (!failed.ok()) detail = grid_text(launch);
      return failed;
    });
    if (status.ok()) failures_.launched(code);
    return status;
  }

  // Runs `body` with a context of the device current: the stream's, else the thread's current one, else the primary one.
  // A primary context that was reset since it was retained is retained anew.
  template <typename Body>
  Status in_context(int ordinal, aotriton_stream stream, const Body& body) {
    for (bool is_first = true;; is_first = false) {
      Result<void*> context = context_for(ordinal, stream);
      if (!context.ok()) return context.status();
      Failed failed;
      std::string detail;
      {
        const ContextScope scope(api_, *context);
        failed = scope.failed().ok() ? body(*context, detail) : scope.failed();
      }
      if (failed.ok()) return {};
      const bool is_primary = *context == primaries_[ordinal].load(std::memory_order_acquire);
      if (!is_first || !is_primary || failed.error != kContextDestroyed) return failures_.status(ordinal, failed, detail);
      if (Result<void*> anew = retain_primary(ordinal); !anew.ok()) return anew.status();
    }
  }

  Result<void*> context_for(int ordinal, aotriton_stream stream) {
    void* context = nullptr;
    if (is_handle(stream)) {
      const Failed failed{"cuStreamGetCtx", api_.stream_context(stream, &context)};
      if (!failed.ok()) return failures_.status(ordinal, failed, "; is that a stream of this process?");
    } else {
      const Failed failed{"cuCtxGetCurrent", api_.get_current(&context)};
      if (!failed.ok()) return failures_.status(ordinal, failed);
    }
    if (context == nullptr) return primary(ordinal);
    notice_primary(ordinal);
    const Result<int> device = device_of(context);
    if (!device.ok()) return device.status();
    if (*device == ordinal) return context;
    if (!is_handle(stream)) return primary(ordinal);
    return Status(AOTRITON_INVALID_ARGUMENT, cat("the stream is of ", name(), ":", *device, ", and the launch was to go to ",
                                                 name(), ":", ordinal, "; pass a stream of that device"));
  }

  Result<int> device_of(void* context) const {
    // A primary context that is retained here keeps its handle, even when it is reset.
    for (int ordinal = 0; ordinal < kMostDevices; ++ordinal) {
      const void* primary = primaries_[ordinal].load(std::memory_order_acquire);
      if (primary == context) return ordinal;
    }
    const ContextScope scope(api_, context);
    if (!scope.failed().ok()) return failures_.status(-1, scope.failed());
    int device = 0;
    const Failed failed{"cuCtxGetDevice", api_.context_device(&device)};
    if (!failed.ok()) return failures_.status(-1, failed);
    return device;  // a CUdevice is its ordinal
  }

  bool primary_is_current(int ordinal) const {
    void* current = nullptr;
    return api_.get_current(&current) == kSuccess && current != nullptr &&
           current == primaries_[ordinal].load(std::memory_order_acquire);
  }

  // Retains the primary context if somebody else has made it, so that it is known when it is current.
  void notice_primary(int ordinal) {
    if (ordinal < 0 || ordinal >= kMostDevices || primaries_[ordinal].load(std::memory_order_acquire) != nullptr) return;
    unsigned flags = 0;
    int active = 0;
    if (api_.primary_state(ordinal, &flags, &active) == kSuccess && active != 0) static_cast<void>(retain_primary(ordinal));
  }

  // The context that CUDA's runtime and PyTorch use, retained once and for good.
  Result<void*> primary(int ordinal) {
    if (ordinal < 0 || ordinal >= kMostDevices) {
      return Status(AOTRITON_NO_DEVICE, cat("CUDA device ", ordinal, " is beyond the ", kMostDevices, " that are served"));
    }
    if (void* context = primaries_[ordinal].load(std::memory_order_acquire)) return context;
    return retain_primary(ordinal);
  }

  Result<void*> retain_primary(int ordinal) {
    const std::lock_guard lock(mutex_);
    int device = 0;
    Failed failed{"cuDeviceGet", api_.device(&device, ordinal)};
    void* context = nullptr;
    if (failed.ok()) failed = {"cuDevicePrimaryCtxRetain", api_.primary_retain(&context, device)};
    if (!failed.ok()) return failures_.status(ordinal, failed);
    primaries_[ordinal].store(context, std::memory_order_release);
    return context;
  }

  // Loads the library, raises limits, and brings the code into the current context, where a refusal shows.
  Failed load_here(const CodeObject& object, void* context, CudaCode& code) const {
    code.library = nullptr;
    Failed failed{"cuLibraryLoadData", api_.library_load(&code.library, object.image, nullptr, nullptr, 0, nullptr, nullptr, 0)};
    if (failed.ok()) failed = {"cuLibraryGetKernel", api_.library_kernel(&code.kernel, code.library, object.symbol)};
    if (failed.ok()) failed = raise_limits(object, code);
    void* function = nullptr;
    return failed.ok() ? function_here(context, code, function) : failed;
  }

  Failed function_here(void* context, CudaCode& code, void*& function) const {
    const Failed failed{"cuKernelGetFunction", api_.kernel_function(&function, code.kernel)};
    const bool is_primary = context == primaries_[code.ordinal].load(std::memory_order_acquire);
    if (failed.ok() && is_primary) code.in_primary.store(function, std::memory_order_release);
    return failed;
  }

  // For all contexts of the device.
  Failed raise_limits(const CodeObject& object, const CudaCode& code) const {
    // Before compute capability 9.0 there are no clusters, and nothing asks for large ones.
    api_.kernel_attribute(kLargeClusterAllowed, 1, code.kernel, code.ordinal);
    if (object.shared <= kSharedWithoutAsking) return {};
    const auto shared = static_cast<int>(object.shared);
    const Failed failed{"cuKernelSetAttribute", api_.kernel_attribute(kMaxDynamicShared, shared, code.kernel, code.ordinal)};
    if (!failed.ok()) return failed;
    return {"cuKernelSetCacheConfig", api_.kernel_cache(code.kernel, kPreferShared, code.ordinal)};
  }

  std::string why_not_loaded(const CodeObject& object, const Failed& failed) {
    constexpr int kNotFound = 500, kInvalidValue = 1;
    const std::string target = target_of_cubin(object);
    if (failed.error == kNotFound) return cat("; the code object was asked for '", object.symbol, "'");
    if (failed.error == kInvalidValue) return cat("; ", object.symbol, " needs ", object.shared, " bytes of shared memory");
    if (failed.error == kNoBinaryForGpu) {
      return cat("; the code object is for ", target, "; code for sm_90a and later serves its own compute capability only, other "
                 "code those of its major version from its own on; build the pack for this device's target");
    }
    if (failed.error != kInvalidImage) return {};
    return cat("; the code object", target.empty() ? " is no ELF file of NVIDIA's" : " is damaged, or newer than the driver",
               log_of_loading(object), "; check the pack by `aotriton verify`, build it again, or update the driver");
  }

  // Loading is tried once more to ask for the driver's own log: the log's memory must not outlive the library.
  std::string log_of_loading(const CodeObject& object) const {
    std::array<char, 4096> log{};
    std::array<int, 2> options{kErrorLog, kErrorLogBytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
    void* library = nullptr;
    const int error = api_.library_load(&library, object.image, options.data(), values.data(), options.size(), nullptr, nullptr, 0);
    if (error == kSuccess) api_.library_unload(library);
    return log[0] != '\0' ? cat("; the driver's log: ", log.data()) : std::string();
  }

  int attribute(int number, int device, int otherwise) const {
    int value = 0;
    return api_.attribute(&value, number, device) == kSuccess && value > 0 ? value : otherwise;
  }

  const Api api_;
  Failures failures_;
  std::mutex mutex_;  // of retaining primary contexts
  std::array<std::atomic<void*>, kMostDevices> primaries_{};
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_cuda(const char* name, Library library) {
  Api api{};
  if (Status status = api.bind(library); !status.ok()) return status;
  const Failures failures(name, kCuda, &api);
  const auto failure = [&](const Failed& failed) {
    return Status(AOTRITON_NO_DEVICE, cat(library.path(), ": ", failures.status(-1, failed).text()));
  };
  if (const Failed failed{"cuInit", api.init(0)}; !failed.ok()) return failure(failed);
  int count = 0;
  if (const Failed failed{"cuDeviceGetCount", api.device_count(&count)}; !failed.ok()) return failure(failed);
  if (count < 1) return Status(AOTRITON_NO_DEVICE, library.path() + " finds no device");
  watch_for_the_end();
  return std::unique_ptr<GpuDriver>(std::make_unique<CudaDriver>(name, std::move(library), api));
}

}  // namespace aotriton::drivers
