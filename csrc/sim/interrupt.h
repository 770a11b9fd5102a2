// Ctrl-C while a kernel runs: what the program does on SIGINT is done, and the launch ends with an error. A program that
// has no handler of its own ends, as ever.
#pragma once

#include <atomic>

namespace sim {

// While one of these lives, SIGINT sets its flag, and then does what the program's handler does.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& flag() const { return *flag_; }
  void set() { flag_->store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> own_{false};
  std::atomic<bool>* flag_ = &own_;
};

} // namespace sim
