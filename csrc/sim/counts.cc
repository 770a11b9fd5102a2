#include "sim/counts.h"

#include "sim/memory.h"

#include <algorithm>
#include <bit>

namespace sim {
namespace {

constexpr std::string_view names[] = {
    "scalar", "branch", "wait", "barrier", "control", "scalar memory", "vector", "matrix", "accumulation registers",
    "LDS", "global memory", "buffers", "scratch", "unknown",
};
static_assert(std::size(names) == class_count);

unsigned cache_line(Arch arch) { return arch == Arch::gfx90a ? 64 : 128; }
unsigned bank_count(Arch arch) { return arch == Arch::gfx950 ? 64 : 32; }

// Distinct lines of the cache that the lanes' data lie in.
std::uint64_t lines_of(const Lanes& lanes, std::uint32_t bytes, unsigned line) {
  std::array<std::uint64_t, 2 * lane_count> found;
  std::size_t count = 0;
  each_lane(lanes.on, [&](unsigned lane) {
    found[count++] = lanes.at[lane] / line;
    if (const std::uint64_t last = (lanes.at[lane] + bytes - 1) / line; last != found[count - 1]) found[count++] = last;
  });
  std::sort(found.begin(), found.begin() + count);
  return static_cast<std::uint64_t>(std::unique(found.begin(), found.begin() + count) - found.begin());
}

// The cycles that the banks take: lanes in their order, as many at a time as the banks can serve if no two meet; then as
// many cycles as there are different dwords in the bank that most of them want.
std::uint64_t bank_cycles(const Lanes& lanes, std::uint32_t bytes, unsigned banks) {
  const unsigned dwords = std::max(1u, bytes / 4), at_once = std::max(1u, banks / dwords);
  std::uint64_t cycles = 0;
  for (unsigned first = 0; first < lane_count; first += at_once) {
    std::array<std::uint64_t, 4 * lane_count> wanted;
    std::size_t count = 0;
    for (unsigned lane = first; lane < std::min(first + at_once, lane_count); ++lane) {
      if ((lanes.on >> lane & 1) == 0) continue;
      for (unsigned i = 0; i < dwords && count < wanted.size(); ++i) wanted[count++] = lanes.at[lane] / 4 + i;
    }
    std::sort(wanted.begin(), wanted.begin() + count);
    const auto end = std::unique(wanted.begin(), wanted.begin() + count);
    std::array<std::uint32_t, 64> load{};
    for (auto dword = wanted.begin(); dword != end; ++dword) ++load[*dword % banks];
    cycles += *std::max_element(load.begin(), load.end());
  }
  return cycles;
}

std::uint64_t best_cycles(const Lanes& lanes, std::uint32_t bytes, unsigned banks) {
  const unsigned dwords = std::max(1u, bytes / 4), at_once = std::max(1u, banks / dwords);
  std::uint64_t cycles = 0;
  for (unsigned first = 0; first < lane_count; first += at_once) {
    const std::uint64_t mask = (at_once >= 64 ? ~0ull : (1ull << at_once) - 1) << first;
    cycles += (lanes.on & mask) != 0;
  }
  return cycles;
}

Class class_of_scalar(std::string_view name) {
  if (name.starts_with("s_branch") || name.starts_with("s_cbranch") || name.starts_with("s_setpc") || name.starts_with("s_swappc") ||
      name.starts_with("s_call") || name.starts_with("s_endpgm")) {
    return Class::branch;
  }
  if (name.starts_with("s_waitcnt")) return Class::wait;
  if (name.starts_with("s_barrier")) return Class::barrier;
  return Class::scalar;
}

} // namespace

std::string_view class_name(Class one) { return names[static_cast<std::size_t>(one)]; }

Class class_of(const Instruction& instruction) {
  if (instruction.row == nullptr) return Class::unknown;
  const std::string_view name = instruction.row->name;
  switch (instruction.row->format) {
    case Format::SOPP: {
      const Class found = class_of_scalar(name);
      return found == Class::scalar ? Class::control : found;
    }
    case Format::SOP1: case Format::SOP2: case Format::SOPC: case Format::SOPK: return class_of_scalar(name);
    case Format::SMEM: return Class::scalar_memory;
    case Format::VOP1: case Format::VOP2: case Format::VOPC: case Format::VOP3: case Format::VOP3P: case Format::VOP3PX:
      if (name.starts_with("v_accvgpr")) return Class::accumulation;
      return name.starts_with("v_mfma") || name.starts_with("v_smfmac") ? Class::matrix : Class::vector;
    case Format::DS: return Class::lds;
    case Format::FLAT: case Format::GLOBAL: return Class::global;
    case Format::MUBUF: case Format::MTBUF: return Class::buffer;
    case Format::SCRATCH: return Class::scratch;
  }
  return Class::unknown;
}

void OpCount::add(const OpCount& other) {
  executed += other.executed;
  lanes += other.lanes;
  bytes += other.bytes;
  lines += other.lines;
  cycles += other.cycles;
  best += other.best;
}

void Counts::note(const Program& program, const Wave& wave, const Op& op) {
  if (ops.empty()) ops.resize(program.ops.size());
  OpCount& count = ops[static_cast<std::size_t>(&op - program.ops.data())];
  ++count.executed;
  count.lanes += static_cast<std::uint64_t>(std::popcount(wave.exec()));
  for (const Op* part = &op; part != nullptr && part->access != nullptr && part->addresses != nullptr; part = part->second) {
    Lanes lanes;
    part->addresses(wave, *part, lanes);
    const std::uint32_t bytes = part->access->bytes;
    count.bytes += bytes * static_cast<std::uint64_t>(std::popcount(lanes.on));
    if (op.in->row->format == Format::DS) {
      count.cycles += bank_cycles(lanes, bytes, bank_count(op.in->arch));
      count.best += best_cycles(lanes, bytes, bank_count(op.in->arch));
    } else {
      count.lines += lines_of(lanes, std::max(1u, bytes), cache_line(op.in->arch));
    }
  }
}

void Counts::add(const Counts& other) {
  if (ops.size() < other.ops.size()) ops.resize(other.ops.size());
  for (std::size_t i = 0; i < other.ops.size(); ++i) ops[i].add(other.ops[i]);
  waves += other.waves;
  blocks += other.blocks;
  instructions += other.instructions;
}

Occupancy occupancy(const CodeObject& object, const Kernel& kernel, std::uint32_t threads, std::uint32_t dynamic_lds) {
  // Of one SIMD: 512 registers a lane in steps of 8, shared by vector and accumulation registers, and eight waves; a compute
  // unit has four and its LDS.
  constexpr unsigned registers = 512, step = 8, most_waves = 8, simds = 4;
  const unsigned lds = object.arch == Arch::gfx950 ? 160 * 1024 : 64 * 1024;
  Occupancy found{most_waves, most_waves, "waves"};
  const auto allow = [&](unsigned waves, std::string_view limit) {
    if (waves < found.waves) found.waves = waves, found.limit = limit;
  };
  const unsigned used = (std::max(kernel.vgpr_count, 1u) + step - 1) / step * step; // as the metadata say, both kinds together
  allow(registers / used, "registers");
  allow(kernel.sgpr_count > 100 ? 7 : 8, "scalar registers");
  const unsigned waves = (threads + lane_count - 1) / lane_count;
  if (const std::uint64_t size = std::uint64_t{kernel.lds_size} + dynamic_lds; size != 0) {
    allow(static_cast<unsigned>(lds / size * waves / simds), "LDS");
  }
  return found;
}

} // namespace sim
