// Comparisons. `v_cmpx_…` runs the same loops as `v_cmp_…`.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

// Classes of numbers, one bit each: signaling and quiet NaN, -∞, negative normal and denormal, -0, and upwards again.
inline u32 class_of(bool negative, bool zero_exponent, bool full_exponent, bool zero_fraction, bool quiet) {
  if (full_exponent && !zero_fraction) return quiet ? 2 : 1;
  const u32 kind = full_exponent ? 0u : !zero_exponent ? 1u : !zero_fraction ? 2u : 3u; // from infinity down to zero
  return 1u << (negative ? 2 + kind : 9 - kind);
}
inline bool is_class(f32 a, u32 mask) {
  const u32 b = bits_of(a);
  return (class_of(b >> 31 != 0, (b & 0x7f800000) == 0, (b & 0x7f800000) == 0x7f800000, (b & 0x7fffff) == 0, (b & 0x400000) != 0) &
          mask) != 0;
}
inline bool is_class(Half a, u32 mask) {
  const u32 b = a.bits;
  return (class_of(b >> 15 != 0, (b & 0x7c00) == 0, (b & 0x7c00) == 0x7c00, (b & 0x3ff) == 0, (b & 0x200) != 0) & mask) != 0;
}
inline bool is_class(f64 a, u32 mask) {
  const u64 b = bits_of(a), exponent = b >> 52 & 0x7ff;
  return (class_of(b >> 63 != 0, exponent == 0, exponent == 0x7ff, b << 12 == 0, (b >> 51 & 1) != 0) & mask) != 0;
}

#define SIM_INTEGERS(T, name)                                            \
  lanes("v_cmp_f_" name, [](T, T) { return false; }),                    \
  lanes("v_cmp_lt_" name, [](T a, T b) { return a < b; }),               \
  lanes("v_cmp_eq_" name, [](T a, T b) { return a == b; }),              \
  lanes("v_cmp_le_" name, [](T a, T b) { return a <= b; }),              \
  lanes("v_cmp_gt_" name, [](T a, T b) { return a > b; }),               \
  lanes("v_cmp_ne_" name, [](T a, T b) { return a != b; }),              \
  lanes("v_cmp_ge_" name, [](T a, T b) { return a >= b; }),              \
  lanes("v_cmp_t_" name, [](T, T) { return true; }),

// `S` is how the number is kept, `T` how it is compared.
#define SIM_FLOATS(S, T, name)                                           \
  lanes("v_cmp_f_" name, [](S, S) { return false; }),                    \
  lanes("v_cmp_lt_" name, [](S a, S b) { return T(a) < T(b); }),         \
  lanes("v_cmp_eq_" name, [](S a, S b) { return T(a) == T(b); }),        \
  lanes("v_cmp_le_" name, [](S a, S b) { return T(a) <= T(b); }),        \
  lanes("v_cmp_gt_" name, [](S a, S b) { return T(a) > T(b); }),         \
  lanes("v_cmp_lg_" name, [](S a, S b) { return T(a) < T(b) || T(a) > T(b); }), \
  lanes("v_cmp_ge_" name, [](S a, S b) { return T(a) >= T(b); }),        \
  lanes("v_cmp_o_" name, [](S a, S b) { return T(a) == T(a) && T(b) == T(b); }), \
  lanes("v_cmp_u_" name, [](S a, S b) { return T(a) != T(a) || T(b) != T(b); }), \
  lanes("v_cmp_nge_" name, [](S a, S b) { return !(T(a) >= T(b)); }),    \
  lanes("v_cmp_nlg_" name, [](S a, S b) { return !(T(a) < T(b) || T(a) > T(b)); }), \
  lanes("v_cmp_ngt_" name, [](S a, S b) { return !(T(a) > T(b)); }),     \
  lanes("v_cmp_nle_" name, [](S a, S b) { return !(T(a) <= T(b)); }),    \
  lanes("v_cmp_neq_" name, [](S a, S b) { return T(a) != T(b); }),       \
  lanes("v_cmp_nlt_" name, [](S a, S b) { return !(T(a) < T(b)); }),     \
  lanes("v_cmp_tru_" name, [](S, S) { return true; }),                   \
  lanes("v_cmp_class_" name, [](S a, u32 b) { return is_class(a, b); }),

constexpr LaneEntry table[] = {
    SIM_INTEGERS(i16, "i16") SIM_INTEGERS(u16, "u16") SIM_INTEGERS(i32, "i32")
    SIM_INTEGERS(u32, "u32") SIM_INTEGERS(i64, "i64") SIM_INTEGERS(u64, "u64")
    SIM_FLOATS(Half, f32, "f16") SIM_FLOATS(f32, f32, "f32") SIM_FLOATS(f64, f64, "f64")
};

} // namespace

std::span<const LaneEntry> lanes_compare() { return table; }

} // namespace sim::SIM_BUILD
