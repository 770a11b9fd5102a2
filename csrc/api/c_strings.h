// Texts that the C API hands out: the caller frees them with aotriton_free_string.
#pragma once

#include "core/status.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace aotriton::api {

// Gives `text` to the caller.
inline core::Status give(const std::string& text, char** out) {
  *out = static_cast<char*>(std::malloc(text.size() + 1));
  if (*out == nullptr) return core::Status(AOTRITON_OUT_OF_MEMORY, "out of memory");
  std::memcpy(*out, text.c_str(), text.size() + 1);
  return {};
}

inline core::Status null_argument(const char* name) {
  return core::Status(AOTRITON_INVALID_ARGUMENT, std::string(name) + " is null; it must not be");
}

}  // namespace aotriton::api
