// The trace of a choice as JSON: what `explain` prints and what a launch did.
#pragma once

#include "dispatch/select.h"

#include <string>

namespace aotriton::dispatch {

// What happened after the choice.
struct Outcome {
  const core::Status& status;
  bool loaded = false;
  bool launched = false;
};

std::string trace_of(const Plan& plan, const aotriton_device& device, const Selection& selection,
                     const Options& options, const Outcome& outcome);

// Why no choice was made, with all that was considered: the text of the call's status.
core::Status failure_of(const Plan& plan, const aotriton_device& device, const Selection& selection);

}  // namespace aotriton::dispatch
