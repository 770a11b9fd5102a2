// Vector instructions: which kernel an instruction runs on what operands, and the quick way around it.
#include "sim/vector.h"

#include <unordered_map>

namespace sim {
namespace {

bool processor_is_fast() {
#ifdef SIM_HAS_AVX2
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

std::unordered_map<std::string_view, const LaneEntry*> all_lanes() {
  std::unordered_map<std::string_view, const LaneEntry*> map;
  [[maybe_unused]] const bool fast = processor_is_fast();
  const auto add = [&](std::span<const LaneEntry> table) {
    for (const LaneEntry& entry : table) map.emplace(entry.name, &entry);
  };
#ifdef SIM_HAS_AVX2
#define SIM_ADD(name) add(fast ? avx2::lanes_##name() : plain::lanes_##name());
#else
#define SIM_ADD(name) add(plain::lanes_##name());
#endif
  SIM_LANE_TABLES(SIM_ADD)
#undef SIM_ADD
  return map;
}

void spread(std::uint32_t* row, std::uint32_t value) {
  for (unsigned i = 0; i < lane_count; ++i) row[i] = value;
}

} // namespace

const LaneEntry* find_lanes(std::string_view name) {
  static const std::unordered_map<std::string_view, const LaneEntry*> all = all_lanes();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

const MaskKernels& mask_kernels() {
#ifdef SIM_HAS_AVX2
  static const MaskKernels& chosen = processor_is_fast() ? avx2::masks() : plain::masks();
#else
  static const MaskKernels& chosen = plain::masks();
#endif
  return chosen;
}

const std::uint32_t* plain_rows(const Wave& wave, const Source& s, Row64* room) {
  if (s.kind == Source::Kind::vector) return wave.vgpr[s.reg];
  if (s.kind == Source::Kind::constant) return s.lanes;
  const std::uint64_t value = scalar_value(wave, s);
  spread(room[0].lane, static_cast<std::uint32_t>(value));
  if (s.width == 2) spread(room[1].lane, static_cast<std::uint32_t>(value >> 32));
  return room[0].lane;
}

const std::uint32_t* rows_of(const Wave& wave, const Source& s, Row64* room) {
  const std::uint32_t* rows = plain_rows(wave, s, room);
  if (s.sign_bit == 0) return rows;
  const unsigned last = s.width - 1u;
  if (last == 1) std::memmove(room[0].lane, rows, sizeof(Row64));
  const std::uint32_t keep = s.abs ? ~s.sign_bit : ~0u, flip = s.neg ? s.sign_bit : 0;
  for (unsigned i = 0; i < lane_count; ++i) room[last].lane[i] = (rows[last * lane_count + i] & keep) ^ flip;
  return room[0].lane;
}

unsigned registers(Type type) {
  if (type == Type::none || type == Type::bit) return 0;
  return type == Type::u64 || type == Type::i64 || type == Type::f64 ? 2 : 1;
}

Source constant_source(Program& program, std::uint32_t value) {
  Operand operand;
  operand.kind = Kind::immediate;
  operand.value = value;
  return make_source(program, operand, Type::u32);
}

namespace {

// Values without modifiers of the result, in the usual mode.
template <bool gives_bits>
void run_vector(Wave& wave, const Op& op) {
  if (unusual(wave)) return run_general(wave, op);
  Row64 room[4][most_width], result[most_width], bits;
  Rows rows{};
  for (unsigned i = 0; i < op.source_count; ++i) rows.in[i] = rows_of(wave, op.source[i], room[i]);
  if (op.mask_in != no_mask) {
    scatter(room[3][0].lane, wave.pair(op.mask_in));
    rows.in[op.source_count] = room[3][0].lane;
  }
  rows.bits = bits.lane;
  const std::uint64_t exec = wave.exec();
  const bool whole = exec == ~0ull;
  rows.out = whole && op.out_width != 0 ? wave.vgpr[op.out] : result[0].lane;
  op.lanes(rows);
  if (op.out_width != 0 && !whole) blend(wave.vgpr[op.out], result[0].lane, op.out_width, exec);
  if constexpr (gives_bits) {
    const std::uint64_t mask = gather(bits.lane) & exec;
    wave.set_pair(op.mask_out, mask);
    if (op.exec_too) wave.set_pair(code_exec, mask);
  }
}

// Vector registers and constants without modifiers, a register as the result.
template <unsigned count>
void run_direct(Wave& wave, const Op& op) {
  if (unusual(wave)) return run_general(wave, op);
  Rows rows{};
  for (unsigned i = 0; i < count; ++i) {
    const Source& s = op.source[i];
    rows.in[i] = s.kind == Source::Kind::vector ? wave.vgpr[s.reg] : s.lanes;
  }
  const std::uint64_t exec = wave.exec();
  if (exec == ~0ull) {
    rows.out = wave.vgpr[op.out];
    op.lanes(rows);
  } else {
    Row64 result[most_width];
    rows.out = result[0].lane;
    op.lanes(rows);
    blend(wave.vgpr[op.out], result[0].lane, op.out_width, exec);
  }
}

bool is_direct(const Op& op) {
  if (op.mask_in != no_mask || op.mask_out != no_mask || op.out_width == 0) return false;
  for (unsigned i = 0; i < op.source_count; ++i) {
    if (op.source[i].kind == Source::Kind::scalar || op.source[i].sign_bit != 0) return false;
  }
  return true;
}

bool is_short(Type type) { return type == Type::f16 || type == Type::bf16 || type == Type::u16 || type == Type::i16; }
bool is_float(Type type) { return type == Type::f16 || type == Type::f32 || type == Type::f64; }

// The kernel of an instruction: with clamp a saturating one, where there is one; of 8-bit floats the architecture's.
const LaneEntry* entry_of(const Instruction& in) {
  std::string name(in.row->name);
  if (name.starts_with("v_cmpx_")) name.erase(5, 1);
  if (in.mods.clamp) {
    if (const LaneEntry* found = find_lanes(name + ":clamp")) return found;
  }
  if (in.arch == Arch::gfx942) {
    if (const LaneEntry* found = find_lanes(name + ":old")) return found;
  }
  return find_lanes(name);
}

// A clamp that is no kernel's and no float's has no meaning that is known, except where nothing is left to clamp.
bool clamp_is_known(const Instruction& in, const LaneEntry& entry) {
  if (!in.mods.clamp || is_float(entry.out) || entry.name.ends_with(":clamp") || in.row->format == Format::VOPC) return true;
  const std::string_view name = in.row->name;
  if (name.starts_with("v_cmp")) return true; // asks for exceptions
  return !(name.starts_with("v_cvt_pk_") && name.ends_with("_f32")) && !name.starts_with("v_cvt_pkrtz") && name != "v_pack_b32_f16";
}

// Which sources and whether the result are upper halves; false where a bit has no meaning that is known.
bool choose_halves(Op& op, const LaneEntry& entry) {
  const Instruction& in = *op.in;
  if (in.row->format != Format::VOP3) return true;
  for (unsigned i = 0; i < 3; ++i) {
    if ((in.mods.op_sel >> i & 1) == 0) continue;
    if (i >= op.source_count || !is_short(op.source[i].type)) return false;
    op.upper = static_cast<std::uint8_t>(op.upper | 1u << i);
  }
  if (in.mods.op_sel >> 3 != 0) {
    if (!is_short(entry.out)) return false;
    op.upper = static_cast<std::uint8_t>(op.upper | 8);
  }
  return true;
}

// Results of 16 bits clear the upper half, but for the instructions that came with gfx9, and those with an accumulator.
bool keeps_other_half(const Instruction& in, const LaneEntry& entry) {
  if (!is_short(entry.out)) return false;
  if (in.row->format == Format::VOP3 && (in.row->modifiers & sel3) != 0) return true;
  return in.row->name == "v_mac_f16" || in.row->name == "v_madmk_f16" || in.row->name == "v_madak_f16";
}

// The sources in the order of the text, then the old result and the mask where the kernel takes them.
bool bind_sources(Program& program, Op& op, const LaneEntry& entry) {
  const Instruction& in = *op.in;
  const Operand* mask = nullptr;
  for (std::size_t i = 0; i < in.operand_count && op.source_count < entry.count; ++i) {
    const Operand& o = in.operands[i];
    if (o.field != Field::src0 && o.field != Field::src1 && o.field != Field::src2 && o.field != Field::literal) continue;
    const Type type = entry.in[op.source_count];
    if (type == Type::bit) {
      mask = &o;
      break;
    }
    op.source[op.source_count++] = make_source(program, o, type);
  }
  if (op.source_count < entry.count && entry.in[op.source_count] == Type::bit) {
    op.mask_in = mask != nullptr ? mask->reg : static_cast<std::uint16_t>(code_vcc);
    return true;
  }
  if (in.row->name.starts_with("v_bitop3")) op.source[op.source_count++] = constant_source(program, in.mods.abid);
  if (op.source_count + 1 == entry.count) {
    Operand old = *in.find(Field::vdst);
    op.source[op.source_count++] = make_source(program, old, entry.in[entry.count - 1]);
  }
  return op.source_count == entry.count;
}

void bind_results(Op& op, const LaneEntry& entry) {
  const Instruction& in = *op.in;
  op.out_type = entry.out;
  op.out_width = static_cast<std::uint8_t>(registers(entry.out));
  const Operand* out = in.find(Field::vdst);
  if (op.out_width != 0) op.out = vector_register(*out);
  if (!entry.gives_bits) return;
  const Operand* pair = entry.out == Type::none && out != nullptr ? out : in.find(Field::sdst);
  if (pair == nullptr) pair = in.find(Field::vcc);
  op.mask_out = pair != nullptr ? pair->reg : static_cast<std::uint16_t>(code_vcc);
  op.exec_too = in.row->name.starts_with("v_cmpx_");
}

} // namespace

bool bind_vector(Program& program, Op& op) {
  constexpr Run direct[] = {run_direct<0>, run_direct<1>, run_direct<2>, run_direct<3>, run_direct<4>};
  const Instruction& in = *op.in;
  if (bind_moves(program, op) || bind_packed(program, op)) return true;
  const LaneEntry* entry = entry_of(in);
  if (entry == nullptr) return false;
  if (entry->out == Type::wide) return bind_whole(program, op, *entry);
  if (!clamp_is_known(in, *entry) || !bind_sources(program, op, *entry) || !choose_halves(op, *entry)) return false;
  bind_results(op, *entry);
  op.lanes = entry->run;
  op.clamp = in.mods.clamp && is_float(entry->out);
  op.omod = is_float(entry->out) ? in.mods.omod : 0;
  op.keeps_half = keeps_other_half(in, *entry);
  const bool special = in.form != Form::plain || op.clamp || op.omod != 0 || op.upper != 0 || op.keeps_half;
  if (special) op.run = run_general;
  else if (is_direct(op)) op.run = direct[op.source_count];
  else op.run = op.mask_out != no_mask ? run_vector<true> : run_vector<false>;
  return true;
}

} // namespace sim
