// A launch: blocks over threads, waves within a block.
#pragma once

#include "sim/wave.h"

#include <array>

namespace sim {

struct Counts;

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
  std::uint32_t wave_order = 0;                               // 0: as they are numbered, 1: backwards, else a shuffle's seed
  std::uint32_t checks = 0;                                   // a set of Check (checks.h)
  Counts* counts = nullptr;                                   // where they are asked for
};

// One workgroup while it runs.
struct Workgroup {
  std::array<std::uint32_t, 3> id{};
  std::vector<std::uint32_t> lds; // in dwords
};

// What ended a launch before its end. Anything else that is wrong is a plain std::runtime_error.
struct Fault : std::runtime_error {
  enum class Kind : std::uint8_t { limit, interrupted, memory, check } kind;

  Fault(Kind its_kind, const std::string& text) : std::runtime_error(text), kind(its_kind) {}
};

// How many bytes the explicit arguments have, up to the end of the last.
std::uint32_t explicit_size(const Kernel& kernel);

// What is wrong with a launch before it begins; empty where nothing is.
std::string why_not(const Launch& launch);

// Runs it to its end; throws std::runtime_error with what is wrong and where.
void run(const Launch& launch);

// Runs one wave by itself until it ends; barriers don't hold it.
void run_alone(Wave& wave);

} // namespace sim
