// Bytes and dot products: sums of differences, permutes of bytes, and what multiplies parts of a register.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

inline u32 byte(u64 a, unsigned i) { return static_cast<u32>(a >> 8 * i & 255); }
inline u32 difference(u32 a, u32 b) { return a > b ? a - b : b - a; }

inline u32 sad(u32 a, u32 b, u32 sum) {
  for (unsigned i = 0; i < 4; ++i) sum += difference(byte(a, i), byte(b, i));
  return sum;
}
// Bytes of the reference that are zero don't count.
inline u32 masked_sad(u32 a, u32 b, u32 sum) {
  for (unsigned i = 0; i < 4; ++i) sum += byte(b, i) == 0 ? 0 : difference(byte(a, i), byte(b, i));
  return sum;
}
inline u32 least(u64 a, u32 limit) { return a > limit ? limit : static_cast<u32>(a); }

template <u32 (*sum_of)(u32, u32, u32)>
inline u64 four_sads(u64 a, u32 b, u64 c, bool clamp) {
  u64 all = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 sum = sum_of(static_cast<u32>(a >> 8 * i), b, static_cast<u32>(c >> 16 * i & 0xffff));
    all |= u64{clamp ? least(sum, 0xffff) : sum & 0xffff} << 16 * i;
  }
  return all;
}

// A byte of the eight of a and b, or 8 to 11: the sign of one of the halves, 12: zero, from 13 on: all ones.
inline u32 chosen_byte(u32 a, u32 b, u32 choice) {
  const u32 plain = ((choice & 4) != 0 ? a : b) >> 8 * (choice & 3) & 255;
  const u32 sign = 255 & (0u - (((choice & 2) != 0 ? a : b) >> (15 + 16 * (choice & 1)) & 1));
  const u32 special = choice == 12 ? 0u : choice > 12 ? 255u : sign;
  return choice < 8 ? plain : special;
}

template <typename T>
inline i64 part(u32 a, unsigned i) { // the i-th number of T's width, sign or not
  return static_cast<T>(a >> 8 * sizeof(T) * i);
}
inline i64 signed_nibble(u32 a, unsigned i) { return static_cast<i32>(a << (28 - 4 * i)) >> 28; }
inline i64 unsigned_nibble(u32 a, unsigned i) { return a >> 4 * i & 15; }

template <typename T>
inline i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned i = 0; i < 4 / sizeof(T); ++i) sum += part<T>(a, i) * part<T>(b, i);
  return sum;
}
inline i64 signed_dot8(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum += signed_nibble(a, i) * signed_nibble(b, i);
  return sum;
}
inline i64 unsigned_dot8(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum += unsigned_nibble(a, i) * unsigned_nibble(b, i);
  return sum;
}
inline i32 within(i64 a) { return static_cast<i32>(a < -0x80000000ll ? -0x80000000ll : a > 0x7fffffffll ? 0x7fffffffll : a); }
inline u32 within_unsigned(i64 a) { return least(static_cast<u64>(a), ~0u); }

// Products of halves are exact in f32, sums are rounded one by one.
inline f32 dot_halves(u32 a, u32 b, f32 c) {
  const f32 first = float_of_half(a & 0xffff) * float_of_half(b & 0xffff) + c;
  return float_of_half(a >> 16) * float_of_half(b >> 16) + first;
}
inline f32 dot_brains(u32 a, u32 b, f32 c) {
  const f32 first = float_of(a << 16) * float_of(b << 16);
  return std::fma(float_of(a & 0xffff0000), float_of(b & 0xffff0000), first) + c;
}

