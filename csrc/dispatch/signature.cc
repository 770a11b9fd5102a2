// Whether the caller's values are what a code object takes: types, null, ranges, and what the compiler assumed.
#include "dispatch/select.h"

namespace aotriton::dispatch {
namespace {

Problem of_argument(Reason reason, std::uint16_t argument, std::int64_t asked = 0, std::int64_t found = 0) {
  Problem problem;
  problem.reason = reason;
  problem.argument = argument;
  problem.asked = asked;
  problem.found = found;
  return problem;
}

Problem check_pointer(const ParameterFacts& parameter, const ArgumentFacts& argument, const Value& value) {
  // A null address with a type is a tensor without elements.
  if (value.bits == 0 && value.dtype == AOTRITON_NONE) {
    return argument.optional ? Problem() : of_argument(Reason::null_tensor, parameter.argument);
  }
  const auto type = static_cast<std::int64_t>(parameter.type);
  if (static_cast<std::int64_t>(value.dtype) != type) {
    return of_argument(Reason::wrong_type, parameter.argument, value.dtype, type);
  }
  if ((value.bits & (parameter.bytes - 1u)) != 0) {
    return of_argument(Reason::element_unaligned, parameter.argument, 0, parameter.bytes);
  }
  if ((value.bits & (parameter.alignment - 1u)) != 0) {
    return of_argument(Reason::unaligned, parameter.argument, 0, parameter.alignment);
  }
  return {};
}

Problem check_number(const ParameterFacts& parameter, const ArgumentFacts& argument, const Value& value) {
  if (!value.given && argument.role != index::Role::stride) return of_argument(Reason::missing, parameter.argument);
  if (parameter.real) return {};
  const auto number = static_cast<std::int64_t>(value.bits);
  if (number < parameter.least || number > parameter.most) {
    return of_argument(Reason::out_of_range, parameter.argument, number, static_cast<std::int64_t>(parameter.type));
  }
  if ((value.bits & (parameter.alignment - 1u)) != 0) {
    return of_argument(Reason::unaligned, parameter.argument, number, parameter.alignment);
  }
  return {};
}

// What nearly every value of every launch is; the rest is looked at above.
bool is_plain(const ParameterFacts& parameter, const Value& value) {
  if ((value.bits & (parameter.alignment - 1u)) != 0 || !value.given) return false;
  if (parameter.pointer) {
    return static_cast<int>(value.dtype) == static_cast<int>(parameter.type) && (value.bits & (parameter.bytes - 1u)) == 0;
  }
  const auto number = static_cast<std::int64_t>(value.bits);
  return parameter.real || (number >= parameter.least && number <= parameter.most);
}

}  // namespace

Problem check_signature(const Plan& plan, const SignatureFacts& signature, std::span<const Value> values) {
  for (const ParameterFacts& parameter : signature.parameters) {
    const Value& value = values[parameter.argument];
    if (is_plain(parameter, value)) continue;
    const ArgumentFacts& argument = plan.arguments[parameter.argument];
    const Problem problem = parameter.pointer ? check_pointer(parameter, argument, value)
                                              : check_number(parameter, argument, value);
    if (problem.reason != Reason::none) return problem;
  }
  for (const FixedFacts& fixed : signature.fixed) {
    const Value& value = values[fixed.argument];
    const auto number = static_cast<std::int64_t>(value.bits);
    if (value.given && number != fixed.value) {
      return of_argument(Reason::fixed_value, fixed.argument, number, fixed.value);
    }
  }
  return {};
}

}  // namespace aotriton::dispatch
