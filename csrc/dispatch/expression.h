// Evaluates the index's expressions: postfix programs over the arguments' values.
#pragma once

#include "pack/index.h"

#include <array>
#include <cstdint>

namespace aotriton::dispatch {

// What is known of the arguments while a choice is made: the caller's numbers, then those that the choice decides.
struct Numbers {
  std::array<std::int64_t, pack::kMaxArguments> value;  // meaningful where known
  std::array<bool, pack::kMaxArguments> known;          // meaningful for the arguments that there are

  void set(std::size_t argument, std::int64_t number) {
    value[argument] = number;
    known[argument] = true;
  }
};

enum class Fault : std::uint8_t { none, unknown_argument, overflow, division_by_zero };

// No initial values: a stack of them costs nothing.
struct Evaluation {
  std::int64_t value;
  Fault fault;
  std::uint16_t argument;  // that has no value
};

// The expression was verified by pack::verify_index. `//` and `%` round as Python's do; what a select or a logical
// operation doesn't need may be at fault.
Evaluation evaluate(const index::Expression& expression, const Numbers& numbers);

}  // namespace aotriton::dispatch
