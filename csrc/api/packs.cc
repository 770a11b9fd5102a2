// The C API's general functions and those of packs.
#include "api/c_strings.h"
#include "core/guarded.h"
#include "core/json.h"
#include "pack/search.h"
#include "pack/verify.h"

using aotriton::api::give;
using aotriton::api::null_argument;
using aotriton::core::guarded;
using aotriton::core::Status;
namespace pack = aotriton::pack;


namespace {

// "0.1.0" out of the three macros, whose `u` suffixes fall away.
std::string version() {
  return std::to_string(AOTRITON_VERSION_MAJOR) + "." + std::to_string(AOTRITON_VERSION_MINOR) + "." +
         std::to_string(AOTRITON_VERSION_PATCH);
}

}  // namespace

const char* aotriton_last_error() { return aotriton::core::last_error(); }

const char* aotriton_version() {
  static const std::string text = version();
  return text.c_str();
}

void aotriton_free_string(char* text) { std::free(text); }

aotriton_status aotriton_add_pack_path(const char* folder) {
  return guarded([&]() -> Status {
    if (folder == nullptr || *folder == '\0') return null_argument("folder");
    pack::add_path(folder);
    return {};
  });
}

aotriton_status aotriton_pack_paths(char** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    aotriton::core::JsonWriter writer;
    writer.begin_array();
    for (const std::string& folder : pack::search_path()) writer.value(folder);
    return give(writer.end_array().take(), json);
  });
}

aotriton_status aotriton_index_to_json(const char* zip_path, char** json) {
  return guarded([&]() -> Status {
    if (zip_path == nullptr) return null_argument("zip_path");
    if (json == nullptr) return null_argument("json");
    *json = nullptr;
    const auto file = pack::KernelFile::open(zip_path);
    return file.ok() ? give(pack::index_to_json((*file)->index()), json) : file.status();
  });
}

aotriton_status aotriton_verify_zip(const char* zip_path, char** report) {
  return guarded([&]() -> Status {
    if (zip_path == nullptr) return null_argument("zip_path");
    std::string text;
    Status status = pack::verify_zip(zip_path, text);
    if (report == nullptr) return status;
    Status given = give(text, report);
    return given.ok() ? status : given;
  });
}
