// The grid of a launch: as the caller gave it, or as the description declares it, within the device's limits.
#include "dispatch/select.h"

namespace aotriton::dispatch {
namespace {

Problem of_dimension(Reason reason, std::size_t dimension, std::int64_t asked) {
  Problem problem;
  problem.reason = reason;
  problem.asked = asked;
  problem.found = static_cast<std::int64_t>(dimension);
  return problem;
}

Problem dimension_of(const Plan& plan, const Options& options, const Numbers& numbers, std::size_t dimension,
                     std::int64_t& size) {
  if (options.grid != nullptr) {
    size = options.grid[dimension];
    return {};
  }
  if (plan.index().grid()->size() == 0) return of_dimension(Reason::no_grid, dimension, 0);
  const Evaluation result = evaluate(*plan.index().grid()->Get(static_cast<unsigned>(dimension)), numbers);
  size = result.value;
  if (result.fault == Fault::none) return size < 0 ? of_dimension(Reason::negative_grid, dimension, size) : Problem();
  Problem problem = of_dimension(Reason::expression, dimension, 0);
  problem.fault = result.fault;
  problem.argument = result.argument;
  return problem;
}

Problem check_counts(const Plan& plan, const Numbers& numbers) {
  for (const std::uint16_t argument : plan.divided) {
    if (!numbers.known[argument] || numbers.value[argument] >= 0) continue;
    Problem problem;
    problem.reason = Reason::negative_count;
    problem.argument = argument;
    problem.asked = numbers.value[argument];
    return problem;
  }
  return {};
}

}  // namespace

Problem choose_grid(const Plan& plan, const drivers::Machine& machine, const Options& options, Selection& selection) {
  if (options.grid == nullptr) {
    if (Problem problem = check_counts(plan, selection.numbers); problem.reason != Reason::none) return problem;
  }
  std::array<std::int64_t, 3> sizes{};
  for (std::size_t i = 0; i < 3; ++i) {
    Problem problem = dimension_of(plan, options, selection.numbers, i, sizes[i]);
    if (problem.reason != Reason::none) return problem;
    selection.empty = selection.empty || sizes[i] == 0;
  }
  for (std::size_t i = 0; i < 3 && !selection.empty; ++i) {
    const std::int64_t limit = machine.grid_limits[i] > 0 ? machine.grid_limits[i] : std::int64_t{UINT32_MAX};
    const std::int64_t blocks = i == 0 ? selection.image->num_ctas() : 1;  // for one of the grid
    if (sizes[i] > limit / blocks) return of_dimension(Reason::grid_limit, i, sizes[i]);
    selection.grid[i] = static_cast<std::uint32_t>(sizes[i]);
  }
  return {};
}

}  // namespace aotriton::dispatch
