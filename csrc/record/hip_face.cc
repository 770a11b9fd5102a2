// HIP's face: the functions that the library uses and those that its tests do.
#include "record/recorder.h"

#include <cstring>

#define RECORD_API extern "C" __attribute__((visibility("default")))

using namespace aotriton::record;

namespace {

thread_local int current_ordinal = 0;

template <typename Body>
int call(const char* function, Body&& body, InCapture in_capture = InCapture::allowed) {
  return Recorder::instance().call(function, in_capture, body);
}

Device* current(Recorder& recorder) { return recorder.device(Face::hip, current_ordinal); }

}  // namespace

RECORD_API int hipInit(unsigned) {
  return call("hipInit", [](Recorder& r) { return r.devices(Face::hip).empty() ? kNoDevice : kSuccess; });
}

RECORD_API int hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", [&](Recorder& r) {
    *count = static_cast<int>(r.devices(Face::hip).size());
    return *count == 0 ? kNoDevice : kSuccess;
  });
}

RECORD_API int hipGetDevice(int* ordinal) {
  return call("hipGetDevice", [&](Recorder&) {
    *ordinal = current_ordinal;
    return kSuccess;
  });
}

RECORD_API int hipSetDevice(int ordinal) {
  return call("hipSetDevice", [&](Recorder& r) {
    if (r.device(Face::hip, ordinal) == nullptr) return kInvalidDevice;
    current_ordinal = ordinal;
    return kSuccess;
  });
}

// Where the names stand in hipDeviceProp_tR0600, which has 1472 bytes; the rest is zero.
RECORD_API int hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  constexpr std::size_t kBytes = 1472, kArchitecture = 1160;
  return call("hipGetDevicePropertiesR0600", [&](Recorder& r) {
    const Device* device = r.device(Face::hip, ordinal);
    if (device == nullptr) return kInvalidDevice;
    auto* bytes = static_cast<char*>(properties);
    std::memset(bytes, 0, kBytes);
    const std::string name = std::string("recording ") + device->facts->target;
    const std::string architecture = std::string(device->facts->target) + ":sramecc+:xnack-";
    std::memcpy(bytes, name.c_str(), name.size() + 1);
    std::memcpy(bytes + kArchitecture, architecture.c_str(), architecture.size() + 1);
    return kSuccess;
  });
}

RECORD_API int hipDeviceGetAttribute(int* value, int attribute, int ordinal) {
  return call("hipDeviceGetAttribute", [&](Recorder& r) {
    const Device* device = r.device(Face::hip, ordinal);
    if (device == nullptr) return kInvalidDevice;
    switch (attribute) {
      case 29: case 30: case 31: *value = 0x7fffffff; return kSuccess;  // MaxGridDimX, Y, Z
      case 63: *value = device->facts->compute_units; return kSuccess;  // MultiprocessorCount
      case 74: *value = static_cast<int>(device->facts->shared_memory); return kSuccess;  // MaxSharedMemoryPerBlock
      case 87: *value = device->facts->warp_size; return kSuccess;  // WarpSize
      default: return kInvalidValue;
    }
  });
}

RECORD_API const char* hipGetErrorString(int error) { return error_text(error); }

RECORD_API const char* hipGetErrorName(int error) {
  switch (error) {
    case kSuccess: return "hipSuccess";
    case kInvalidValue: return "hipErrorInvalidValue";
    case kOutOfMemory: return "hipErrorOutOfMemory";
    case kInvalidConfiguration: return "hipErrorInvalidConfiguration";
    case 700: return "hipErrorIllegalAddress";
    case kNoDevice: return "hipErrorNoDevice";
    case kInvalidDevice: return "hipErrorInvalidDevice";
    case kInvalidImage: return "hipErrorInvalidImage";
    case kInvalidContext: return "hipErrorInvalidContext";
    case kNoBinaryForGpu: return "hipErrorNoBinaryForGpu";
    case kInvalidHandle: return "hipErrorInvalidHandle";
    case kNotFound: return "hipErrorNotFound";
    case kCaptureUnsupported: return "hipErrorStreamCaptureUnsupported";
    default: return "hipErrorUnknown";
  }
}

// ---- code ----

RECORD_API int hipModuleLoadData(Module** module, const void* image) {
  return call("hipModuleLoadData", [&](Recorder& r) -> int {
    Device* device = current(r);
    return device == nullptr ? int{kInvalidDevice} : r.load(*device, image, module);
  }, InCapture::forbidden);
}

RECORD_API int hipModuleUnload(Module* module) {
  return call("hipModuleUnload", [&](Recorder& r) { return r.unload(module); }, InCapture::forbidden);
}

RECORD_API int hipModuleGetFunction(Function** function, Module* module, const char* name) {
  return call("hipModuleGetFunction", [&](Recorder& r) { return r.find(module, name, function); });
}

RECORD_API int hipModuleLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                     unsigned block_y, unsigned block_z, unsigned shared, Stream* stream, void** parameters,
                                     void**) {
  const Grid grid{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
  return call("hipModuleLaunchKernel",
              [&](Recorder& r) { return r.launch(Face::hip, function, &current(r)->primary, grid, stream, parameters); });
}

// ---- streams ----

RECORD_API int hipStreamCreate(Stream** stream) {
  return call("hipStreamCreate", [&](Recorder& r) {
    *stream = r.make_stream(current(r)->primary);
    return kSuccess;
  });
}

RECORD_API int hipStreamDestroy(Stream* stream) {
  return call("hipStreamDestroy", [&](Recorder& r) { return r.drop_stream(stream); });
}

RECORD_API int hipStreamGetDevice(Stream* stream, int* ordinal) {
  return call("hipStreamGetDevice", [&](Recorder& r) {
    Context* context = nullptr;
    const int error = r.context_of(stream, &current(r)->primary, &context);
    if (error == kSuccess) *ordinal = context->device->ordinal;
    return error;
  });
}

RECORD_API int hipStreamBeginCapture(Stream* stream, int mode) {
  return call("hipStreamBeginCapture", [&](Recorder& r) { return r.begin_capture(stream, mode); });
}

RECORD_API int hipStreamEndCapture(Stream* stream, void** graph) {
  return call("hipStreamEndCapture", [&](Recorder& r) {
    if (graph != nullptr) *graph = nullptr;
    return r.end_capture(stream);
  });
}

RECORD_API int hipThreadExchangeStreamCaptureMode(int* mode) {
  return call("hipThreadExchangeStreamCaptureMode", [&](Recorder&) { return Recorder::exchange_capture_mode(mode); });
}

RECORD_API int hipStreamSynchronize(Stream*) {
  return call("hipStreamSynchronize", [](Recorder&) { return kSuccess; }, InCapture::forbidden);
}

RECORD_API int hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", [](Recorder&) { return kSuccess; }, InCapture::forbidden);
}

// ---- memory: the host's ----

RECORD_API int hipMalloc(void** memory, std::size_t bytes) {
  return call("hipMalloc", [&](Recorder& r) { return r.allocate(memory, bytes); }, InCapture::forbidden);
}

RECORD_API int hipFree(void* memory) {
  return call("hipFree", [&](Recorder& r) { return r.release(memory); }, InCapture::forbidden);
}

RECORD_API int hipMemcpy(void* to, const void* from, std::size_t bytes, int) {
  return call("hipMemcpy", [&](Recorder&) {
    std::memcpy(to, from, bytes);
    return kSuccess;
  }, InCapture::forbidden);
}
