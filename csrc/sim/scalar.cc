// Scalar instructions, branches, and what ends or holds a wave.
//
// To add one: a line in `table` with its name and a lambda on values. Its parameters are the sources in the order of the
// text (for SOPK the register and the immediate, or the immediate alone), then, where it has to do with it, `Scc&`.
#include "sim/wave.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <unordered_map>

namespace sim {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Scc {
  bool& set;
};

struct Entry {
  std::string_view name;
  Run run;
  std::uint8_t count;
  Type in[3], out;
};

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, u32>) return Type::u32;
  else if constexpr (std::is_same_v<T, i32>) return Type::i32;
  else if constexpr (std::is_same_v<T, u64>) return Type::u64;
  else if constexpr (std::is_same_v<T, i64>) return Type::i64;
  else return Type::none;
}

template <typename T>
T argument(Wave& wave, const Op& op, std::size_t i) {
  if constexpr (std::is_same_v<T, Scc>) return Scc{wave.scc};
  else return static_cast<T>(scalar_value(wave, op.source[i]));
}

template <typename F, typename Signature>
struct Scalar;

template <typename F, typename R, typename... A>
struct Scalar<F, R (F::*)(A...) const> {
  template <std::size_t... i>
  static void call(Wave& wave, const Op& op, std::index_sequence<i...>) {
    if constexpr (std::is_void_v<R>) {
      F{}(argument<A>(wave, op, i)...);
    } else if constexpr (std::is_same_v<R, bool>) {
      wave.scc = F{}(argument<A>(wave, op, i)...);
    } else {
      const R result = F{}(argument<A>(wave, op, i)...);
      if constexpr (sizeof(R) == 8) wave.set_pair(op.out, static_cast<u64>(result));
      else wave.sgpr[op.out] = static_cast<u32>(result);
    }
  }
  static void run(Wave& wave, const Op& op) { call(wave, op, std::index_sequence_for<A...>{}); }
  static constexpr Entry entry(std::string_view name) {
    Entry e{name, &run, 0, {Type::none, Type::none, Type::none}, type_of<R>()};
    const Type types[] = {type_of<A>()..., Type::none};
    for (const Type type : types) {
      if (type != Type::none) e.in[e.count++] = type;
    }
    return e;
  }
};

template <typename F>
constexpr Entry scalar(std::string_view name, F) {
  return Scalar<F, decltype(&F::operator())>::entry(name);
}

template <typename T>
T flagged(Scc scc, T value) {
  scc.set = value != 0;
  return value;
}

