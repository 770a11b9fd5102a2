// A file mapped into memory for reading, for as long as somebody holds it.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace aotriton::pack {

// What tells one state of a file from another. Packs are replaced by renaming, never written in place.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const FileIdentity&) const = default;
};

// The identity of what stands at `path` now; nothing if there is no regular file.
std::optional<FileIdentity> identity_of(const std::string& path);

class MappedFile {
 public:
  static core::Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  const FileIdentity& identity() const { return identity_; }

 private:
  MappedFile(std::span<const std::uint8_t> bytes, FileIdentity identity) : bytes_(bytes), identity_(identity) {}

  std::span<const std::uint8_t> bytes_;
  FileIdentity identity_;
};

}  // namespace aotriton::pack
