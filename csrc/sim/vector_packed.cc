// Packed forms (VOP3P): the kernels of single numbers, run on each half of a register or on each of two registers; the
// mixed ones, whose sources are halves or f32; and dot products, whose halves may be chosen.
#include "sim/vector.h"

namespace sim {
namespace {

bool bit(unsigned bits, unsigned i) { return (bits >> i & 1) != 0; }

// One half of a source, with its sign; `upper` says which.
void half_of(const std::uint32_t* rows, std::uint32_t* to, bool upper, bool negative) {
  const unsigned shift = upper ? 16 : 0;
  const std::uint32_t flip = negative ? 0x8000 : 0;
  for (unsigned i = 0; i < lane_count; ++i) to[i] = (rows[i] >> shift & 0xffff) ^ flip;
}

void join(std::uint32_t* low, const std::uint32_t* high) {
  for (unsigned i = 0; i < lane_count; ++i) low[i] = (low[i] & 0xffff) | high[i] << 16;
}

bool counts_from_m0(const Wave& wave) { return (wave.mode & mode_indexed) != 0; }

// Runs the operation with its registers counted from m0.
void with_index(Wave& wave, const Op& op, Run run) {
  const Op moved = indexed(wave, op);
  const std::uint32_t mode = wave.mode;
  wave.mode &= ~mode_indexed;
  run(wave, moved);
  wave.mode = mode;
}

struct Select {
  unsigned low, high, negative_low, negative_high; // a bit for each source
};

// Forms of VOP2 that are packed have no selections: the halves as they lie.
Select select_of(const Op& op) {
  if (op.in->row->format != Format::VOP3P) return {0, 7, 0, 0};
  const Modifiers& m = op.in->mods;
  return {m.op_sel, m.op_sel_hi, m.neg, m.neg_hi};
}

void run_halves(Wave& wave, const Op& op) {
  if (counts_from_m0(wave)) return with_index(wave, op, run_halves);
  Row64 room[2], part[2][4], result[2];
  const Select s = select_of(op);
  const FloatMode mode(wave, op);
  Rows low{}, high{};
  for (unsigned i = 0; i < op.source_count; ++i) {
    const std::uint32_t* const rows = plain_rows(wave, op.source[i], room);
    half_of(rows, part[0][i].lane, bit(s.low, i), bit(s.negative_low, i));
    half_of(rows, part[1][i].lane, bit(s.high, i), bit(s.negative_high, i));
    for (auto& half : part) mode.flush_source(half[i].lane, op.source[i].type);
    low.in[i] = part[0][i].lane;
    high.in[i] = part[1][i].lane;
  }
  low.out = result[0].lane;
  high.out = result[1].lane;
  op.lanes(low);
  op.lanes(high);
  for (Row64& half : result) {
    mode.flush_result(half.lane, op.out_type);
    scale_and_clamp(wave, half.lane, op);
  }
  join(result[0].lane, result[1].lane);
  blend(wave.vgpr[op.out], result[0].lane, 1, wave.exec());
}

const std::uint32_t* negated(const std::uint32_t* rows, std::uint32_t* to) {
  for (unsigned i = 0; i < lane_count; ++i) to[i] = rows[i] ^ 0x80000000;
  return to;
}

// One of the two registers of a source that is a constant or a scalar.
const std::uint32_t* plain_register(const Wave& wave, const Source& s, bool second, Row64* room) {
  if (s.kind == Source::Kind::constant) return s.lanes + (second ? lane_count : 0);
  const std::uint32_t value = s.reg < 128 ? wave.sgpr[s.reg + second] : static_cast<std::uint32_t>(second ? 0 : scalar_value(wave, s));
  for (std::uint32_t& lane : room->lane) lane = value;
  return room->lane;
}

// One of the two registers of a source of f32.
const std::uint32_t* register_of(const Wave& wave, const Source& s, bool second, bool negative, Row64* room, const FloatMode& mode) {
  const bool vector = s.kind == Source::Kind::vector;
  const std::uint32_t* rows = vector ? wave.vgpr[s.reg + second] : plain_register(wave, s, second, room);
  if (!negative && !unusual(wave)) return rows;
  if (negative) negated(rows, room->lane);
  else std::memmove(room->lane, rows, sizeof(Row64));
  mode.flush_source(room->lane, s.type);
  return room->lane;
}

void run_registers(Wave& wave, const Op& op) {
  if (counts_from_m0(wave)) return with_index(wave, op, run_registers);
  Row64 room[2][3], result[2];
  const Select s = select_of(op);
  const FloatMode mode(wave, op);
  Rows rows[2] = {};
  for (unsigned i = 0; i < op.source_count; ++i) {
    rows[0].in[i] = register_of(wave, op.source[i], bit(s.low, i), bit(s.negative_low, i), &room[0][i], mode);
    rows[1].in[i] = register_of(wave, op.source[i], bit(s.high, i), bit(s.negative_high, i), &room[1][i], mode);
  }
  for (unsigned i = 0; i < 2; ++i) {
    rows[i].out = result[i].lane;
    op.lanes(rows[i]);
    mode.flush_result(result[i].lane, op.out_type);
    scale_and_clamp(wave, result[i].lane, op);
  }
  blend(wave.vgpr[op.out], result[0].lane, 2, wave.exec());
}

// All lanes, the usual mode, no clamp. Where the first result would overwrite a source of the second, it waits.
void run_registers_quick(Wave& wave, const Op& op) {
  const std::uint64_t exec = wave.exec();
  if (unusual(wave) || exec != ~0ull) return run_registers(wave, op);
  Row64 room[2][3], result;
  const Select s = select_of(op);
  Rows rows[2] = {};
  bool overlaps = false;
  for (unsigned i = 0; i < op.source_count; ++i) {
    const Source& from = op.source[i];
    for (unsigned k = 0; k < 2; ++k) {
      const bool second = bit(k == 0 ? s.low : s.high, i), negative = bit(k == 0 ? s.negative_low : s.negative_high, i);
      const std::uint32_t* lanes = nullptr;
      if (from.kind == Source::Kind::vector) lanes = wave.vgpr[from.reg + second];
      else lanes = plain_register(wave, from, second, &room[k][i]);
      if (negative) lanes = negated(lanes, room[k][i].lane);
      rows[k].in[i] = lanes;
    }
    overlaps = overlaps || rows[1].in[i] == wave.vgpr[op.out];
  }
  rows[0].out = overlaps ? result.lane : wave.vgpr[op.out];
  rows[1].out = wave.vgpr[op.out + 1];
  op.lanes(rows[0]);
  op.lanes(rows[1]);
  if (overlaps) std::memcpy(wave.vgpr[op.out], result.lane, sizeof result);
}

// v_pk_mov_b32: the first register from the first source, the second from the second.
void run_pk_mov(Wave& wave, const Op& op) {
  if (counts_from_m0(wave)) return with_index(wave, op, run_pk_mov);
  Row64 room[2], result[2];
  const Select s = select_of(op);
  const FloatMode mode(wave, op);
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint32_t* const rows = register_of(wave, op.source[i], bit(s.low, i), false, &room[i], mode);
    std::memcpy(result[i].lane, rows, sizeof(Row64));
  }
  blend(wave.vgpr[op.out], result[0].lane, 2, wave.exec());
}

// Dot products of 16-bit numbers: the halves are chosen, then the kernel sees whole registers.
void run_dot(Wave& wave, const Op& op) {
  if (counts_from_m0(wave)) return with_index(wave, op, run_dot);
  Row64 room[3][2], chosen[2], part, result;
  const Select s = select_of(op);
  const FloatMode mode(wave, op);
  Rows rows{};
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint32_t* const from = plain_rows(wave, op.source[i], room[i]);
    half_of(from, chosen[i].lane, bit(s.low, i), bit(s.negative_low, i));
    half_of(from, part.lane, bit(s.high, i), bit(s.negative_high, i));
    join(chosen[i].lane, part.lane);
    rows.in[i] = chosen[i].lane;
  }
  Source sum = op.source[2];
  sum.neg = bit(s.negative_low, 2);
  sum.sign_bit = sum.neg ? 0x80000000 : 0;
  rows.in[2] = rows_of(wave, sum, room[2]);
  rows.out = result.lane;
  op.lanes(rows);
  scale_and_clamp(wave, result.lane, op);
  blend(wave.vgpr[op.out], result.lane, 1, wave.exec());
}

