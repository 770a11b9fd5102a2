// Vector arithmetic on floats of 32 and 64 bits.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

template <typename T> struct Division;
template <> struct Division<f32> {
  static constexpr int bits = 23, mask = 0xff, far = 96, scale = 64, tiny = 23, underflow = -150;
};
template <> struct Division<f64> {
  static constexpr int bits = 52, mask = 0x7ff, far = 768, scale = 128, tiny = 53, underflow = -1075;
};

template <typename T>
inline int exponent_of(T a) { return static_cast<int>(bits_of(a) >> Division<T>::bits) & Division<T>::mask; }
template <typename T>
inline bool is_denormal(T a) { return a != 0 && exponent_of(a) == 0; }

// Whether a / b would be a denormal, by the exponents where the quotient itself isn't to be had.
template <typename T>
inline bool quotient_is_denormal(T a, T b) { return is_denormal(static_cast<T>(a / b)); }

// Scales `a`, which is the denominator or the numerator, so that the steps of a division don't overflow or underflow.
template <typename T>
inline Carry<T> division_scale(T a, T denominator, T numerator) {
  using D = Division<T>;
  const T up = std::ldexp(a, D::scale), down = std::ldexp(a, -D::scale);
  if (numerator == 0 || denominator == 0) return {std::numeric_limits<T>::quiet_NaN(), 0};
  if (exponent_of(numerator) - exponent_of(denominator) >= D::far) return {a == denominator ? up : a, 1};
  if (is_denormal(denominator)) return {up, 0};
  const bool inverse = quotient_is_denormal(T(1), denominator), quotient = quotient_is_denormal(numerator, denominator);
  if (inverse && quotient) return {a == denominator ? down : a, 1}; // published as `up`, which overflows
  if (inverse) return {down, 0};
  if (quotient) return {a == numerator ? up : a, 1};
  if (exponent_of(numerator) <= D::tiny) return {up, 0};
  return {a, 0};
}

// The quotient that v_div_fmas made, with the special cases and the sign. Where its steps overflowed it is a NaN here.
template <typename T>
inline T division_fixup(T quotient, T denominator, T numerator) {
  using Traits = FloatTraits<T>;
  using D = Division<T>;
  const auto sign = (bits_of(denominator) ^ bits_of(numerator)) & Traits::sign;
  const T d = std::fabs(denominator), n = std::fabs(numerator), infinity = std::numeric_limits<T>::infinity();
  const auto with_sign = [&](T a) { return std::bit_cast<T>((bits_of(a) & ~Traits::sign) | sign); };
  if (is_nan(n)) return quieted(numerator);
  if (is_nan(d)) return quieted(denominator);
  if ((d == 0 && n == 0) || (d == infinity && n == infinity)) {
    return std::bit_cast<T>(Traits::sign | Traits::infinity | Traits::quiet);
  }
  if (d == 0 || n == infinity) return with_sign(infinity);
  if (d == infinity || n == 0) return with_sign(0);
  if (exponent_of(numerator) - exponent_of(denominator) < D::underflow) return with_sign(0);
  return with_sign(is_nan(quotient) ? infinity : quotient);
}

inline f32 legacy_product(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : a * b; }

inline int cube_axis(f32 x, f32 y, f32 z) {
  x = std::fabs(x), y = std::fabs(y), z = std::fabs(z);
  return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}

// 53 bits of 2/π from a place that the exponent and the step choose, as the hardware's table gives them.
inline f64 trig_preop(f64 a, u32 step) {
  static constexpr u64 words[20] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
      0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0};
  const int exponent = exponent_of(a);
  int shift = static_cast<int>(step & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  u64 part = 0;
  if (shift < 1216) {
    const unsigned word = static_cast<unsigned>(shift) / 64, bit = static_cast<unsigned>(shift) % 64;
    part = (bit == 0 ? words[word] : words[word] << bit | words[word + 1] >> (64 - bit)) >> 11;
  }
  return std::ldexp(static_cast<f64>(part), -53 - shift + (exponent >= 1968 ? 128 : 0));
}

// As two loops, since the compiler makes no vectors of both at once.
template <bool most>
void number_of_three(const Rows& rows) {
  alignas(64) u32 first[64];
  u32* const out = rows.out;
  const u32 *const a = rows.in[0], *const b = rows.in[1], *const c = rows.in[2];
  for (unsigned i = 0; i < 64; ++i) first[i] = number_of<f32, most>(a[i], b[i]);
#pragma GCC ivdep
  for (unsigned i = 0; i < 64; ++i) out[i] = number_of<f32, most>(first[i], c[i]);
}

