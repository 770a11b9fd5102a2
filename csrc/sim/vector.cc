// Vector instructions: operands, modifiers and masks around the kernels.
#include "sim/wave.h"

#include <unordered_map>

namespace sim {

const LaneEntry* find_lanes(std::string_view name) {
  static const std::unordered_map<std::string_view, const LaneEntry*> all = [] {
    std::unordered_map<std::string_view, const LaneEntry*> map;
#ifdef SIM_HAS_AVX2
    const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const auto table = fast ? avx2::lanes_basic() : plain::lanes_basic();
#else
    const auto table = plain::lanes_basic();
#endif
    for (const LaneEntry& entry : table) map.emplace(entry.name, &entry);
    return map;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

namespace {

struct alignas(64) Row64 {
  std::uint32_t lane[lane_count];
};

void spread(std::uint32_t* row, std::uint32_t value) {
  for (unsigned i = 0; i < lane_count; ++i) row[i] = value;
}

// The rows of a source; `room` takes them where they have to be made.
const std::uint32_t* rows_of(const Wave& wave, const Source& s, Row64* room) {
  const std::uint32_t* rows = s.lanes;
  if (s.kind == Source::Kind::vector) {
    rows = wave.vgpr[s.reg];
  } else if (s.kind == Source::Kind::scalar) {
    const std::uint64_t value = scalar_value(wave, s);
    spread(room[0].lane, static_cast<std::uint32_t>(value));
    if (s.width == 2) spread(room[1].lane, static_cast<std::uint32_t>(value >> 32));
    rows = room[0].lane;
  }
  if (s.sign_bit == 0) return rows;
  const unsigned last = s.width - 1u;
  if (last == 1) std::memmove(room[0].lane, rows, sizeof(Row64));
  const std::uint32_t keep = s.abs ? ~s.sign_bit : ~0u, flip = s.neg ? s.sign_bit : 0;
  for (unsigned i = 0; i < lane_count; ++i) room[last].lane[i] = (rows[last * lane_count + i] & keep) ^ flip;
  return room[0].lane;
}

std::uint64_t gather(const std::uint32_t* bits) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < lane_count; ++i) mask |= std::uint64_t{bits[i]} << i;
  return mask;
}

void scatter(std::uint32_t* bits, std::uint64_t mask) {
  for (unsigned i = 0; i < lane_count; ++i) bits[i] = static_cast<std::uint32_t>(mask >> i & 1);
}

template <typename T>
void scale_and_clamp(std::uint32_t* row, const Op& op) {
  constexpr float factors[] = {1.0f, 2.0f, 4.0f, 0.5f};
  for (unsigned i = 0; i < lane_count; ++i) {
    T value;
    std::uint64_t bits = row[i] | (sizeof(T) == 8 ? std::uint64_t{row[lane_count + i]} << 32 : 0);
    std::memcpy(&value, &bits, sizeof value);
    value *= static_cast<T>(factors[op.omod]);
    if (op.clamp) value = value > 0 ? (value < 1 ? value : 1) : 0;
    bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    row[i] = static_cast<std::uint32_t>(bits);
    if (sizeof(T) == 8) row[lane_count + i] = static_cast<std::uint32_t>(bits >> 32);
  }
}

// Writes the lanes of `mask` only.
void blend(std::uint32_t* to, const std::uint32_t* from, unsigned width, std::uint64_t mask) {
  alignas(64) std::uint32_t bits[lane_count];
  scatter(bits, mask);
  for (unsigned row = 0; row < width; ++row, to += lane_count, from += lane_count) {
    for (unsigned i = 0; i < lane_count; ++i) to[i] = bits[i] != 0 ? from[i] : to[i];
  }
}

void run_vector(Wave& wave, const Op& op) {
  Row64 room[4][2], result[2], bits;
  Rows rows{};
  for (unsigned i = 0; i < op.source_count; ++i) rows.in[i] = rows_of(wave, op.source[i], room[i]);
  if (op.mask_in != no_mask) {
    scatter(room[3][0].lane, wave.pair(op.mask_in));
    rows.in[op.source_count] = room[3][0].lane;
  }
  rows.bits = bits.lane;
  const std::uint64_t exec = wave.exec();
  const bool modified = op.clamp || op.omod != 0, whole = exec == ~0ull && !modified;
  rows.out = whole && op.out_width != 0 ? wave.vgpr[op.out] : result[0].lane;
  op.lanes(rows);
  if (op.out_width != 0 && !whole) {
    if (modified && op.out_type == Type::f32) scale_and_clamp<float>(result[0].lane, op);
    if (modified && op.out_type == Type::f64) scale_and_clamp<double>(result[0].lane, op);
    blend(wave.vgpr[op.out], result[0].lane, op.out_width, exec);
  }
  if (op.mask_out != no_mask) wave.set_pair(op.mask_out, gather(bits.lane) & exec);
}

void run_readfirstlane(Wave& wave, const Op& op) {
  const std::uint64_t exec = wave.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(exec));
  wave.sgpr[op.out] = wave.vgpr[op.source[0].reg][lane];
}

unsigned registers(Type type) {
  if (type == Type::none || type == Type::bit) return 0;
  return type == Type::u64 || type == Type::i64 || type == Type::f64 ? 2 : 1;
}

} // namespace

bool bind_vector(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if (in.form != Form::plain) return false;
  if (in.row->name == "v_readfirstlane_b32") {
    op.source[0] = make_source(program, *in.find(Field::src0), Type::u32);
    op.out = in.find(Field::vdst)->reg;
    op.run = run_readfirstlane;
    return op.source[0].kind == Source::Kind::vector;
  }
  if (in.row->name == "v_nop") {
    op.run = [](Wave&, const Op&) {};
    return true;
  }
  const LaneEntry* entry = find_lanes(in.row->name);
  if (entry == nullptr) return false;
  const bool modified = in.mods.clamp || in.mods.omod != 0;
  if (in.mods.op_sel != 0 || (modified && entry->out != Type::f32 && entry->out != Type::f64)) return false;
  op.run = run_vector;
  op.lanes = entry->run;
  op.clamp = in.mods.clamp;
  op.omod = in.mods.omod;
  op.out_type = entry->out;
  op.out_width = static_cast<std::uint8_t>(registers(entry->out));
  const Operand* out = in.find(Field::vdst);
  if (op.out_width != 0) op.out = vector_register(*out);
  if (entry->gives_bits) {
    const Operand* pair = entry->out == Type::none && out != nullptr ? out : in.find(Field::sdst);
    op.mask_out = pair != nullptr ? pair->reg : static_cast<std::uint16_t>(code_vcc);
  }
  for (const Field field : {Field::src0, Field::src1, Field::src2, Field::vdst}) {
    const Operand* o = in.find(field);
    if (o == nullptr || op.source_count == entry->count) break;
    const Type type = entry->in[op.source_count];
    if (type == Type::bit) break;
    op.source[op.source_count++] = make_source(program, *o, type);
  }
  if (op.source_count < entry->count) {
    if (entry->in[op.source_count] != Type::bit) return false;
    const Operand* pair = in.find(Field::src2);
    op.mask_in = pair != nullptr ? pair->reg : static_cast<std::uint16_t>(code_vcc);
  }
  return true;
}

} // namespace sim
