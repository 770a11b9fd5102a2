// One wave by itself, for tests of single instructions.
#include "sim/fault.h"

namespace sim {

void run_alone(Wave& wave) {
  install_fault_handlers();
  const auto work = [](void* of) {
    constexpr std::uint64_t limit = 10'000'000;
    Wave& alone = *static_cast<Wave*>(of);
    while (alone.state != State::ended) {
      const Op* op = alone.next;
      alone.next = op + 1;
      op->run(alone, *op);
      if (++alone.instructions == limit) fail_at(*op, "the wave doesn't end");
    }
  };
  if (MemoryFault fault; !run_guarded(work, &wave, fault)) fail_with(fault, wave, *(wave.next - 1));
}

} // namespace sim
