// The decision: from (machine, index, arguments) to a code object and a grid, or to reasons. A pure function that
// allocates nothing; a launch, a query and an explanation all call it.
#pragma once

#include "dispatch/expression.h"
#include "dispatch/plan.h"
#include "dispatch/problem.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace aotriton::dispatch {

// The candidates that were turned down, in order; a few are kept, all are counted.
class Rejections {
 public:
  static constexpr std::size_t kKept = 64;

  Rejections() {}
  void add(const Problem& problem) {
    if (count_ < kKept) std::construct_at(&kept_[count_], problem);
    count_ += 1;
  }
  std::span<const Problem> kept() const { return {kept_, count_ < kKept ? count_ : kKept}; }
  std::size_t count() const { return count_; }

 private:
  union {
    Problem kept_[kKept];  // raw memory until added: a launch that finds its code at once pays nothing
  };
  std::size_t count_ = 0;
};

struct Selection {
  Problem failure;  // reason none: a choice was made
  Rejections rejected;

  // The functional; meaningful once `functional` is set.
  const index::Functional* functional = nullptr;
  const SignatureFacts* signature = nullptr;
  std::array<std::uint8_t, pack::kMaxAxes> choices;    // by axis
  std::array<std::uint8_t, pack::kMaxAxes> preferred;  // by axis, what would have been best
  std::array<std::int64_t, pack::kMaxAxes> requested;  // by axis, of numbers

  // Its config and image.
  const index::LookupTable* table = nullptr;  // null where a config was forced
  std::array<std::uint32_t, pack::kMaxKeys> bins;
  unsigned config = 0;          // position in the functional's configs
  bool other_config = false;    // not the table's: that one needs more shared memory than the device has
  const index::Image* image = nullptr;
  std::uint32_t image_number = 0;  // among all images of the target

  std::array<std::uint32_t, 3> grid{};
  bool empty = false;  // the grid has no blocks: nothing to launch
  Numbers numbers;     // the caller's and the choice's
};

// Fills `selection`, which is fresh. values.size() is the number of arguments.
void select(const Plan& plan, const drivers::Machine& machine, std::span<const Value> values, const Options& options,
            Selection& selection);

// ---- the steps of it, each in its own file ----

// The acceptable choices of an axis, best first (candidates.cc).
struct Candidates {
  std::array<std::uint8_t, pack::kMaxChoices> choice;
  std::size_t count = 0;
  std::int64_t requested = 0;
};
Problem find_candidates(const Plan& plan, std::size_t axis, std::span<const Value> values, const Numbers& numbers,
                        Candidates& out);

// Whether code of this signature can take these values (signature.cc).
Problem check_signature(const Plan& plan, const SignatureFacts& signature, std::span<const Value> values);

// Config and image of selection.functional, at position `functional` of the plan (lookup.cc).
Problem choose_image(const Plan& plan, const drivers::Machine& machine, std::size_t functional, const Options& options,
                     Selection& selection);

// The grid, given or declared (grid.cc).
Problem choose_grid(const Plan& plan, const drivers::Machine& machine, const Options& options, Selection& selection);

}  // namespace aotriton::dispatch
