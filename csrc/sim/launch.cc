#include "sim/block.h"
#include "sim/checks.h"
#include "sim/counts.h"
#include "sim/fault.h"
#include "sim/interrupt.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace sim {
namespace {

void put(std::vector<std::uint8_t>& to, std::uint32_t offset, std::uint32_t size, std::uint64_t value) {
  std::memcpy(to.data() + offset, &value, std::min<std::uint32_t>(size, 8));
}

// The hidden arguments' values; what isn't known stays zero.
std::uint64_t hidden_value(const Launch& launch, std::string_view kind) {
  for (unsigned i = 0; i < 3; ++i) {
    const std::string axis(1, static_cast<char>('x' + i));
    if (kind == "hidden_block_count_" + axis) return launch.grid[i];
    if (kind == "hidden_group_size_" + axis) return launch.block[i];
  }
  if (kind == "hidden_grid_dims") return launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size") return launch.dynamic_lds;
  return 0;
}

std::vector<std::uint8_t> kernarg_segment(const Launch& launch) {
  std::vector<std::uint8_t> segment(std::max<std::size_t>(launch.kernel->kernarg_size, 4) + 64);
  std::memcpy(segment.data(), launch.arguments.data(), launch.arguments.size());
  for (const Argument& argument : launch.kernel->arguments) {
    if (argument.kind.starts_with("hidden_")) put(segment, argument.offset, argument.size, hidden_value(launch, argument.kind));
  }
  return segment;
}

unsigned thread_count(const Launch& launch, std::uint64_t blocks) {
  std::uint64_t count = launch.threads;
  if (count == 0) count = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<std::uint64_t>({count, blocks, 256}));
}

} // namespace

std::uint32_t explicit_size(const Kernel& kernel) {
  std::uint32_t size = 0;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) size = std::max(size, argument.offset + argument.size);
  }
  return size;
}

std::string why_not(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  const auto because = [&](const std::string& what) { return "launch of `" + kernel.name + "`: " + what; };
  std::uint64_t threads = 1, blocks = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0) return because("the grid and the block need one at least in each direction");
    threads *= launch.block[i];
    if (threads > kernel.max_threads) return because("more threads than the kernel takes, " + std::to_string(kernel.max_threads));
    blocks *= launch.grid[i];
    if (blocks >= 1ull << 31) return because("more than 2^31 - 1 blocks");
  }
  if (const std::uint32_t size = explicit_size(kernel); launch.arguments.size() != size) {
    return because("arguments of " + std::to_string(launch.arguments.size()) + " bytes, the kernel has " + std::to_string(size));
  }
  if (std::uint64_t{kernel.lds_size} + launch.dynamic_lds > 160 * 1024) return because("more LDS than there is");
  return {};
}

void run(const Launch& launch) {
  if (const std::string what = why_not(launch); !what.empty()) throw std::runtime_error(what);
  install_fault_handlers();
  const std::vector<std::uint8_t> kernarg = kernarg_segment(launch);
  const CheckPlan checks = launch.checks == 0 ? CheckPlan{} : plan_checks(launch, kernarg);
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::atomic<std::uint64_t> next{0};
  Interrupt interrupt; // its flag ends the other threads after an error, too
  std::exception_ptr error;
  std::mutex guard;
  const auto work = [&] {
    Counts counts; // of this thread
    try {
      Block block(launch, kernarg, interrupt.flag(), launch.counts == nullptr ? nullptr : &counts);
      if (launch.checks != 0) block.check(checks);
      for (std::uint64_t i; (i = next.fetch_add(1)) < blocks;) {
        block.run({static_cast<std::uint32_t>(i % launch.grid[0]), static_cast<std::uint32_t>(i / launch.grid[0] % launch.grid[1]),
                   static_cast<std::uint32_t>(i / launch.grid[0] / launch.grid[1])});
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!error) error = std::current_exception();
      next = blocks;
      interrupt.set();
    }
    if (launch.counts == nullptr) return;
    const std::lock_guard lock(guard);
    launch.counts->add(counts);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < thread_count(launch, blocks); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

} // namespace sim
