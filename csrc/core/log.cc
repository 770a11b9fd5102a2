#include "core/log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace aotriton::core {
namespace {

// 0 to 5; a value that is no number is none.
int level_of_environment() {
  const char* text = std::getenv("AOTRITON_DEBUG_LEVEL");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long level = std::strtol(text, &end, 10);
  return end == text || *end != '\0' ? 0 : static_cast<int>(std::clamp(level, 0L, 5L));
}

}  // namespace

bool logs(Level level) {
  static const int wanted = level_of_environment();
  return static_cast<int>(level) <= wanted;
}

void log_line(Level level, const char* file, int line, std::string_view text) {
  static constexpr const char* kNames[] = {"", "ERROR", "WARNING", "INFO", "DEBUG", "EXTRA_DEBUG"};
  // One write a line, so that threads don't mix theirs.
  const std::string whole = cat("[", kNames[static_cast<int>(level)], "] ", file, ":", line, ": ", text, "\n");
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace aotriton::core
