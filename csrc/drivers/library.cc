#include "drivers/library.h"

#include "core/text.h"

#include <dlfcn.h>
#include <link.h>

#include <array>

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
  for (const int how : std::array{RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : names) {
      if (void* handle = dlopen(name, how)) return Library(handle, path_of(handle, name));
    }
  }
  // The loader's own words on the last name: either it is not there, or why it doesn't load.
  const char* reason = dlerror();
  return core::Status(AOTRITON_NO_DEVICE, reason != nullptr ? reason : "the library doesn't open");
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

core::Status Binder::status() const {
  if (missing_ == nullptr) return {};
  return core::Status(AOTRITON_NO_DEVICE, core::cat(library_.path(), " has no function ", missing_));
}

}  // namespace aotriton::drivers
