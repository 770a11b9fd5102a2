#include "pack/index.h"

#include "core/text.h"

namespace aotriton::pack {

using core::cat;
using core::Status;

unsigned type_bytes(index::Type type) {
  using index::Type;
  switch (type) {
    case Type::i1: case Type::i8: case Type::u8: return 1;
    case Type::fp16: case Type::bf16: case Type::i16: case Type::u16: return 2;
    case Type::fp32: case Type::i32: case Type::u32: return 4;
    case Type::fp64: case Type::i64: case Type::u64: return 8;
    case Type::none: break;
  }
  return 0;
}

core::Result<const index::Index*> verify_index(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 16 || !index::IndexBufferHasIdentifier(bytes.data())) {
    return Status(AOTRITON_BAD_PACK, "its index is no index (no AOTI at offset 4)");
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = 4'000'000;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (!index::VerifyIndexBuffer(verifier)) return Status(AOTRITON_BAD_PACK, "its index is damaged");
  const index::Index* const root = index::GetIndex(bytes.data());
  if (Status status = check_index(*root); !status.ok()) {
    return Status(status.code(), cat("its index is damaged: ", status.text()));
  }
  return root;
}

}  // namespace aotriton::pack
