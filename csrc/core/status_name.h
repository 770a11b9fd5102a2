// Names of statuses, as traces and logs have them.
#pragma once

#include <aotriton/aotriton.h>

namespace aotriton::core {

// `invalid_argument` of AOTRITON_INVALID_ARGUMENT.
const char* status_name(aotriton_status status);

}  // namespace aotriton::core
