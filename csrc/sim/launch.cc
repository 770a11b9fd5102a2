#include "sim/launch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

namespace sim {
namespace {

// Registers and LDS that nothing wrote hold this NaN, in single, half and brain floats.
constexpr std::uint32_t poison = 0x7fe17fe1;

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

void check(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  const auto fail = [&](const std::string& what) { throw std::runtime_error("launch of `" + kernel.name + "`: " + what); };
  std::uint64_t threads = 1, blocks = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0) fail("the grid and the block need one at least in each direction");
    threads *= launch.block[i];
    if (threads > kernel.max_threads) fail("more threads than the kernel takes, " + std::to_string(kernel.max_threads));
    blocks *= launch.grid[i];
    if (blocks >= 1ull << 31) fail("more than 2^31 - 1 blocks");
  }
  std::uint32_t explicit_size = 0;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) explicit_size = std::max(explicit_size, argument.offset + argument.size);
  }
  if (launch.arguments.size() != explicit_size) {
    fail("arguments of " + std::to_string(launch.arguments.size()) + " bytes, the kernel has " + std::to_string(explicit_size));
  }
  if (std::uint64_t{kernel.lds_size} + launch.dynamic_lds > 160 * 1024) fail("more LDS than there is");
  if (kernel.private_size != 0) fail("it uses scratch, which the simulator doesn't have yet");
}

class Block {
 public:
  Block(const Launch& launch, const std::vector<std::uint8_t>& kernarg) : launch_(launch), kernarg_(kernarg) {
    const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    waves_.resize((threads + lane_count - 1) / lane_count);
    for (auto& wave : waves_) wave = std::make_unique<Wave>();
    const std::uint64_t preload = (launch.kernel->kernarg_preload & 0x7f) != 0 ? 256 : 0;
    entry_ = launch.module->program->entry(launch.kernel->entry + preload);
    if (entry_ == nullptr) throw std::runtime_error("no instruction starts at the entry of `" + launch.kernel->name + "`");
  }

  void run(std::array<std::uint32_t, 3> id) {
    group_.id = id;
    group_.lds.assign((launch_.kernel->lds_size + launch_.dynamic_lds + 3) / 4, poison);
    for (std::uint32_t i = 0; i < waves_.size(); ++i) start(*waves_[i], i);
    for (bool alive = true; alive;) {
      alive = false;
      for (auto& wave : waves_) {
        if (wave->state == State::ended) continue;
        wave->state = State::running; // all have come to the barrier, or this is the start
        run(*wave);
        alive = alive || wave->state == State::barrier;
      }
    }
  }

 private:
  void run(Wave& wave) {
    const std::uint64_t limit = launch_.most_instructions == 0 ? ~0ull : launch_.most_instructions;
    while (wave.state == State::running) {
      const Op* op = wave.next;
      wave.next = op + 1;
      op->run(wave, *op);
      if (++wave.instructions >= limit) fail_at(*op, "a wave came to the limit of " + std::to_string(limit) + " instructions");
    }
  }

  void start(Wave& wave, std::uint32_t index) {
    std::fill_n(&wave.vgpr[0][0], sizeof wave.vgpr / 4, poison);
    std::fill(std::begin(wave.sgpr), std::end(wave.sgpr), poison);
    wave.scc = false;
    wave.state = State::running;
    wave.next = entry_;
    wave.group = &group_;
    wave.index = index;
    wave.instructions = 0;
    wave.set_pair(code_vcc, 0);
    scalars(wave);
    thread_ids(wave);
  }

  void scalars(Wave& wave) {
    const Kernel& kernel = *launch_.kernel;
    unsigned at = 0;
    const auto kernarg = reinterpret_cast<std::uint64_t>(kernarg_.data());
    constexpr unsigned sizes[] = {4, 2, 2, 2, 2, 2, 1};
    for (unsigned bit = 0; bit < std::size(sizes); ++bit) {
      if ((kernel.properties >> bit & 1) == 0) continue;
      if (bit == 3) wave.set_pair(at, kernarg);
      else std::fill_n(&wave.sgpr[at], sizes[bit], 0u);
      at += sizes[bit];
    }
    const unsigned count = kernel.kernarg_preload & 0x7fu, offset = kernel.kernarg_preload >> 7;
    for (unsigned i = 0; i < count && at < 16; ++i, ++at) {
      if (4 * (offset + i + 1) <= kernarg_.size()) std::memcpy(&wave.sgpr[at], kernarg_.data() + 4 * (offset + i), 4);
    }
    // The descriptor counts the user registers too; workgroup ids follow them.
    at = kernel.rsrc2 >> 1 & 31;
    for (unsigned i = 0; i < 3; ++i) {
      if ((kernel.rsrc2 >> (7 + i) & 1) != 0) wave.sgpr[at++] = group_.id[i];
    }
  }

  void thread_ids(Wave& wave) {
    const std::uint64_t threads = std::uint64_t{launch_.block[0]} * launch_.block[1] * launch_.block[2];
    std::uint64_t exec = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      const std::uint64_t flat = std::uint64_t{wave.index} * lane_count + lane;
      if (flat >= threads) break;
      exec |= 1ull << lane;
      const auto x = static_cast<std::uint32_t>(flat % launch_.block[0]);
      const auto y = static_cast<std::uint32_t>(flat / launch_.block[0] % launch_.block[1]);
      const auto z = static_cast<std::uint32_t>(flat / launch_.block[0] / launch_.block[1]);
      wave.vgpr[0][lane] = x | y << 10 | z << 20; // this family packs the three ids into v0
    }
    wave.set_pair(code_exec, exec);
  }

  const Launch& launch_;
  const std::vector<std::uint8_t>& kernarg_;
  std::vector<std::unique_ptr<Wave>> waves_;
  Workgroup group_;
  const Op* entry_ = nullptr;
};

unsigned thread_count(const Launch& launch, std::uint64_t blocks) {
  std::uint64_t count = launch.threads;
  if (const char* text = std::getenv("AOTRITON_SIM_THREADS"); count == 0 && text != nullptr) count = std::strtoul(text, nullptr, 10);
  if (count == 0) count = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<std::uint64_t>({count, blocks, 256}));
}

} // namespace

void run(const Launch& launch) {
  check(launch);
  const std::vector<std::uint8_t> kernarg = kernarg_segment(launch);
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::atomic<std::uint64_t> next{0};
  std::exception_ptr error;
  std::mutex guard;
  const auto work = [&] {
    try {
      Block block(launch, kernarg);
      for (std::uint64_t i; (i = next.fetch_add(1)) < blocks;) {
        block.run({static_cast<std::uint32_t>(i % launch.grid[0]), static_cast<std::uint32_t>(i / launch.grid[0] % launch.grid[1]),
                   static_cast<std::uint32_t>(i / launch.grid[0] / launch.grid[1])});
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!error) error = std::current_exception();
      next = blocks;
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < thread_count(launch, blocks); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

void run_alone(Wave& wave) {
  constexpr std::uint64_t limit = 10'000'000;
  while (wave.state != State::ended) {
    const Op* op = wave.next;
    wave.next = op + 1;
    op->run(wave, *op);
    if (++wave.instructions == limit) fail_at(*op, "the wave doesn't end");
  }
}

} // namespace sim
