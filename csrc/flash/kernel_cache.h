// The kernel of a front end, opened once for each device: found again with no lock.
#pragma once

#include "dispatch/kernel.h"

#include <atomic>
#include <mutex>
#include <span>

namespace aotriton::flash {

class KernelCache {
 public:
  // `arguments`: what the front end's struct was generated for; a kernel with others is refused.
  KernelCache(const char* family, const char* kernel, std::span<const char* const> arguments)
      : family_(family), kernel_(kernel), arguments_(arguments) {}

  core::Result<dispatch::Kernel*> get(aotriton_device& device);
  // What `get` gives where it opens nothing; else null. `variable`: what AOTRITON_PACK_PATH is.
  dispatch::Kernel* opened(const aotriton_device& device, const char* variable) const;
  // Whether there is any, of any device: as long as there isn't, nobody needs to look for devices.
  bool empty() const { return entries_.load(std::memory_order_relaxed) == nullptr; }

 private:
  // Never changes and never goes away, so that readers need no lock. Another search path adds another, and so does a
  // file that took the place of a damaged one: the newest comes first.
  struct Entry {
    const aotriton_device* device;
    std::uint64_t generation;  // of the search path
    std::string variable;      // AOTRITON_PACK_PATH
    std::shared_ptr<dispatch::Kernel> kernel;
    const Entry* next;
  };

  const Entry* find(const aotriton_device& device, std::uint64_t generation, const char* variable) const;

  const char* family_;
  const char* kernel_;
  std::span<const char* const> arguments_;
  std::mutex mutex_;  // of opening
  std::atomic<const Entry*> entries_{nullptr};
};

}  // namespace aotriton::flash