constexpr LaneEntry table[] = {
    lanes("v_sad_u8", [](u32 a, u32 b, u32 c) { return sad(a, b, c); }),
    lanes("v_sad_hi_u8", [](u32 a, u32 b, u32 c) { return (sad(a, b, 0) << 16) + c; }),
    lanes("v_sad_u16", [](u32 a, u32 b, u32 c) { return difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16) + c; }),
    lanes("v_sad_u32", [](u32 a, u32 b, u32 c) { return difference(a, b) + c; }),
    lanes("v_msad_u8", [](u32 a, u32 b, u32 c) { return masked_sad(a, b, c); }),
    lanes("v_sad_u8:clamp", [](u32 a, u32 b, u32 c) { return least(u64{sad(a, b, 0)} + c, ~0u); }),
    lanes("v_sad_hi_u8:clamp", [](u32 a, u32 b, u32 c) { return least((u64{sad(a, b, 0)} << 16) + c, ~0u); }),
    lanes("v_sad_u16:clamp", [](u32 a, u32 b, u32 c) {
      return least(u64{difference(a & 0xffff, b & 0xffff)} + difference(a >> 16, b >> 16) + c, ~0u);
    }),
    lanes("v_sad_u32:clamp", [](u32 a, u32 b, u32 c) { return least(u64{difference(a, b)} + c, ~0u); }),
    lanes("v_msad_u8:clamp", [](u32 a, u32 b, u32 c) { return least(u64{masked_sad(a, b, 0)} + c, ~0u); }),
    lanes("v_qsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return four_sads<sad>(a, b, c, false); }),
    lanes("v_mqsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return four_sads<masked_sad>(a, b, c, false); }),
    lanes("v_qsad_pk_u16_u8:clamp", [](u64 a, u32 b, u64 c) { return four_sads<sad>(a, b, c, true); }),
    lanes("v_mqsad_pk_u16_u8:clamp", [](u64 a, u32 b, u64 c) { return four_sads<masked_sad>(a, b, c, true); }),
    lanes("v_lerp_u8", [](u32 a, u32 b, u32 c) {
      u32 all = 0;
      for (unsigned i = 0; i < 4; ++i) all |= (byte(a, i) + byte(b, i) + (byte(c, i) & 1)) >> 1 << 8 * i;
      return all;
    }),
    lanes("v_perm_b32", [](u32 a, u32 b, u32 c) {
      return chosen_byte(a, b, byte(c, 0)) | chosen_byte(a, b, byte(c, 1)) << 8 | chosen_byte(a, b, byte(c, 2)) << 16 |
             chosen_byte(a, b, byte(c, 3)) << 24;
    }),

    lanes("v_dot2_f32_f16", [](u32 a, u32 b, f32 c) { return dot_halves(a, b, c); }),
    lanes("v_dot2c_f32_f16", [](u32 a, u32 b, f32 was) { return dot_halves(a, b, was); }),
    lanes("v_dot2_f32_bf16", [](u32 a, u32 b, f32 c) { return dot_brains(a, b, c); }),
    lanes("v_dot2c_f32_bf16", [](u32 a, u32 b, f32 was) { return dot_brains(a, b, was); }),
    lanes("v_dot2_i32_i16", [](u32 a, u32 b, i32 c) { return static_cast<i32>(dot<i16>(a, b) + c); }),
    lanes("v_dot2_u32_u16", [](u32 a, u32 b, u32 c) { return static_cast<u32>(dot<u16>(a, b) + c); }),
    lanes("v_dot4_i32_i8", [](u32 a, u32 b, i32 c) { return static_cast<i32>(dot<std::int8_t>(a, b) + c); }),
    lanes("v_dot4_u32_u8", [](u32 a, u32 b, u32 c) { return static_cast<u32>(dot<std::uint8_t>(a, b) + c); }),
    lanes("v_dot8_i32_i4", [](u32 a, u32 b, i32 c) { return static_cast<i32>(signed_dot8(a, b) + c); }),
    lanes("v_dot8_u32_u4", [](u32 a, u32 b, u32 c) { return static_cast<u32>(unsigned_dot8(a, b) + c); }),
    lanes("v_dot2c_i32_i16", [](u32 a, u32 b, i32 was) { return static_cast<i32>(dot<i16>(a, b) + was); }),
    lanes("v_dot4c_i32_i8", [](u32 a, u32 b, i32 was) { return static_cast<i32>(dot<std::int8_t>(a, b) + was); }),
    lanes("v_dot8c_i32_i4", [](u32 a, u32 b, i32 was) { return static_cast<i32>(signed_dot8(a, b) + was); }),
    lanes("v_dot2_i32_i16:clamp", [](u32 a, u32 b, i32 c) { return within(dot<i16>(a, b) + c); }),
    lanes("v_dot2_u32_u16:clamp", [](u32 a, u32 b, u32 c) { return within_unsigned(dot<u16>(a, b) + c); }),
    lanes("v_dot4_i32_i8:clamp", [](u32 a, u32 b, i32 c) { return within(dot<std::int8_t>(a, b) + c); }),
    lanes("v_dot4_u32_u8:clamp", [](u32 a, u32 b, u32 c) { return within_unsigned(dot<std::uint8_t>(a, b) + c); }),
    lanes("v_dot8_i32_i4:clamp", [](u32 a, u32 b, i32 c) { return within(signed_dot8(a, b) + c); }),
    lanes("v_dot8_u32_u4:clamp", [](u32 a, u32 b, u32 c) { return within_unsigned(unsigned_dot8(a, b) + c); }),
    lanes("v_dot2c_i32_i16:clamp", [](u32 a, u32 b, i32 was) { return within(dot<i16>(a, b) + was); }),
    lanes("v_dot4c_i32_i8:clamp", [](u32 a, u32 b, i32 was) { return within(dot<std::int8_t>(a, b) + was); }),
    lanes("v_dot8c_i32_i4:clamp", [](u32 a, u32 b, i32 was) { return within(signed_dot8(a, b) + was); }),
};

} // namespace

std::span<const LaneEntry> lanes_bytes() { return table; }

} // namespace sim::SIM_BUILD