constexpr LaneEntry table[] = {
    lanes("v_min_f32", [](f32 a, f32 b) { return minimum_number(a, b); }),
    lanes("v_max_f32", [](f32 a, f32 b) { return maximum_number(a, b); }),
    {"v_min3_f32", &number_of_three<false>, Type::f32, 3, {Type::f32, Type::f32, Type::f32, Type::none}, false},
    {"v_max3_f32", &number_of_three<true>, Type::f32, 3, {Type::f32, Type::f32, Type::f32, Type::none}, false},
    lanes("v_med3_f32", [](f32 a, f32 b, f32 c) { return median(a, b, c); }),
    lanes("v_minimum3_f32", [](f32 a, f32 b, f32 c) { return minimum(minimum(a, b), c); }),
    lanes("v_maximum3_f32", [](f32 a, f32 b, f32 c) { return maximum(maximum(a, b), c); }),
    lanes("v_fmamk_f32", [](f32 a, f32 k, f32 b) { return std::fma(a, k, b); }),
    lanes("v_fmaak_f32", [](f32 a, f32 b, f32 k) { return std::fma(a, b, k); }),
    // These round twice and don't have denormals.
    lanes("v_mad_f32", [](f32 a, f32 b, f32 c) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(c)); }),
    lanes("v_mac_f32", [](f32 a, f32 b, f32 was) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(was)); }),
    lanes("v_madmk_f32", [](f32 a, f32 k, f32 b) { return flushed(flushed(flushed(a) * flushed(k)) + flushed(b)); }),
    lanes("v_madak_f32", [](f32 a, f32 b, f32 k) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(k)); }),
    lanes("v_mad_legacy_f32", [](f32 a, f32 b, f32 c) {
      return flushed(flushed(legacy_product(flushed(a), flushed(b))) + flushed(c));
    }),
    lanes("v_mul_legacy_f32", [](f32 a, f32 b) { return legacy_product(a, b); }),
    lanes("v_div_scale_f32", [](f32 a, f32 b, f32 c) { return division_scale(a, b, c); }),
    // By the exponent of the third source it undoes what the denominator or the numerator was scaled by. The published
    // text has 2^32 and 2^64 here, with which divisions of large and small numbers would be wrong.
    lanes("v_div_fmas_f32", [](f32 a, f32 b, f32 c, Bit scale) {
      const f32 sum = std::fma(a, b, c);
      return scale.set != 0 ? sum * (exponent_of(c) > 127 ? 0x1p64f : 0x1p-64f) : sum;
    }),
    lanes("v_div_fixup_f32", [](f32 a, f32 b, f32 c) { return division_fixup(a, b, c); }),
    lanes("v_ldexp_f32", [](f32 a, i32 b) { return scaled(a, b); }),
    lanes("v_trunc_f32", [](f32 a) { return std::trunc(a); }),
    lanes("v_ceil_f32", [](f32 a) { return std::ceil(a); }),
    lanes("v_floor_f32", [](f32 a) { return std::floor(a); }),
    lanes("v_rndne_f32", [](f32 a) { return __builtin_roundevenf(a); }),
    lanes("v_fract_f32", [](f32 a) { const f32 part = a - std::floor(a); return part > 0x1.fffffep-1f ? 0x1.fffffep-1f : part; }),
    lanes("v_frexp_mant_f32", [](f32 a) {
      const u64 bits = bits_of(static_cast<f64>(a));
      const bool itself = a == 0 || (bits_of(a) & 0x7f800000) == 0x7f800000;
      return itself ? a : static_cast<f32>(double_of((bits & 0x800fffffffffffffull) | 0x3fe0000000000000ull));
    }),
    lanes("v_frexp_exp_i32_f32", [](f32 a) {
      const i32 exponent = static_cast<i32>(bits_of(static_cast<f64>(a)) >> 52 & 0x7ff) - 1022;
      return a == 0 || (bits_of(a) & 0x7f800000) == 0x7f800000 ? 0 : exponent;
    }),
    // These don't have denormals, in or out.
    lanes("v_exp_f32", [](f32 a) { return flushed(static_cast<f32>(exp2_of(flushed(a)))); }),
    lanes("v_log_f32", [](f32 a) { return static_cast<f32>(log2_of(flushed(a))); }),
    lanes("v_rcp_f32", [](f32 a) { return flushed(1.0f / flushed(a)); }),
    lanes("v_rcp_iflag_f32", [](f32 a) { return flushed(1.0f / flushed(a)); }),
    lanes("v_rsq_f32", [](f32 a) { return static_cast<f32>(1.0 / std::sqrt(static_cast<f64>(flushed(a)))); }),
    lanes("v_sqrt_f32", [](f32 a) { return std::sqrt(flushed(a)); }),
    lanes("v_exp_legacy_f32", [](f32 a) { return flushed(static_cast<f32>(exp2_of(flushed(a)))); }),
    lanes("v_log_legacy_f32", [](f32 a) { return static_cast<f32>(log2_of(flushed(a))); }),
    lanes("v_sin_f32", [](f32 a) { return sine(a); }),
    lanes("v_cos_f32", [](f32 a) { return cosine(a); }),
    lanes("v_cubeid_f32", [](f32 x, f32 y, f32 z) {
      const int axis = cube_axis(x, y, z);
      return static_cast<f32>(2 * axis + ((axis == 2 ? z : axis == 1 ? y : x) < 0 ? 1 : 0));
    }),
    lanes("v_cubesc_f32", [](f32 x, f32 y, f32 z) {
      const int axis = cube_axis(x, y, z);
      return axis == 2 ? (z < 0 ? -x : x) : axis == 1 ? x : x < 0 ? z : -z;
    }),
    lanes("v_cubetc_f32", [](f32 x, f32 y, f32 z) { return cube_axis(x, y, z) != 1 ? -y : y < 0 ? -z : z; }),
    lanes("v_cubema_f32", [](f32 x, f32 y, f32 z) {
      const int axis = cube_axis(x, y, z);
      return 2.0f * (axis == 2 ? z : axis == 1 ? y : x);
    }),

    lanes("v_fma_f64", [](f64 a, f64 b, f64 c) { return std::fma(a, b, c); }),
    lanes("v_fmac_f64", [](f64 a, f64 b, f64 was) { return std::fma(a, b, was); }),
    lanes("v_min_f64", [](f64 a, f64 b) { return minimum_number(a, b); }),
    lanes("v_max_f64", [](f64 a, f64 b) { return maximum_number(a, b); }),
    lanes("v_div_scale_f64", [](f64 a, f64 b, f64 c) { return division_scale(a, b, c); }),
    lanes("v_div_fmas_f64", [](f64 a, f64 b, f64 c, Bit scale) {
      const f64 sum = std::fma(a, b, c);
      return scale.set != 0 ? sum * (exponent_of(c) > 1023 ? 0x1p128 : 0x1p-128) : sum;
    }),
    lanes("v_div_fixup_f64", [](f64 a, f64 b, f64 c) { return division_fixup(a, b, c); }),
    lanes("v_ldexp_f64", [](f64 a, i32 b) { return std::ldexp(a, b); }),
    lanes("v_trig_preop_f64", [](f64 a, u32 b) { return trig_preop(a, b); }),
    lanes("v_trunc_f64", [](f64 a) { return std::trunc(a); }),
    lanes("v_ceil_f64", [](f64 a) { return std::ceil(a); }),
    lanes("v_floor_f64", [](f64 a) { return std::floor(a); }),
    lanes("v_rndne_f64", [](f64 a) { return __builtin_roundeven(a); }),
    lanes("v_fract_f64", [](f64 a) { const f64 part = a - std::floor(a), most = 0x1.fffffffffffffp-1; return part > most ? most : part; }),
    lanes("v_frexp_mant_f64", [](f64 a) {
      const u64 bits = bits_of(exponent_of(a) == 0 ? a * 0x1p64 : a);
      const bool itself = a == 0 || exponent_of(a) == 0x7ff;
      return itself ? a : double_of((bits & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
    }),
    lanes("v_frexp_exp_i32_f64", [](f64 a) {
      const bool denormal = exponent_of(a) == 0;
      const i32 exponent = exponent_of(denormal ? a * 0x1p64 : a) - 1022 - (denormal ? 64 : 0);
      return a == 0 || exponent_of(a) == 0x7ff ? 0 : exponent;
    }),
    lanes("v_rcp_f64", [](f64 a) { return 1.0 / a; }),
    lanes("v_rsq_f64", [](f64 a) { return 1.0 / std::sqrt(a); }),
    lanes("v_sqrt_f64", [](f64 a) { return std::sqrt(a); }),
};

} // namespace

std::span<const LaneEntry> lanes_float() { return table; }

} // namespace sim::SIM_BUILD
