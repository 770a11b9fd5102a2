// What the environment says of launches.
#pragma once

#include "sim/launch.h"

#include <string>

namespace sim {

// Fills in threads (AOTRITON_SIM_THREADS), the limit on a wave's instructions (AOTRITON_SIM_LIMIT), the checks
// (AOTRITON_SIM_CHECKS: `all`, `none` or names, checks.h) and the order of waves
// (AOTRITON_SIM_ORDER: `forward`, `backward` or a number, the seed of shuffles). Throws where a value is none.
void apply_environment(Launch& launch);

// Runs it; where AOTRITON_SIM_REPORT names a file, a line is written to its end: what was executed, as JSON (counts.h).
void run_and_report(Launch launch);

} // namespace sim
