// Arithmetic of one lane that kernels share: formats of 16 bits, minimum and maximum, functions that the hardware
// approximates. Without branches, so that loops over lanes become vectors. Included by lanes.h only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sim::SIM_BUILD {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

inline u32 bits_of(f32 value) { return std::bit_cast<u32>(value); }
inline u64 bits_of(f64 value) { return std::bit_cast<u64>(value); }
inline f32 float_of(u32 bits) { return std::bit_cast<f32>(bits); }
inline f64 double_of(u64 bits) { return std::bit_cast<f64>(bits); }

inline f32 float_of_half(u32 bits) {
  const u32 sign = (bits & 0x8000) << 16, shifted = (bits & 0x7fff) << 13;
  const u32 finite = bits_of(float_of(shifted) * 0x1p112f); // the exponent's bias; denormals become normal
  return float_of(sign | (shifted >= 0x0f800000 ? shifted | 0x7f800000 : finite));
}

// Rounded as the processor rounds now: the sum with a power of two whose last place is the half's.
inline u32 half_bits(f32 value) {
  const u32 bits = bits_of(value), sign = bits & 0x80000000, magnitude = bits & 0x7fffffff;
  const u32 finite = magnitude < 0x477fffff ? magnitude : 0x477fffff; // just below 65536: it rounds as all that is above
  const u32 exponent = (finite & 0x7f800000) > 0x38800000 ? finite & 0x7f800000 : 0x38800000;
  const u32 anchor = exponent + (13u << 23);
  const u32 sum = bits_of(float_of(finite | sign) + float_of(anchor | sign)) & 0x7fffffff;
  const u32 rounded = ((exponent - 0x38800000) >> 13) + (sum - anchor);
  const u32 special = 0x7c00 | (magnitude > 0x7f800000 ? 0x200 | (magnitude >> 13 & 0x3ff) : 0);
  return sign >> 16 | (magnitude >= 0x7f800000 ? special : rounded);
}

// Towards zero, whatever the mode.
inline u32 half_bits_toward_zero(f32 value) {
  const u32 bits = bits_of(value), magnitude = bits & 0x7fffffff;
  const u32 normal = (magnitude - 0x38000000) >> 13;
  const u32 denormal = static_cast<u32>(static_cast<i32>(float_of(magnitude < 0x38800000 ? magnitude : 0) * 0x1p24f));
  const u32 finite = magnitude >= 0x47800000 ? 0x7bff : magnitude >= 0x38800000 ? normal : denormal;
  const u32 special = 0x7c00 | (magnitude > 0x7f800000 ? 0x200 | (magnitude >> 13 & 0x3ff) : 0);
  return (bits >> 16 & 0x8000) | (magnitude >= 0x7f800000 ? special : finite);
}

