// Scalar loads, and global memory: addresses are this process's own.
#include "sim/wave.h"

#include <unordered_map>

namespace sim {
namespace {

template <typename F>
void each_lane(std::uint64_t mask, F&& work) {
  for (; mask != 0; mask &= mask - 1) work(static_cast<unsigned>(__builtin_ctzll(mask)));
}

std::uint64_t scalar_offset(const Wave& wave, const Op& op) {
  const Modifiers& m = op.in->mods;
  std::uint64_t offset = op.source[1].kind == Source::Kind::scalar ? scalar_value(wave, op.source[1]) : 0;
  if (m.has_offset) offset += static_cast<std::uint64_t>(std::int64_t{m.offset});
  return offset;
}

void run_scalar_load(Wave& wave, const Op& op) {
  const std::uint64_t address = (wave.pair(op.source[0].reg) + scalar_offset(wave, op)) & ~3ull;
  std::memcpy(&wave.sgpr[op.out], reinterpret_cast<const void*>(address), 4u * op.out_width);
}

// The address of each lane: a 64-bit register pair, or a scalar pair and a 32-bit offset.
std::uint64_t global_address(const Wave& wave, const Op& op, unsigned lane) {
  const Source& address = op.source[0];
  std::uint64_t at = wave.vgpr[address.reg][lane];
  if (op.source[1].kind == Source::Kind::scalar) at += wave.pair(op.source[1].reg);
  else at |= std::uint64_t{wave.vgpr[address.reg + 1][lane]} << 32;
  return at + static_cast<std::uint64_t>(std::int64_t{op.in->mods.offset});
}

// T: what lies in memory; a load of less than a register fills the whole register.
template <typename T>
void run_load(Wave& wave, const Op& op) {
  each_lane(wave.exec(), [&](unsigned lane) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(global_address(wave, op, lane)), sizeof value);
    wave.vgpr[op.out][lane] = static_cast<std::uint32_t>(std::int32_t{value});
  });
}

template <typename T>
void run_store(Wave& wave, const Op& op) {
  each_lane(wave.exec(), [&](unsigned lane) {
    const T value = static_cast<T>(wave.vgpr[op.source[2].reg][lane]);
    std::memcpy(reinterpret_cast<void*>(global_address(wave, op, lane)), &value, sizeof value);
  });
}

template <unsigned width>
void run_load_wide(Wave& wave, const Op& op) {
  each_lane(wave.exec(), [&](unsigned lane) {
    std::uint32_t value[width];
    std::memcpy(value, reinterpret_cast<const void*>(global_address(wave, op, lane)), sizeof value);
    for (unsigned i = 0; i < width; ++i) wave.vgpr[op.out + i][lane] = value[i];
  });
}

template <unsigned width>
void run_store_wide(Wave& wave, const Op& op) {
  each_lane(wave.exec(), [&](unsigned lane) {
    std::uint32_t value[width];
    for (unsigned i = 0; i < width; ++i) value[i] = wave.vgpr[op.source[2].reg + i][lane];
    std::memcpy(reinterpret_cast<void*>(global_address(wave, op, lane)), value, sizeof value);
  });
}

const std::unordered_map<std::string_view, Run>& global_runs() {
  static const std::unordered_map<std::string_view, Run> all = {
      {"global_load_ubyte", run_load<std::uint8_t>},     {"global_load_sbyte", run_load<std::int8_t>},
      {"global_load_ushort", run_load<std::uint16_t>},   {"global_load_sshort", run_load<std::int16_t>},
      {"global_load_dword", run_load_wide<1>},           {"global_load_dwordx2", run_load_wide<2>},
      {"global_load_dwordx3", run_load_wide<3>},         {"global_load_dwordx4", run_load_wide<4>},
      {"global_store_byte", run_store<std::uint8_t>},    {"global_store_short", run_store<std::uint16_t>},
      {"global_store_dword", run_store_wide<1>},         {"global_store_dwordx2", run_store_wide<2>},
      {"global_store_dwordx3", run_store_wide<3>},       {"global_store_dwordx4", run_store_wide<4>},
  };
  return all;
}

bool bind_scalar_load(Program& program, Op& op) {
  const Instruction& in = *op.in;
  op.run = run_scalar_load;
  op.out = in.find(Field::sdata)->reg;
  op.out_width = in.find(Field::sdata)->width;
  op.source[0] = make_source(program, *in.find(Field::sbase), Type::u64);
  op.source[1] = make_source(program, *in.find(Field::soffset), Type::u32);
  return true;
}

} // namespace

bool bind_memory(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if (in.row->name.starts_with("s_load_dword")) return bind_scalar_load(program, op);
  const auto found = global_runs().find(in.row->name);
  if (found == global_runs().end() || in.mods.lds) return false;
  op.run = found->second;
  op.source[0] = make_source(program, *in.find(Field::vaddr), Type::u32);
  const Operand* base = in.find(Field::saddr);
  if (base->kind == Kind::scalar) op.source[1] = make_source(program, *base, Type::u64);
  if (const Operand* out = in.find(Field::vdst)) op.out = vector_register(*out);
  if (const Operand* data = in.find(Field::data0)) op.source[2] = make_source(program, *data, Type::u32);
  return true;
}

} // namespace sim
