// The part of CUDA's driver API that is used: its functions, found in libcuda or what presents its face.
#pragma once

#include "core/text.h"
#include "drivers/library.h"

#include <cstdint>
#include <string>

namespace aotriton::drivers::cuda {

using core::cat;
using core::Status;

constexpr int kSuccess = 0;

struct Api {
  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*device)(int* device, int ordinal);
  int (*device_name)(char* name, int bytes, int device);
  int (*attribute)(int* value, int attribute, int device);
  int (*primary_retain)(void** context, int device);
  int (*get_current)(void** context);
  int (*push)(void* context);
  int (*pop)(void** context);
  int (*context_device)(int* device);
  int (*stream_context)(void* stream, void** context);
  int (*module_load)(void** module, const void* image, unsigned count, int* options, void** values);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*function_attribute)(void* function, int attribute, int value);
  int (*function_cache)(void* function, int config);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra);
  int (*launch_ex)(const void* configuration, void* function, void** parameters, void** extra);  // may be null
  int (*encode_tiled)(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                      const std::uint64_t* strides, const std::uint32_t* block, const std::uint32_t* steps, int interleave,
                      int swizzle, int promotion, int fill);  // may be null
  int (*error_name)(int error, const char** text);
  int (*error_string)(int error, const char** text);

  Status bind(const Library& library) {
    return Binder(library)
        .required(init, "cuInit")
        .required(device_count, "cuDeviceGetCount")
        .required(device, "cuDeviceGet")
        .required(device_name, "cuDeviceGetName")
        .required(attribute, "cuDeviceGetAttribute")
        .required(primary_retain, "cuDevicePrimaryCtxRetain")
        .required(get_current, "cuCtxGetCurrent")
        .required(push, "cuCtxPushCurrent_v2")
        .required(pop, "cuCtxPopCurrent_v2")
        .required(context_device, "cuCtxGetDevice")
        .required(stream_context, "cuStreamGetCtx")
        .required(module_load, "cuModuleLoadDataEx")
        .required(module_unload, "cuModuleUnload")
        .required(module_function, "cuModuleGetFunction")
        .required(function_attribute, "cuFuncSetAttribute")
        .required(function_cache, "cuFuncSetCacheConfig")
        .required(launch, "cuLaunchKernel")
        .optional(launch_ex, "cuLaunchKernelEx")
        .optional(encode_tiled, "cuTensorMapEncodeTiled")
        .required(error_name, "cuGetErrorName")
        .required(error_string, "cuGetErrorString")
        .status();
  }

  // CUDA's own name, number and text of an error.
  std::string words(const char* function, int error) const {
    const char* name = nullptr;
    const char* text = nullptr;
    error_name(error, &name);
    error_string(error, &text);
    return cat(function, " failed: ", name != nullptr ? name : "unknown error", " (", error, "): ",
               text != nullptr ? text : "no text");
  }
  Status failure(const char* function, int error) const { return Status(AOTRITON_DRIVER_ERROR, words(function, error)); }
};

// Makes a context the thread's current one, and the former one again at the end. Where it is current already, as in
// any thread that PyTorch or CUDA's runtime has used, that costs one look.
class ContextScope {
 public:
  ContextScope(const Api& api, void* context) : api_(api) {
    void* current = nullptr;
    if ((error_ = api_.get_current(&current)) != kSuccess) {
      function_ = "cuCtxGetCurrent";
    } else if (current != context) {
      error_ = api_.push(context);
      function_ = "cuCtxPushCurrent";
      pushed_ = error_ == kSuccess;
    }
  }
  ~ContextScope() {
    void* popped = nullptr;
    if (pushed_) api_.pop(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  bool ok() const { return error_ == kSuccess; }
  Status status() const { return ok() ? Status() : api_.failure(function_, error_); }

 private:
  const Api& api_;
  int error_ = kSuccess;
  const char* function_ = "";
  bool pushed_ = false;
};

}  // namespace aotriton::drivers::cuda
