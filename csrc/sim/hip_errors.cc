// Errors: their names, their texts, and what the last one was.
#include "sim/hip.h"

#include <algorithm>
#include <utility>

namespace sim::hip {
namespace {

struct Named {
  int code;
  const char* name;
  const char* text;
};

constexpr Named errors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "initialization error"},
    {4, "hipErrorDeinitialized", "driver shutting down"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no simulated device is configured"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {301, "hipErrorFileNotFound", "file not found"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "device not ready"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {712, "hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {713, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {801, "hipErrorNotSupported", "operation not supported"},
    {999, "hipErrorUnknown", "unknown error"},
};

const Named* find(int code) {
  const auto* found = std::find_if(std::begin(errors), std::end(errors), [&](const Named& e) { return e.code == code; });
  return found == std::end(errors) ? &errors[std::size(errors) - 1] : found;
}

thread_local Error last = success;

std::string& last_text() {
  thread_local std::string text;
  return text;
}

} // namespace

int note(Error code, std::string text) {
  last = code;
  last_text() = std::move(text);
  return code;
}

const char* error_name(int error) { return find(error)->name; }
const char* error_text(int error) { return find(error)->text; }

} // namespace sim::hip

using namespace sim::hip;

HIP_API const char* hipGetErrorName(int error) { return error_name(error); }
HIP_API const char* hipGetErrorString(int error) { return error_text(error); }
HIP_API int hipDrvGetErrorName(int error, const char** text) { return *text = error_name(error), success; }
HIP_API int hipDrvGetErrorString(int error, const char** text) { return *text = error_text(error), success; }
HIP_API int hipPeekAtLastError() { return last; }
HIP_API int hipGetLastError() { return std::exchange(last, success); }
HIP_API int hipExtGetLastError() { return std::exchange(last, success); }

// What there is to say of this thread's last error, beyond its number; empty where there is nothing. It stands until the
// thread's next error.
HIP_API const char* aotriton_sim_last_error() { return last_text().c_str(); }
