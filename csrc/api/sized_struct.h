// Structs of the C API that start with their size, so that later versions can add to them.
#pragma once

#include "core/status.h"
#include "core/text.h"

#include <algorithm>

namespace aotriton::api {

// A larger struct comes from a later version: what it has beyond ours must be zero, since we would ignore it.
template <typename Struct>
core::Status check_size(const char* name, const Struct& given) {
  if (given.size < sizeof(Struct)) {
    return core::Status(AOTRITON_INVALID_VERSION,
                        core::cat(name, ".size is ", given.size, "; this library takes ", sizeof(Struct),
                                  ": set it to sizeof, and compile with this library's aotriton.h"));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > 4096 + sizeof(Struct) ||
      std::any_of(bytes + sizeof(Struct), bytes + given.size, [](unsigned char byte) { return byte != 0; })) {
    return core::Status(AOTRITON_INVALID_VERSION,
                        core::cat(name, ".size is ", given.size, " where this library knows ", sizeof(Struct),
                                  " bytes, and what is beyond them isn't zero: it is a later version's; use that "
                                  "library"));
  }
  return {};
}

}  // namespace aotriton::api
