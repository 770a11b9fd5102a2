// Vector arithmetic on 16 bits: integers and halves. Packed forms run these loops on each half.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

template <typename T> inline T least(T a, T b) { return a < b ? a : b; }
template <typename T> inline T most(T a, T b) { return a > b ? a : b; }
template <typename T> inline T middle(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); }
inline u16 low(u32 a) { return static_cast<u16>(a); }

// A sum of a product and a number, rounded once.
inline Half fused(Half a, Half b, Half c) {
  return odd_float(static_cast<f64>(f32(a)) * f32(b) + static_cast<f64>(f32(c)));
}
// Rounded twice, and without denormals.
inline Half without_denormals(Half a) {
  Half result;
  result.bits = (a.bits & 0x7c00) == 0 ? a.bits & 0x8000 : a.bits;
  return result;
}
inline Half separate(Half a, Half b, Half c) {
  const Half product = without_denormals(f32(without_denormals(a)) * f32(without_denormals(b)));
  return without_denormals(f32(product) + f32(without_denormals(c)));
}
inline Half half_of_bits(u32 bits) {
  Half result;
  result.bits = bits;
  return result;
}

// A quotient that v_div_fmas made, with the special cases and the sign of a / b, which are `denominator` and `numerator`.
inline Half fixed_up(Half quotient, Half denominator, Half numerator) {
  const u32 sign = (denominator.bits ^ numerator.bits) & 0x8000;
  const u32 d = denominator.bits & 0x7fff, n = numerator.bits & 0x7fff;
  if (n > 0x7c00) return half_of_bits(numerator.bits | 0x200);
  if (d > 0x7c00) return half_of_bits(denominator.bits | 0x200);
  if ((d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00)) return half_of_bits(0xfe00);
  if (d == 0 || n == 0x7c00) return half_of_bits(sign | 0x7c00);
  if (d == 0x7c00 || n == 0) return half_of_bits(sign);
  return half_of_bits(sign | (quotient.bits & 0x7fff));
}

