// SMEM: scalar loads, stores and atomic operations, from an address or through a buffer descriptor.
#include "sim/memory.h"

#include <algorithm>
#include <atomic>

namespace sim {
namespace {

std::uint64_t offset_of(const Wave& wave, const Op& op, unsigned unit) {
  const bool scalar = op.source[at_address].kind == Source::Kind::scalar;
  const std::uint64_t offset = scalar ? std::uint64_t{scalar_value(wave, op.source[at_address])} * unit : 0;
  return offset + static_cast<std::uint64_t>(std::int64_t{op.offset});
}

// The place of the data, and how many of its dwords are within the buffer.
struct Place {
  std::uint64_t at;
  unsigned count;
};

Place place_of(const Wave& wave, const Op& op, unsigned count) {
  const std::string_view name = op.in->row->name;
  const unsigned base = op.source[at_base].reg;
  if (!name.starts_with("s_buffer")) {
    return {(wave.pair(base) + offset_of(wave, op, name.starts_with("s_scratch") ? 64 : 1)) & ~3ull, count};
  }
  const std::uint64_t start = wave.pair(base) & 0xffffffffffff, stride = wave.sgpr[base + 1] >> 16 & 0x3fff;
  const std::uint64_t size = wave.sgpr[base + 2] * std::max<std::uint64_t>(stride, 1), offset = offset_of(wave, op, 1) & ~3ull;
  const std::uint64_t left = offset < size ? (size - offset) / 4 : 0;
  return {(start & ~3ull) + offset, static_cast<unsigned>(std::min<std::uint64_t>(left, count))};
}

void run_load(Wave& wave, const Op& op) {
  const Place place = place_of(wave, op, op.out_width);
  std::uint32_t value[16] = {};
  std::memcpy(value, reinterpret_cast<const void*>(place.at), 4u * place.count);
  std::memcpy(&wave.sgpr[op.out], value, 4u * op.out_width);
}

void run_store(Wave& wave, const Op& op) {
  const Place place = place_of(wave, op, op.out_width);
  std::memcpy(reinterpret_cast<void*>(place.at), &wave.sgpr[op.out], 4u * place.count);
}

// The data's registers take what was in memory, if that is asked for.
void run_atomic(Wave& wave, const Op& op) {
  const unsigned dwords = op.access->bytes / 4u;
  const Place place = place_of(wave, op, dwords);
  const auto value = [&](unsigned reg) { return dwords == 2 ? wave.pair(reg) : wave.sgpr[reg]; };
  std::uint64_t old = 0;
  if (place.at % op.access->bytes != 0) fail_at(op, "a misaligned address");
  if (place.count == dwords) old = op.access->update(place.at, value(op.out), value(op.out + dwords));
  if (!op.in->mods.glc) return;
  wave.sgpr[op.out] = static_cast<std::uint32_t>(old);
  if (dwords == 2) wave.set_pair(op.out, old);
}

void run_fence(Wave&, const Op&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

} // namespace

bool bind_smem(Program& program, Op& op) {
  const Instruction& in = *op.in;
  const std::string_view name = in.row->name;
  if (name.starts_with("s_dcache")) {
    op.run = run_fence;
    return true;
  }
  const Operand* data = in.find(Field::sdata);
  const Operand* base = in.find(Field::sbase);
  if (data == nullptr || base == nullptr || data->kind != Kind::scalar) return false;
  if (data->reg + data->width > 128 || base->reg + base->width > 128) return false;
  op.out = data->reg;
  op.out_width = data->width;
  op.offset = in.mods.has_offset ? in.mods.offset : 0;
  op.source[at_base] = make_source(program, *base, Type::u64);
  if (const Operand* offset = in.find(Field::soffset)) op.source[at_address] = make_source(program, *offset, Type::u32);
  if (name.find("_load_") != name.npos) {
    op.run = run_load;
  } else if (name.find("_store_") != name.npos) {
    op.run = run_store;
  } else {
    op.access = find_access(name.substr(name.find("atomic")));
    op.run = run_atomic;
    if (op.access == nullptr) return false;
  }
  return true;
}

} // namespace sim
