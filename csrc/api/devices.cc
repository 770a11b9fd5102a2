// The C API's functions of devices.
#include "api/c_strings.h"
#include "core/guarded.h"
#include "drivers/devices.h"

using aotriton::api::give;
using aotriton::api::null_argument;
using aotriton::core::guarded;
using aotriton::core::Result;
using aotriton::core::Status;
namespace drivers = aotriton::drivers;

namespace {

Status hand_out(const Result<aotriton_device*>& found, aotriton_device** device) {
  *device = found.ok() ? *found : nullptr;
  return found.status();
}

}  // namespace

aotriton_status aotriton_device_open(const char* name, aotriton_device** device) {
  return guarded([&]() -> Status {
    if (device == nullptr) return null_argument("device");
    return hand_out(drivers::open_device(name == nullptr ? "" : name), device);
  });
}

aotriton_status aotriton_device_of_stream(aotriton_stream stream, aotriton_device** device) {
  return guarded([&]() -> Status {
    if (device == nullptr) return null_argument("device");
    return hand_out(drivers::device_of_stream(stream), device);
  });
}

aotriton_status aotriton_device_to_json(aotriton_device* device, char** json) {
  return guarded([&]() -> Status {
    if (device == nullptr) return null_argument("device");
    if (json == nullptr) return null_argument("json");
    return give(drivers::device_to_json(*device), json);
  });
}

aotriton_status aotriton_drivers_to_json(char** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    return give(drivers::drivers_to_json(), json);
  });
}

aotriton_status aotriton_set_host_driver(const aotriton_host_driver* driver) {
  return guarded([&]() -> Status {
    if (driver == nullptr) return null_argument("driver");
    if (driver->size < sizeof(aotriton_host_driver)) {
      return Status(AOTRITON_INVALID_VERSION, "aotriton_host_driver.size is " + std::to_string(driver->size) +
                                                  "; set it to sizeof(aotriton_host_driver), " +
                                                  std::to_string(sizeof(aotriton_host_driver)));
    }
    if (driver->load == nullptr || driver->launch == nullptr) return null_argument("a callback of the host driver");
    drivers::set_host_driver(*driver);
    return {};
  });
}
