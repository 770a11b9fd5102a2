#include "drivers/failures.h"

#include "core/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Status;

constexpr int kNotInitialized = 3, kDeinitialized = 4, kUnknown = 999;
constexpr int kFirstOfCapture = 900, kLastOfCapture = 908;

// A kernel faulted, or the device did: uncorrectable memory, link, contained; addresses, time, asserts, instructions.
constexpr std::array kFaults{214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719};
// Refusals of one call, which change nothing.
constexpr std::array kRefusals{1, 9, 98, kInvalidImage, kInvalidContext, kNoBinaryForGpu, 301, kInvalidHandle, 500, 701, 720,
                               801};

template <std::size_t Count>
bool is_one_of(int error, const std::array<int, Count>& all) {
  return std::ranges::find(all, error) != all.end();
}

std::atomic<bool> ends{false};

}  // namespace

Failures::Failures(const char* driver, const Vendor& vendor, const void* api)
    : driver_(driver), vendor_(vendor), api_(api), process_(getpid()) {}

Status Failures::status(int ordinal, const Failed& failed, std::string_view detail) const {
  const int error = failed.error;
  const char* name = vendor_.error_name(api_, error);
  const char* words = vendor_.error_text(api_, error);
  std::string text = cat(failed.function, " failed: ", name != nullptr ? name : "unknown error", " (", error, "): ",
                         words != nullptr ? words : "no text", detail);
  if (error == kOutOfMemory) {
    return Status(AOTRITON_OUT_OF_MEMORY, text + "; the process can go on: free memory of the device and call again");
  }
  if (is_one_of(error, kFaults)) {
    text += of_fault(ordinal);
  } else if (error == kContextDestroyed) {
    text += "; the context is gone (cuCtxDestroy, cudaDeviceReset), and its streams and memory with it; the process can go on "
            "with another";
  } else if (error == kNotInitialized && getpid() != process_) {
    text += cat("; this process was forked from one that used ", vendor_.platform, " already, which doesn't work; start it by "
                "multiprocessing's `spawn`, or fork before the first call");
  } else if (error == kDeinitialized) {
    text += "; the process is at its end";
  } else if (error >= kFirstOfCapture && error <= kLastOfCapture) {
    text += "; load the code object before the capture begins (Kernel.load, or one launch)";
  } else if (is_one_of(error, kRefusals)) {
    text += "; the process can go on";
  } else if (error == kUnknown) {
    text += "; the driver says so too where the device's memory is used up to the last byte: free some and call again; if that "
            "fails in the same way, what the process has there is lost: end it and start another";
  }
  return Status(AOTRITON_DRIVER_ERROR, std::move(text));
}

std::string Failures::of_fault(int ordinal) const {
  std::string text = cat("; a kernel of this process faulted, this one or any that was launched before, by whomever, and "
                         "what the process has on ", vendor_.platform, " is lost: end it and start another");
  if (ordinal >= 0 && ordinal < kMostDevices) {
    const std::lock_guard lock(mutex_);
    const LoadedCode* last = last_[ordinal].load(std::memory_order_acquire);
    if (last != nullptr) {
      text += cat("; the last that aotriton launched on ", driver_, ":", ordinal, " before is ", last->label);
    }
  }
  return text + cat("; to find the one at fault, run again with ", vendor_.serialised, ", where the first launch that fails "
                    "is it, or under ", vendor_.checker);
}

void Failures::forget(const LoadedCode& code) {
  const std::lock_guard lock(mutex_);
  const LoadedCode* expected = &code;
  last_[code.ordinal].compare_exchange_strong(expected, nullptr);
}

std::string grid_text(const Launch& launch) {
  const auto& [x, y, z] = launch.grid;
  return cat("; grid ", x, " x ", y, " x ", z, ", ", launch.threads, " threads, ", launch.shared, " bytes of shared memory");
}

std::string target_of_cubin(const CodeObject& code) {
  constexpr std::size_t kHeader = 64, kAbiVersion = 8, kMachine = 0x12, kFlags = 0x30;
  constexpr std::uint16_t kCuda = 190;
  if (code.bytes < kHeader) return {};
  const auto* bytes = static_cast<const unsigned char*>(code.image);
  std::uint16_t machine = 0;
  std::uint32_t flags = 0;
  std::memcpy(&machine, bytes + kMachine, sizeof machine);
  std::memcpy(&flags, bytes + kFlags, sizeof flags);
  if (std::memcmp(bytes, "\x7f" "ELF", 4) != 0 || machine != kCuda) return {};
  // The compute capability stands in the second byte of the flags since version 8 of the ABI, in the first before.
  return cat("sm_", bytes[kAbiVersion] >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

bool process_ends() { return ends.load(std::memory_order_acquire); }

void watch_for_the_end() {
  static const int registered = std::atexit([] { ends.store(true, std::memory_order_release); });
  static_cast<void>(registered);
}

}  // namespace aotriton::drivers
