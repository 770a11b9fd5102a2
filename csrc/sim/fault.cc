#include "sim/fault.h"

#include "sim/memory.h"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <mutex>

namespace sim {
namespace {

struct Guard {
  sigjmp_buf back;
  MemoryFault fault;
};

// Read in a signal handler, so never allocated there.
__attribute__((tls_model("initial-exec"))) thread_local Guard* volatile current = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local volatile bool passing_on = false;

constexpr int signals[] = {SIGSEGV, SIGBUS};
struct sigaction before[std::size(signals)];

bool writes([[maybe_unused]] const void* context) {
#if defined(__x86_64__) && defined(__linux__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;
#endif
}

// To the handler that was there before; where there was none, the fault comes again and ends the process.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = before[signal == SIGSEGV ? 0 : 1];
  const bool has_handler = (old.sa_flags & SA_SIGINFO) != 0 || (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN);
  if (!has_handler || passing_on) {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
    return;
  }
  passing_on = true;
  if ((old.sa_flags & SA_SIGINFO) != 0) old.sa_sigaction(signal, info, context);
  else old.sa_handler(signal);
  passing_on = false;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Guard* const guard = current;
  // One that another process or the program itself sent is not of a wave.
  if (guard == nullptr || info->si_code <= 0) return pass_on(signal, info, context);
  guard->fault = {reinterpret_cast<std::uint64_t>(info->si_addr), writes(context)};
  siglongjmp(guard->back, 1);
}

// The lane whose data the address is in; of addresses that no processor has the first lane's.
int lane_of(const Lanes& lanes, const Op& op, std::uint64_t& address) {
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((lanes.on & lanes.valid[0]) >> lane & 1 && address - lanes.at[lane] < op.access->bytes) return static_cast<int>(lane);
  }
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    const std::uint64_t top = lanes.at[lane] >> 47;
    if ((lanes.on >> lane & 1) == 0 || top == 0 || top == 0x1ffff) continue;
    address = lanes.at[lane];
    return static_cast<int>(lane);
  }
  return -1;
}

} // namespace

void install_fault_handlers() {
  static std::mutex guard;
  const std::lock_guard lock(guard);
  for (std::size_t i = 0; i < std::size(signals); ++i) {
    struct sigaction now {};
    if (sigaction(signals[i], nullptr, &now) != 0 || ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault)) continue;
    before[i] = now;
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    sigaction(signals[i], &ours, nullptr);
  }
}

bool run_guarded(void (*work)(void*), void* context, MemoryFault& fault) {
  Guard guard;
  struct Restore {
    Guard* outer = current;
    ~Restore() { current = outer; }
  } restore;
  if (sigsetjmp(guard.back, 0) != 0) {
    fault = guard.fault;
    return false;
  }
  current = &guard;
  work(context);
  return true;
}

void fail_with(const MemoryFault& fault, const Wave& wave, const Op& op) {
  std::uint64_t address = fault.address;
  int lane = -1;
  for (const Op* part = &op; part != nullptr && part->addresses != nullptr && lane < 0; part = part->second) {
    Lanes lanes;
    part->addresses(wave, *part, lanes);
    lane = lane_of(lanes, *part, address);
  }
  char place[2][32];
  std::snprintf(place[0], sizeof place[0], "0x%llx", static_cast<unsigned long long>(address));
  std::snprintf(place[1], sizeof place[1], "0x%llx", static_cast<unsigned long long>(op.in->address));
  const bool writes = op.access != nullptr ? op.access->writes && (fault.writes || !op.access->reads) : fault.writes;
  throw Fault(Fault::Kind::memory, std::string("memory at ") + place[0] + " can't be " + (writes ? "written" : "read") +
                                       (lane >= 0 ? ", by lane " + std::to_string(lane) : "") + ": `" + to_text(*op.in) + "` at " + place[1]);
}

} // namespace sim
