// A call of a kernel whose arguments have names: resolved, decided and launched, or found in the thread's memo.
#pragma once

#include "dispatch/kernel.h"

namespace aotriton::dispatch {

// Kernel::resolve, then Kernel::run. The trace is written whether or not the call succeeds.
core::Status run_by_name(Kernel& kernel, std::span<const aotriton_argument> arguments, aotriton_stream stream,
                         const Options& options, std::string* trace);

}  // namespace aotriton::dispatch
