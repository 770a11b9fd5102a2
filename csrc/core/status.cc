#include "core/status.h"

#include <new>

namespace aotriton::core {
namespace {

// The text of this thread's last failure.
thread_local std::string last_text;

// What counts of it. By itself, since a string has a destructor, which makes each look at it a longer one: what a success
// does is one write.
enum class Kept : unsigned char { nothing, text, no_memory };
constinit thread_local Kept kept = Kept::nothing;

}  // namespace

aotriton_status report(const Status& status) {
  if (status.ok()) {
    kept = Kept::nothing;
    return AOTRITON_SUCCESS;
  }
  try {
    last_text = status.text();
    kept = Kept::text;
  } catch (const std::bad_alloc&) {
    kept = Kept::no_memory;
  }
  return status.code();
}

const char* last_error() {
  switch (kept) {
    case Kept::text: return last_text.c_str();
    case Kept::no_memory: return "out of host memory (while keeping the text of another failure)";
    default: return "";
  }
}

}  // namespace aotriton::core
