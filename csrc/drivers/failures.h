// What the errors of GPU drivers mean: what they leave usable, and what to do. HIP and CUDA number them alike.
#pragma once

#include "drivers/driver.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace aotriton::drivers {

constexpr int kSuccess = 0, kOutOfMemory = 2, kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209,
              kInvalidHandle = 400, kContextDestroyed = 709;
constexpr int kMostDevices = 64;

// A call of a driver that failed.
struct Failed {
  const char* function = "";
  int error = kSuccess;

  bool ok() const { return error == kSuccess; }
};

// Loaded code, as far as both drivers know it; a Function points to one.
struct LoadedCode {
  int ordinal;
  std::string label;  // kernel and functional
};

// What one vendor calls things.
struct Vendor {
  const char* platform;    // CUDA
  const char* serialised;  // the variable that has each launch awaited
  const char* checker;     // the program that finds bad accesses
  const char* (*error_name)(const void* api, int error);
  const char* (*error_text)(const void* api, int error);
};

// Makes statuses of one driver's errors.
class Failures {
 public:
  Failures(const char* driver, const Vendor& vendor, const void* api);

  // The error in the driver's own words, `detail`, and what to do. `ordinal` -1: no device is known.
  core::Status status(int ordinal, const Failed& failed, std::string_view detail = {}) const;

  // Notes what is launched, for the error of a kernel that faults. One look where the same code is launched again.
  void launched(const LoadedCode& code) {
    std::atomic<const LoadedCode*>& last = last_[code.ordinal];
    if (last.load(std::memory_order_relaxed) != &code) last.store(&code, std::memory_order_release);
  }
  // The code goes away.
  void forget(const LoadedCode& code);

 private:
  std::string of_fault(int ordinal) const;

  const char* driver_;
  Vendor vendor_;
  const void* api_;
  pid_t process_;
  mutable std::mutex mutex_;  // of reading what was launched last, against forgetting it
  std::array<std::atomic<const LoadedCode*>, kMostDevices> last_{};
};

// `; grid 7 x 5 x 3, 128 threads, 512 bytes of shared memory`
std::string grid_text(const Launch& launch);
// For whom an NVIDIA code object is: `sm_90`; empty where the bytes are none.
std::string target_of_cubin(const CodeObject& code);

// Whether the process ends, or this library goes away: nothing is freed any more, since drivers may be gone already.
bool process_ends();
// From now on process_ends() can tell. Called once a driver is open, so that its end comes after ours.
void watch_for_the_end();

}  // namespace aotriton::drivers
