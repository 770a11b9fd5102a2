#include "sim/interrupt.h"

#include <array>
#include <csignal>
#include <mutex>

namespace sim {
namespace {

// The flags of launches that run now. They never go away, so that a signal handler may set them at any time. Launches
// beyond them are not interrupted.
struct Place {
  std::atomic<bool> taken{false}, flag{false};
};
std::array<Place, 64> places;
static_assert(std::atomic<bool>::is_always_lock_free);

std::mutex guard;
int launches = 0;
bool installed = false;
struct sigaction before;

void on_interrupt(int number, siginfo_t* info, void* context) {
  for (Place& place : places) place.flag.store(true, std::memory_order_relaxed);
  if ((before.sa_flags & SA_SIGINFO) != 0) before.sa_sigaction(number, info, context);
  else before.sa_handler(number);
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void install() {
  if (sigaction(SIGINT, nullptr, &before) != 0 || !has_handler(before)) return;
  struct sigaction ours = before;
  ours.sa_flags = (before.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO;
  ours.sa_sigaction = on_interrupt;
  installed = sigaction(SIGINT, &ours, nullptr) == 0;
}

// The program's handler is put back unless somebody else set another meanwhile.
void restore() {
  struct sigaction now;
  if (installed && sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_interrupt) {
    sigaction(SIGINT, &before, nullptr);
  }
  installed = false;
}

} // namespace

Interrupt::Interrupt() {
  const std::lock_guard lock(guard);
  if (launches++ == 0) install();
  for (Place& place : places) {
    if (place.taken.exchange(true)) continue;
    flag_ = &place.flag;
    flag_->store(false, std::memory_order_relaxed);
    return;
  }
}

Interrupt::~Interrupt() {
  const std::lock_guard lock(guard);
  for (Place& place : places) {
    if (flag_ == &place.flag) place.taken.store(false);
  }
  if (--launches == 0) restore();
}

} // namespace sim
