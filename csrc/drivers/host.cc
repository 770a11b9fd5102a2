// The host device: kernel sources run by the callbacks that a program gave (the Python package does).
#include "core/text.h"
#include "drivers/devices.h"
#include "drivers/gpu.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;

// Replaced as a whole; former ones stay, since what they loaded goes on calling them.
std::atomic<const aotriton_host_driver*> callbacks{nullptr};

// What a Function of this driver points to.
struct HostFunction {
  const aotriton_host_driver* driver;
  std::uint64_t handle;
};

Status failure(const char* what, const std::array<char, 4096>& message) {
  return Status(AOTRITON_DRIVER_ERROR, cat("the host device failed to ", what, ": ",
                                           message[0] != '\0' ? message.data() : "no reason was given"));
}

class HostDriver final : public Driver {
 public:
  const char* name() const override { return "host"; }

  Result<Function> load(int, const CodeObject& code) override {
    const aotriton_host_driver* driver = callbacks.load(std::memory_order_acquire);
    if (driver == nullptr || driver->load == nullptr || driver->launch == nullptr) {
      return Status(AOTRITON_NO_DEVICE,
                    "the host device runs kernel sources in Python, and no Python is behind this process; import aotriton "
                    "there, or call aotriton_set_host_driver, or set AOTRITON_DEVICE to another device");
    }
    std::array<char, 4096> message{};
    std::uint64_t handle = 0;
    if (driver->load(code.image, code.bytes, code.symbol, &handle, message.data(), message.size()) != 0) {
      message.back() = '\0';
      return failure(cat("load ", code.symbol).c_str(), message);
    }
    return static_cast<Function>(new HostFunction{driver, handle});
  }

  Status launch(int, const Launch& launch, aotriton_stream) override {
    const auto* function = static_cast<const HostFunction*>(launch.function);
    std::array<char, 4096> message;
    message[0] = '\0';
    if (function->driver->launch(function->handle, launch.grid.data(), launch.parameters, launch.count, message.data(),
                                 message.size()) == 0) {
      return {};
    }
    message.back() = '\0';
    return failure("launch", message);
  }

  void unload(int, Function function) override {
    const std::unique_ptr<HostFunction> owned(static_cast<HostFunction*>(function));
    if (owned->driver->unload != nullptr) owned->driver->unload(owned->handle);
  }
};

}  // namespace

Driver& host_driver() {
  static HostDriver& driver = *new HostDriver;  // outlives all threads
  return driver;
}

void set_host_driver(const aotriton_host_driver& driver) {
  auto* copy = new aotriton_host_driver{};
  std::memcpy(copy, &driver, driver.size < sizeof *copy ? driver.size : sizeof *copy);
  callbacks.store(copy, std::memory_order_release);
}

}  // namespace aotriton::drivers
