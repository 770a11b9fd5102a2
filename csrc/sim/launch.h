// A launch: blocks over threads, waves within a block.
#pragma once

#include "sim/wave.h"

#include <array>

namespace sim {

struct Module {
  std::unique_ptr<CodeObject> object;
  std::unique_ptr<Program> program;
};

struct Launch {
  const Module* module = nullptr;
  const Kernel* kernel = nullptr;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}; // blocks, and threads of one
  std::uint32_t dynamic_lds = 0;
  std::span<const std::uint8_t> arguments;                    // the explicit ones, as they lie in memory
  unsigned threads = 0;                                       // of this process; 0: one for each processor
  std::uint64_t most_instructions = 0;                        // of one wave; 0: no limit
};

// One workgroup while it runs.
struct Workgroup {
  std::array<std::uint32_t, 3> id{};
  std::vector<std::uint32_t> lds; // in dwords
};

// Runs it to its end; throws std::runtime_error with what is wrong and where.
void run(const Launch& launch);

// Runs one wave by itself until it ends; barriers don't hold it.
void run_alone(Wave& wave);

} // namespace sim
