#include "dispatch/select.h"

#include "dispatch/descriptors.h"

#include <algorithm>

namespace aotriton::dispatch {
namespace {

// A search deeper than any honest description asks for.
constexpr std::size_t kMostCandidates = 4096;

// Why a functional has no code object in this pack.
Problem absence(const Plan& plan, std::uint32_t number) {
  Problem problem;
  problem.reason = Reason::not_in_pack;
  const auto* const exclusions = plan.target().exclusions();
  for (unsigned i = 0; exclusions != nullptr && i < exclusions->size(); ++i) {
    const index::Exclusion& one = *exclusions->Get(i);
    if (!std::ranges::binary_search(*one.numbers(), number)) continue;
    const bool described = one.kind() == index::ExclusionKind::described;
    problem.reason = described ? Reason::excluded : Reason::failed;
    problem.exclusion = &one;
    break;
  }
  return problem;
}

// Walks the axes in order, the choices of each best first, to the first functional that can serve.
class Walk {
 public:
  Walk(const Plan& plan, const drivers::Machine& machine, std::span<const Value> values, const Options& options,
       Selection& selection)
      : plan_(plan), machine_(machine), values_(values), options_(options), selection_(selection) {}

  // True if a functional was found. Else `retreat_` says at which axis another choice may help: deeper ones can't.
  bool descend(std::size_t level, std::uint32_t number) {
    if (level == plan_.axes.size()) return try_functional(number);
    const AxisFacts& axis = plan_.axes[level];
    Candidates candidates;
    if (Problem problem = find_candidates(plan_, level, values_, selection_.numbers, candidates);
        problem.reason != Reason::none) {
      return turn_down(problem);
    }
    selection_.preferred[level] = candidates.choice[0];
    selection_.requested[level] = candidates.requested;
    for (std::size_t i = 0; i < candidates.count; ++i) {
      choose(level, candidates.choice[i]);
      if (descend(level + 1, number + candidates.choice[i] * axis.weight)) return true;
      if (retreat_ < static_cast<int>(level) || tried_ >= kMostCandidates) return false;
    }
    return false;
  }

 private:
  static constexpr int kAnywhere = INT16_MAX;

  void choose(std::size_t level, std::uint8_t choice) {
    const AxisFacts& axis = plan_.axes[level];
    selection_.choices[level] = choice;
    for (const std::uint16_t argument : axis.arguments) {
      if (plan_.arguments[argument].role == index::Role::choice) {
        selection_.numbers.set(argument, axis.choices[choice].integer);
      }
    }
  }

  bool try_functional(std::uint32_t number) {
    retreat_ = kAnywhere;
    Problem problem = consider(number);
    if (problem.reason == Reason::none) return true;
    problem.numbered = true;
    problem.number = number;
    return turn_down(problem, retreat_);
  }

  bool turn_down(Problem problem, int retreat = kAnywhere) {
    tried_ += 1;
    if (tried_ == kMostCandidates) problem.reason = Reason::too_many;
    selection_.rejected.add(problem);
    retreat_ = retreat;
    return false;
  }

  Problem consider(std::uint32_t number) {
    const auto found = std::ranges::lower_bound(plan_.numbers, number);
    if (found == plan_.numbers.end() || *found != number) return absence(plan_, number);
    const auto position = static_cast<std::size_t>(found - plan_.numbers.begin());
    const index::Functional& functional = *plan_.functionals[position];
    const SignatureFacts& signature = plan_.signatures[functional.signature()];
    if (Problem problem = check_signature(plan_, signature, values_); problem.reason != Reason::none) {
      retreat_ = decider_of(problem.argument);
      return problem;
    }
    selection_.functional = &functional;
    selection_.signature = &signature;
    Problem problem = choose_image(plan_, machine_, position, options_, selection_);
    if (problem.reason != Reason::none) selection_.functional = nullptr;
    return problem;
  }

  // The axis that decides what the code assumes of an argument: its own, or its tensor's; else any may.
  int decider_of(std::uint16_t argument) const {
    const ArgumentFacts& facts = plan_.arguments[argument];
    const auto& decided = facts.tensor >= 0 ? plan_.arguments[static_cast<std::size_t>(facts.tensor)] : facts;
    return decided.axis >= 0 ? decided.axis : kAnywhere;
  }

  const Plan& plan_;
  const drivers::Machine& machine_;
  const std::span<const Value> values_;
  const Options& options_;
  Selection& selection_;
  std::size_t tried_ = 0;
  int retreat_ = kAnywhere;
};

// What the caller can do most about: wrong arguments before what another pack would have, before what none has.
int weight_of(const Problem& problem) {
  const aotriton_status code = code_of(problem.reason);
  return code == AOTRITON_INVALID_ARGUMENT ? 2 : code == AOTRITON_NOT_BUILT ? 1 : 0;
}

const Problem& weightiest(std::span<const Problem> problems) {
  return *std::ranges::max_element(problems, {}, weight_of);
}

// The arguments that have a number before any choice. Of a tensor it says whether there is one, and not where.
void gather(const Plan& plan, std::span<const Value> values, Numbers& numbers) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool tensor = plan.known[i] == Plan::kAlwaysKnown;
    numbers.value[i] = static_cast<std::int64_t>(tensor ? std::uint64_t{values[i].bits != 0} : values[i].bits);
    numbers.known[i] = plan.known[i] + static_cast<std::uint8_t>(values[i].given) > 1;
  }
}

}  // namespace

void select(const Plan& plan, const drivers::Machine& machine, std::span<const Value> values, const Options& options,
            Selection& selection) {
  gather(plan, values, selection.numbers);
  if (Walk(plan, machine, values, options, selection).descend(0, 0)) {
    selection.failure = choose_grid(plan, machine, options, selection);
    if (selection.failure.reason == Reason::none && !selection.empty) {
      selection.failure = check_descriptors(plan, *selection.signature, values);
    }
  } else {
    selection.failure = weightiest(selection.rejected.kept());
  }
}

}  // namespace aotriton::dispatch
