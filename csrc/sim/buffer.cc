// MUBUF: memory through a descriptor of four scalars, which has a range. (Formats: typed.cc.)
#include "sim/memory.h"

#include <algorithm>
#include <atomic>

namespace sim {
namespace {

struct Descriptor {
  std::uint64_t base;
  std::uint32_t stride, count, index_stride; // count: in bytes, or in strides where there are indices
  bool swizzled, adds_lane;
};

Descriptor descriptor_of(const Wave& wave, unsigned reg) {
  const std::uint32_t* word = &wave.sgpr[reg];
  Descriptor d{};
  d.base = (word[0] | std::uint64_t{word[1]} << 32) & 0xffffffffffff;
  d.stride = word[1] >> 16 & 0x3fff;
  d.swizzled = word[1] >> 31 != 0;
  d.count = word[2];
  d.index_stride = 8u << (word[3] >> 21 & 3);
  d.adds_lane = (word[3] >> 23 & 1) != 0;
  if (d.adds_lane) d.stride |= (word[3] >> 15 & 15) << 14; // the data format's bits
  return d;
}

// How the checks of the range differ: of a wave's scratch there is none; of records it is the index that counts.
enum class Range { none, bytes, records };

// A lane's offset within the buffer, elements of four bytes interleaved where it is swizzled.
std::uint64_t placed(const Descriptor& d, std::uint64_t index, std::uint64_t offset) {
  if (!d.swizzled) return offset + d.stride * index;
  const std::uint64_t block = index / d.index_stride * d.stride + offset / 4 * 4;
  return block * d.index_stride + index % d.index_stride * 4 + offset % 4;
}

void check_scratch(const Wave& wave, const Op& op, const Descriptor& d, unsigned bytes, const Lanes& lanes) {
  const auto start = reinterpret_cast<std::uint64_t>(wave.scratch);
  const std::uint64_t size = std::uint64_t{wave.scratch_size} * lane_count;
  if (size == 0 || d.base < start || d.base > start + size) return; // another buffer
  each_lane(lanes.on, [&](unsigned lane) {
    const std::uint64_t at = lanes.at[lane], last = (std::max(bytes, 4u) / 4 - 1) * lanes.step + 4;
    if (at >= start && at + last - at % 4 <= start + size) return;
    fail_at(op, "lane " + std::to_string(lane) + " is outside of its scratch, which has " + std::to_string(wave.scratch_size) + " bytes");
  });
}

// Loads and stores of several dwords are checked dword by dword, the others as a whole.
void check_bytes(const Descriptor& d, std::uint64_t offset, unsigned bytes, bool whole, unsigned lane, Lanes& lanes) {
  const unsigned parts = whole ? 1 : bytes / 4, each = whole ? bytes : 4;
  for (unsigned i = 0; i < parts; ++i) {
    if (offset + 4 * i + each > d.count) lanes.valid[i] &= ~(1ull << lane);
  }
}

void buffer_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  const unsigned bytes = op.access->bytes;
  buffer_places(wave, op, bytes, op.access->update != nullptr || bytes <= 4, lanes);
}

void run_fence(Wave&, const Op&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

} // namespace

void buffer_places(const Wave& wave, const Op& op, unsigned bytes, bool whole, Lanes& lanes) {
  const Descriptor d = descriptor_of(wave, op.source[at_base].reg);
  const Modifiers& m = op.in->mods;
  const Range range = d.adds_lane && !m.idxen ? Range::none : m.idxen && d.stride != 0 ? Range::records : Range::bytes;
  const std::uint64_t base = d.base + scalar_value(wave, op.source[at_soffset]); // the scalar offset isn't checked
  const std::uint32_t* first = wave.vgpr[op.source[at_address].reg];
  const std::uint32_t* second = first + (m.idxen ? lane_count : 0);
  lanes.all_valid(wave.exec());
  if (d.swizzled) lanes.step = 4 * d.index_stride;
  each_lane(lanes.on, [&](unsigned lane) {
    const std::uint64_t vector_index = m.idxen ? first[lane] : 0, index = vector_index + (d.adds_lane ? lane : 0);
    const std::uint64_t offset = static_cast<std::uint32_t>(op.offset) + std::uint64_t{m.offen ? second[lane] : 0};
    lanes.at[lane] = base + placed(d, index, offset);
    if (range == Range::bytes) check_bytes(d, offset, bytes, whole, lane, lanes);
    if (range == Range::records && vector_index >= d.count) {
      for (std::uint64_t& part : lanes.valid) part &= ~(1ull << lane);
    }
  });
  if (range == Range::none) check_scratch(wave, op, d, bytes, lanes);
}

bool bind_buffer(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if (in.row->operand_count == 0) {
    op.run = run_fence;
    return true;
  }
  if (in.row->name.find("_format_") != std::string_view::npos) return bind_typed(program, op);
  std::string name(in.row->name.substr(7));
  if (in.mods.lds) name.replace(0, 4, "load_lds");
  const Access* access = find_access(name);
  if (access == nullptr || !bind_access(program, op, access, buffer_addresses)) return false;
  bind_descriptor(program, op);
  return true;
}

void bind_descriptor(Program& program, Op& op) {
  op.source[at_base] = make_source(program, *op.in->find(Field::srsrc), Type::u32);
  op.source[at_soffset] = make_source(program, *op.in->find(Field::soffset), Type::u32);
}

} // namespace sim