constexpr LaneEntry table[] = {
    lanes("v_add_u16", [](u16 a, u16 b) { return low(u32{a} + b); }),
    lanes("v_sub_u16", [](u16 a, u16 b) { return low(u32{a} - b); }),
    lanes("v_subrev_u16", [](u16 a, u16 b) { return low(u32{b} - a); }),
    lanes("v_add_i16", [](u16 a, u16 b) { return low(u32{a} + b); }),
    lanes("v_sub_i16", [](u16 a, u16 b) { return low(u32{a} - b); }),
    lanes("v_mul_lo_u16", [](u16 a, u16 b) { return low(u32{a} * b); }),
    lanes("v_mad_u16", [](u16 a, u16 b, u16 c) { return low(u32{a} * b + c); }),
    lanes("v_mad_i16", [](u16 a, u16 b, u16 c) { return low(u32{a} * b + c); }),
    lanes("v_mad_legacy_u16", [](u16 a, u16 b, u16 c) { return low(u32{a} * b + c); }),
    lanes("v_mad_legacy_i16", [](u16 a, u16 b, u16 c) { return low(u32{a} * b + c); }),
    lanes("v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return u32{a} * b + c; }),
    lanes("v_mad_i32_i16", [](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; }),
    lanes("v_lshlrev_b16", [](u16 a, u16 b) { return low(u32{b} << (a & 15)); }),
    lanes("v_lshrrev_b16", [](u16 a, u16 b) { return low(u32{b} >> (a & 15)); }),
    lanes("v_ashrrev_i16", [](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }),
    lanes("v_max_u16", [](u16 a, u16 b) { return most(a, b); }),
    lanes("v_max_i16", [](i16 a, i16 b) { return most(a, b); }),
    lanes("v_min_u16", [](u16 a, u16 b) { return least(a, b); }),
    lanes("v_min_i16", [](i16 a, i16 b) { return least(a, b); }),
    lanes("v_min3_i16", [](i16 a, i16 b, i16 c) { return least(least(a, b), c); }),
    lanes("v_min3_u16", [](u16 a, u16 b, u16 c) { return least(least(a, b), c); }),
    lanes("v_max3_i16", [](i16 a, i16 b, i16 c) { return most(most(a, b), c); }),
    lanes("v_max3_u16", [](u16 a, u16 b, u16 c) { return most(most(a, b), c); }),
    lanes("v_med3_i16", [](i16 a, i16 b, i16 c) { return middle(a, b, c); }),
    lanes("v_med3_u16", [](u16 a, u16 b, u16 c) { return middle(a, b, c); }),
    lanes("v_bitop3_b16", [](u16 a, u16 b, u16 c, u32 t) {
      u32 r = 0;
      for (unsigned i = 0; i < 8; ++i) {
        r |= (0u - (t >> i & 1)) & ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      }
      return low(r);
    }),

    lanes("v_add_f16", [](Half a, Half b) { return Half(f32(a) + f32(b)); }),
    lanes("v_sub_f16", [](Half a, Half b) { return Half(f32(a) - f32(b)); }),
    lanes("v_subrev_f16", [](Half a, Half b) { return Half(f32(b) - f32(a)); }),
    lanes("v_mul_f16", [](Half a, Half b) { return Half(f32(a) * f32(b)); }),
    lanes("v_fma_f16", [](Half a, Half b, Half c) { return fused(a, b, c); }),
    lanes("v_fma_legacy_f16", [](Half a, Half b, Half c) { return fused(a, b, c); }),
    lanes("v_fmac_f16", [](Half a, Half b, Half was) { return fused(a, b, was); }),
    lanes("v_mad_f16", [](Half a, Half b, Half c) { return separate(a, b, c); }),
    lanes("v_mad_legacy_f16", [](Half a, Half b, Half c) { return separate(a, b, c); }),
    lanes("v_mac_f16", [](Half a, Half b, Half was) { return separate(a, b, was); }),
    lanes("v_madmk_f16", [](Half a, Half k, Half b) { return separate(a, k, b); }),
    lanes("v_madak_f16", [](Half a, Half b, Half k) { return separate(a, b, k); }),
    lanes("v_min_f16", [](Half a, Half b) { return Half(minimum_number(f32(a), f32(b))); }),
    lanes("v_max_f16", [](Half a, Half b) { return Half(maximum_number(f32(a), f32(b))); }),
    lanes("v_min3_f16", [](Half a, Half b, Half c) { return Half(minimum_number(minimum_number(f32(a), f32(b)), f32(c))); }),
    lanes("v_max3_f16", [](Half a, Half b, Half c) { return Half(maximum_number(maximum_number(f32(a), f32(b)), f32(c))); }),
    lanes("v_med3_f16", [](Half a, Half b, Half c) { return Half(median(f32(a), f32(b), f32(c))); }),
    lanes("v_minimum3_f16", [](Half a, Half b, Half c) { return Half(minimum(minimum(f32(a), f32(b)), f32(c))); }),
    lanes("v_maximum3_f16", [](Half a, Half b, Half c) { return Half(maximum(maximum(f32(a), f32(b)), f32(c))); }),
    lanes("v_div_fixup_f16", [](Half a, Half b, Half c) { return fixed_up(a, b, c); }),
    lanes("v_div_fixup_legacy_f16", [](Half a, Half b, Half c) { return fixed_up(a, b, c); }),
    lanes("v_ldexp_f16", [](Half a, i16 b) { return Half(f32(a) * static_cast<f32>(power_of_two(b < -60 ? -60 : b > 60 ? 60 : b))); }),
    lanes("v_rcp_f16", [](Half a) { return Half(1.0f / f32(a)); }),
    lanes("v_sqrt_f16", [](Half a) { return Half(std::sqrt(f32(a))); }),
    lanes("v_rsq_f16", [](Half a) { return Half(odd_float(1.0 / std::sqrt(static_cast<f64>(f32(a))))); }),
    lanes("v_log_f16", [](Half a) { return Half(odd_float(log2_of(a))); }),
    lanes("v_exp_f16", [](Half a) { return Half(odd_float(exp2_of(a))); }),
    lanes("v_sin_f16", [](Half a) { return Half(sine(a)); }),
    lanes("v_cos_f16", [](Half a) { return Half(cosine(a)); }),
    lanes("v_floor_f16", [](Half a) { return Half(std::floor(f32(a))); }),
    lanes("v_ceil_f16", [](Half a) { return Half(std::ceil(f32(a))); }),
    lanes("v_trunc_f16", [](Half a) { return Half(std::trunc(f32(a))); }),
    lanes("v_rndne_f16", [](Half a) { return Half(__builtin_roundevenf(f32(a))); }),
    lanes("v_fract_f16", [](Half a) {
      const f32 part = f32(a) - std::floor(f32(a)), highest = 0x1.ffcp-1f; // the half before 1
      return Half(part > highest ? highest : part);
    }),
    lanes("v_frexp_mant_f16", [](Half a) {
      const u32 bits = bits_of(f32(a)), exponent = bits & 0x7f800000;
      return Half(exponent == 0 || exponent == 0x7f800000 ? f32(a) : float_of((bits & 0x807fffff) | 0x3f000000));
    }),
    lanes("v_frexp_exp_i16_f16", [](Half a) {
      const u32 exponent = bits_of(f32(a)) >> 23 & 0xff;
      return static_cast<i16>(exponent == 0 || exponent == 255 ? 0 : static_cast<i32>(exponent) - 126);
    }),
    lanes("v_pack_b32_f16", [](Half a, Half b) { return a.bits | b.bits << 16; }),
};

} // namespace

std::span<const LaneEntry> lanes_short() { return table; }

} // namespace sim::SIM_BUILD
