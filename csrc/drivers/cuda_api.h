// The part of CUDA's driver API that is used: its functions, found in libcuda or what presents its face.
#pragma once

#include "core/text.h"
#include "drivers/failures.h"
#include "drivers/library.h"

#include <cstdint>
#include <string>

namespace aotriton::drivers::cuda {

using core::cat;
using core::Status;

struct Api {
  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*device)(int* device, int ordinal);
  int (*device_name)(char* name, int bytes, int device);
  int (*attribute)(int* value, int attribute, int device);
  int (*primary_retain)(void** context, int device);
  int (*primary_state)(int device, unsigned* flags, int* active);
  int (*get_current)(void** context);
  int (*push)(void* context);
  int (*pop)(void** context);
  int (*context_device)(int* device);
  int (*stream_context)(void* stream, void** context);
  int (*exchange_capture_mode)(int* mode);
  int (*library_load)(void** library, const void* image, int* jit_options, void** jit_values, unsigned jit_count,
                      int* options, void** values, unsigned count);
  int (*library_unload)(void* library);
  int (*library_kernel)(void** kernel, void* library, const char* name);
  int (*kernel_function)(void** function, void* kernel);
  int (*kernel_attribute)(int attribute, int value, void* kernel, int device);
  int (*kernel_cache)(void* kernel, int config, int device);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra);
  int (*launch_ex)(const void* configuration, void* function, void** parameters, void** extra);
  int (*encode_tiled)(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                      const std::uint64_t* strides, const std::uint32_t* block, const std::uint32_t* steps, int interleave,
                      int swizzle, int promotion, int fill);
  int (*error_name)(int error, const char** text);
  int (*error_string)(int error, const char** text);

  Status bind(const Library& library) {
    Status status = Binder(library)
        .required(init, "cuInit")
        .required(device_count, "cuDeviceGetCount")
        .required(device, "cuDeviceGet")
        .required(device_name, "cuDeviceGetName")
        .required(attribute, "cuDeviceGetAttribute")
        .required(primary_retain, "cuDevicePrimaryCtxRetain")
        .required(primary_state, "cuDevicePrimaryCtxGetState")
        .required(get_current, "cuCtxGetCurrent")
        .required(push, "cuCtxPushCurrent_v2")
        .required(pop, "cuCtxPopCurrent_v2")
        .required(context_device, "cuCtxGetDevice")
        .required(stream_context, "cuStreamGetCtx")
        .required(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode")
        .required(library_load, "cuLibraryLoadData")
        .required(library_unload, "cuLibraryUnload")
        .required(library_kernel, "cuLibraryGetKernel")
        .required(kernel_function, "cuKernelGetFunction")
        .required(kernel_attribute, "cuKernelSetAttribute")
        .required(kernel_cache, "cuKernelSetCacheConfig")
        .required(launch, "cuLaunchKernel")
        .required(launch_ex, "cuLaunchKernelEx")
        .required(encode_tiled, "cuTensorMapEncodeTiled")
        .required(error_name, "cuGetErrorName")
        .required(error_string, "cuGetErrorString")
        .status();
    if (status.ok()) return status;
    return Status(status.code(), cat(status.text(), "; the driver of CUDA 12.0 (525) or a later one is needed"));
  }

  static const char* name_of(const void* api, int error) {
    const char* text = nullptr;
    static_cast<const Api*>(api)->error_name(error, &text);
    return text;
  }
  static const char* text_of(const void* api, int error) {
    const char* text = nullptr;
    static_cast<const Api*>(api)->error_string(error, &text);
    return text;
  }
};

// Makes a context the thread's current one, and the former one again at the end.
class ContextScope {
 public:
  ContextScope(const Api& api, void* context) : api_(api) {
    void* current = nullptr;
    failed_ = {"cuCtxGetCurrent", api_.get_current(&current)};
    if (!failed_.ok() || current == context) return;
    failed_ = {"cuCtxPushCurrent", api_.push(context)};
    pushed_ = failed_.ok();
  }
  ~ContextScope() {
    void* popped = nullptr;
    if (pushed_) api_.pop(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  const Failed& failed() const { return failed_; }

 private:
  const Api& api_;
  Failed failed_;
  bool pushed_ = false;
};

// Lets the thread do, while a stream is captured, what doesn't go into the capture: loading code may be such.
class OutsideOfCapture {
 public:
  explicit OutsideOfCapture(const Api& api) : api_(api) { api_.exchange_capture_mode(&mode_); }
  ~OutsideOfCapture() { api_.exchange_capture_mode(&mode_); }
  OutsideOfCapture(const OutsideOfCapture&) = delete;
  OutsideOfCapture& operator=(const OutsideOfCapture&) = delete;

 private:
  static constexpr int kRelaxed = 2;

  const Api& api_;
  int mode_ = kRelaxed;
};

}  // namespace aotriton::drivers::cuda
