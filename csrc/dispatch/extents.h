// Where the tensors of a launch lie, for drivers that check what code touches.
#pragma once

#include "dispatch/plan.h"
#include "drivers/driver.h"

#include <array>
#include <span>

namespace aotriton::dispatch {

class Extents {
 public:
  // The values were checked against the signature. Nothing where an address comes with no view: then it isn't known how
  // far the code may reach.
  Extents(const SignatureFacts& signature, std::span<const Value> values);

  std::span<const drivers::Extent> all() const { return {extents_.data(), count_}; }

 private:
  std::array<drivers::Extent, pack::kMaxArguments> extents_;
  std::size_t count_ = 0;
};

}  // namespace aotriton::dispatch