// Sources of f32, or halves where op_sel_hi says so; a product and a sum in f32, rounded to a half after that.
void run_mixed(Wave& wave, const Op& op) {
  if (counts_from_m0(wave)) return with_index(wave, op, run_mixed);
  static const LaneLoop widen = find_lanes("v_cvt_f32_f16")->run, narrow = find_lanes("v_cvt_f16_f32")->run;
  const Modifiers& m = op.in->mods;
  Row64 room[3][2], part, result;
  const FloatMode mode(wave, op);
  Rows rows{};
  for (unsigned i = 0; i < 3; ++i) {
    Source s = op.source[i];
    s.sign_bit = s.neg || s.abs ? 0x80000000 : 0;
    if (!bit(m.op_sel_hi, i)) {
      rows.in[i] = rows_of(wave, s, room[i]);
      continue;
    }
    half_of(plain_rows(wave, s, room[i]), part.lane, bit(m.op_sel, i), false);
    widen({room[i][0].lane, {part.lane, nullptr, nullptr, nullptr}, nullptr});
    const std::uint32_t keep = s.abs ? 0x7fffffff : ~0u, flip = s.neg ? 0x80000000 : 0;
    for (std::uint32_t& lane : room[i][0].lane) lane = (lane & keep) ^ flip;
    rows.in[i] = room[i][0].lane;
  }
  rows.out = result.lane;
  op.lanes(rows);
  if (op.out_type == Type::f16) {
    narrow({part.lane, {result.lane, nullptr, nullptr, nullptr}, nullptr});
    scale_and_clamp(wave, part.lane, op);
    const std::uint32_t* const old = wave.vgpr[op.out];
    for (unsigned i = 0; i < lane_count; ++i) {
      result.lane[i] = (op.upper & 8) != 0 ? (old[i] & 0xffff) | part.lane[i] << 16 : (old[i] & 0xffff0000) | part.lane[i];
    }
  } else {
    scale_and_clamp(wave, result.lane, op);
  }
  blend(wave.vgpr[op.out], result.lane, 1, wave.exec());
}

