// Conversions between numbers of 16, 32 and 64 bits.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

// Towards zero, into the range, NaN to zero.
template <typename T, typename F>
inline T integer_of(F a) {
  constexpr F low = static_cast<F>(std::numeric_limits<T>::min()), above = static_cast<F>(std::numeric_limits<T>::max() / 2 + 1) * 2;
  if (!(a > low)) return a == a ? std::numeric_limits<T>::min() : T{0};
  return a >= above ? std::numeric_limits<T>::max() : static_cast<T>(static_cast<i64>(a));
}
inline i32 signed_of(f32 a) {
  const bool inside = a > -2147483648.0f && a < 2147483648.0f;
  return inside ? static_cast<i32>(inside ? a : 0.0f) : a > 0 ? 0x7fffffff : a < 0 ? i32(0x80000000) : 0;
}
// A number from -1 to 1, or from 0, as a fraction of the largest integer of 16 bits; to the nearest, ties to even.
inline u32 signed_fraction(f32 a) {
  const f32 inside = a > 1.0f ? 1.0f : a < -1.0f ? -1.0f : a == a ? a : 0.0f;
  return static_cast<u32>(static_cast<i32>(__builtin_roundevenf(inside * 32767.0f))) & 0xffff;
}
inline u32 unsigned_fraction(f32 a) {
  const f32 inside = a > 1.0f ? 1.0f : a > 0.0f ? a : 0.0f;
  return static_cast<u32>(static_cast<i32>(__builtin_roundevenf(inside * 65535.0f))) & 0xffff;
}
inline u32 byte_of(f32 a) {
  const f32 inside = a > 255.0f ? 255.0f : a > 0.0f ? a : 0.0f;
  return static_cast<u32>(static_cast<i32>(inside));
}
inline u32 with_byte(u32 old, u32 place, u32 byte) { return (old & ~(0xffu << 8 * (place & 3))) | byte << 8 * (place & 3); }
inline u32 saturated(i32 a, i32 low, i32 high) { return static_cast<u32>(a < low ? low : a > high ? high : a); }
inline i32 low_half(u32 a) { return static_cast<i16>(a); }
inline i32 high_half(u32 a) { return static_cast<i16>(a >> 16); }

