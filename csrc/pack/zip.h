// A ZIP archive of stored entries, read where it lies. Nothing in it is trusted: any bytes are safe to give.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace aotriton::pack {

struct ZipEntry {
  std::string_view name;     // lies in the archive's bytes
  std::uint32_t header = 0;  // offset of the local header
  std::uint32_t size = 0;
  std::uint32_t crc = 0;
};

class Zip {
 public:
  // Reads the central directory. `bytes` must outlive the object; texts don't name the file, callers do.
  static core::Result<Zip> parse(std::span<const std::uint8_t> bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // sorted by name
  const ZipEntry* find(std::string_view name) const;
  // The entry's bytes, after its local header was found to say what the directory says.
  core::Result<std::span<const std::uint8_t>> data(const ZipEntry& entry) const;
  // As data(), and the CRC is right.
  core::Result<std::span<const std::uint8_t>> checked_data(const ZipEntry& entry) const;
  // No two entries share bytes.
  core::Status check_overlaps() const;

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t directory_ = 0;  // where the central directory starts: entries lie before it
  std::vector<ZipEntry> entries_;
};

}  // namespace aotriton::pack
