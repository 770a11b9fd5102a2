// Device names to devices: what aotriton_device_open and aotriton_device_of_stream do (aotriton.h).
#pragma once

#include "drivers/driver.h"

#include <string>
#include <string_view>

namespace aotriton::drivers {

core::Result<aotriton_device*> open_device(std::string_view name);
// Fast where nothing changed since the last call of this thread.
core::Result<aotriton_device*> device_of_stream(aotriton_stream stream);
std::string device_to_json(const aotriton_device& device);
std::string drivers_to_json();
void set_host_driver(const aotriton_host_driver& driver);

}  // namespace aotriton::drivers