constexpr LaneEntry table[] = {
    lanes("v_cvt_i32_f64", [](f64 a) { return integer_of<i32>(a); }),
    lanes("v_cvt_u32_f64", [](f64 a) { return integer_of<u32>(a); }),
    lanes("v_cvt_f64_i32", [](i32 a) { return static_cast<f64>(a); }),
    lanes("v_cvt_f64_u32", [](u32 a) { return static_cast<f64>(a); }),
    lanes("v_cvt_f32_i32", [](i32 a) { return static_cast<f32>(a); }),
    lanes("v_cvt_f32_u32", [](u32 a) { return static_cast<f32>(static_cast<f64>(a)); }),
    lanes("v_cvt_i32_f32", [](f32 a) { return signed_of(a); }),
    lanes("v_cvt_u32_f32", [](f32 a) { return integer_of<u32>(a); }),
    lanes("v_cvt_f16_f32", [](f32 a) { return Half(a); }),
    lanes("v_cvt_f32_f16", [](Half a) { return f32(a); }),
    lanes("v_cvt_f32_bf16", [](Brain a) { return f32(a); }),
    lanes("v_cvt_rpi_i32_f32", [](f32 a) { return signed_of(std::floor(a + 0.5f)); }),
    lanes("v_cvt_flr_i32_f32", [](f32 a) { return signed_of(std::floor(a)); }),
    lanes("v_cvt_off_f32_i4", [](u32 a) { return static_cast<f32>(static_cast<i32>(a << 28) >> 28) * 0.0625f; }),
    lanes("v_cvt_f32_f64", [](f64 a) { return static_cast<f32>(a); }),
    lanes("v_cvt_f64_f32", [](f32 a) { return static_cast<f64>(a); }),
    lanes("v_cvt_f32_ubyte0", [](u32 a) { return static_cast<f32>(static_cast<i32>(a & 255)); }),
    lanes("v_cvt_f32_ubyte1", [](u32 a) { return static_cast<f32>(static_cast<i32>(a >> 8 & 255)); }),
    lanes("v_cvt_f32_ubyte2", [](u32 a) { return static_cast<f32>(static_cast<i32>(a >> 16 & 255)); }),
    lanes("v_cvt_f32_ubyte3", [](u32 a) { return static_cast<f32>(static_cast<i32>(a >> 24)); }),
    lanes("v_cvt_f16_u16", [](u16 a) { return Half(static_cast<f32>(i32{a})); }),
    lanes("v_cvt_f16_i16", [](i16 a) { return Half(static_cast<f32>(i32{a})); }),
    lanes("v_cvt_u16_f16", [](Half a) { return static_cast<u16>(f32(a) > 65535.0f ? 0xffff : f32(a) > 0 ? static_cast<i32>(f32(a)) : 0); }),
    lanes("v_cvt_i16_f16", [](Half a) {
      const f32 v = a;
      return static_cast<i16>(v >= 32767.0f ? 32767 : v <= -32768.0f ? -32768 : v == v ? static_cast<i32>(v) : 0);
    }),
    lanes("v_cvt_norm_i16_f16", [](Half a) { return static_cast<u16>(signed_fraction(a)); }),
    lanes("v_cvt_norm_u16_f16", [](Half a) { return static_cast<u16>(unsigned_fraction(a)); }),
    lanes("v_cvt_pknorm_i16_f32", [](f32 a, f32 b) { return signed_fraction(a) | signed_fraction(b) << 16; }),
    lanes("v_cvt_pknorm_u16_f32", [](f32 a, f32 b) { return unsigned_fraction(a) | unsigned_fraction(b) << 16; }),
    lanes("v_cvt_pknorm_i16_f16", [](Half a, Half b) { return signed_fraction(a) | signed_fraction(b) << 16; }),
    lanes("v_cvt_pknorm_u16_f16", [](Half a, Half b) { return unsigned_fraction(a) | unsigned_fraction(b) << 16; }),
    lanes("v_cvt_pkrtz_f16_f32", [](f32 a, f32 b) { return half_bits_toward_zero(a) | half_bits_toward_zero(b) << 16; }),
    lanes("v_cvt_pk_f16_f32", [](f32 a, f32 b) { return half_bits(a) | half_bits(b) << 16; }),
    lanes("v_cvt_pk_bf16_f32", [](f32 a, f32 b) { return brain_bits(a) | brain_bits(b) << 16; }),
    lanes("v_cvt_pk_u16_u32", [](u32 a, u32 b) { return (a < 0xffff ? a : 0xffff) | (b < 0xffff ? b : 0xffff) << 16; }),
    lanes("v_cvt_pk_i16_i32", [](i32 a, i32 b) { return (saturated(a, -32768, 32767) & 0xffff) | saturated(b, -32768, 32767) << 16; }),
    lanes("v_cvt_pk_u8_f32", [](f32 a, u32 b, u32 c) { return with_byte(c, b, byte_of(a)); }),
    lanes("v_cvt_pkaccum_u8_f32", [](f32 a, u32 b, u32 was) { return with_byte(was, b, byte_of(a)); }),
    lanes("v_sat_pk_u8_i16", [](u32 a) { return saturated(low_half(a), 0, 255) | saturated(high_half(a), 0, 255) << 8; }),
    lanes("v_ashr_pk_i8_i32", [](i32 a, i32 b, u32 c) {
      return static_cast<u16>((saturated(a >> (c & 31), -128, 127) & 255) | (saturated(b >> (c & 31), -128, 127) & 255) << 8);
    }),
    lanes("v_ashr_pk_u8_i32", [](i32 a, i32 b, u32 c) {
      return static_cast<u16>(saturated(a >> (c & 31), 0, 255) | saturated(b >> (c & 31), 0, 255) << 8);
    }),
};

} // namespace

std::span<const LaneEntry> lanes_convert() { return table; }

} // namespace sim::SIM_BUILD
