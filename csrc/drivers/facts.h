// What is known of each target with no device at hand (aotriton/targets.py).
#pragma once

#include "core/status.h"
#include "drivers/driver.h"

#include <string>
#include <string_view>

namespace aotriton::drivers {

struct MachineFacts;

// Null: no such target.
const MachineFacts* facts_of(std::string_view target);
// The machine that a target's facts make.
Machine machine_of(const MachineFacts& facts);
// `gfx90a, gfx942, …`
std::string target_names();

}  // namespace aotriton::drivers
