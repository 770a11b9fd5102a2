#include "core/location.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace aotriton::core {
namespace {

std::string find_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  // A program's name may be relative to the folder it was started in.
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(info.dli_fname, nullptr), &std::free);
  const std::string path = real ? real.get() : info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

const std::string& library_folder() {
  static const std::string folder = find_folder();
  return folder;
}

}  // namespace aotriton::core
