#include "sim/block.h"

#include "sim/counts.h"
#include "sim/fault.h"

#include <algorithm>
#include <cstdio>

namespace sim {
namespace {

// Registers and LDS that nothing wrote hold this NaN, in single, half and brain floats.
constexpr std::uint32_t poison = 0x7fe17fe1;
// How many instructions a wave runs before another's turn comes, so that waves may wait for each other in loops.
constexpr std::uint64_t turn = 1 << 16;

// xorshift64: orders of waves must be the same everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

} // namespace

Block::Block(const Launch& launch, const std::vector<std::uint8_t>& kernarg, const std::atomic<bool>& stop, Counts* counts)
    : launch_(launch), kernarg_(kernarg), stop_(stop), counts_(counts), seed_(0) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  waves_.resize((threads + lane_count - 1) / lane_count);
  scratch_size_ = (launch.kernel->private_size + 15) / 16 * 16;
  scratch_.resize(std::size_t{scratch_size_} / 4 * lane_count * waves_.size());
  for (auto& wave : waves_) turns_.push_back((wave = std::make_unique<Wave>()).get());
  const std::uint64_t preload = (launch.kernel->kernarg_preload & 0x7f) != 0 ? 256 : 0;
  entry_ = launch.module->program->entry(launch.kernel->entry + preload);
  if (entry_ == nullptr) throw std::runtime_error("no instruction starts at the entry of `" + launch.kernel->name + "`");
}

void Block::run(std::array<std::uint32_t, 3> id) {
  group_.id = id;
  group_.lds.assign((launch_.kernel->lds_size + launch_.dynamic_lds + 3) / 4, poison);
  std::fill(scratch_.begin(), scratch_.end(), poison);
  for (std::uint32_t i = 0; i < waves_.size(); ++i) start(*waves_[i], i);
  if (checker_ != nullptr) checker_->start(waves_);
  const std::uint64_t number = id[0] + std::uint64_t{launch_.grid[0]} * (id[1] + std::uint64_t{launch_.grid[1]} * id[2]);
  seed_ = 0x9e3779b97f4a7c15 * (launch_.wave_order + (number << 20)) | 1;
  for (bool alive = true; alive;) {
    order();
    // Each runs until it ends, comes to a barrier, or has had its turn; those that wait at the barrier go on together.
    bool running = false, waiting = false;
    for (Wave* wave : turns_) {
      if (wave->state == State::running) run_until_it_waits(*wave);
      running = running || wave->state == State::running;
      waiting = waiting || wave->state == State::barrier;
    }
    alive = running || waiting;
    if (running) continue;
    if (checker_ != nullptr) checker_->release();
    for (Wave* wave : turns_) {
      if (wave->state == State::barrier) wave->state = State::running;
    }
  }
  if (counts_ == nullptr) return;
  counts_->blocks += 1;
  counts_->waves += waves_.size();
  for (const Wave* wave : turns_) counts_->instructions += wave->instructions;
}

void Block::order() {
  if (launch_.wave_order == 0 || turns_.size() < 2) return;
  for (std::size_t i = 0; i < turns_.size(); ++i) turns_[i] = waves_[turns_.size() - 1 - i].get();
  if (launch_.wave_order == 1) return;
  for (std::size_t i = turns_.size() - 1; i > 0; --i) std::swap(turns_[i], turns_[next_random(seed_) % (i + 1)]);
}

