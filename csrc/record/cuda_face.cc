// CUDA's driver face: the functions that the library uses and those that its tests do.
#include "record/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define RECORD_API extern "C" __attribute__((visibility("default")))

using namespace aotriton::record;

namespace {

thread_local std::vector<Context*> contexts;

template <typename Body>
int call(const char* function, Body&& body, InCapture in_capture = InCapture::allowed) {
  return Recorder::instance().call(function, in_capture, body);
}

Context* current() { return contexts.empty() ? nullptr : contexts.back(); }

const char* error_name(int error) {
  switch (error) {
    case kSuccess: return "CUDA_SUCCESS";
    case kInvalidValue: return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory: return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNotInitialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case kNoDevice: return "CUDA_ERROR_NO_DEVICE";
    case kInvalidDevice: return "CUDA_ERROR_INVALID_DEVICE";
    case kInvalidImage: return "CUDA_ERROR_INVALID_IMAGE";
    case kInvalidContext: return "CUDA_ERROR_INVALID_CONTEXT";
    case kNoBinaryForGpu: return "CUDA_ERROR_NO_BINARY_FOR_GPU";
    case kInvalidHandle: return "CUDA_ERROR_INVALID_HANDLE";
    case kNotFound: return "CUDA_ERROR_NOT_FOUND";
    case 700: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case 719: return "CUDA_ERROR_LAUNCH_FAILED";
    case kContextDestroyed: return "CUDA_ERROR_CONTEXT_IS_DESTROYED";
    case kCaptureUnsupported: return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    default: return "CUDA_ERROR_UNKNOWN";
  }
}

}  // namespace

RECORD_API int cuInit(unsigned) {
  return call("cuInit", [](Recorder& r) { return r.devices(Face::cuda).empty() ? kNoDevice : kSuccess; });
}

RECORD_API int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&](Recorder& r) {
    *count = static_cast<int>(r.devices(Face::cuda).size());
    return kSuccess;
  });
}

RECORD_API int cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", [&](Recorder& r) {
    *device = ordinal;
    return r.device(Face::cuda, ordinal) == nullptr ? kInvalidDevice : kSuccess;
  });
}

RECORD_API int cuDeviceGetName(char* name, int bytes, int ordinal) {
  return call("cuDeviceGetName", [&](Recorder& r) {
    const Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    std::snprintf(name, static_cast<std::size_t>(bytes), "recording %s", device->facts->target);
    return kSuccess;
  });
}

RECORD_API int cuDeviceGetAttribute(int* value, int attribute, int ordinal) {
  return call("cuDeviceGetAttribute", [&](Recorder& r) {
    const Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    const int capability = std::atoi(device->facts->target + 3);  // of sm_90
    switch (attribute) {
      case 5: *value = 0x7fffffff; return kSuccess;                     // MAX_GRID_DIM_X
      case 6: case 7: *value = 65535; return kSuccess;                  // MAX_GRID_DIM_Y, Z
      case 10: *value = device->facts->warp_size; return kSuccess;      // WARP_SIZE
      case 16: *value = device->facts->compute_units; return kSuccess;  // MULTIPROCESSOR_COUNT
      case 75: *value = capability / 10; return kSuccess;               // COMPUTE_CAPABILITY_MAJOR
      case 76: *value = capability % 10; return kSuccess;               // COMPUTE_CAPABILITY_MINOR
      case 120: case 127: *value = capability >= 90; return kSuccess;   // CLUSTER_LAUNCH, TENSOR_MAP_ACCESS
      case 97: *value = static_cast<int>(device->facts->shared_memory); return kSuccess;  // MAX_SHARED_…_OPTIN
      default: return kInvalidValue;
    }
  });
}

RECORD_API int cuGetErrorName(int error, const char** text) {
  *text = error_name(error);
  return kSuccess;
}

RECORD_API int cuGetErrorString(int error, const char** text) {
  *text = error_text(error);
  return kSuccess;
}

// ---- contexts ----

RECORD_API int cuDevicePrimaryCtxRetain(Context** context, int ordinal) {
  return call("cuDevicePrimaryCtxRetain", [&](Recorder& r) {
    Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    *context = &device->primary;
    device->primary.alive = true;
    return kSuccess;
  });
}

RECORD_API int cuDevicePrimaryCtxGetState(int ordinal, unsigned* flags, int* active) {
  return call("cuDevicePrimaryCtxGetState", [&](Recorder& r) {
    const Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    *flags = 0;
    *active = device->primary.alive;
    return kSuccess;
  });
}

RECORD_API int cuDevicePrimaryCtxReset_v2(int ordinal) {
  return call("cuDevicePrimaryCtxReset", [&](Recorder& r) {
    Device* device = r.device(Face::cuda, ordinal);
    return device == nullptr ? int{kInvalidDevice} : r.reset_primary(*device);
  });
}

