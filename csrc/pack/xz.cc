#include "pack/xz.h"

#include "core/text.h"

#include <algorithm>
#include <array>

namespace aotriton::pack {

using core::Status;

XzStream::XzStream(std::span<const std::uint8_t> compressed) {
  state_ = lzma_stream_decoder(&stream_, kMemoryLimit, 0);
  stream_.next_in = compressed.data();
  stream_.avail_in = compressed.size();
}

Status XzStream::failure(lzma_ret code) const {
  const auto bad = [](const char* text) { return Status(AOTRITON_BAD_PACK, text); };
  switch (code) {
    case LZMA_MEM_ERROR: return Status(AOTRITON_OUT_OF_MEMORY, "out of memory while decompressing");
    case LZMA_MEMLIMIT_ERROR: return bad("its decoder asks for more than 256 MiB of memory");
    case LZMA_FORMAT_ERROR: return bad("its compressed part is no .xz stream");
    case LZMA_OPTIONS_ERROR: return bad("its .xz stream uses options that this decoder doesn't know");
    case LZMA_BUF_ERROR: return bad("its .xz stream is cut off");
    case LZMA_STREAM_END: return bad("its .xz stream holds less than its header says");
    default: return bad("its .xz stream is damaged");
  }
}

Status XzStream::fill(std::span<std::uint8_t> out) {
  stream_.next_out = out.data();
  stream_.avail_out = out.size();
  while (stream_.avail_out != 0) {
    if (state_ != LZMA_OK) return failure(state_);
    state_ = lzma_code(&stream_, LZMA_FINISH);
  }
  return {};
}

Status XzStream::read(std::size_t count, std::vector<std::uint8_t>& out) {
  // Steps that double: what a header claims costs no memory before it is there.
  for (std::size_t step = 1u << 18; count != 0; step *= 2) {
    const std::size_t now = std::min(count, step), before = out.size();
    out.resize(before + now);
    if (Status status = fill(std::span(out).subspan(before)); !status.ok()) return status;
    count -= now;
  }
  return {};
}

Status XzStream::skip(std::size_t count) {
  std::array<std::uint8_t, 65536> scratch;
  while (count != 0) {
    const std::size_t now = std::min(count, scratch.size());
    if (Status status = fill(std::span(scratch).first(now)); !status.ok()) return status;
    count -= now;
  }
  return {};
}

Status XzStream::finish() {
  std::uint8_t extra;
  stream_.next_out = &extra;
  stream_.avail_out = 1;
  while (state_ == LZMA_OK && stream_.avail_out != 0) state_ = lzma_code(&stream_, LZMA_FINISH);
  if (stream_.avail_out == 0) return Status(AOTRITON_BAD_PACK, "its .xz stream holds more than its header says");
  if (state_ != LZMA_STREAM_END) return failure(state_);
  if (stream_.avail_in != 0) return Status(AOTRITON_BAD_PACK, "bytes stand behind its .xz stream");
  return {};
}

}  // namespace aotriton::pack
