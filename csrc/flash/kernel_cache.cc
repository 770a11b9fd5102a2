#include "flash/kernel_cache.h"

#include "core/environment.h"
#include "pack/search.h"

namespace aotriton::flash {

using core::Result;
using core::Status;

dispatch::Kernel* KernelCache::opened(const aotriton_device& device, const char* variable) const {
  const Entry* entry = find(device, pack::search_generation(), variable);
  return entry != nullptr && !entry->kernel->stale() ? entry->kernel.get() : nullptr;
}

Result<dispatch::Kernel*> KernelCache::get(aotriton_device& device) {
  const char* const variable = core::environment(core::Variable::pack_path);
  if (dispatch::Kernel* const kernel = opened(device, variable)) return kernel;
  const std::lock_guard lock(mutex_);
  if (dispatch::Kernel* const kernel = opened(device, variable)) return kernel;
  const std::uint64_t generation = pack::search_generation();
  // A failure isn't kept: the next call looks again.
  Result<std::shared_ptr<dispatch::Kernel>> kernel = dispatch::Kernel::open("", family_, kernel_, device);
  if (!kernel.ok()) return kernel.status();
  // As long as the damaged file stands there, it is the same kernel: what of it is sound goes on serving.
  const Entry* entry = find(device, generation, variable);
  if (entry != nullptr && entry->kernel == *kernel) return entry->kernel.get();
  if (Status status = (*kernel)->expect_arguments(arguments_); !status.ok()) return status;
  const Entry* before = entries_.load(std::memory_order_relaxed);
  entry = new Entry{&device, generation, variable, *kernel, before};
  entries_.store(entry, std::memory_order_release);
  return entry->kernel.get();
}

const KernelCache::Entry* KernelCache::find(const aotriton_device& device, std::uint64_t generation,
                                            const char* variable) const {
  for (const Entry* entry = entries_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
    if (entry->device == &device && entry->generation == generation && entry->variable == variable) return entry;
  }
  return nullptr;
}

}  // namespace aotriton::flash
