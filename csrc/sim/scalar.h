// What the two files of scalar instructions share.
#pragma once

#include "sim/wave.h"

#include <span>

namespace sim {

struct ScalarEntry {
  std::string_view name;
  Run run;
  std::uint8_t count; // of sources
  Type in[3], out;
};

// Those that read EXEC and write it.
std::span<const ScalarEntry> exec_entries();

// Branches, the program counter, hardware registers, registers counted from m0, and what ends or holds a wave.
bool bind_flow(Program& program, Op& op);

} // namespace sim
