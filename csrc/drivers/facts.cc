#include "drivers/facts.h"

#include "core/text.h"
#include "machines.h"

#include <limits>

namespace aotriton::drivers {

const MachineFacts* facts_of(std::string_view target) {
  for (const MachineFacts& facts : kMachines) {
    if (target == facts.target) return &facts;
  }
  return nullptr;
}

Machine machine_of(const MachineFacts& facts) {
  Machine machine;
  machine.target = facts.target;
  machine.description = core::cat("a typical ", facts.target);
  machine.compute_units = facts.compute_units;
  machine.warp_size = facts.warp_size;
  machine.shared_memory = facts.shared_memory;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  // CUDA C++ Programming Guide, compute capabilities; HIP reports the first number for all three of AMD's.
  const std::int64_t others = std::string_view(facts.vendor) == "nvidia" ? 65535 : kLargest;
  machine.grid_limits = {kLargest, others, others};
  // Clusters came with compute capability 9.0; 16 blocks are the most, on the devices that allow more than 8.
  const std::string_view target = facts.target;
  const bool clusters = target.starts_with("sm_") && target != "sm_80" && target != "sm_86" && target != "sm_89";
  machine.largest_cluster = clusters ? 16 : 1;
  return machine;
}

std::string target_names() {
  std::string names;
  for (const MachineFacts& facts : kMachines) {
    if (!names.empty()) names += ", ";
    names += facts.target;
  }
  return names;
}

}  // namespace aotriton::drivers
