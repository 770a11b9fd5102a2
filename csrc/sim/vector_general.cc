// The way around kernels for all that is not usual: SDWA, DPP, halves of registers, results that are scaled or clamped,
// modes of rounding and of denormals, and registers counted from m0.
#include "sim/vector.h"

#include <cfenv>

namespace sim {
namespace {

bool is_wide_float(Type type) { return type == Type::f16 || type == Type::f64; }

// Whether instructions round by the field for f16 and f64.
bool rounds_as_wide(const Op& op) {
  return is_wide_float(op.out_type) || (op.out_type == Type::u32 && op.in->row->name.find("f16_f32") != std::string_view::npos);
}

void flush(std::uint32_t* rows, Type type) {
  std::uint32_t* const last = rows + (type == Type::f64 ? lane_count : 0);
  const std::uint32_t exponent = type == Type::f64 ? 0x7ff00000 : type == Type::f32 ? 0x7f800000 : 0x7c00;
  const std::uint32_t sign = type == Type::f16 ? 0x8000 : 0x80000000;
  for (unsigned i = 0; i < lane_count; ++i) {
    if ((last[i] & exponent) != 0) continue;
    last[i] &= sign;
    if (type == Type::f64) rows[i] = 0;
  }
}

template <typename T>
T get(const std::uint32_t* rows, unsigned lane) {
  const std::uint64_t bits = rows[lane] | (sizeof(T) == 8 ? std::uint64_t{rows[lane_count + lane]} << 32 : 0);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
void put(std::uint32_t* rows, unsigned lane, T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  rows[lane] = static_cast<std::uint32_t>(bits);
  if (sizeof(T) == 8) rows[lane_count + lane] = static_cast<std::uint32_t>(bits >> 32);
}

template <typename T>
void scale_and_clamp(std::uint32_t* rows, const Op& op, bool scales, bool clamps_nan) {
  constexpr T factors[] = {1, 2, 4, T(0.5)};
  for (unsigned i = 0; i < lane_count; ++i) {
    T value = get<T>(rows, i);
    if (scales) value = value * factors[op.omod] + T(0); // a zero loses its sign
    if (op.clamp && (value == value || clamps_nan)) value = value > 0 ? (value < 1 ? value : 1) : 0;
    put(rows, i, value);
  }
}

// A value of a half is a value of f32 while it is clamped.
void convert(std::uint32_t* rows, std::string_view name) {
  const Rows in_place{rows, {rows, nullptr, nullptr, nullptr}, nullptr};
  find_lanes(name)->run(in_place);
}

// The lane that each lane reads; -1 where there is none.
int dpp_source(unsigned control, int lane) {
  const int row = lane & ~15, n = static_cast<int>(control & 15);
  const auto within_row = [&](int from) { return (from & ~15) == row && from >= 0 ? from : -1; };
  if (control < 0x100) return (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);
  if (control > 0x100 && control < 0x110) return within_row(lane + n);
  if (control > 0x110 && control < 0x120) return within_row(lane - n);
  if (control > 0x120 && control < 0x130) return row | ((lane - n) & 15);
  if (control >= 0x150 && control < 0x160) return row | n;
  switch (control) {
    case 0x130: return lane + 1 < 64 ? lane + 1 : -1;
    case 0x134: return (lane + 1) & 63;
    case 0x138: return lane - 1;
    case 0x13c: return (lane - 1) & 63;
    case 0x140: return lane ^ 15;
    case 0x141: return lane ^ 7;
    case 0x142: return row - 1;
    case 0x143: return lane >= 32 ? 31 : -1;
    default: return -1;
  }
}

// Moves the first source's lanes; the lanes that are written then.
std::uint64_t permute(const Wave& wave, const Op& op, const std::uint32_t* from, Row64* to) {
  const Modifiers& m = op.in->mods;
  const std::uint64_t exec = wave.exec();
  std::uint64_t written = 0;
  for (int lane = 0; lane < 64; ++lane) {
    const int source = dpp_source(m.dpp_ctrl, lane);
    const bool valid = source >= 0 && (exec >> source & 1) != 0;
    for (unsigned row = 0; row < op.source[0].width; ++row) {
      to[row].lane[lane] = valid ? from[row * lane_count + static_cast<unsigned>(source)] : 0;
    }
    const bool chosen = (m.row_mask >> lane / 16 & 1) != 0 && (m.bank_mask >> lane / 4 % 4 & 1) != 0;
    if (chosen && (valid || m.bound_ctrl)) written |= 1ull << lane;
  }
  return written;
}

// A byte or a half of a register, extended by its sign or not: SDWA's selections.
void select(const std::uint32_t* from, std::uint32_t* to, unsigned choice, bool extends) {
  if (choice > 5) {
    std::memmove(to, from, sizeof(Row64));
    return;
  }
  const unsigned bits = choice < 4 ? 8 : 16, at = choice < 4 ? 8 * choice : 16 * (choice - 4);
  for (unsigned i = 0; i < lane_count; ++i) {
    const std::uint32_t part = from[i] << (32 - bits - at);
    to[i] = extends ? static_cast<std::uint32_t>(static_cast<std::int32_t>(part) >> (32 - bits)) : part >> (32 - bits);
  }
}

// Puts a result where SDWA wants it within the old register.
void place(std::uint32_t* result, const std::uint32_t* old, const Modifiers& m) {
  if (m.dst_sel > 5) return;
  const unsigned bits = m.dst_sel < 4 ? 8 : 16, at = m.dst_sel < 4 ? 8u * m.dst_sel : 16u * (m.dst_sel - 4u);
  const std::uint32_t mask = ((1u << bits) - 1) << at;
  for (unsigned i = 0; i < lane_count; ++i) {
    const std::uint32_t part = result[i] << at & mask;
    if (m.dst_unused == 2) result[i] = part | (old[i] & ~mask);
    else if (m.dst_unused == 1) result[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(part << (32 - bits - at)) >> (32 - bits - at));
    else result[i] = part;
  }
}

void apply_signs(std::uint32_t* rows, const Source& s) {
  std::uint32_t* const last = rows + (s.width - 1u) * lane_count;
  const std::uint32_t keep = s.abs ? ~s.sign_bit : ~0u, flip = s.neg ? s.sign_bit : 0;
  for (unsigned i = 0; i < lane_count; ++i) last[i] = (last[i] & keep) ^ flip;
}

// A source with all that is done to it, in `room`; `written` loses lanes that DPP leaves out.
void prepare(const Wave& wave, const Op& op, unsigned i, Row64* room, std::uint64_t& written, const FloatMode& mode) {
  const Source& s = op.source[i];
  const Modifiers& m = op.in->mods;
  Row64 spread[most_width];
  const std::uint32_t* rows = plain_rows(wave, s, spread);
  if (op.in->form == Form::dpp && i == 0) {
    written &= permute(wave, op, rows, room);
  } else {
    std::memcpy(room, rows, s.width * sizeof(Row64));
  }
  const Operand* const operand = i == 0 ? op.in->find(Field::src0) : i == 1 ? op.in->find(Field::src1) : nullptr;
  if (op.in->form == Form::sdwa && operand != nullptr) select(room->lane, room->lane, i == 0 ? m.src0_sel : m.src1_sel, operand->sext);
  if ((op.upper >> i & 1) != 0) {
    for (std::uint32_t& lane : room->lane) lane >>= 16;
  }
  if (s.sign_bit != 0) apply_signs(room->lane, s);
  mode.flush_source(room->lane, s.type);
}

// The result's half or byte within its register.
void fit(const Wave& wave, const Op& op, std::uint32_t* result) {
  const std::uint32_t* const old = wave.vgpr[op.out];
  if (op.in->form == Form::sdwa && op.in->row->format != Format::VOPC) return place(result, old, op.in->mods);
  if ((op.upper & 8) != 0) {
    for (unsigned i = 0; i < lane_count; ++i) result[i] = (old[i] & 0xffff) | result[i] << 16;
  } else if (op.keeps_half) {
    for (unsigned i = 0; i < lane_count; ++i) result[i] = (old[i] & 0xffff0000) | (result[i] & 0xffff);
  }
}

} // namespace

FloatMode::FloatMode(const Wave& wave, const Op& op) : mode_(wave.mode) {
  constexpr int ways[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const unsigned field = mode_ >> (rounds_as_wide(op) ? 2 : 0) & 3;
  if (field == 0) return;
  rounding_ = std::fegetround();
  changed_ = true;
  std::fesetround(ways[field]);
}

FloatMode::~FloatMode() {
  if (changed_) std::fesetround(rounding_);
}

void FloatMode::flush_source(std::uint32_t* rows, Type type) const {
  if (type == Type::f32 && (mode_ & 0x10) == 0) flush(rows, type);
  if (is_wide_float(type) && (mode_ & 0x40) == 0) flush(rows, type);
}

void FloatMode::flush_result(std::uint32_t* rows, Type type) const {
  if (type == Type::f32 && (mode_ & 0x20) == 0) flush(rows, type);
  if (is_wide_float(type) && (mode_ & 0x80) == 0) flush(rows, type);
}

// The hardware ignores omod where denormals are kept or the mode is IEEE's.
void scale_and_clamp(const Wave& wave, std::uint32_t* rows, const Op& op) {
  const bool keeps = (wave.mode & (op.out_type == Type::f32 ? 0x20 : 0x80)) != 0;
  const bool scales = op.omod != 0 && !keeps && (wave.mode & mode_ieee) == 0, nan = (wave.mode & mode_clamps_nan) != 0;
  if (!scales && !op.clamp) return;
  if (op.out_type == Type::f64) return scale_and_clamp<double>(rows, op, scales, nan);
  if (op.out_type == Type::f16) convert(rows, "v_cvt_f32_f16");
  scale_and_clamp<float>(rows, op, scales, nan);
  if (op.out_type == Type::f16) convert(rows, "v_cvt_f16_f32");
}

// Bits 12 to 15 of m0 say which operands are meant, bits 0 to 7 by how many registers.
Op indexed(const Wave& wave, const Op& op) {
  const std::uint32_t m0 = wave.sgpr[code_m0], which = m0 >> 12 & 15, by = m0 & 255;
  Op moved = op;
  constexpr Field fields[] = {Field::src0, Field::src1, Field::src2, Field::vdst};
  for (unsigned i = 0; i < op.source_count; ++i) {
    const bool old = i > 0 && op.source[i].kind == Source::Kind::vector && op.in->find(fields[i]) == nullptr;
    if (op.source[i].kind == Source::Kind::vector && (which >> (old ? 3 : i) & 1) != 0) {
      moved.source[i].reg = static_cast<std::uint16_t>(op.source[i].reg + by);
    }
  }
  if (op.out_width != 0 && (which & 8) != 0) moved.out = static_cast<std::uint16_t>(op.out + by);
  for (unsigned i = 0; i < op.source_count; ++i) {
    if (moved.source[i].kind == Source::Kind::vector && moved.source[i].reg + moved.source[i].width > 512) fail_at(op, "a register beyond the last one");
  }
  if (moved.out + moved.out_width > 512) fail_at(op, "a register beyond the last one");
  return moved;
}

namespace {

void run_one(Wave& wave, const Op& op) {
  Row64 room[4][most_width], result[most_width], bits;
  Rows rows{};
  std::uint64_t written = wave.exec();
  const FloatMode mode(wave, op);
  for (unsigned i = 0; i < op.source_count; ++i) {
    prepare(wave, op, i, room[i], written, mode);
    rows.in[i] = room[i][0].lane;
  }
  if (op.mask_in != no_mask) {
    scatter(room[3][0].lane, wave.pair(op.mask_in));
    rows.in[op.source_count] = room[3][0].lane;
  }
  rows.bits = bits.lane;
  rows.out = result[0].lane;
  op.lanes(rows);
  if (op.out_width != 0) {
    mode.flush_result(result[0].lane, op.out_type);
    scale_and_clamp(wave, result[0].lane, op);
    fit(wave, op, result[0].lane);
    blend(wave.vgpr[op.out], result[0].lane, op.out_width, written);
  }
  if (op.mask_out == no_mask) return;
  const std::uint64_t mask = gather(bits.lane) & written;
  wave.set_pair(op.mask_out, mask);
  if (op.exec_too) wave.set_pair(code_exec, mask);
}

} // namespace

void run_general(Wave& wave, const Op& op) {
  if ((wave.mode & mode_indexed) != 0) run_one(wave, indexed(wave, op));
  else run_one(wave, op);
}

} // namespace sim
