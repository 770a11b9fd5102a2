#include "drivers/registry.h"

#include "core/location.h"
#include "core/log.h"
#include "core/text.h"

#include <array>

#include <unistd.h>

namespace aotriton::drivers {

using core::cat;
using core::Result;
using core::Status;

GpuDriver* Backend::driver() {
  if (known_.load(std::memory_order_acquire)) return driver_;
  std::call_once(opened_, [this] {
    Result<std::unique_ptr<GpuDriver>> opened = open_();
    if (opened.ok()) {
      driver_ = opened->release();  // as long as the process
      AOTRITON_LOG(info, name_, ": ", driver_->library().path());
    } else {
      reason_ = opened.status().text();
      AOTRITON_LOG(info, name_, " is not available: ", reason_);
    }
    known_.store(true, std::memory_order_release);
  });
  return driver_;
}

std::string Backend::reason() {
  driver();
  return reason_;
}

Result<aotriton_device*> Backend::device(int ordinal, const std::string& name) {
  GpuDriver* const gpu = driver();
  if (gpu == nullptr) return Status(AOTRITON_NO_DEVICE, cat("there is no device ", name, ": ", reason_));
  const Result<int> count = gpu->device_count();
  if (!count.ok()) return count.status();
  if (ordinal < 0 || ordinal >= *count || ordinal >= kMostDevices) {
    return Status(AOTRITON_NO_DEVICE, cat("there is no device ", name, ": the driver has ", *count, ", 0 to ", *count - 1));
  }
  std::atomic<aotriton_device*>& slot = devices_[ordinal];
  if (aotriton_device* device = slot.load(std::memory_order_acquire)) return device;
  const std::lock_guard lock(mutex_);
  if (aotriton_device* device = slot.load(std::memory_order_relaxed)) return device;
  Result<Machine> machine = gpu->describe(ordinal);
  if (!machine.ok()) return machine.status();
  auto* device = new aotriton_device{name, gpu, ordinal, *machine};  // as long as the process
  slot.store(device, std::memory_order_release);
  AOTRITON_LOG(info, "device ", name, ": ", device->machine.description, ", ", device->machine.target);
  return device;
}

Result<aotriton_device*> Backend::device(int ordinal) {
  if (ordinal >= 0 && ordinal < kMostDevices) {
    if (aotriton_device* device = devices_[ordinal].load(std::memory_order_acquire)) return device;
  }
  return device(ordinal, cat(name_, ":", ordinal));
}

std::string path_beside(const char* name) {
  return cat(core::library_folder(), "/libaotriton", AOTRITON_LIBRARY_SUFFIX, "_", name, ".so");
}

Result<Library> open_beside(const char* name) {
  const std::string path = path_beside(name);
  if (access(path.c_str(), F_OK) != 0) {
    return Status(AOTRITON_NO_DEVICE, cat("there is no ", path, ", which belongs beside the library"));
  }
  return Library::open(std::array{path.c_str()});
}

}  // namespace aotriton::drivers
