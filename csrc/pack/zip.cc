#include "pack/zip.h"

#include "core/text.h"
#include "pack/bytes.h"

#include <algorithm>
#include <lzma.h>
#include <optional>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Result;
using core::Status;
using Bytes = std::span<const std::uint8_t>;

constexpr std::uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint16_t kUtf8Flag = 0x0800, kEncryptedFlags = 0x2041;

Status bad(std::string text) { return Status(AOTRITON_BAD_PACK, std::move(text)); }

// The offset of the end record: the last one whose comment ends where the file ends.
std::optional<std::size_t> find_end(Bytes bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  const std::size_t last = bytes.size() - kEndSize;
  const std::size_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    const std::uint8_t* const p = bytes.data() + at;
    if (read_u32(p) == kEndMagic && at + kEndSize + read_u16(p + 20) == bytes.size()) return at;
  }
  return std::nullopt;
}

// What both headers of an entry must say for this reader: stored, plain, sizes up front.
Status check_method(std::uint16_t flags, std::uint16_t method, std::string_view name) {
  if ((flags & kEncryptedFlags) != 0) return bad(cat("entry '", core::utf8(name), "' is encrypted"));
  if ((flags & ~kUtf8Flag) != 0) return bad(cat("entry '", core::utf8(name), "' has flags that packs don't use"));
  if (method != 0) return bad(cat("entry '", core::utf8(name), "' is compressed (method ", method, "), not stored"));
  return {};
}

// One record of the central directory; `at` moves behind it.
Result<ZipEntry> read_record(Bytes bytes, std::size_t end, std::size_t directory, std::size_t& at) {
  if (end - at < kCentralSize || read_u32(bytes.data() + at) != kCentralMagic) {
    return bad(cat("no directory record at offset ", at));
  }
  const std::uint8_t* const p = bytes.data() + at;
  const std::size_t name_size = read_u16(p + 28);
  const std::size_t size = kCentralSize + name_size + read_u16(p + 30) + read_u16(p + 32);
  if (end - at < size) return bad(cat("the directory record at offset ", at, " reaches over the directory's end"));
  ZipEntry entry;
  entry.name = std::string_view(reinterpret_cast<const char*>(p) + kCentralSize, name_size);
  entry.crc = read_u32(p + 16);
  entry.size = read_u32(p + 24);
  entry.header = read_u32(p + 42);
  if (Status status = check_method(read_u16(p + 8), read_u16(p + 10), entry.name); !status.ok()) return status;
  if (entry.name.find('\0') != entry.name.npos) return bad(cat("the name at offset ", at, " has a zero byte"));
  if (read_u32(p + 20) != entry.size) return bad(cat("entry '", core::utf8(entry.name), "' has two sizes"));
  const std::size_t least = std::size_t{entry.header} + kLocalSize + name_size + entry.size;
  if (read_u16(p + 34) != 0 || least > directory) {
    return bad(cat("entry '", core::utf8(entry.name), "' lies outside the file (truncated?)"));
  }
  at += size;
  return entry;
}

}  // namespace

Result<Zip> Zip::parse(Bytes bytes) {
  if (bytes.size() > UINT32_MAX) return bad("the file is larger than 4 GiB, more than its format can hold");
  const std::optional<std::size_t> end = find_end(bytes);
  if (!end) return bad("no ZIP directory at its end (truncated, or no ZIP file)");
  const std::uint8_t* const p = bytes.data() + *end;
  const std::size_t count = read_u16(p + 10), size = read_u32(p + 12), start = read_u32(p + 16);
  const bool split = read_u16(p + 4) != 0 || read_u16(p + 6) != 0 || read_u16(p + 8) != count;
  if (split) return bad("the ZIP is split over files");
  if (start > *end || size != *end - start) return bad("the ZIP directory is not where the end record says");
  if (count * kCentralSize > size) return bad(cat("the ZIP directory can't hold ", count, " records"));

  Zip zip;
  zip.bytes_ = bytes;
  zip.directory_ = start;
  zip.entries_.reserve(count);
  std::size_t at = start;
  for (std::size_t i = 0; i < count; ++i) {
    Result<ZipEntry> entry = read_record(bytes, *end, start, at);
    if (!entry.ok()) return entry.status();
    zip.entries_.push_back(*entry);
  }
  if (at != *end) return bad("the ZIP directory has bytes after its last record");
  std::ranges::sort(zip.entries_, {}, &ZipEntry::name);
  const auto twin = std::ranges::adjacent_find(zip.entries_, {}, &ZipEntry::name);
  if (twin != zip.entries_.end()) return bad(cat("two entries are named '", core::utf8(twin->name), "'"));
  return zip;
}

const ZipEntry* Zip::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &ZipEntry::name);
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

Result<Bytes> Zip::data(const ZipEntry& entry) const {
  // parse() made sure that header, name and data fit before the directory, had the header no extra field.
  const std::uint8_t* const p = bytes_.data() + entry.header;
  const auto differs = [&](std::string_view what) {
    return bad(cat("the local header of entry '", core::utf8(entry.name), "' ", what));
  };
  if (read_u32(p) != kLocalMagic) return differs("is not there");
  if (Status status = check_method(read_u16(p + 6), read_u16(p + 8), entry.name); !status.ok()) return status;
  if (read_u32(p + 14) != entry.crc) return differs("has another CRC than the directory");
  if (read_u32(p + 18) != entry.size || read_u32(p + 22) != entry.size) return differs("has another size");
  if (read_u16(p + 26) != entry.name.size()) return differs("has another name");
  const std::string_view name(reinterpret_cast<const char*>(p) + kLocalSize, entry.name.size());
  if (name != entry.name) return differs("has another name");
  const std::size_t start = std::size_t{entry.header} + kLocalSize + name.size() + read_u16(p + 28);
  if (start > directory_ || entry.size > directory_ - start) return differs("puts its data outside the file");
  return bytes_.subspan(start, entry.size);
}

Result<Bytes> Zip::checked_data(const ZipEntry& entry) const {
  Result<Bytes> bytes = this->data(entry);
  if (bytes.ok() && lzma_crc32(bytes->data(), bytes->size(), 0) != entry.crc) {
    return bad(cat("the CRC of entry '", core::utf8(entry.name), "' is wrong: its bytes are damaged"));
  }
  return bytes;
}

Status Zip::check_overlaps() const {
  struct Extent {
    std::size_t start, end;
    std::string_view name;
  };
  std::vector<Extent> extents;
  extents.reserve(entries_.size());
  for (const ZipEntry& entry : entries_) {
    const Result<Bytes> bytes = this->data(entry);
    if (!bytes.ok()) continue;  // reported where its data is asked for
    const auto end = static_cast<std::size_t>(bytes->data() - bytes_.data()) + bytes->size();
    extents.push_back({entry.header, end, entry.name});
  }
  std::ranges::sort(extents, {}, &Extent::start);
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].start < extents[i - 1].end) {
      return bad(cat("entries '", core::utf8(extents[i - 1].name), "' and '", core::utf8(extents[i].name),
                     "' share bytes"));
    }
  }
  return {};
}

}  // namespace aotriton::pack
