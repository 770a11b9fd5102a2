#include "core/environment.h"

#include <array>
#include <cstddef>
#include <cstdlib>

#include <unistd.h>

namespace aotriton::core {
namespace {

constexpr std::array kNames{"AOTRITON_DEVICE", "AOTRITON_PACK_PATH"};
constexpr std::size_t kMost = 256;

struct Seen {
  std::array<const char*, kMost + 1> entries;  // of `environ`, with the null that ends them
  std::array<const char*, kNames.size()> values;
  std::size_t count;  // of the entries with the null; 0: it wasn't looked yet, or there are too many
};

// No constructor and no destructor: a thread's first look costs nothing.
constinit thread_local Seen last_seen{};

// Reads no further than both are the same, so never beyond the end of `environ`.
bool is_current(const Seen& seen) {
  const char* const* const now = environ;
  if (seen.count == 0 || now == nullptr) return false;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < seen.count; ++i) {
    if (now[i] != seen.entries[i]) return false;
  }
  return true;
}

void look(Seen& seen) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const char* const value = std::getenv(kNames[i]);
    seen.values[i] = value == nullptr ? "" : value;
  }
  seen.count = 0;
  for (std::size_t i = 0; environ != nullptr && i <= kMost; ++i) {
    seen.entries[i] = environ[i];
    if (environ[i] != nullptr) continue;
    seen.count = i + 1;
    return;
  }
}

}  // namespace

const char* environment(Variable variable) {
  Seen* seen = &last_seen;
  asm("" : "+r"(seen));  // GCC forgets what it holds, and asks for the thread's memory again in each turn of the loop
  if (!is_current(*seen)) look(*seen);
  return seen->values[static_cast<std::size_t>(variable)];
}

const char* environment_just_seen(Variable variable) {
  const Seen& seen = last_seen;
  return seen.count != 0 ? seen.values[static_cast<std::size_t>(variable)] : environment(variable);
}

}  // namespace aotriton::core
