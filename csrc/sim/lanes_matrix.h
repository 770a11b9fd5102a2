// Within one build: what lanes_matrix.cc takes from lanes_unpack.cc.
#pragma once

#include "sim/matrix.h"

namespace sim::SIM_BUILD {

Unpack unpack_of(Number number);

} // namespace sim::SIM_BUILD