RECORD_API int cuCtxCreate_v2(Context** context, unsigned, int ordinal) {
  return call("cuCtxCreate", [&](Recorder& r) {
    Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    contexts.push_back(*context = r.make_context(*device));
    return kSuccess;
  });
}

RECORD_API int cuCtxDestroy_v2(Context* context) {
  return call("cuCtxDestroy", [&](Recorder& r) {
    if (current() == context) contexts.pop_back();
    return r.end_context(context);
  });
}

RECORD_API int cuCtxGetCurrent(Context** context) {
  return call("cuCtxGetCurrent", [&](Recorder&) {
    *context = current();
    return kSuccess;
  });
}

RECORD_API int cuCtxSetCurrent(Context* context) {
  return call("cuCtxSetCurrent", [&](Recorder&) {
    if (!contexts.empty()) contexts.pop_back();
    if (context != nullptr) contexts.push_back(context);
    return kSuccess;
  });
}

RECORD_API int cuCtxPushCurrent_v2(Context* context) {
  return call("cuCtxPushCurrent", [&](Recorder&) {
    contexts.push_back(context);
    return kSuccess;
  });
}

RECORD_API int cuCtxPopCurrent_v2(Context** context) {
  return call("cuCtxPopCurrent", [&](Recorder&) {
    if (contexts.empty()) return kInvalidContext;
    if (context != nullptr) *context = contexts.back();
    contexts.pop_back();
    return kSuccess;
  });
}

RECORD_API int cuCtxGetDevice(int* ordinal) {
  return call("cuCtxGetDevice", [&](Recorder&) {
    if (current() == nullptr) return kInvalidContext;
    *ordinal = current()->device->ordinal;
    return kSuccess;
  });
}

// ---- code ----

RECORD_API int cuLibraryLoadData(Library** library, const void* image, int*, void**, unsigned, int*, void**, unsigned) {
  return call("cuLibraryLoadData", [&](Recorder& r) { return r.load(image, library); }, InCapture::forbidden);
}

RECORD_API int cuLibraryUnload(Library* library) {
  return call("cuLibraryUnload", [&](Recorder& r) { return r.unload(library); }, InCapture::forbidden);
}

RECORD_API int cuLibraryGetKernel(Kernel** kernel, Library* library, const char* name) {
  return call("cuLibraryGetKernel", [&](Recorder& r) -> int {
    return current() == nullptr ? int{kInvalidContext} : r.find(library, name, *current()->device, kernel);
  });
}

RECORD_API int cuKernelGetFunction(Function** function, Kernel* kernel) {
  return call("cuKernelGetFunction", [&](Recorder& r) -> int {
    return current() == nullptr ? int{kInvalidContext} : r.bring(kernel, *current(), function);
  }, InCapture::forbidden);
}

RECORD_API int cuKernelSetAttribute(int attribute, int value, Kernel* kernel, int ordinal) {
  constexpr int kMaxDynamicShared = 8;
  return call("cuKernelSetAttribute", [&](Recorder& r) -> int {
    const Device* device = r.device(Face::cuda, ordinal);
    if (device == nullptr) return kInvalidDevice;
    return attribute == kMaxDynamicShared ? r.set_dynamic_limit(kernel, *device, value) : int{kInvalidValue};
  });
}

RECORD_API int cuKernelSetCacheConfig(Kernel*, int, int) {
  return call("cuKernelSetCacheConfig", [](Recorder&) { return kSuccess; });
}

RECORD_API int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, Stream* stream, void** parameters, void**) {
  const Grid grid{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, {1, 1, 1}, {}};
  return call("cuLaunchKernel", [&](Recorder& r) -> int {
    return r.launch(Face::cuda, function, current(), grid, stream, parameters);
  });
}

// CUlaunchConfig and CUlaunchAttribute, as CUDA's ABI has them.
struct LaunchAttribute {
  unsigned id;
  unsigned padding;
  std::array<unsigned, 16> value;
};
struct LaunchConfig {
  std::array<unsigned, 3> grid, block;
  unsigned shared;
  Stream* stream;
  const LaunchAttribute* attributes;
  unsigned count;
};

RECORD_API int cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** parameters, void**) {
  constexpr unsigned kCooperative = 2, kCluster = 4, kScheduling = 5, kSerialization = 6;
  Grid grid{config->grid, config->block, config->shared, {1, 1, 1}, {}};
  bool known = true;
  for (unsigned i = 0; i < config->count; ++i) {
    const auto& [id, padding, value] = config->attributes[i];
    switch (id) {
      case kCooperative: grid.attributes.emplace_back("cooperative", value[0]); break;
      case kCluster: grid.cluster = {value[0], value[1], value[2]}; break;
      case kScheduling: grid.attributes.emplace_back("cluster_scheduling", value[0]); break;
      case kSerialization: grid.attributes.emplace_back("stream_serialization", value[0]); break;
      default: known = false;
    }
  }
  return call("cuLaunchKernelEx", [&](Recorder& r) -> int {
    if (!known) return kInvalidValue;
    return r.launch(Face::cuda, function, current(), grid, config->stream, parameters);
  });
}

