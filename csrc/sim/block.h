// One workgroup: its waves' first registers, and who of them runs when.
#pragma once

#include "sim/checks.h"

#include <atomic>

namespace sim {

class Block {
 public:
  // `stop` is looked at now and then: once it is set, waves end with a Fault. `counts` may be null.
  Block(const Launch& launch, const std::vector<std::uint8_t>& kernarg, const std::atomic<bool>& stop, Counts* counts);

  // From now on instructions are checked.
  void check(const CheckPlan& plan) { checker_ = std::make_unique<Checker>(plan); }

  // Runs the workgroup of that number to its end.
  void run(std::array<std::uint32_t, 3> id);

 private:
  void order();
  void run_until_it_waits(Wave& wave);
  template <bool watched>
  const Op* execute(Wave& wave, std::uint64_t end);
  void start(Wave& wave, std::uint32_t index);
  void scalars(Wave& wave);
  void scratch_descriptor(Wave& wave, unsigned at);
  void thread_ids(Wave& wave);

  const Launch& launch_;
  const std::vector<std::uint8_t>& kernarg_;
  const std::atomic<bool>& stop_;
  Counts* counts_;
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<Wave*> turns_; // the waves in the order in which they run
  std::uint64_t seed_;
  Workgroup group_;
  std::uint32_t scratch_size_ = 0; // for each lane, in bytes
  std::vector<std::uint32_t> scratch_;
  std::unique_ptr<Checker> checker_; // null: no checks
  const Op* entry_ = nullptr;
};

} // namespace sim
