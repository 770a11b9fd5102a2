// What the environment says of launches.
#pragma once

#include "sim/launch.h"

#include <string>

namespace sim {

// Fills in threads (AOTRITON_SIM_THREADS), the limit on a wave's instructions (AOTRITON_SIM_LIMIT) and the order of waves
// (AOTRITON_SIM_ORDER: `forward`, `backward` or a number, the seed of shuffles). Throws where a value is none.
void apply_environment(Launch& launch);

} // namespace sim