// A packed operation's kernel is that of the single one: v_add_f16 for v_pk_add_f16.
const LaneEntry* single(const Instruction& in) {
  std::string name(in.row->name);
  if (name.starts_with("v_pk_")) name.erase(2, 3);
  const LaneEntry* const clamped = in.mods.clamp ? find_lanes(name + ":clamp") : nullptr;
  return clamped != nullptr ? clamped : find_lanes(name);
}

void take(Program& program, Op& op, const LaneEntry& entry, unsigned count) {
  const Instruction& in = *op.in;
  constexpr Field fields[] = {Field::src0, Field::src1, Field::src2};
  for (unsigned i = 0; i < count; ++i) {
    const Operand* o = in.find(fields[i]);
    op.source[op.source_count++] = make_source(program, o != nullptr ? *o : *in.find(Field::vdst), entry.in[i]);
  }
  op.lanes = entry.run;
  op.out = vector_register(*in.find(Field::vdst));
  op.out_type = entry.out;
  op.out_width = 1;
  op.clamp = in.mods.clamp && (entry.out == Type::f32 || entry.out == Type::f16);
}

bool bind_mixed(Program& program, Op& op) {
  const std::string_view name = op.in->row->name;
  take(program, op, *find_lanes("v_fma_f32"), 3);
  if (name != "v_fma_mix_f32") op.out_type = Type::f16;
  if (name == "v_fma_mixhi_f16") op.upper = 8;
  op.run = run_mixed;
  return true;
}

bool is_integer(Type type) { return type != Type::f16 && type != Type::f32; }

} // namespace

bool bind_packed(Program& program, Op& op) {
  const Instruction& in = *op.in;
  const std::string_view name = in.row->name;
  if (name == "v_pk_fmac_f16") {
    if (in.form != Form::plain || in.mods.clamp || in.mods.omod != 0 || in.mods.neg != 0 || in.mods.abs != 0) return false;
    take(program, op, *find_lanes("v_fmac_f16"), 3);
    op.run = run_halves;
    return true;
  }
  if (in.row->format != Format::VOP3P) return false;
  if (name.starts_with("v_fma_mix")) return bind_mixed(program, op);
  if (name == "v_pk_mov_b32") {
    if (in.mods.neg != 0 || in.mods.neg_hi != 0 || in.mods.clamp) return false;
    take(program, op, *find_lanes("v_or_b32"), 2);
    op.out_width = 2;
    op.run = run_pk_mov;
    return true;
  }
  const bool dot = name.starts_with("v_dot");
  const LaneEntry* const entry = dot || name.starts_with("v_pk_") ? single(in) : nullptr;
  if (entry == nullptr) return false;
  if ((in.mods.neg != 0 || in.mods.neg_hi != 0) && is_integer(entry->out)) return false; // no meaning that is known
  if (in.mods.clamp && is_integer(entry->out) && !entry->name.ends_with(":clamp")) return false;
  if (dot && !name.starts_with("v_dot2_") && (in.mods.op_sel != 0 || (in.mods.op_sel_hi & 7) != 7)) return false;
  take(program, op, *entry, entry->count);
  const bool pairs = !dot && entry->out == Type::f32;
  op.run = dot ? run_dot : !pairs ? run_halves : op.clamp ? run_registers : run_registers_quick;
  if (pairs) op.out_width = 2;
  return true;
}

} // namespace sim
