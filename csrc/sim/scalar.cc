// Scalar instructions, branches, and what ends or holds a wave.
//
// To add one: a line in `table` with its name and a lambda on values. Its parameters are the sources in the order of the
// text (for SOPK the register and the immediate, or the immediate alone), then, where it has to do with them, `Old` (what
// the result's register held) and `Scc`. What has to do with the wave itself is in scalar_wave.cc.
#include "sim/scalar.h"

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

template <typename T>
struct Old {
  T value;
};
template <typename T> struct IsOld : std::false_type {};
template <typename T> struct IsOld<Old<T>> : std::true_type {};

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
  else if constexpr (std::is_same_v<T, Old<u64>>) return {wave.pair(op.out)};
  else if constexpr (std::is_same_v<T, Old<u32>>) return {wave.sgpr[op.out]};
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
  static constexpr ScalarEntry entry(std::string_view name) {
    ScalarEntry e{name, &run, 0, {Type::none, Type::none, Type::none}, type_of<R>()};
    const Type types[] = {type_of<A>()..., Type::none};
    for (const Type type : types) {
      if (type != Type::none) e.in[e.count++] = type;
    }
    return e;
  }
};

template <typename F>
constexpr ScalarEntry scalar(std::string_view name, F) {
  return Scalar<F, decltype(&F::operator())>::entry(name);
}

template <typename T>
T flagged(Scc scc, T value) {
  scc.set = value != 0;
  return value;
}

// The bits from `offset` on, `width` of them, as s_bfe takes them from its second source.
template <typename T>
T field(T a, u32 where) {
  constexpr u32 bits = 8 * sizeof(T);
  const u32 offset = where & (bits - 1), width = where >> 16 & 127;
  if (width == 0) return 0;
  a = static_cast<T>(a >> offset);
  if (width >= bits) return a;
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) << (bits - width)) >> (bits - width);
}

template <typename T>
i32 leading(T a) { return a == 0 ? -1 : std::countl_zero(a); }
template <typename T>
i32 trailing(T a) { return a == 0 ? -1 : std::countr_zero(a); }

template <typename T>
T reversed(T a) {
  T r = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) r = static_cast<T>(r << 1 | (a >> i & 1));
  return r;
}

// For each four bits: all of them, or one, where any is set.
template <typename T>
T quads(T a, bool whole) {
  T r = 0;
  for (unsigned i = 0; i < 2 * sizeof(T); ++i) {
    if ((a >> 4 * i & 15) != 0) r |= whole ? T{15} << 4 * i : T{1} << i;
  }
  return r;
}

u64 doubled(u32 a) {
  u64 r = 0;
  for (unsigned i = 0; i < 32; ++i) r |= (a >> i & 1) * (u64{3} << 2 * i);
  return r;
}

