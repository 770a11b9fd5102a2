// The drivers of this process and their devices. What is opened stays: handles live as long as the process.
#pragma once

#include "drivers/gpu.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace aotriton::drivers {

// A driver library that is opened when it is first asked for, with its devices.
class Backend {
 public:
  using Open = core::Result<std::unique_ptr<GpuDriver>> (*)();

  Backend(const char* name, Open open) : name_(name), open_(open) {}

  // Null: not available; `reason` says why. One look once that is known.
  GpuDriver* driver();
  // Why driver() is null.
  std::string reason();
  // The device of that ordinal, named by `name`; made once.
  core::Result<aotriton_device*> device(int ordinal, const std::string& name);
  // The same, called <driver>:<ordinal>. One look once it is made.
  core::Result<aotriton_device*> device(int ordinal);
  const char* name() const { return name_; }

 private:
  static constexpr int kMostDevices = 64;

  const char* name_;
  Open open_;
  std::once_flag opened_;
  std::atomic<bool> known_{false};  // std::call_once costs more than a look
  GpuDriver* driver_ = nullptr;
  std::string reason_;
  std::mutex mutex_;  // of making devices
  std::array<std::atomic<aotriton_device*>, kMostDevices> devices_{};
};

// The libraries that present HIP's or CUDA's face beside ours.
core::Result<Library> open_beside(const char* name);
// Where `libaotriton_<name>.so` is expected.
std::string path_beside(const char* name);

}  // namespace aotriton::drivers
