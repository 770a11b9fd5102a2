// Scalar instructions that have to do with the wave itself: EXEC, the program counter, hardware registers, registers that
// are counted from m0, and what ends or holds a wave.
#include "sim/scalar.h"

namespace sim {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// ---- EXEC ----

// EXEC becomes `operation` of the source and EXEC; the result is what EXEC was, or for `wrexec` what it is.
template <typename F, bool writes_new>
void change_exec(Wave& wave, const Op& op) {
  const u64 source = scalar_value(wave, op.source[0]), exec = wave.exec(), changed = F{}(source, exec);
  wave.set_pair(op.out, writes_new ? changed : exec);
  wave.set_pair(code_exec, changed);
  wave.scc = changed != 0;
}

template <typename F>
constexpr ScalarEntry saves(std::string_view name, F) {
  return {name, &change_exec<F, false>, 1, {Type::u64, Type::none, Type::none}, Type::u64};
}
template <typename F>
constexpr ScalarEntry writes(std::string_view name, F) {
  return {name, &change_exec<F, true>, 1, {Type::u64, Type::none, Type::none}, Type::u64};
}

constexpr ScalarEntry exec_table[] = {
    saves("s_and_saveexec_b64", [](u64 a, u64 exec) { return a & exec; }),
    saves("s_or_saveexec_b64", [](u64 a, u64 exec) { return a | exec; }),
    saves("s_xor_saveexec_b64", [](u64 a, u64 exec) { return a ^ exec; }),
    saves("s_andn2_saveexec_b64", [](u64 a, u64 exec) { return a & ~exec; }),
    saves("s_orn2_saveexec_b64", [](u64 a, u64 exec) { return a | ~exec; }),
    saves("s_nand_saveexec_b64", [](u64 a, u64 exec) { return ~(a & exec); }),
    saves("s_nor_saveexec_b64", [](u64 a, u64 exec) { return ~(a | exec); }),
    saves("s_xnor_saveexec_b64", [](u64 a, u64 exec) { return ~(a ^ exec); }),
    saves("s_andn1_saveexec_b64", [](u64 a, u64 exec) { return ~a & exec; }),
    saves("s_orn1_saveexec_b64", [](u64 a, u64 exec) { return ~a | exec; }),
    writes("s_andn1_wrexec_b64", [](u64 a, u64 exec) { return ~a & exec; }),
    writes("s_andn2_wrexec_b64", [](u64 a, u64 exec) { return a & ~exec; }),
};

// ---- the program counter: addresses are those of this process ----

u64 next_address(const Op& op) { return op.program->shift + op.in->address + op.in->size; }

void jump(Wave& wave, const Op& op, u64 address) {
  wave.next = op.program->entry(address - op.program->shift);
  if (wave.next == nullptr) fail_at(op, "a jump to where no instruction starts");
}

template <typename F>
void branch_if(Wave& wave, const Op& op) {
  if (F{}(wave)) wave.next = op.target;
}

void run_call(Wave& wave, const Op& op) {
  wave.set_pair(op.out, next_address(op));
  wave.next = op.target;
}
void run_getpc(Wave& wave, const Op& op) { wave.set_pair(op.out, next_address(op)); }
void run_setpc(Wave& wave, const Op& op) { jump(wave, op, scalar_value(wave, op.source[0])); }
void run_swappc(Wave& wave, const Op& op) {
  const u64 to = scalar_value(wave, op.source[0]);
  wave.set_pair(op.out, next_address(op));
  jump(wave, op, to);
}

struct Flow {
  std::string_view name;
  Run run;
};

template <typename F>
constexpr Flow branch(std::string_view name, F) {
  return {name, &branch_if<F>};
}

constexpr Flow branches[] = {
    branch("s_branch", [](const Wave&) { return true; }),
    branch("s_cbranch_scc0", [](const Wave& wave) { return !wave.scc; }),
    branch("s_cbranch_scc1", [](const Wave& wave) { return wave.scc; }),
    branch("s_cbranch_vccz", [](const Wave& wave) { return wave.vcc() == 0; }),
    branch("s_cbranch_vccnz", [](const Wave& wave) { return wave.vcc() != 0; }),
    branch("s_cbranch_execz", [](const Wave& wave) { return wave.exec() == 0; }),
    branch("s_cbranch_execnz", [](const Wave& wave) { return wave.exec() != 0; }),
    // No debugger is there.
    branch("s_cbranch_cdbgsys", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbguser", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbgsys_or_user", [](const Wave&) { return false; }),
    branch("s_cbranch_cdbgsys_and_user", [](const Wave&) { return false; }),
    {"s_call_b64", run_call},
};

// ---- hardware registers ----

enum : unsigned { hw_mode = 1, hw_status = 2, hw_trap_status = 3, hw_id = 4, hw_memory_bases = 15, hw_xcc_id = 20 };
constexpr u32 mode_fp16_overflow = 1 << 23, mode_skips_vector = 1 << 28;

u32 hardware_register(const Wave& wave, const Op& op, unsigned id) {
  switch (id) {
    case hw_mode: return wave.mode;
    case hw_status: return u32{wave.scc} | u32{wave.exec() == 0} << 9 | u32{wave.vcc() == 0} << 10 | 1u << 16; // it is valid
    case hw_trap_status: case hw_xcc_id: return 0;
    case hw_id: return wave.index & 15;
    case hw_memory_bases: return static_cast<u32>(shared_base >> 32 & 0xffff0000) | static_cast<u32>(private_base >> 48);
    default: fail_at(op, "the simulator has no such hardware register");
  }
}

struct Bits {
  unsigned id, at;
  u32 mask;
};
Bits bits_of(const Op& op) {
  const u32 place = op.in->find(Field::hwreg)->value, size = (place >> 11 & 31) + 1;
  return {place & 63, place >> 6 & 31, size == 32 ? ~0u : (1u << size) - 1};
}

void run_getreg(Wave& wave, const Op& op) {
  const Bits bits = bits_of(op);
  wave.sgpr[op.out] = hardware_register(wave, op, bits.id) >> bits.at & bits.mask;
}
void run_setreg(Wave& wave, const Op& op) {
  const Bits bits = bits_of(op);
  if (bits.id == hw_trap_status) return; // exceptions that nothing asks for
  if (bits.id != hw_mode) fail_at(op, "the simulator can't write this hardware register");
  const u32 value = static_cast<u32>(scalar_value(wave, op.source[0])) & bits.mask;
  const u32 mode = (wave.mode & ~(bits.mask << bits.at)) | value << bits.at;
  if ((mode & (mode_fp16_overflow | mode_skips_vector)) != 0) fail_at(op, "the simulator doesn't have this mode");
  wave.mode = mode;
}

// ---- registers counted from m0 ----

void set_index(Wave& wave, u32 mask, u32 bits) { wave.sgpr[code_m0] = (wave.sgpr[code_m0] & ~mask) | (bits & mask); }

void run_index_on(Wave& wave, const Op& op) {
  set_index(wave, 0xf0ff, (static_cast<u32>(scalar_value(wave, op.source[0])) & 255) | op.in->find(Field::gpr_idx)->value << 12);
  wave.mode |= mode_indexed;
}
void run_index_off(Wave& wave, const Op&) { wave.mode &= ~mode_indexed; }
void run_index_mode(Wave& wave, const Op& op) { set_index(wave, 0xf000, op.in->find(Field::gpr_idx)->value << 12); }
void run_index_index(Wave& wave, const Op& op) { set_index(wave, 0xff, static_cast<u32>(scalar_value(wave, op.source[0]))); }

u32 moved(const Wave& wave, const Op& op, u32 code, unsigned width) {
  const u64 to = u64{code} + wave.sgpr[code_m0];
  if (to + width > 128) fail_at(op, "a scalar register beyond the last one");
  return static_cast<u32>(to);
}
template <unsigned width>
void run_move_from(Wave& wave, const Op& op) {
  const u32 from = moved(wave, op, op.source[0].reg, width);
  if constexpr (width == 2) wave.set_pair(op.out, wave.pair(from));
  else wave.sgpr[op.out] = wave.sgpr[from];
}
template <unsigned width>
void run_move_to(Wave& wave, const Op& op) {
  const u32 to = moved(wave, op, op.out, width);
  if constexpr (width == 2) wave.set_pair(to, scalar_value(wave, op.source[0]));
  else wave.sgpr[to] = static_cast<u32>(scalar_value(wave, op.source[0]));
}

void nothing(Wave&, const Op&) {}
void run_end(Wave& wave, const Op&) { wave.state = State::ended; }

constexpr Flow others[] = {
    {"s_endpgm", run_end}, {"s_endpgm_saved", run_end},
    {"s_barrier", [](Wave& wave, const Op&) { wave.state = State::barrier; }},
    {"s_getpc_b64", run_getpc}, {"s_setpc_b64", run_setpc}, {"s_swappc_b64", run_swappc},
    {"s_getreg_b32", run_getreg}, {"s_setreg_b32", run_setreg}, {"s_setreg_imm32_b32", run_setreg},
    {"s_set_gpr_idx_on", run_index_on}, {"s_set_gpr_idx_off", run_index_off}, {"s_set_gpr_idx_mode", run_index_mode},
    {"s_set_gpr_idx_idx", run_index_index},
    {"s_movrels_b32", run_move_from<1>}, {"s_movrels_b64", run_move_from<2>},
    {"s_movreld_b32", run_move_to<1>}, {"s_movreld_b64", run_move_to<2>},
    {"s_waitcnt", nothing}, {"s_nop", nothing}, {"s_sleep", nothing}, {"s_wakeup", nothing}, {"s_setprio", nothing},
    {"s_sendmsg", nothing}, {"s_icache_inv", nothing}, {"s_incperflevel", nothing}, {"s_decperflevel", nothing},
    {"s_ttracedata", nothing},
};

bool bind_branch(Program& program, Op& op, Run run) {
  const Instruction& in = *op.in;
  const auto distance = std::int64_t{static_cast<std::int16_t>(in.find(Field::imm)->value)} * 4;
  op.target = program.entry(in.address + 4 + static_cast<u64>(distance));
  if (const Operand* out = in.find(Field::sdst)) op.out = out->reg;
  op.run = op.target != nullptr ? run : [](Wave&, const Op& at) { fail_at(at, "a branch to where no instruction starts"); };
  return true;
}

} // namespace

std::span<const ScalarEntry> exec_entries() { return exec_table; }

bool bind_flow(Program& program, Op& op) {
  const Instruction& in = *op.in;
  const std::string_view name = in.row->name;
  op.program = &program;
  for (const Flow& flow : branches) {
    if (flow.name == name) return bind_branch(program, op, flow.run);
  }
  for (const Flow& flow : others) {
    if (flow.name != name) continue;
    op.run = flow.run;
    const bool wide = name.ends_with("_b64");
    const bool reads_result = name == "s_setreg_b32"; // the field of the result holds its source
    if (const Operand* out = in.find(Field::sdst); out != nullptr && !reads_result) op.out = out->reg;
    for (const Field field : {Field::sdst, Field::ssrc0, Field::imm}) {
      const Operand* o = in.find(field);
      if (o == nullptr || (field == Field::sdst && !reads_result) || in.row->format == Format::SOPP) continue;
      op.source[op.source_count++] = make_source(program, *o, wide ? Type::u64 : Type::u32);
    }
    if (name.starts_with("s_movrels") && op.source[0].kind != Source::Kind::scalar) return false;
    return true;
  }
  return false;
}

} // namespace sim
