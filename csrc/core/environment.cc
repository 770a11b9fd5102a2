#include "core/environment.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace aotriton::core {
namespace {

constexpr std::array<std::string_view, 2> kNames{"AOTRITON_DEVICE", "AOTRITON_PACK_PATH"};

// What a thread saw of `environ`: where it lay, which entries are ours, and which were the first and the last.
struct Seen {
  char** environment;  // null: it wasn't looked yet
  std::size_t count;   // of entries, without the null that ends them
  const char* first;   // entry; null: there is none
  const char* last;
  struct {
    std::size_t place;  // of the variable's entry
    const char* entry;  // null: it isn't set
    const char* value;
  } variables[kNames.size()];
};

// No constructor and no destructor: a thread's first look costs nothing.
constinit thread_local Seen last_seen{};

bool is_current(const Seen& seen) {
  char** const now = environ;
  // The first entry, too: after clearenv, setenv may put a shorter list in the same place, with the old one's end behind it.
  if (seen.environment == nullptr || now != seen.environment || now[0] != seen.first) return false;
  if (now[seen.count] != nullptr || (seen.count != 0 && now[seen.count - 1] != seen.last)) return false;
  for (const auto& variable : seen.variables) {
    if (variable.entry != nullptr && now[variable.place] != variable.entry) return false;
  }
  return true;
}

void look(Seen& seen) {
  seen = {};
  for (auto& variable : seen.variables) variable.value = "";
  if (environ == nullptr) return;
  seen.environment = environ;
  seen.first = environ[0];
  for (; environ[seen.count] != nullptr; ++seen.count) {
    const std::string_view entry = seen.last = environ[seen.count];
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const std::size_t length = kNames[i].size();
      auto& variable = seen.variables[i];  // the first entry of a name counts
      if (variable.entry != nullptr || !entry.starts_with(kNames[i]) || entry.size() == length || entry[length] != '=') continue;
      variable = {seen.count, entry.data(), entry.data() + length + 1};
    }
  }
}

}  // namespace

const char* environment(Variable variable) {
  Seen& seen = last_seen;
  if (!is_current(seen)) look(seen);
  return seen.variables[static_cast<std::size_t>(variable)].value;
}

const char* environment_just_seen(Variable variable) {
  const Seen& seen = last_seen;
  return seen.environment != nullptr ? seen.variables[static_cast<std::size_t>(variable)].value : environment(variable);
}

}  // namespace aotriton::core
