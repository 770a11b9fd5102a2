// Vector instructions beside the arithmetic of one lane: lanes that are read, written or exchanged, and operands of many
// registers.
#include "sim/vector.h"

#include <utility>

namespace sim {
namespace {

void no_indexing(const Wave& wave, const Op& op) {
  if ((wave.mode & mode_indexed) != 0) fail_at(op, "the simulator doesn't count the registers of this instruction from m0");
}

void run_readfirstlane(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  const std::uint64_t exec = wave.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(exec));
  wave.sgpr[op.out] = wave.vgpr[op.source[0].reg][lane];
}

// These two ignore EXEC.
void run_readlane(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  wave.sgpr[op.out] = wave.vgpr[op.source[0].reg][scalar_value(wave, op.source[1]) & 63];
}
void run_writelane(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  wave.vgpr[op.out][scalar_value(wave, op.source[1]) & 63] = static_cast<std::uint32_t>(scalar_value(wave, op.source[0]));
}

void run_swap(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  for (unsigned i = 0; i < lane_count; ++i) {
    if ((wave.exec() >> i & 1) != 0) std::swap(wave.vgpr[op.out][i], wave.vgpr[op.source[0].reg][i]);
  }
}

// The upper one of each two rows of the result's register goes against the lower one of the source's.
template <unsigned row>
void run_row_swap(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  for (unsigned i = 0; i < lane_count; ++i) {
    if ((i & row) == 0) std::swap(wave.vgpr[op.source[0].reg][i], wave.vgpr[op.out][i + row]);
  }
}

template <bool high>
void run_mbcnt(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  Row64 room[2][most_width], result;
  const std::uint32_t* const mask = rows_of(wave, op.source[0], room[0]);
  const std::uint32_t* const base = rows_of(wave, op.source[1], room[1]);
  for (unsigned i = 0; i < lane_count; ++i) {
    const unsigned below = high ? (i < 32 ? 0 : i - 32) : (i < 32 ? i : 32); // how many lanes of this half lie below
    const std::uint32_t lower = below >= 32 ? ~0u : (1u << below) - 1;
    result.lane[i] = base[i] + static_cast<std::uint32_t>(__builtin_popcount(mask[i] & lower));
  }
  blend(wave.vgpr[op.out], result.lane, 1, wave.exec());
}

struct Move {
  std::string_view name;
  Run run;
  std::uint8_t vectors, scalars; // sources of each kind, in this order
  bool scalar_result;
};

constexpr Move moves[] = {
    {"v_readfirstlane_b32", run_readfirstlane, 1, 0, true}, {"v_readlane_b32", run_readlane, 1, 1, true},
    {"v_writelane_b32", run_writelane, 0, 2, false},        {"v_swap_b32", run_swap, 1, 0, false},
    {"v_permlane16_swap_b32", run_row_swap<16>, 1, 0, false}, {"v_permlane32_swap_b32", run_row_swap<32>, 1, 0, false},
};

// A value of many registers: the table gives the widths. What a kernel doesn't write of the result stays.
void run_whole(Wave& wave, const Op& op) {
  no_indexing(wave, op);
  Row64 room[4][most_width];
  auto result = std::make_unique<Row64[]>(op.out_width);
  Rows rows{};
  for (unsigned i = 0; i < 4; ++i) {
    if (op.source[i].kind == Source::Kind::none) continue;
    rows.in[i] = rows_of(wave, op.source[i], room[i]);
  }
  std::memcpy(result.get(), wave.vgpr[op.out], op.out_width * sizeof(Row64));
  rows.out = result[0].lane;
  op.lanes(rows);
  blend(wave.vgpr[op.out], result[0].lane, op.out_width, wave.exec());
}

} // namespace

bool bind_moves(Program& program, Op& op) {
  const Instruction& in = *op.in;
  const std::string_view name = in.row->name;
  if (name == "v_nop" || name == "v_clrexcp") {
    op.run = [](Wave&, const Op&) {};
    return true;
  }
  if (name == "v_mbcnt_lo_u32_b32" || name == "v_mbcnt_hi_u32_b32") {
    for (const Field field : {Field::src0, Field::src1}) op.source[op.source_count++] = make_source(program, *in.find(field), Type::u32);
    op.out = vector_register(*in.find(Field::vdst));
    op.run = name == "v_mbcnt_lo_u32_b32" ? run_mbcnt<false> : run_mbcnt<true>;
    return true;
  }
  for (const Move& move : moves) {
    if (move.name != name) continue;
    if (in.form != Form::plain || in.mods.op_sel != 0) return false;
    for (const Field field : {Field::src0, Field::src1}) {
      if (const Operand* o = in.find(field)) op.source[op.source_count++] = make_source(program, *o, Type::u32);
    }
    if (move.vectors == 1 && op.source[0].kind != Source::Kind::vector) return false;
    const Operand& out = *in.find(Field::vdst);
    op.out = move.scalar_result ? out.reg : vector_register(out);
    op.run = move.run;
    return true;
  }
  return false;
}

bool bind_whole(Program& program, Op& op, const LaneEntry& entry) {
  const Instruction& in = *op.in;
  if (in.form == Form::dpp || in.mods.clamp || in.mods.omod != 0) return false;
  if (in.form == Form::sdwa && (in.mods.dst_sel != 6 || in.mods.src0_sel > 3)) return false;
  constexpr Field fields[] = {Field::src0, Field::src1, Field::src2};
  for (unsigned i = 0; i < entry.count; ++i) {
    const Operand& o = *in.find(fields[i]);
    op.source[i] = make_source(program, o, o.width == 1 ? Type::f32 : Type::u32);
    if (o.width > 1 && op.source[i].kind != Source::Kind::vector) return false;
  }
  op.source[3] = constant_source(program, in.mods.op_sel);
  op.source_count = entry.count;
  op.lanes = entry.run;
  op.out = vector_register(*in.find(Field::vdst));
  op.out_width = in.find(Field::vdst)->width;
  op.out_type = Type::wide;
  op.run = in.form == Form::sdwa ? nullptr : run_whole;
  return op.run != nullptr;
}

} // namespace sim
