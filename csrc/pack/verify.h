// Checks one kernel's ZIP whole, as a launch never does: every entry, every image.
#pragma once

#include "core/status.h"

#include <string>

namespace aotriton::pack {

// Writes the report of aotriton_verify_zip, also where it fails.
core::Status verify_zip(const std::string& path, std::string& report);

}  // namespace aotriton::pack
