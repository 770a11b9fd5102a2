#include "pack/aks2.h"

#include "core/text.h"
#include "pack/bytes.h"
#include "pack/xz.h"

#include <algorithm>
#include <cstring>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Result;
using core::Status;
using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kHeaderSize = 16;
constexpr std::size_t kEntrySize = 20;           // and a name of at least its zero byte
constexpr std::uint32_t kLargest = 1u << 30;     // of what an archive may decompress to

struct Header {
  std::uint32_t total = 0, count = 0, directory = 0;
};

Status bad(std::string text) { return Status(AOTRITON_BAD_PACK, "AKS2 archive: " + text); }
Status within(const Status& status) { return Status(status.code(), "AKS2 archive: " + status.text()); }

Result<Header> read_header(Bytes archive) {
  if (archive.size() < kHeaderSize || std::memcmp(archive.data(), "AKS2", 4) != 0) {
    return bad("it doesn't start with AKS2");
  }
  const std::uint8_t* const p = archive.data();
  const Header header{read_u32(p + 4), read_u32(p + 8), read_u32(p + 12)};
  if (header.total > kLargest) return bad(cat("it claims ", header.total, " bytes; at most 1 GiB is accepted"));
  if (header.directory > header.total) return bad("its directory is larger than the whole");
  if (header.count > header.directory / (kEntrySize + 1)) return bad("its directory can't hold so many entries");
  return header;
}

Result<std::vector<ClusterEntry>> read_entries(Bytes directory, const Header& header) {
  std::vector<ClusterEntry> entries;
  entries.reserve(header.count);
  const std::uint32_t area = header.total - header.directory;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    if (directory.size() - at < kEntrySize) return bad(cat("entry ", i, " reaches over the directory's end"));
    const std::uint8_t* const p = directory.data() + at;
    const std::size_t length = read_u32(p + 16);
    at += kEntrySize;
    if (length == 0 || length > directory.size() - at) return bad(cat("the name of entry ", i, " has a wrong length"));
    const auto* const name = reinterpret_cast<const char*>(directory.data() + at);
    if (std::memchr(name, 0, length) != name + length - 1) return bad(cat("the name of entry ", i, " has no end"));
    at += length;
    ClusterEntry entry{std::string(name, length - 1), read_u32(p), read_u32(p + 4), read_u32(p + 8), read_u32(p + 12)};
    if (entry.offset > area || entry.size > area - entry.offset) {
      return bad(cat("image ", i, " lies outside the image area"));
    }
    entries.push_back(std::move(entry));
  }
  if (at != directory.size()) return bad("its directory has bytes after the last entry");
  return entries;
}

// Header and directory; the stream then stands at the image area.
struct Opening {
  Header header;
  std::vector<ClusterEntry> entries;
};

Result<Opening> open(Bytes archive, XzStream& stream) {
  const Result<Header> header = read_header(archive);
  if (!header.ok()) return header.status();
  std::vector<std::uint8_t> directory;
  if (Status status = stream.read(header->directory, directory); !status.ok()) return within(status);
  Result<std::vector<ClusterEntry>> entries = read_entries(directory, *header);
  if (!entries.ok()) return entries.status();
  return Opening{*header, std::move(*entries)};
}

Bytes compressed(Bytes archive) { return archive.subspan(std::min(kHeaderSize, archive.size())); }

}  // namespace

Result<ClusterImage> read_image(Bytes archive, std::string_view name, std::size_t most) {
  XzStream stream(compressed(archive));
  const Result<Opening> opening = open(archive, stream);
  if (!opening.ok()) return opening.status();
  const auto found = std::ranges::find(opening->entries, name, &ClusterEntry::name);
  if (found == opening->entries.end()) return bad(cat("no image is named '", name, "'"));
  if (found->size > most) return bad(cat("image '", name, "' has ", found->size, " bytes, not ", most));
  ClusterImage image{*found, {}};
  if (Status status = stream.skip(found->offset); !status.ok()) return within(status);
  if (Status status = stream.read(found->size, image.bytes); !status.ok()) return within(status);
  return image;
}

Result<Cluster> read_cluster(Bytes archive) {
  XzStream stream(compressed(archive));
  Result<Opening> opening = open(archive, stream);
  if (!opening.ok()) return opening.status();
  Cluster cluster{std::move(opening->entries), {}};
  if (Status status = stream.read(opening->header.total - opening->header.directory, cluster.images); !status.ok()) {
    return within(status);
  }
  if (Status status = stream.finish(); !status.ok()) return within(status);
  return cluster;
}

}  // namespace aotriton::pack