// The map is what was asked for, in 128 bytes: u64 address; u8 type, rank, interleave, swizzle, promotion, fill, two of
// zero; five u64 sizes; four u64 strides; five u32 of the block; zeros.
RECORD_API int cuTensorMapEncodeTiled(std::uint8_t* map, int type, std::uint32_t rank, void* address,
                                      const std::uint64_t* sizes, const std::uint64_t* strides, const std::uint32_t* block,
                                      const std::uint32_t* steps, int interleave, int swizzle, int promotion, int fill) {
  constexpr std::uint64_t kGranularity = 16, kStrideLimit = std::uint64_t{1} << 40, kSizeLimit = std::uint64_t{1} << 32;
  constexpr std::uint32_t kMostRank = 5, kMostElements = 256;
  return call("cuTensorMapEncodeTiled", [&](Recorder&) -> int {
    bool sound = map != nullptr && reinterpret_cast<std::uintptr_t>(map) % 64 == 0 && rank >= 1 && rank <= kMostRank;
    sound = sound && address != nullptr && reinterpret_cast<std::uintptr_t>(address) % kGranularity == 0;
    for (std::uint32_t i = 0; sound && i < rank; ++i) {
      sound = sizes[i] >= 1 && sizes[i] <= kSizeLimit && block[i] >= 1 && block[i] <= kMostElements && steps[i] == 1;
      sound = sound && (i == 0 || (strides[i - 1] % kGranularity == 0 && strides[i - 1] < kStrideLimit));
    }
    if (!sound) return kInvalidValue;
    std::memset(map, 0, 128);
    const auto put = [&](std::size_t at, auto number) { std::memcpy(map + at, &number, sizeof number); };
    put(0, reinterpret_cast<std::uint64_t>(address));
    std::size_t at = 8;
    for (const int fact : {type, static_cast<int>(rank), interleave, swizzle, promotion, fill}) {
      put(at++, static_cast<std::uint8_t>(fact));
    }
    for (std::uint32_t i = 0; i < rank; ++i) {
      put(16 + 8 * std::size_t{i}, sizes[i]);
      if (i > 0) put(56 + 8 * std::size_t{i - 1}, strides[i - 1]);
      put(88 + 4 * std::size_t{i}, block[i]);
    }
    return kSuccess;
  });
}

// ---- streams ----

RECORD_API int cuStreamCreate(Stream** stream, unsigned) {
  return call("cuStreamCreate", [&](Recorder& r) {
    if (current() == nullptr) return kInvalidContext;
    *stream = r.make_stream(*current());
    return kSuccess;
  });
}

RECORD_API int cuStreamDestroy_v2(Stream* stream) {
  return call("cuStreamDestroy", [&](Recorder& r) { return r.drop_stream(stream); });
}

RECORD_API int cuStreamGetCtx(Stream* stream, Context** context) {
  return call("cuStreamGetCtx", [&](Recorder& r) {
    return r.context_of(stream, current(), context);
  });
}

RECORD_API int cuStreamBeginCapture_v2(Stream* stream, int mode) {
  return call("cuStreamBeginCapture", [&](Recorder& r) { return r.begin_capture(stream, mode); });
}

RECORD_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call("cuThreadExchangeStreamCaptureMode", [&](Recorder&) { return Recorder::exchange_capture_mode(mode); });
}

RECORD_API int cuStreamEndCapture(Stream* stream, void** graph) {
  return call("cuStreamEndCapture", [&](Recorder& r) {
    if (graph != nullptr) *graph = nullptr;
    return r.end_capture(stream);
  });
}

RECORD_API int cuStreamSynchronize(Stream*) {
  return call("cuStreamSynchronize", [](Recorder&) { return kSuccess; }, InCapture::forbidden);
}

RECORD_API int cuCtxSynchronize() {
  return call("cuCtxSynchronize", [](Recorder&) { return kSuccess; }, InCapture::forbidden);
}

// ---- memory: the host's ----

RECORD_API int cuMemAlloc_v2(void** memory, std::size_t bytes) {
  return call("cuMemAlloc", [&](Recorder& r) { return r.allocate(memory, bytes); }, InCapture::forbidden);
}

RECORD_API int cuMemFree_v2(void* memory) {
  return call("cuMemFree", [&](Recorder& r) { return r.release(memory); }, InCapture::forbidden);
}