void Block::run_until_it_waits(Wave& wave) {
  const std::uint64_t limit = launch_.most_instructions == 0 ? ~0ull : launch_.most_instructions;
  const std::uint64_t end = std::min(limit, wave.instructions + turn);
  struct Context {
    Block* block;
    Wave* wave;
    std::uint64_t end;
    const Op* op;
  } context{this, &wave, end, nullptr};
  const auto work = [](void* of) {
    auto* c = static_cast<Context*>(of);
    const bool watched = c->block->counts_ != nullptr || c->block->checker_ != nullptr;
    c->op = watched ? c->block->execute<true>(*c->wave, c->end) : c->block->execute<false>(*c->wave, c->end);
  };
  // A memory instruction leaves `next` alone, so it is the one before.
  if (MemoryFault fault; !run_guarded(work, &context, fault)) fail_with(fault, wave, *(wave.next - 1));
  const Op* op = context.op;
  if (stop_.load(std::memory_order_relaxed)) {
    throw Fault(Fault::Kind::interrupted, "the launch of `" + launch_.kernel->name + "` was interrupted");
  }
  if (wave.state != State::running || wave.instructions < limit) return;
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(op->in->address));
  throw Fault(Fault::Kind::limit, "`" + launch_.kernel->name + "`: a wave came to the limit of " + std::to_string(limit) +
                                      " instructions, at " + place + "; AOTRITON_SIM_LIMIT sets another, 0 none");
}

// The last operation that it ran.
template <bool watched>
const Op* Block::execute(Wave& wave, std::uint64_t end) {
  const Op* op = wave.next;
  while (wave.state == State::running && wave.instructions < end) {
    op = wave.next;
    wave.next = op + 1;
    if (watched && checker_ != nullptr) checker_->before(wave, *op);
    if (watched && counts_ != nullptr) counts_->note(*launch_.module->program, wave, *op);
    op->run(wave, *op);
    ++wave.instructions;
  }
  return op;
}

void Block::start(Wave& wave, std::uint32_t index) {
  std::fill_n(&wave.vgpr[0][0], sizeof wave.vgpr / 4, poison);
  std::fill(std::begin(wave.sgpr), std::end(wave.sgpr), poison);
  wave.mode = (launch_.kernel->rsrc1 >> 12 & 0xff) | (launch_.kernel->rsrc1 >> 13 & mode_clamps_nan) | (launch_.kernel->rsrc1 >> 14 & mode_ieee);
  wave.scc = false;
  wave.state = State::running;
  wave.next = entry_;
  wave.group = &group_;
  wave.index = index;
  wave.instructions = 0;
  wave.set_pair(code_vcc, 0);
  wave.scratch_size = scratch_size_;
  wave.scratch = reinterpret_cast<std::uint8_t*>(scratch_.data()) + std::size_t{index} * scratch_size_ * lane_count;
  scalars(wave);
  thread_ids(wave);
}

void Block::scalars(Wave& wave) {
  const Kernel& kernel = *launch_.kernel;
  unsigned at = 0;
  const auto kernarg = reinterpret_cast<std::uint64_t>(kernarg_.data());
  constexpr unsigned sizes[] = {4, 2, 2, 2, 2, 2, 1};
  for (unsigned bit = 0; bit < std::size(sizes); ++bit) {
    if ((kernel.properties >> bit & 1) == 0) continue;
    if (bit == 0) scratch_descriptor(wave, at);
    else if (bit == 3) wave.set_pair(at, kernarg);
    else if (bit == 5) wave.set_pair(at, reinterpret_cast<std::uint64_t>(wave.scratch));
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
  if ((kernel.rsrc2 >> 10 & 1) != 0) wave.sgpr[at++] = 0; // of the workgroup
  // Where scratch has no registers of its own: the wave's offset in it. Each wave's descriptor starts at its part.
  if ((kernel.rsrc2 & 1) != 0 && launch_.module->object->arch == Arch::gfx90a) wave.sgpr[at++] = 0;
}

// Scratch as a buffer: elements of four bytes, 64 lanes side by side, the lane's number added.
void Block::scratch_descriptor(Wave& wave, unsigned at) {
  const auto start = reinterpret_cast<std::uint64_t>(wave.scratch);
  constexpr std::uint32_t swizzle = 1u << 31, stride_of_64 = 3u << 21, add_lane = 1u << 23, format_32 = 4u << 15 | 4u << 12;
  wave.set_pair(at, start | std::uint64_t{swizzle} << 32);
  wave.sgpr[at + 2] = scratch_size_ * lane_count;
  wave.sgpr[at + 3] = stride_of_64 | add_lane | format_32 | 0xfac; // components in their order
}

void Block::thread_ids(Wave& wave) {
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

} // namespace sim
