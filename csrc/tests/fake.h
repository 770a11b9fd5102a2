// Devices for tests: a driver that notes what it is asked to do.
#pragma once

#include "dispatch/kernel.h"
#include "tests/check.h"
#include "tests/sample.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace aotriton::tests {

class FakeDriver final : public drivers::Driver {
 public:
  const char* name() const override { return "fake"; }

  core::Result<drivers::Function> load(int ordinal, const drivers::CodeObject& code) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (failing) return core::Status(AOTRITON_DRIVER_ERROR, "the fake driver was told to fail");
    const std::lock_guard lock(mutex_);
    loaded.push_back(std::string(static_cast<const char*>(code.image), code.bytes) + "@" + code.symbol + std::to_string(ordinal));
    return reinterpret_cast<drivers::Function>(loaded.size());
  }

  core::Status launch(int, const drivers::Launch& launch, aotriton_stream) override {
    launches.fetch_add(1, std::memory_order_relaxed);
    if (!keep) return {};
    const std::lock_guard lock(mutex_);
    last = launch;
    last_parameters.clear();
    // Eight bytes of each: the library keeps every parameter in a slot of that size.
    for (std::size_t i = 0; i < launch.count; ++i) {
      std::uint64_t slot;
      std::memcpy(&slot, launch.parameters[i], sizeof slot);
      last_parameters.push_back(slot);
    }
    return {};
  }

  core::Status encode(int, const drivers::TensorMapRequest& request, drivers::TensorMap& map) override {
    const std::lock_guard lock(mutex_);
    requests.push_back(request);
    map.words = {requests.size()};
    if (failing_maps) return core::Status(AOTRITON_DRIVER_ERROR, "the fake driver was told to fail");
    return {};
  }

  void unload(int, drivers::Function) override { unloaded.fetch_add(1); }

  int delay_ms = 0;
  std::atomic<bool> failing{false};
  bool keep = true;
  std::atomic<int> launches{0};
  std::atomic<int> unloaded{0};
  std::vector<std::string> loaded;
  drivers::Launch last;
  std::vector<std::uint64_t> last_parameters;
  std::vector<drivers::TensorMapRequest> requests;
  bool failing_maps = false;

 private:
  std::mutex mutex_;
};

struct FakeDevice {
  explicit FakeDevice(const std::string& target = "gfx942") {
    device.name = "fake:0";
    device.driver = &driver;
    device.machine = {target, "a fake " + target, 304, 64, 1 << 17, {2147483647, 65535, 65535}};
  }

  FakeDriver driver;
  aotriton_device device;
};

// A folder that is gone when the object is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "aotriton-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

  // Writes as packs are written: whole under another name, then renamed.
  std::string write(const std::string& name, const Buffer& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    std::filesystem::rename(file.string() + ".new", file);
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

// Values of the sample's arguments: fp16, everything aligned, N = W = 32, MODE 0.
inline std::vector<dispatch::Value> sample_values() {
  // Of Y, for where it is a descriptor.
  static const aotriton_tensor view{reinterpret_cast<void*>(std::uintptr_t{0x2000}), AOTRITON_FP16, 2, {70, 200}, {208, 1}};
  std::vector<dispatch::Value> values(kSampleArguments);
  const auto set = [&](int argument, std::uint64_t bits, aotriton_dtype dtype = AOTRITON_NONE) {
    auto& value = values[static_cast<std::size_t>(argument)];
    value.bits = bits;
    value.dtype = dtype;
    value.given = true;
  };
  set(kX, 0x1000, AOTRITON_FP16);
  set(kY, 0x2000, AOTRITON_FP16);
  values[kY].view = &view;
  set(kS, 0x3000, AOTRITON_FP32);
  set(kStrideX, 64);
  set(kStrideXUnit, 1);
  set(kAlpha, 0);
  values[kAlpha].real = 1.5;
  set(kN, 32);
  set(kW, 32);
  set(kMode, 0);
  return values;
}

inline std::shared_ptr<dispatch::Kernel> open_in(const std::string& folder, FakeDevice& fake) {
  auto kernel = dispatch::Kernel::open(folder, "sample", "scale", fake.device);
  if (!kernel.ok()) fail(__FILE__, __LINE__, kernel.status().text());
  return kernel.ok() ? *kernel : nullptr;
}

// A folder with the sample's pack for gfx942.
struct OnePack : TemporaryFolder {
  OnePack() { write("amd-gfx942/sample/scale.zip", make_sample().zip()); }
};

}  // namespace aotriton::tests
