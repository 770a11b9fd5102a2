// Arguments that stand for a whole tensor view: what the view must be, and what the driver builds from it.
#pragma once

#include "dispatch/plan.h"
#include "dispatch/problem.h"
#include "drivers/tensor_map.h"

#include <span>

namespace aotriton::dispatch {

// Why one of the views can't be described; reason none: all can. The same for every target, though only tensor maps have
// these limits, so that what runs on one runs on the others.
Problem check_descriptors(const Plan& plan, const SignatureFacts& signature, std::span<const Value> values);

// The bytes from one element to the next in a dimension. Where there is one element only, nothing is reached through the
// stride and the view may have anything there: then it is one that any dimension can have.
std::int64_t stride_bytes(const aotriton_tensor& view, int dimension, std::int64_t element_bytes);

// What the driver is asked for. The view was checked.
drivers::TensorMapRequest map_request(const ParameterFacts& parameter, const index::TensorMap& map,
                                      const aotriton_tensor& view);

}  // namespace aotriton::dispatch
