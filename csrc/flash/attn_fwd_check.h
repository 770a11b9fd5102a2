// What the flash forward asks of its arguments, before any device is looked at.
#pragma once

#include "core/status.h"

namespace aotriton::flash {

// INVALID_ARGUMENT: the call contradicts itself. UNSUPPORTED: it makes sense, but no kernel does it.
core::Status check_attn_fwd(const aotriton_attn_fwd_params& params);
core::Status check_attn_options(const aotriton_attn_options& options);
// A sound call that has nothing to compute: no batch, no head, or no query.
bool has_no_output(const aotriton_attn_fwd_params& params);

}  // namespace aotriton::flash
