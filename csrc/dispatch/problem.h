// Why a choice, or one candidate for it, came to nothing: small plain facts, put into words only when somebody reads.
#pragma once

#include "dispatch/expression.h"
#include "dispatch/plan.h"

#include <cstdint>
#include <string>

namespace aotriton::dispatch {

enum class Reason : std::uint8_t {
  none,
  // of the caller's arguments
  missing,           // `argument` was not given
  mixed_types,       // `argument` and `other` must have one element type
  null_tensor,       // `argument` must not be null
  wrong_type,        // `argument` has type `asked`, the code takes `found`
  element_unaligned, // the address of `argument` is not a multiple of its element's size
  descriptor_address,  // of `argument` is not a multiple of `found`
  descriptor_rank,     // of `argument` is `asked`, not `found`
  descriptor_size,     // of `argument` in dimension `found` is `asked`
  descriptor_last,     // dimension of `argument` has stride `asked`
  descriptor_stride,   // of `argument` in dimension `found` is `asked`
  out_of_range,      // `asked` doesn't fit into `argument`
  fixed_value,       // `argument` is `asked`, the code has `found` built in
  expression,        // of `axis`, or of the grid's dimension `found`: `fault`
  no_grid,           // declared, nor given
  negative_grid, grid_limit,  // dimension `found` is `asked`
  negative_count,    // `argument`, which the grid is computed from, is `asked`
  no_such_config,    // position `asked` was forced
  // of the choice space and the pack
  no_choice,         // `axis` has none for `asked`
  no_type,           // `axis` has none for element type `asked`
  excluded,          // by the description: `exclusion`
  failed,            // by the compiler: `exclusion`
  not_in_pack,
  unaligned,         // `argument` is no multiple of `found`
  no_config,         // the look-up table has none
  no_image,          // of the config at position `asked`
  shared_memory,     // needs `asked` bytes, a block has `found`
  cluster,           // of `asked` blocks, the device's are of `found`
  too_many,          // candidates
};

struct Problem {
  Reason reason = Reason::none;
  Fault fault = Fault::none;
  std::uint16_t argument = 0;
  std::uint16_t other = 0;
  std::int16_t axis = -1;
  bool numbered = false;      // the problem is that of functional `number`
  std::uint32_t number = 0;
  std::int64_t asked = 0;
  std::int64_t found = 0;
  const index::Exclusion* exclusion = nullptr;
};

// The status that a call gets for this reason.
aotriton_status code_of(Reason reason);
// In words: what was asked, what was found; no functional, no kernel.
std::string describe(const Problem& problem, const Plan& plan);

}  // namespace aotriton::dispatch
