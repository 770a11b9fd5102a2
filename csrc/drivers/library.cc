#include "drivers/library.h"

#include "core/text.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace aotriton::drivers {
namespace {

std::string path_of(void* handle, const char* name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr || *map->l_name == '\0') {
    return name;
  }
  return map->l_name;
}

}  // namespace

core::Result<Library> Library::open(std::span<const char* const> names) {
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return Library(handle, path_of(handle, name));
  }
  std::string reason;
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle, path_of(handle, name));
    // The loader's own words. Those on a file that is there but doesn't load tell more than that another isn't.
    const char* text = dlerror();
    const bool is_missing = text == nullptr || std::string_view(text).starts_with(core::cat(name, ": cannot open shared"));
    if (!is_missing || reason.empty()) reason = is_missing ? core::cat("there is no ", name) : text;
  }
  return core::Status(AOTRITON_NO_DEVICE, reason);
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

core::Status Binder::status() const {
  if (missing_ == nullptr) return {};
  return core::Status(AOTRITON_NO_DEVICE, core::cat(library_.path(), " has no function ", missing_));
}

}  // namespace aotriton::drivers
