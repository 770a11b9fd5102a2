// The recording library's own functions, for tests.
#include "record/recorder.h"

#include <cstdlib>
#include <cstring>

#define RECORD_API extern "C" __attribute__((visibility("default")))

namespace {

using aotriton::record::Recorder;

char* copy(const std::string& text) {
  auto* memory = static_cast<char*>(std::malloc(text.size() + 1));
  if (memory != nullptr) std::memcpy(memory, text.c_str(), text.size() + 1);
  return memory;
}

}  // namespace

// From now on there are at least so many devices of the target. They stay; those of other targets too.
RECORD_API void aotriton_record_configure(const char* target, int devices) {
  if (target != nullptr) Recorder::instance().configure(target, devices);
}

// What was launched since the last take, as a JSON array: [{"symbol", "target", "device": its number among those of the
// target, "grid", "block", "shared", "stream", "captured", "arguments": [{"offset", "size", "hex"}, …]}, …].
RECORD_API char* aotriton_record_take(void) { return copy(Recorder::instance().take_launches()); }

// How often each function was called since the last time, and calls that a capture forbids:
// {"calls": {"hipModuleLoadData": 1, …}, "violations": [text, …]}.
RECORD_API char* aotriton_record_calls(void) { return copy(Recorder::instance().take_calls()); }

RECORD_API void aotriton_record_free(char* text) { std::free(text); }

// The call of `function` that follows after `after` more of them fails with `code`, once.
RECORD_API void aotriton_record_fail(const char* function, int code, int after) {
  if (function != nullptr) Recorder::instance().fail(function, code, after);
}

// The next kernel that is launched faults with `code`: its launch succeeds, and every later call that a driver would tell it
// in fails with the code, until the next reset.
RECORD_API void aotriton_record_fault(int code) { Recorder::instance().fault(code); }

// Forgets launches, calls, violations, captures, faults and failures to come. Devices and what was loaded stay.
RECORD_API void aotriton_record_reset(void) { Recorder::instance().reset(); }
