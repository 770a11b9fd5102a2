#include "core/status.h"

#include <new>

namespace aotriton::core {
namespace {

// The text of this thread's last failure. Clearing keeps the capacity, so a success after it costs nothing.
thread_local std::string last_text;
// What stands for a text that there was no memory to keep.
thread_local const char* fallback = nullptr;

}  // namespace

aotriton_status report(const Status& status) {
  fallback = nullptr;
  if (status.ok()) {
    last_text.clear();
    return AOTRITON_SUCCESS;
  }
  try {
    last_text = status.text();
  } catch (const std::bad_alloc&) {
    last_text.clear();
    fallback = "out of host memory (while keeping the text of another failure)";
  }
  return status.code();
}

const char* last_error() { return fallback != nullptr ? fallback : last_text.c_str(); }

}  // namespace aotriton::core
