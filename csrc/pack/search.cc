#include "pack/search.h"

#include "core/location.h"
#include "core/text.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dirent.h>
#include <mutex>
#include <optional>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Result;
using core::Status;

struct Paths {
  std::mutex mutex;
  std::vector<std::string> added;  // last one first
  std::atomic<std::uint64_t> generation{0};
};

Paths& paths() {
  static Paths* const one = new Paths;
  return *one;
}

// Names of what stands in a folder, sorted, so that nothing depends on the file system's order.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const listing = ::opendir(folder.c_str());
  if (listing == nullptr) return names;
  while (const dirent* const entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  std::ranges::sort(names);
  return names;
}

struct Request {
  std::string_view family, kernel, target;
};

// What a search came upon, but not what it wanted.
struct Found {
  std::optional<Located> serving;  // the first file that only serves the target
  std::optional<Status> failure;   // the first file that couldn't be used
  bool decided = false;            // that file lies where the target's own belongs: no other will do
  std::string seen;                // packs that have the kernel: "amd-gfx942 (for gfx942), …"
};

std::string targets_of(const index::Index& index) {
  std::string names;
  for (const index::Target* one : *index.targets()) names += (names.empty() ? "" : ", ") + one->name()->str();
  return names.empty() ? "nothing" : names;
}

bool serves(const index::Target& one, std::string_view target) {
  const auto is_it = [&](const flatbuffers::String* name) { return name->string_view() == target; };
  return one.serves() != nullptr && std::ranges::any_of(*one.serves(), is_it);
}

// The target itself in the file of one pack, if it is there; all else that is worth telling goes into `found`.
std::optional<Located> look_into(const std::string& path, const std::string& pack, const Request& request,
                                 Found& found) {
  const auto fail = [&](Status status) {
    if (!found.failure) found.failure = std::move(status);
    return std::nullopt;
  };
  const auto file = KernelFile::open(path);
  if (!file.ok()) return fail(file.status());
  const index::Index& index = (*file)->index();
  if (index.family()->string_view() != request.family || index.kernel()->string_view() != request.kernel) {
    return fail(Status(AOTRITON_BAD_PACK, cat(path, ": it is the file of ", index.family()->string_view(), "/",
                                              index.kernel()->string_view(), " under another name")));
  }
  for (const index::Target* one : *index.targets()) {
    if (one->name()->string_view() == request.target) return Located{*file, one, true};
    if (!found.serving && serves(*one, request.target)) found.serving = Located{*file, one, false};
  }
  found.seen += cat(found.seen.empty() ? "" : ", ", pack, " (for ", targets_of(index), ")");
  return std::nullopt;
}

// All packs of one folder, those first that are called as the target's packs are.
std::optional<Located> look_through(const std::string& root, const Request& request, Found& found) {
  const std::vector<std::string> packs = names_in(root);
  for (const bool named : {true, false}) {
    for (const std::string& pack : packs) {
      const std::string path = cat(root, "/", pack, "/", request.family, "/", request.kernel, ".zip");
      if (named_for(pack, request.target) != named || !identity_of(path)) continue;
      if (auto located = look_into(path, pack, request, found)) return located;
      found.decided = named && found.failure;
      if (found.decided) return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string list(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined.empty() ? "none" : joined;
}

Status nothing(const std::vector<std::string>& roots, const Found& found, const Request& request) {
  const std::string wanted = cat(request.family, "/", request.kernel, " for ", request.target);
  const std::string seen = found.seen.empty() ? "no pack there has this kernel" : cat("it is in ", found.seen);
  if (found.failure) {
    return Status(found.failure->code(), cat("no usable pack has ", wanted, ": ", found.failure->text()));
  }
  std::string packs;
  for (const std::string& root : roots) packs += cat(packs.empty() ? "" : "; ", root, " has: ", list(names_in(root)));
  return Status(AOTRITON_NO_PACK, cat("no pack has ", wanted, "; ", seen, "; searched: ", packs,
                                      "; build one (aotriton build --target ", request.target,
                                      ") or name its folder in AOTRITON_PACK_PATH"));
}

}  // namespace

void add_path(std::string folder) {
  Paths& all = paths();
  const std::lock_guard lock(all.mutex);
  std::erase(all.added, folder);
  all.added.insert(all.added.begin(), std::move(folder));
  all.generation.fetch_add(1, std::memory_order_release);
}

std::uint64_t search_generation() { return paths().generation.load(std::memory_order_acquire); }

std::vector<std::string> search_path() {
  std::vector<std::string> folders;
  {
    const std::lock_guard lock(paths().mutex);
    folders = paths().added;
  }
  if (const char* const variable = std::getenv("AOTRITON_PACK_PATH"); variable != nullptr) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(':'));
      if (!one.empty()) folders.emplace_back(one);
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
  }
  folders.push_back(core::library_folder() + "/aotriton.images");
  return folders;
}

bool named_for(std::string_view pack, std::string_view target) {
  const std::size_t dash = pack.find('-');
  if (dash != pack.npos) pack.remove_prefix(dash + 1);
  std::string plain(target);
  std::erase(plain, '_');
  // An `x` that stands for any one character, as in gfx110x; the one of `gfx` matches itself.
  return std::ranges::equal(pack, plain, [](char p, char t) { return p == t || p == 'x'; });
}

Result<Located> locate(std::string_view folder, std::string_view family, std::string_view kernel,
                       std::string_view target) {
  const std::vector<std::string> roots = folder.empty() ? search_path() : std::vector{std::string(folder)};
  const Request request{family, kernel, target};
  Found found;
  for (const std::string& root : roots) {
    if (auto located = look_through(root, request, found)) return *located;
    if (found.decided) return nothing(roots, found, request);
  }
  if (found.serving) return *found.serving;
  return nothing(roots, found, request);
}

}  // namespace aotriton::pack
