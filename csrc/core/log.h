// What the library says to stderr when AOTRITON_DEBUG_LEVEL asks for it: `[LEVEL] file:line: text`.
#pragma once

#include "core/text.h"

#include <string_view>

namespace aotriton::core {

enum class Level { error = 1, warning = 2, info = 3, debug = 4, extra_debug = 5 };

// The environment is read once.
bool logs(Level level);
void log_line(Level level, const char* file, int line, std::string_view text);

}  // namespace aotriton::core

// AOTRITON_LOG(info, "opened ", path): the pieces are put together only where somebody reads them.
#define AOTRITON_LOG(level, ...)                                                                                    \
  do {                                                                                                              \
    if (::aotriton::core::logs(::aotriton::core::Level::level)) {                                                   \
      ::aotriton::core::log_line(::aotriton::core::Level::level, __FILE_NAME__, __LINE__,                           \
                                 ::aotriton::core::cat(__VA_ARGS__));                                               \
    }                                                                                                               \
  } while (false)
