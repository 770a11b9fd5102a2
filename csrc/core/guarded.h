// The wall between the library and its callers: no exception crosses it.
#pragma once

#include "core/status.h"

#include <exception>
#include <new>

namespace aotriton::core {

// Runs `body`, which returns a Status, and reports it; std::bad_alloc and any other exception become statuses (the text
// for the former is short enough to need no memory itself).
template <typename Body>
aotriton_status guarded(Body&& body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report(Status(AOTRITON_OUT_OF_MEMORY, "out of memory"));
  } catch (const std::exception& error) {
    return report(Status(AOTRITON_INTERNAL_ERROR, std::string("internal error, please report: ") + error.what()));
  } catch (...) {
    return report(Status(AOTRITON_INTERNAL_ERROR, "internal error, please report: unknown exception"));
  }
}

}  // namespace aotriton::core
