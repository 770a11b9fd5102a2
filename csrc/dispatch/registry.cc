// Kernels that are open: the same question gives the same object.
#include "core/log.h"
#include "core/text.h"
#include "dispatch/packed_kernel.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace aotriton::dispatch {
namespace {

using core::cat;
using core::Result;
using core::Status;

using Question = std::tuple<std::string, std::string, std::string, const aotriton_device*>;

struct Opened {
  std::shared_ptr<PackedKernel> kernel;
  std::vector<std::string> folders;  // that were searched
};

struct Registry {
  std::mutex mutex;
  std::map<Question, Opened> kernels;
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

bool is_current(const Opened& opened, const std::vector<std::string>& folders) {
  const pack::KernelFile& file = *opened.kernel->plan().located.file;
  return opened.folders == folders && pack::identity_of(file.path()) == file.identity();
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
  const std::lock_guard lock(known.mutex);
  Opened& opened = known.kernels[{std::string(folder), std::string(family), std::string(name), &device}];
  if (opened.kernel && is_current(opened, folders)) return std::shared_ptr<Kernel>(opened.kernel);
  Result<pack::Located> located = pack::locate(folder, family, name, device.machine.target);
  if (!located.ok()) return located.status();
  opened = {std::make_shared<PackedKernel>(make_plan(std::move(*located)), device), folders};
  AOTRITON_LOG(info, "opened ", opened.kernel->plan().located.file->path(), " for ", device.name);
  return std::shared_ptr<Kernel>(opened.kernel);
}

}  // namespace aotriton::dispatch
