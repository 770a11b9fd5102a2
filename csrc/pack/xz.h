// One .xz stream, decompressed piece by piece with bounded memory.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <lzma.h>
#include <span>
#include <vector>

namespace aotriton::pack {

class XzStream {
 public:
  static constexpr std::uint64_t kMemoryLimit = 256u << 20;

  explicit XzStream(std::span<const std::uint8_t> compressed);
  ~XzStream() { lzma_end(&stream_); }
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;

  // Appends exactly `count` more bytes to `out`, which grows only as bytes really come out.
  core::Status read(std::size_t count, std::vector<std::uint8_t>& out);
  core::Status skip(std::size_t count);
  // Nothing more comes out, the stream's own checks hold, and nothing stands behind it.
  core::Status finish();

 private:
  core::Status fill(std::span<std::uint8_t> out);
  core::Status failure(lzma_ret code) const;

  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret state_ = LZMA_OK;
};

}  // namespace aotriton::pack
