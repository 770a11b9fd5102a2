// Kernels that are open: the same question gives the same object, as long as somebody holds it.
#include "core/log.h"
#include "core/text.h"
#include "dispatch/packed_kernel.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace aotriton::dispatch {
namespace {

using core::cat;
using core::Result;
using core::Status;

using Question = std::tuple<std::string, std::string, std::string, const aotriton_device*>;

struct Opened {
  std::weak_ptr<PackedKernel> kernel;
  std::vector<std::string> folders;  // that were searched
};

struct Registry {
  std::mutex mutex;
  std::map<Question, Opened> kernels;
  std::set<std::shared_ptr<Kernel>> kept;  // as long as the process
};

Registry& registry() {
  // Never destroyed: other threads may still run while the process ends.
  static Registry* const one = new Registry;
  return *one;
}

// Names become parts of a path.
bool is_plain(std::string_view name) {
  const auto plain = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !name.empty() && name[0] != '.' && std::ranges::all_of(name, plain);
}

// Whether the file is still the one that the kernel was read from.
bool is_current(const PackedKernel& kernel) {
  const pack::KernelFile& file = *kernel.plan().located.file;
  return pack::identity_of(file.path()) == file.identity();
}

}  // namespace

std::uint64_t Kernel::next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Result<std::shared_ptr<Kernel>> Kernel::open(std::string_view folder, std::string_view family, std::string_view name,
                                             aotriton_device& device) {
  if (!is_plain(family) || !is_plain(name)) {
    return Status(AOTRITON_INVALID_ARGUMENT,
                  cat("'", family, "/", name, "' can't name a kernel; names have letters, digits, _, - and ."));
  }
  const std::vector<std::string> folders = folder.empty() ? pack::search_path() : std::vector{std::string(folder)};
  Registry& known = registry();
  std::shared_ptr<PackedKernel> kernel;  // outlives the lock: the last to hold one calls the driver, which may call back
  const std::lock_guard lock(known.mutex);
  Opened& opened = known.kernels[{std::string(folder), std::string(family), std::string(name), &device}];
  kernel = opened.kernel.lock();
  if (kernel && opened.folders == folders && is_current(*kernel)) return std::shared_ptr<Kernel>(kernel);
  Result<pack::Located> located = pack::locate(folder, family, name, device.machine.target);
  if (!located.ok()) return located.status();
  auto made = std::make_shared<PackedKernel>(make_plan(std::move(*located)), device);
  opened = {made, folders};
  AOTRITON_LOG(info, "opened ", made->plan().located.file->path(), " for ", device.name);
  return std::shared_ptr<Kernel>(std::move(made));
}

void Kernel::keep_loaded(std::shared_ptr<Kernel> kernel) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.kept.insert(std::move(kernel));
}

}  // namespace aotriton::dispatch