constexpr Entry table[] = {
    scalar("s_mov_b32", [](u32 a) { return a; }),
    scalar("s_mov_b64", [](u64 a) { return a; }),
    scalar("s_movk_i32", [](i32 a) { return a; }),
    scalar("s_not_b32", [](u32 a, Scc scc) { return flagged(scc, ~a); }),
    scalar("s_not_b64", [](u64 a, Scc scc) { return flagged(scc, ~a); }),
    scalar("s_add_u32", [](u32 a, u32 b, Scc scc) { scc.set = a + b < a; return a + b; }),
    scalar("s_addc_u32", [](u32 a, u32 b, Scc scc) {
      const u64 sum = u64{a} + b + scc.set;
      scc.set = sum >> 32 != 0;
      return static_cast<u32>(sum);
    }),
    scalar("s_sub_u32", [](u32 a, u32 b, Scc scc) { scc.set = a < b; return a - b; }),
    scalar("s_subb_u32", [](u32 a, u32 b, Scc scc) {
      const u64 wanted = u64{b} + scc.set;
      scc.set = wanted > a;
      return static_cast<u32>(a - wanted);
    }),
    scalar("s_add_i32", [](i32 a, i32 b, Scc scc) { i32 r; scc.set = __builtin_add_overflow(a, b, &r); return r; }),
    scalar("s_sub_i32", [](i32 a, i32 b, Scc scc) { i32 r; scc.set = __builtin_sub_overflow(a, b, &r); return r; }),
    scalar("s_addk_i32", [](i32 a, i32 b, Scc scc) { i32 r; scc.set = __builtin_add_overflow(a, b, &r); return r; }),
    scalar("s_mul_i32", [](u32 a, u32 b) { return a * b; }),
    scalar("s_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }),
    scalar("s_and_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a & b); }),
    scalar("s_and_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, a & b); }),
    scalar("s_or_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a | b); }),
    scalar("s_or_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, a | b); }),
    scalar("s_xor_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a ^ b); }),
    scalar("s_xor_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, a ^ b); }),
    scalar("s_andn2_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a & ~b); }),
    scalar("s_andn2_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, a & ~b); }),
    scalar("s_lshl_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a << (b & 31)); }),
    scalar("s_lshl_b64", [](u64 a, u32 b, Scc scc) { return flagged(scc, a << (b & 63)); }),
    scalar("s_lshr_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a >> (b & 31)); }),
    scalar("s_lshr_b64", [](u64 a, u32 b, Scc scc) { return flagged(scc, a >> (b & 63)); }),
    scalar("s_ashr_i32", [](i32 a, u32 b, Scc scc) { return flagged(scc, a >> (b & 31)); }),
    scalar("s_ashr_i64", [](i64 a, u32 b, Scc scc) { return flagged(scc, a >> (b & 63)); }),
    scalar("s_min_i32", [](i32 a, i32 b, Scc scc) { scc.set = a < b; return a < b ? a : b; }),
    scalar("s_min_u32", [](u32 a, u32 b, Scc scc) { scc.set = a < b; return a < b ? a : b; }),
    scalar("s_max_i32", [](i32 a, i32 b, Scc scc) { scc.set = a > b; return a > b ? a : b; }),
    scalar("s_max_u32", [](u32 a, u32 b, Scc scc) { scc.set = a > b; return a > b ? a : b; }),
    scalar("s_cselect_b32", [](u32 a, u32 b, Scc scc) { return scc.set ? a : b; }),
    scalar("s_cselect_b64", [](u64 a, u64 b, Scc scc) { return scc.set ? a : b; }),
    scalar("s_cmp_eq_i32", [](i32 a, i32 b) { return a == b; }),
    scalar("s_cmp_lg_i32", [](i32 a, i32 b) { return a != b; }),
    scalar("s_cmp_gt_i32", [](i32 a, i32 b) { return a > b; }),
    scalar("s_cmp_ge_i32", [](i32 a, i32 b) { return a >= b; }),
    scalar("s_cmp_lt_i32", [](i32 a, i32 b) { return a < b; }),
    scalar("s_cmp_le_i32", [](i32 a, i32 b) { return a <= b; }),
    scalar("s_cmp_eq_u32", [](u32 a, u32 b) { return a == b; }),
    scalar("s_cmp_lg_u32", [](u32 a, u32 b) { return a != b; }),
    scalar("s_cmp_gt_u32", [](u32 a, u32 b) { return a > b; }),
    scalar("s_cmp_ge_u32", [](u32 a, u32 b) { return a >= b; }),
    scalar("s_cmp_lt_u32", [](u32 a, u32 b) { return a < b; }),
    scalar("s_cmp_le_u32", [](u32 a, u32 b) { return a <= b; }),
    scalar("s_cmp_eq_u64", [](u64 a, u64 b) { return a == b; }),
    scalar("s_cmp_lg_u64", [](u64 a, u64 b) { return a != b; }),
};

// ---- what needs the wave itself ----

// EXEC to the result, then EXEC from `operation` on the source and EXEC.
template <typename F>
void save_exec(Wave& wave, const Op& op) {
  const u64 source = scalar_value(wave, op.source[0]), exec = wave.exec(), result = F{}(source, exec);
  wave.set_pair(op.out, exec);
  wave.set_pair(code_exec, result);
  wave.scc = result != 0;
}

template <typename F>
constexpr Entry saves(std::string_view name, F) {
  return {name, &save_exec<F>, 1, {Type::u64, Type::none, Type::none}, Type::u64};
}

constexpr Entry exec_table[] = {
    saves("s_and_saveexec_b64", [](u64 a, u64 exec) { return a & exec; }),
    saves("s_or_saveexec_b64", [](u64 a, u64 exec) { return a | exec; }),
    saves("s_xor_saveexec_b64", [](u64 a, u64 exec) { return a ^ exec; }),
    saves("s_andn2_saveexec_b64", [](u64 a, u64 exec) { return a & ~exec; }),
};

void nothing(Wave&, const Op&) {}

template <typename F>
void branch_if(Wave& wave, const Op& op) {
  if (F{}(wave)) wave.next = op.target;
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
};

constexpr Flow others[] = {
    {"s_endpgm", [](Wave& wave, const Op&) { wave.state = State::ended; }},
    {"s_barrier", [](Wave& wave, const Op&) { wave.state = State::barrier; }},
    {"s_waitcnt", nothing}, {"s_nop", nothing}, {"s_sleep", nothing}, {"s_setprio", nothing}, {"s_sethalt", nothing},
    {"s_icache_inv", nothing}, {"s_dcache_inv", nothing}, {"s_dcache_wb", nothing}, {"s_inst_prefetch", nothing},
};

const std::unordered_map<std::string_view, const Entry*>& entries() {
  static const std::unordered_map<std::string_view, const Entry*> all = [] {
    std::unordered_map<std::string_view, const Entry*> map;
    for (const Entry& entry : table) map.emplace(entry.name, &entry);
    for (const Entry& entry : exec_table) map.emplace(entry.name, &entry);
    return map;
  }();
  return all;
}

bool bind_branch(Program& program, Op& op, Run run) {
  const Instruction& in = *op.in;
  const auto distance = std::int64_t{static_cast<std::int16_t>(in.find(Field::imm)->value)} * 4;
  op.target = program.entry(in.address + 4 + static_cast<std::uint64_t>(distance));
  op.run = op.target != nullptr ? run : [](Wave&, const Op& at) { fail_at(at, "a branch to where no instruction starts"); };
  return true;
}

// The immediate of SOPK, signed or not as the operation takes it.
Source immediate(Program& program, Operand operand, Type type) {
  if (type == Type::i32) operand.value = static_cast<u32>(i32{static_cast<std::int16_t>(operand.value)});
  return make_source(program, operand, type);
}

} // namespace

bool bind_scalar(Program& program, Op& op) {
  const Instruction& in = *op.in;
  for (const Flow& flow : branches) {
    if (flow.name == in.row->name) return bind_branch(program, op, flow.run);
  }
  for (const Flow& flow : others) {
    if (flow.name != in.row->name) continue;
    op.run = flow.run;
    return true;
  }
  const auto found = entries().find(in.row->name);
  if (found == entries().end()) return false;
  const Entry& entry = *found->second;
  op.run = entry.run;
  if (const Operand* out = in.find(Field::sdst)) op.out = out->reg;
  const bool reads_result = in.row->format == Format::SOPK && entry.count == 2;
  for (const Field field : {Field::sdst, Field::ssrc0, Field::ssrc1, Field::imm}) {
    const Operand* o = in.find(field);
    if (o == nullptr || op.source_count == entry.count || (field == Field::sdst && !reads_result)) continue;
    const Type type = entry.in[op.source_count];
    op.source[op.source_count++] = field == Field::imm ? immediate(program, *o, type) : make_source(program, *o, type);
  }
  return op.source_count == entry.count;
}

} // namespace sim
