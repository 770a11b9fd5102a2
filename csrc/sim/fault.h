// Faults in memory while simulated code runs: caught on the threads that run it, for all others as before.
#pragma once

#include "sim/launch.h"

namespace sim {

struct MemoryFault {
  std::uint64_t address = 0; // as the processor says
  bool writes = false;       // where it says that
};

// Makes the process's handlers of memory faults this library's. Faults that aren't a wave's go on to those that were there.
void install_fault_handlers();

// Runs `work(context)`; false where a fault ended it. Nothing that `work` holds is released then.
bool run_guarded(void (*work)(void*), void* context, MemoryFault& fault);

// Throws what is wrong with the memory instruction that the fault is of.
[[noreturn]] void fail_with(const MemoryFault& fault, const Wave& wave, const Op& op);

} // namespace sim
