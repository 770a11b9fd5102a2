// Writers of the formats that the library only reads: AKS2 and ZIP, as the Python side writes them.
#pragma once

#include <lzma.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace aotriton::tests {

using Buffer = std::vector<std::uint8_t>;

inline void put(Buffer& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i, number >>= 8) out.push_back(static_cast<std::uint8_t>(number));
}
inline void put(Buffer& out, const std::string& text) { out.insert(out.end(), text.begin(), text.end()); }
inline void put(Buffer& out, const Buffer& bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

inline Buffer xz(const Buffer& plain) {
  Buffer out(lzma_stream_buffer_bound(plain.size()));
  std::size_t size = 0;
  const lzma_ret code =
      lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, plain.data(), plain.size(), out.data(), &size, out.size());
  if (code != LZMA_OK) throw std::runtime_error("xz");
  out.resize(size);
  return out;
}

struct TestImage {
  std::string name;
  std::string code;
  std::uint32_t shared = 0;
  std::uint32_t threads = 0;
};

// Directory and images, before compression.
struct PlainCluster {
  Buffer directory, images;
  std::uint32_t count = 0;
};

inline PlainCluster plain_cluster(const std::vector<TestImage>& images) {
  PlainCluster cluster;
  for (const TestImage& image : images) {
    put(cluster.directory, image.shared, 4);
    put(cluster.directory, image.threads, 4);
    put(cluster.directory, cluster.images.size(), 4);
    put(cluster.directory, image.code.size(), 4);
    put(cluster.directory, image.name.size() + 1, 4);
    put(cluster.directory, image.name);
    cluster.directory.push_back(0);
    put(cluster.images, image.code);
    cluster.count += 1;
  }
  return cluster;
}

inline Buffer aks2(const PlainCluster& cluster) {
  Buffer out;
  put(out, std::string("AKS2"));
  put(out, cluster.directory.size() + cluster.images.size(), 4);
  put(out, cluster.count, 4);
  put(out, cluster.directory.size(), 4);
  Buffer plain = cluster.directory;
  put(plain, cluster.images);
  put(out, xz(plain));
  return out;
}

inline Buffer aks2(const std::vector<TestImage>& images) { return aks2(plain_cluster(images)); }

struct TestEntry {
  std::string name;
  Buffer data;
  bool aligned = false;  // its data starts at a multiple of 16
};

inline Buffer zip(const std::vector<TestEntry>& entries) {
  Buffer out, directory;
  for (const TestEntry& entry : entries) {
    const std::uint32_t crc = lzma_crc32(entry.data.data(), entry.data.size(), 0);
    const std::size_t header = out.size();
    std::size_t extra = entry.aligned ? (16 - (header + 30 + entry.name.size()) % 16) % 16 : 0;
    if (extra != 0 && extra < 4) extra += 16;
    const auto common = [&](Buffer& to, std::size_t extra_size) {
      for (const auto& [number, bytes] : {std::pair<std::uint64_t, int>{20, 2}, {0x0800, 2}, {0, 2}, {0, 4}, {crc, 4},
                                          {entry.data.size(), 4}, {entry.data.size(), 4}, {entry.name.size(), 2},
                                          {extra_size, 2}}) {
        put(to, number, bytes);
      }
    };
    put(out, 0x04034b50, 4);
    common(out, extra);
    put(out, entry.name);
    if (extra != 0) {
      put(out, 0x4f41, 2);
      put(out, extra - 4, 2);
      out.resize(out.size() + extra - 4);
    }
    put(out, entry.data);
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    common(directory, 0);
    put(directory, 0, 2 + 2 + 2 + 4);
    put(directory, header, 4);
    put(directory, entry.name);
  }
  const std::size_t start = out.size();
  put(out, directory);
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace aotriton::tests
