#include "dispatch/problem.h"

#include "core/text.h"

namespace aotriton::dispatch {
namespace {

using core::cat;

const char* type_name(std::int64_t type) {
  const char* const name = index::EnumNameType(static_cast<index::Type>(type));
  return *name != '\0' ? name : "of an unknown type";
}

std::string choices_of(const AxisFacts& axis) {
  std::string text;
  for (const ChoiceFacts& choice : axis.choices) text += cat(text.empty() ? "" : ", ", choice.text);
  return text;
}

std::string of_expression(const Problem& problem, const Plan& plan) {
  const std::string where = problem.axis >= 0
                                ? cat("the request for ", plan.axes[static_cast<std::size_t>(problem.axis)].label)
                                : cat("dimension ", problem.found, " of the grid");
  switch (problem.fault) {
    case Fault::unknown_argument: return cat(where, " needs '", plan.names[problem.argument], "', which was not given");
    case Fault::division_by_zero: return cat(where, " divides by zero");
    default: return cat(where, " is larger than 64 bits hold");
  }
}

// Of one argument's value.
std::string of_argument(const Problem& problem, const Plan& plan) {
  const std::string& name = plan.names[problem.argument];
  switch (problem.reason) {
    case Reason::missing: return cat("argument '", name, "' was not given");
    case Reason::mixed_types:
      return cat("'", name, "' is ", type_name(problem.asked), " and '", plan.names[problem.other], "' is ",
                 type_name(problem.found), "; they must have the same type");
    case Reason::null_tensor: return cat("tensor '", name, "' is null; the kernel needs it");
    case Reason::wrong_type:
      return cat("'", name, "' is ", type_name(problem.asked), "; the kernel takes ", type_name(problem.found));
    case Reason::element_unaligned:
      return cat("the address of '", name, "' is not a multiple of its element's ", problem.found, " bytes");
    case Reason::descriptor_address:
      return cat("the address of '", name, "' is not a multiple of ", problem.found, " bytes, as a descriptor's must be");
    case Reason::descriptor_rank:
      return cat("'", name, "' has rank ", problem.asked, "; the kernel takes rank ", problem.found);
    case Reason::descriptor_size:
      return cat("'", name, "' has size ", problem.asked, " in dimension ", problem.found,
                 "; a descriptor's sizes go from 1 to 2147483647");
    case Reason::descriptor_last:
      return cat("'", name, "' has stride ", problem.asked, " in its last dimension, where a descriptor's tensor must be "
                 "contiguous");
    case Reason::descriptor_stride:
      return cat("'", name, "' has stride ", problem.asked, " in dimension ", problem.found,
                 "; a descriptor's strides are multiples of 16 bytes, from 0 to less than 2**40");
    case Reason::out_of_range:
      return cat("'", name, "' is ", problem.asked, ", which ", type_name(problem.found), " can't hold");
    case Reason::fixed_value:
      return cat("'", name, "' is ", problem.asked, "; the code was compiled for ", problem.found);
    case Reason::negative_count:
      return cat("'", name, "' is ", problem.asked, "; the grid is computed from it: it takes 0 or more");
    default: return cat("'", name, "' is not a multiple of ", problem.found, ", which the code assumes");
  }
}

std::string of_axis(const Problem& problem, const Plan& plan) {
  const AxisFacts& axis = plan.axes[static_cast<std::size_t>(problem.axis)];
  const std::string asked = problem.reason == Reason::no_type ? type_name(problem.asked) : cat(problem.asked);
  return cat(axis.label, " has no choice for ", asked, "; its choices are ", choices_of(axis));
}

}  // namespace

aotriton_status code_of(Reason reason) {
  switch (reason) {
    case Reason::none: return AOTRITON_SUCCESS;
    case Reason::no_choice: case Reason::no_type: case Reason::excluded: case Reason::unaligned:
    case Reason::descriptor_address: case Reason::descriptor_size: case Reason::descriptor_last:
    case Reason::descriptor_stride: case Reason::shared_memory: case Reason::cluster: case Reason::too_many: return AOTRITON_UNSUPPORTED;
    case Reason::failed: case Reason::not_in_pack: case Reason::no_config:
    case Reason::no_image: return AOTRITON_NOT_BUILT;
    default: return AOTRITON_INVALID_ARGUMENT;
  }
}

std::string describe(const Problem& problem, const Plan& plan) {
  switch (problem.reason) {
    case Reason::none: return "";
    case Reason::expression: return of_expression(problem, plan);
    case Reason::no_grid: return "the kernel declares no grid: the caller gives it, and none was given";
    case Reason::negative_grid: return cat("dimension ", problem.found, " of the grid is ", problem.asked);
    case Reason::grid_limit:
      return cat("dimension ", problem.found, " of the grid is ", problem.asked, ", more than the device's limit");
    case Reason::no_such_config: return cat("config ", problem.asked, " was asked for; there are ", problem.found);
    case Reason::no_choice: case Reason::no_type: return of_axis(problem, plan);
    case Reason::excluded: return cat("excluded: ", problem.exclusion->reason()->string_view());
    case Reason::failed: return cat("its compilation failed: ", problem.exclusion->reason()->string_view());
    case Reason::not_in_pack: return "not in this pack";
    case Reason::no_config: return "its look-up table has no config for these sizes";
    case Reason::no_image: return cat("config ", problem.asked, " has no code object in this pack");
    case Reason::shared_memory:
      return cat("needs ", problem.asked, " bytes of shared memory, a block has ", problem.found);
    case Reason::cluster: return cat("needs clusters of ", problem.asked, " blocks, the device's have at most ", problem.found);
    case Reason::too_many: return "too many candidates were turned down";
    default: return of_argument(problem, plan);
  }
}

}  // namespace aotriton::dispatch
