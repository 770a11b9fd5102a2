// What a launch executed: instructions by class, what its memory accesses touch, and what else can be tuned without the
// hardware. Counting is a second loop over the operations, so that it costs nothing when it is off.
#pragma once

#include "sim/launch.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// Each instruction is in one of these.
enum class Class : std::uint8_t {
  scalar, branch, wait, barrier, control, scalar_memory, vector, matrix, accumulation, lds, global, buffer, scratch, unknown,
};
constexpr std::size_t class_count = 14;

std::string_view class_name(Class one);
Class class_of(const Instruction& instruction);

// What one operation did.
struct OpCount {
  std::uint64_t executed = 0, lanes = 0; // times, and lanes that were on over all of them
  std::uint64_t bytes = 0, lines = 0;    // of memory: asked for, and lines of the cache that they lie in
  std::uint64_t cycles = 0, best = 0;    // of LDS: as the banks allow, and without conflicts

  void add(const OpCount& other);
};

struct Counts {
  std::vector<OpCount> ops; // in the order of the program's
  std::uint64_t waves = 0, blocks = 0;
  std::uint64_t instructions = 0; // as the waves count them

  // Before an operation runs.
  void note(const Program& program, const Wave& wave, const Op& op);
  void add(const Counts& other);
};

// How many waves a SIMD can hold of a kernel at a time, and what allows no more.
struct Occupancy {
  unsigned waves = 0, most = 0;
  std::string_view limit; // `registers`, `LDS`, `scalar registers`, `waves`
};
Occupancy occupancy(const CodeObject& object, const Kernel& kernel, std::uint32_t threads, std::uint32_t dynamic_lds);

// The counts as a JSON object in one line.
std::string report(const Launch& launch, const Counts& counts);

} // namespace sim
