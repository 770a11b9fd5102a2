// One kernel's ZIP in a pack: the file mapped, its directory and index verified.
#pragma once

#include "pack/aks2.h"
#include "pack/file.h"
#include "pack/index.h"
#include "pack/zip.h"

#include <memory>
#include <string>
#include <vector>

namespace aotriton::pack {

inline constexpr std::string_view kIndexEntry = "__index__";

class KernelFile {
 public:
  // The same object for the same state of the same file, as long as somebody holds it.
  static core::Result<std::shared_ptr<const KernelFile>> open(const std::string& path);
  // Of bytes that outlive the object; `path` is for texts.
  static core::Result<std::shared_ptr<const KernelFile>> of_bytes(std::span<const std::uint8_t> bytes,
                                                                  std::string path);

  const std::string& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }
  const Zip& zip() const { return zip_; }
  const index::Index& index() const { return *index_; }
  // The code object, decoded and found to be what the index says (size, resources, SHA-256).
  core::Result<std::vector<std::uint8_t>> image(const index::Functional& functional, const index::Image& image) const;

 private:
  core::Status read(std::span<const std::uint8_t> bytes);

  std::string path_;
  FileIdentity identity_;
  std::shared_ptr<const MappedFile> file_;
  Zip zip_;
  std::vector<std::uint8_t> aligned_;  // a copy of the index, only where the file doesn't align it
  const index::Index* index_ = nullptr;
};

// Why `bytes` with these resources are not the image that the index speaks of; "" if they are.
std::string image_problem(const index::Image& image, const ClusterEntry& entry, std::span<const std::uint8_t> bytes);

}  // namespace aotriton::pack