template <unsigned shift>
u32 shifted_sum(u32 a, u32 b, Scc scc) {
  const u64 sum = (u64{a} << shift) + b;
  scc.set = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

constexpr ScalarEntry table[] = {
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
    scalar("s_orn2_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, a | ~b); }),
    scalar("s_orn2_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, a | ~b); }),
    scalar("s_nand_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, ~(a & b)); }),
    scalar("s_nand_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, ~(a & b)); }),
    scalar("s_nor_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, ~(a | b)); }),
    scalar("s_nor_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, ~(a | b)); }),
    scalar("s_xnor_b32", [](u32 a, u32 b, Scc scc) { return flagged(scc, ~(a ^ b)); }),
    scalar("s_xnor_b64", [](u64 a, u64 b, Scc scc) { return flagged(scc, ~(a ^ b)); }),
    scalar("s_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
    scalar("s_bfm_b64", [](u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }),
    scalar("s_bfe_u32", [](u32 a, u32 b, Scc scc) { return flagged(scc, field(a, b)); }),
    scalar("s_bfe_i32", [](i32 a, u32 b, Scc scc) { return flagged(scc, field(a, b)); }),
    scalar("s_bfe_u64", [](u64 a, u32 b, Scc scc) { return flagged(scc, field(a, b)); }),
    scalar("s_bfe_i64", [](i64 a, u32 b, Scc scc) { return flagged(scc, field(a, b)); }),
    scalar("s_absdiff_i32", [](u32 a, u32 b, Scc scc) {
      const u32 difference = a - b;
      return flagged(scc, difference >> 31 != 0 ? 0u - difference : difference);
    }),
    scalar("s_mul_hi_i32", [](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }),
    scalar("s_mulk_i32", [](u32 a, i32 b) { return a * static_cast<u32>(b); }),
    scalar("s_lshl1_add_u32", [](u32 a, u32 b, Scc scc) { return shifted_sum<1>(a, b, scc); }),
    scalar("s_lshl2_add_u32", [](u32 a, u32 b, Scc scc) { return shifted_sum<2>(a, b, scc); }),
    scalar("s_lshl3_add_u32", [](u32 a, u32 b, Scc scc) { return shifted_sum<3>(a, b, scc); }),
    scalar("s_lshl4_add_u32", [](u32 a, u32 b, Scc scc) { return shifted_sum<4>(a, b, scc); }),
    scalar("s_pack_ll_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | b << 16; }),
    scalar("s_pack_lh_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }),
    scalar("s_pack_hh_b32_b16", [](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }),

    scalar("s_cmov_b32", [](u32 a, Old<u32> old, Scc scc) { return scc.set ? a : old.value; }),
    scalar("s_cmov_b64", [](u64 a, Old<u64> old, Scc scc) { return scc.set ? a : old.value; }),
    scalar("s_cmovk_i32", [](i32 a, Old<u32> old, Scc scc) { return scc.set ? static_cast<u32>(a) : old.value; }),
    scalar("s_wqm_b32", [](u32 a, Scc scc) { return flagged(scc, quads(a, true)); }),
    scalar("s_wqm_b64", [](u64 a, Scc scc) { return flagged(scc, quads(a, true)); }),
    scalar("s_quadmask_b32", [](u32 a, Scc scc) { return flagged(scc, quads(a, false)); }),
    scalar("s_quadmask_b64", [](u64 a, Scc scc) { return flagged(scc, quads(a, false)); }),
    scalar("s_brev_b32", [](u32 a) { return reversed(a); }),
    scalar("s_brev_b64", [](u64 a) { return reversed(a); }),
    scalar("s_bcnt0_i32_b32", [](u32 a, Scc scc) { return flagged(scc, std::popcount(~a)); }),
    scalar("s_bcnt0_i32_b64", [](u64 a, Scc scc) { return flagged(scc, std::popcount(~a)); }),
    scalar("s_bcnt1_i32_b32", [](u32 a, Scc scc) { return flagged(scc, std::popcount(a)); }),
    scalar("s_bcnt1_i32_b64", [](u64 a, Scc scc) { return flagged(scc, std::popcount(a)); }),
    scalar("s_ff0_i32_b32", [](u32 a) { return trailing(~a); }),
    scalar("s_ff0_i32_b64", [](u64 a) { return trailing(~a); }),
    scalar("s_ff1_i32_b32", [](u32 a) { return trailing(a); }),
    scalar("s_ff1_i32_b64", [](u64 a) { return trailing(a); }),
    scalar("s_flbit_i32_b32", [](u32 a) { return leading(a); }),
    scalar("s_flbit_i32_b64", [](u64 a) { return leading(a); }),
    scalar("s_flbit_i32", [](i32 a) { return leading(static_cast<u32>(a ^ a >> 31)); }),
    scalar("s_flbit_i32_i64", [](i64 a) { return leading(static_cast<u64>(a ^ a >> 63)); }),
    scalar("s_sext_i32_i8", [](u32 a) { return i32{static_cast<std::int8_t>(a)}; }),
    scalar("s_sext_i32_i16", [](u32 a) { return i32{static_cast<std::int16_t>(a)}; }),
    scalar("s_bitset0_b32", [](u32 a, Old<u32> old) { return old.value & ~(1u << (a & 31)); }),
    scalar("s_bitset0_b64", [](u32 a, Old<u64> old) { return old.value & ~(u64{1} << (a & 63)); }),
    scalar("s_bitset1_b32", [](u32 a, Old<u32> old) { return old.value | 1u << (a & 31); }),
    scalar("s_bitset1_b64", [](u32 a, Old<u64> old) { return old.value | u64{1} << (a & 63); }),
    scalar("s_abs_i32", [](u32 a, Scc scc) { return flagged(scc, a >> 31 != 0 ? 0u - a : a); }),
    scalar("s_bitreplicate_b64_b32", [](u32 a) { return doubled(a); }),

    scalar("s_bitcmp0_b32", [](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }),
    scalar("s_bitcmp1_b32", [](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }),
    scalar("s_bitcmp0_b64", [](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; }),
    scalar("s_bitcmp1_b64", [](u64 a, u32 b) { return (a >> (b & 63) & 1) != 0; }),
    scalar("s_cmpk_eq_i32", [](i32 a, i32 b) { return a == b; }),
    scalar("s_cmpk_lg_i32", [](i32 a, i32 b) { return a != b; }),
    scalar("s_cmpk_gt_i32", [](i32 a, i32 b) { return a > b; }),
    scalar("s_cmpk_ge_i32", [](i32 a, i32 b) { return a >= b; }),
    scalar("s_cmpk_lt_i32", [](i32 a, i32 b) { return a < b; }),
    scalar("s_cmpk_le_i32", [](i32 a, i32 b) { return a <= b; }),
    scalar("s_cmpk_eq_u32", [](u32 a, u32 b) { return a == b; }),
    scalar("s_cmpk_lg_u32", [](u32 a, u32 b) { return a != b; }),
    scalar("s_cmpk_gt_u32", [](u32 a, u32 b) { return a > b; }),
    scalar("s_cmpk_ge_u32", [](u32 a, u32 b) { return a >= b; }),
    scalar("s_cmpk_lt_u32", [](u32 a, u32 b) { return a < b; }),
    scalar("s_cmpk_le_u32", [](u32 a, u32 b) { return a <= b; }),
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

const std::unordered_map<std::string_view, const ScalarEntry*>& entries() {
  static const std::unordered_map<std::string_view, const ScalarEntry*> all = [] {
    std::unordered_map<std::string_view, const ScalarEntry*> map;
    for (const ScalarEntry& entry : table) map.emplace(entry.name, &entry);
    for (const ScalarEntry& entry : exec_entries()) map.emplace(entry.name, &entry);
    return map;
  }();
  return all;
}

// The immediate of SOPK, signed or not as the operation takes it.
Source immediate(Program& program, Operand operand, Type type) {
  if (type == Type::i32) operand.value = static_cast<u32>(i32{static_cast<std::int16_t>(operand.value)});
  return make_source(program, operand, type);
}

} // namespace

bool bind_scalar(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if (bind_flow(program, op)) return true;
  const auto found = entries().find(in.row->name);
  if (found == entries().end()) return false;
  const ScalarEntry& entry = *found->second;
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
