#include "pack/kernel_file.h"

#include "core/sha256.h"
#include "core/text.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Result;
using core::Status;
using Shared = std::shared_ptr<const KernelFile>;

// Files that are open now, by path: devices share them.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const KernelFile>> files;
};

Registry& registry() {
  // Never destroyed: other threads may still run while the process ends.
  static Registry* const one = new Registry;
  return *one;
}

Status in_file(const std::string& path, const Status& status) {
  const bool damaged = status.code() == AOTRITON_BAD_PACK;
  return Status(status.code(), cat(path, ": ", status.text(), damaged ? "; build or copy the pack again" : ""));
}

}  // namespace

Result<Shared> KernelFile::open(const std::string& path) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<const KernelFile>& slot = known.files[path];
  if (Shared file = slot.lock(); file && identity_of(path) == file->identity_) return file;
  Result<std::shared_ptr<const MappedFile>> mapped = MappedFile::open(path);
  if (!mapped.ok()) return mapped.status();
  const auto file = std::make_shared<KernelFile>();
  file->path_ = path;
  file->file_ = *mapped;
  file->identity_ = file->file_->identity();
  if (Status status = file->read(file->file_->bytes()); !status.ok()) return in_file(path, status);
  slot = file;
  return Shared(file);
}

Result<Shared> KernelFile::of_bytes(std::span<const std::uint8_t> bytes, std::string path) {
  const auto file = std::make_shared<KernelFile>();
  file->path_ = std::move(path);
  if (Status status = file->read(bytes); !status.ok()) return in_file(file->path_, status);
  return Shared(file);
}

Status KernelFile::read(std::span<const std::uint8_t> bytes) {
  Result<Zip> zip = Zip::parse(bytes);
  if (!zip.ok()) return zip.status();
  zip_ = std::move(*zip);
  const ZipEntry* const entry = zip_.find(kIndexEntry);
  if (entry == nullptr) return Status(AOTRITON_BAD_PACK, "it has no index (entry __index__)");
  Result<std::span<const std::uint8_t>> table = zip_.checked_data(*entry);
  if (!table.ok()) return table.status();
  if (reinterpret_cast<std::uintptr_t>(table->data()) % 16 != 0) {
    aligned_.assign(table->begin(), table->end());
    *table = aligned_;
  }
  const Result<const index::Index*> index = verify_index(*table);
  if (!index.ok()) return index.status();
  index_ = *index;
  return {};
}

Result<std::vector<std::uint8_t>> KernelFile::image(const index::Functional& functional,
                                                    const index::Image& image) const {
  const std::string_view text = functional.text()->string_view();
  const ZipEntry* const entry = zip_.find(text);
  if (entry == nullptr) return Status(AOTRITON_BAD_PACK, cat(path_, ": no entry '", text, "', which the index names"));
  const Result<std::span<const std::uint8_t>> archive = zip_.data(*entry);
  if (!archive.ok()) return in_file(path_, archive.status());
  const auto in_entry = [&](aotriton_status code, std::string_view what) {
    return in_file(path_, Status(code, cat("entry '", text, "': ", what)));
  };
  Result<ClusterImage> found = read_image(*archive, image.name()->string_view(), image.bytes());
  if (!found.ok()) return in_entry(found.status().code(), found.status().text());
  const std::string problem = image_problem(image, found->entry, found->bytes);
  if (!problem.empty()) return in_entry(AOTRITON_BAD_PACK, problem);
  return std::move(found->bytes);
}

std::string image_problem(const index::Image& image, const ClusterEntry& entry, std::span<const std::uint8_t> bytes) {
  const auto differs = [&](std::string_view what, std::uint64_t has, std::uint64_t wanted) {
    return cat("image '", entry.name, "' has ", has, " ", what, ", the index says ", wanted);
  };
  if (bytes.size() != image.bytes()) return differs("bytes", bytes.size(), image.bytes());
  if (entry.threads != image.threads()) return differs("threads", entry.threads, image.threads());
  if (entry.shared != image.shared()) return differs("bytes of shared memory", entry.shared, image.shared());
  if (!std::ranges::equal(core::sha256(bytes), *image.sha256())) {
    return cat("image '", entry.name, "' is damaged: its SHA-256 is not the index's");
  }
  return {};
}

}  // namespace aotriton::pack
