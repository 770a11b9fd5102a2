// AKS2: the code objects of one functional, compressed together (the format is AOTriton's). Any bytes are safe to give.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aotriton::pack {

struct ClusterEntry {
  std::string name;
  std::uint32_t shared = 0;
  std::uint32_t threads = 0;
  std::uint32_t offset = 0;  // in the image area
  std::uint32_t size = 0;
};

struct ClusterImage {
  ClusterEntry entry;
  std::vector<std::uint8_t> bytes;
};

struct Cluster {
  std::vector<ClusterEntry> entries;
  std::vector<std::uint8_t> images;  // the image area

  std::span<const std::uint8_t> image(const ClusterEntry& entry) const {
    return std::span(images).subspan(entry.offset, entry.size);
  }
};

// The image of that name, decoding no further than its end; `most` is the size beyond which it is not wanted.
core::Result<ClusterImage> read_image(std::span<const std::uint8_t> archive, std::string_view name, std::size_t most);
// All of it, with the archive's own checks.
core::Result<Cluster> read_cluster(std::span<const std::uint8_t> archive);

}  // namespace aotriton::pack