// To nearest, ties to even.
inline u32 brain_bits(f32 value) {
  const u32 bits = bits_of(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded;
}

// A double as a float that rounds on to a shorter format as the double itself would: the last bit gathers what is lost.
inline f32 odd_float(f64 value) {
  const u64 bits = bits_of(value), lost = bits & 0x1fffffff;
  return static_cast<f32>(double_of((bits & ~u64{0x1fffffff}) | (lost != 0 ? u64{0x20000000} : 0)));
}

template <typename T> struct FloatTraits;
template <> struct FloatTraits<f32> {
  using Bits = u32;
  static constexpr Bits sign = 0x80000000, infinity = 0x7f800000, quiet = 0x00400000;
};
template <> struct FloatTraits<f64> {
  using Bits = u64;
  static constexpr Bits sign = 1ull << 63, infinity = 0x7ffull << 52, quiet = 1ull << 51;
};

template <typename T> inline bool is_nan(T a) { return a != a; }
template <typename T> inline bool is_signaling(T a) {
  using Traits = FloatTraits<T>;
  return (a != a) & ((bits_of(a) & Traits::quiet) == 0);
}
template <typename T> inline T quieted(T a) {
  return std::bit_cast<T>(bits_of(a) | FloatTraits<T>::quiet);
}

// IEEE's minNum and maxNum of the mode `IEEE`: a NaN loses against a number, a signaling one wins as a quiet one; -0 < +0.
// All on bits, since a number's bits in order of size are a signed integer but for the magnitude of negative ones.
template <typename T, bool most>
inline typename FloatTraits<T>::Bits number_of(typename FloatTraits<T>::Bits x, typename FloatTraits<T>::Bits y) {
  using Traits = FloatTraits<T>;
  using Bits = typename Traits::Bits;
  using Signed = std::make_signed_t<Bits>;
  constexpr Bits magnitude = static_cast<Bits>(~Traits::sign);
  const Signed sx = static_cast<Signed>(x), sy = static_cast<Signed>(y);
  constexpr Signed flip = static_cast<Signed>(magnitude);
  const Signed kx = sx < 0 ? sx ^ flip : sx, ky = sy < 0 ? sy ^ flip : sy;
  const bool nan_x = static_cast<Signed>(x & magnitude) > static_cast<Signed>(Traits::infinity);
  const bool nan_y = static_cast<Signed>(y & magnitude) > static_cast<Signed>(Traits::infinity);
  const bool signals_x = nan_x & ((x & Traits::quiet) == 0), signals_y = nan_y & ((y & Traits::quiet) == 0);
  Bits r = (most ? kx > ky : kx < ky) ? x : y;
  r = nan_y ? x : r;
  r = nan_x ? y : r;
  r = signals_y ? y | Traits::quiet : r;
  return signals_x ? x | Traits::quiet : r;
}
template <typename T> inline T minimum_number(T a, T b) { return std::bit_cast<T>(number_of<T, false>(bits_of(a), bits_of(b))); }
template <typename T> inline T maximum_number(T a, T b) { return std::bit_cast<T>(number_of<T, true>(bits_of(a), bits_of(b))); }
template <typename T> inline T median(T a, T b, T c) {
  const T most = maximum_number(maximum_number(a, b), c);
  const T of_ab = maximum_number(a, b), of_ac = maximum_number(a, c), of_bc = maximum_number(b, c);
  const T others = most == a ? of_bc : most == b ? of_ac : of_ab;
  return (a != a) | (b != b) | (c != c) ? minimum_number(minimum_number(a, b), c) : others;
}
// IEEE's minimum and maximum: a NaN wins.
template <typename T> inline T minimum(T a, T b) {
  return is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : minimum_number(a, b);
}
template <typename T> inline T maximum(T a, T b) {
  return is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : maximum_number(a, b);
}

// Denormals of f32 become zero, as in units that don't have them.
inline f32 flushed(f32 a) { return float_of((bits_of(a) & 0x7f800000) == 0 ? bits_of(a) & 0x80000000 : bits_of(a)); }

// ---- what the hardware approximates, here by polynomials in double that are good to 1e-9 or better ----

// a · b + c, in one step where the processor has it.
inline f64 product_sum(f64 a, f64 b, f64 c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

inline f64 power_of_two(i32 exponent) { return double_of(static_cast<u64>(static_cast<i64>(exponent) + 1023) << 52); }

inline f64 exp2_of(f32 a) {
  const f32 bounded = a < -200.0f ? -200.0f : a > 200.0f ? 200.0f : a == a ? a : 0.0f;
  const i32 whole = static_cast<i32>(bounded + (bounded < 0 ? -0.5f : 0.5f));
  const f64 x = (static_cast<f64>(bounded) - whole) * 0.69314718055994531;
  f64 sum = 1.0 / 40320;
  sum = product_sum(sum, x, 1.0 / 5040);
  sum = product_sum(sum, x, 1.0 / 720);
  sum = product_sum(sum, x, 1.0 / 120);
  sum = product_sum(sum, x, 1.0 / 24);
  sum = product_sum(sum, x, 1.0 / 6);
  sum = product_sum(sum, x, 0.5);
  sum = product_sum(sum, x, 1.0);
  sum = product_sum(sum, x, 1.0);
  return a == a ? sum * power_of_two(whole) : static_cast<f64>(a);
}

inline f64 log2_of(f32 a) {
  const u64 bits = bits_of(static_cast<f64>(a));
  i32 exponent = static_cast<i32>(bits >> 52 & 0x7ff) - 1023;
  f64 m = double_of((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  const bool high = m > 1.4142135623730951;
  m = high ? m * 0.5 : m;
  exponent += high;
  const f64 s = (m - 1.0) / (m + 1.0), t = s * s;
  f64 sum = 1.0 / 17;
  sum = product_sum(sum, t, 1.0 / 15);
  sum = product_sum(sum, t, 1.0 / 13);
  sum = product_sum(sum, t, 1.0 / 11);
  sum = product_sum(sum, t, 1.0 / 9);
  sum = product_sum(sum, t, 1.0 / 7);
  sum = product_sum(sum, t, 1.0 / 5);
  sum = product_sum(sum, t, 1.0 / 3);
  sum = product_sum(sum, t, 1.0);
  const f64 value = sum * s * 2.8853900817779268 + exponent, infinity = std::numeric_limits<f64>::infinity();
  const f64 nan = std::numeric_limits<f64>::quiet_NaN();
  f64 r = a < 0 ? nan : value;
  r = a == 0 ? -infinity : r;
  r = a == std::numeric_limits<f32>::infinity() ? infinity : r;
  return a != a ? static_cast<f64>(a) : r;
}

// Of a in revolutions; a of 256 and beyond is out of the hardware's range.
inline f64 sine_of(f64 a) {
  const f64 turns = a - std::floor(a + 0.5);             // from -0.5 to 0.5
  const f64 half = turns > 0.25 ? 0.5 - turns : turns < -0.25 ? -0.5 - turns : turns;
  const f64 x = half * 6.2831853071795865, t = x * x;
  f64 sum = -1.0 / 1307674368000.0;
  sum = product_sum(sum, t, 1.0 / 6227020800.0);
  sum = product_sum(sum, t, -(1.0 / 39916800));
  sum = product_sum(sum, t, 1.0 / 362880);
  sum = product_sum(sum, t, -(1.0 / 5040));
  sum = product_sum(sum, t, 1.0 / 120);
  sum = product_sum(sum, t, -(1.0 / 6));
  sum = product_sum(sum, t, 1.0);
  return sum * x;
}
inline f32 sine(f32 a) {
  const f32 value = static_cast<f32>(sine_of(std::fabs(a) <= 256.0f ? static_cast<f64>(a) : 0.0));
  return std::fabs(a) < std::numeric_limits<f32>::infinity() ? (a == 0 ? a : value) : std::numeric_limits<f32>::quiet_NaN();
}
inline f32 cosine(f32 a) {
  const f32 value = static_cast<f32>(sine_of(std::fabs(a) <= 256.0f ? static_cast<f64>(a) + 0.25 : 0.25));
  return std::fabs(a) < std::numeric_limits<f32>::infinity() ? value : std::numeric_limits<f32>::quiet_NaN();
}

// a · 2^n.
inline f32 scaled(f32 a, i32 n) {
  return static_cast<f32>(static_cast<f64>(a) * power_of_two(n < -400 ? -400 : n > 400 ? 400 : n));
}

} // namespace sim::SIM_BUILD
