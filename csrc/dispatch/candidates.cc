// From what the caller asks of one axis to the choices that can serve, best first.
#include "dispatch/select.h"

#include <algorithm>

namespace aotriton::dispatch {
namespace {

using index::ChoiceKind;

class Collector {
 public:
  Collector(const AxisFacts& axis, Candidates& out) : axis_(axis), out_(out) { out_.count = 0; }

  void add(std::size_t choice) { out_.choice[out_.count++] = static_cast<std::uint8_t>(choice); }
  // Sorts what was added, keeping the order of equals. They are few.
  template <typename Before>
  void sort(Before before) {
    for (std::size_t i = 1; i < out_.count; ++i) {
      for (std::size_t k = i; k > 0 && before(facts(k), facts(k - 1)); --k) {
        std::swap(out_.choice[k], out_.choice[k - 1]);
      }
    }
  }
  // Behind each one what may serve instead of it.
  void add_substitutes() {
    if (axis_.substitutes.empty()) return;
    const std::size_t direct = out_.count;
    for (std::size_t i = 0; i < direct; ++i) {
      const ChoiceFacts& best = facts(i);
      for (const std::uint8_t other : axis_.substitutes[out_.choice[i]]) {
        // Another element type would be read as what it isn't.
        if (axis_.choices[other].kind != best.kind || axis_.choices[other].type != best.type) continue;
        const auto end = out_.choice.begin() + static_cast<std::ptrdiff_t>(out_.count);
        if (std::find(out_.choice.begin(), end, other) == end) add(other);
      }
    }
  }

 private:
  const ChoiceFacts& facts(std::size_t position) const { return axis_.choices[out_.choice[position]]; }

  const AxisFacts& axis_;
  Candidates& out_;
};

Problem of_axis(Reason reason, std::size_t axis, std::int64_t asked) {
  Problem problem;
  problem.reason = reason;
  problem.axis = static_cast<std::int16_t>(axis);
  problem.asked = asked;
  return problem;
}

Problem missing(std::uint16_t argument) {
  Problem problem;
  problem.reason = Reason::missing;
  problem.argument = argument;
  return problem;
}

// The common element type of the axis's tensors that are there; `none` if all are null.
Problem common_type(const Plan& plan, const AxisFacts& axis, std::span<const Value> values, aotriton_dtype& type) {
  type = AOTRITON_NONE;
  std::uint16_t first = 0;
  for (const std::uint16_t argument : axis.arguments) {
    const aotriton_dtype own = values[argument].dtype;
    if (!is_tensor(plan.arguments[argument].role) || own == AOTRITON_NONE || own == type) continue;
    if (type == AOTRITON_NONE) {
      type = own;
      first = argument;
      continue;
    }
    Problem problem;
    problem.reason = Reason::mixed_types;
    problem.argument = first;
    problem.other = argument;
    problem.asked = type;
    problem.found = own;
    return problem;
  }
  return {};
}

Problem for_tensors(const Plan& plan, std::size_t position, std::span<const Value> values, Candidates& out) {
  const AxisFacts& axis = plan.axes[position];
  aotriton_dtype type;
  if (Problem problem = common_type(plan, axis, values, type); problem.reason != Reason::none) return problem;
  Collector collector(axis, out);
  for (std::size_t i = 0; i < axis.choices.size(); ++i) {
    const ChoiceFacts& choice = axis.choices[i];
    const bool pointer = choice.kind == ChoiceKind::pointer;
    if (type == AOTRITON_NONE || (pointer && static_cast<int>(choice.type) == static_cast<int>(type))) collector.add(i);
  }
  if (out.count == 0) return of_axis(Reason::no_type, position, type);
  // Null tensors are best served by code that takes them for constants, all others by code that assumes most.
  collector.sort([](const ChoiceFacts& a, const ChoiceFacts& b) {
    const bool constant = a.kind != ChoiceKind::pointer, other_constant = b.kind != ChoiceKind::pointer;
    return constant != other_constant ? constant : a.alignment > b.alignment;
  });
  collector.add_substitutes();
  return {};
}

// What number is asked for: the request's, else the argument's own.
Problem request(const Plan& plan, std::size_t position, std::span<const Value> values, const Numbers& numbers,
                std::int64_t& asked) {
  const AxisFacts& axis = plan.axes[position];
  const std::uint16_t argument = axis.arguments[0];
  if (axis.request == nullptr) {
    asked = static_cast<std::int64_t>(values[argument].bits);
    return values[argument].given ? Problem() : missing(argument);
  }
  const Evaluation result = evaluate(*axis.request, numbers);
  asked = result.value;
  if (result.fault == Fault::none) return {};
  Problem problem = of_axis(Reason::expression, position, 0);
  problem.fault = result.fault;
  problem.argument = result.argument;
  return problem;
}

bool serves_exactly(const AxisFacts& axis, const ChoiceFacts& choice, std::int64_t asked, const Value& own) {
  switch (choice.kind) {
    case ChoiceKind::real: return axis.request == nullptr && choice.real == own.real;
    // A scalar's type: any choice until its value is known not to fit (signature.cc).
    case ChoiceKind::scalar: return true;
    case ChoiceKind::pointer: return false;
    default: return choice.integer == asked;
  }
}

Problem for_numbers(const Plan& plan, std::size_t position, std::span<const Value> values, const Numbers& numbers,
                    Candidates& out) {
  const AxisFacts& axis = plan.axes[position];
  std::int64_t asked = 0;
  if (Problem problem = request(plan, position, values, numbers, asked); problem.reason != Reason::none) return problem;
  out.requested = asked;
  Collector collector(axis, out);
  const bool at_least = axis.rule == index::Rule::at_least;
  for (std::size_t i = 0; i < axis.choices.size(); ++i) {
    const ChoiceFacts& choice = axis.choices[i];
    const bool serves = at_least ? choice.integer >= asked
                                 : serves_exactly(axis, choice, asked, values[axis.arguments[0]]);
    if (serves) collector.add(i);
  }
  if (out.count == 0) return of_axis(Reason::no_choice, position, asked);
  if (at_least) collector.sort([](const ChoiceFacts& a, const ChoiceFacts& b) { return a.integer < b.integer; });
  collector.add_substitutes();
  return {};
}

}  // namespace

Problem find_candidates(const Plan& plan, std::size_t axis, std::span<const Value> values, const Numbers& numbers,
                        Candidates& out) {
  return plan.axes[axis].tensors ? for_tensors(plan, axis, values, out)
                                 : for_numbers(plan, axis, values, numbers, out);
}

}  // namespace aotriton::dispatch
