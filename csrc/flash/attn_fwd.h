// The flash forward: the front end that all APIs share.
#pragma once

#include "core/status.h"

#include <string>

namespace aotriton::flash {

// Checks the problem, picks the device of the stream where none is given, and runs the kernel. A failure launched
// nothing. The trace, where it is wanted, is written in every case.
core::Status attn_fwd(const aotriton_attn_fwd_params& params, aotriton_device* device, aotriton_stream stream,
                      const aotriton_attn_options& options, std::string* trace);

}  // namespace aotriton::flash
