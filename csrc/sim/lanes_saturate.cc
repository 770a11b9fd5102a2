// Integer arithmetic with the modifier `clamp`: exact, then brought into the range of the result.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

template <typename T>
inline T within(i64 a) {
  constexpr i64 low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(a < low ? low : a > high ? high : a);
}
inline i64 signed24(i32 a) { return static_cast<i32>(static_cast<u32>(a) << 8) >> 8; }
inline i64 unsigned24(u32 a) { return a & 0xffffff; }

constexpr LaneEntry table[] = {
    lanes("v_add_u32:clamp", [](u32 a, u32 b) { return within<u32>(i64{a} + b); }),
    lanes("v_sub_u32:clamp", [](u32 a, u32 b) { return within<u32>(i64{a} - b); }),
    lanes("v_subrev_u32:clamp", [](u32 a, u32 b) { return within<u32>(i64{b} - a); }),
    lanes("v_add_i32:clamp", [](i32 a, i32 b) { return within<i32>(i64{a} + b); }),
    lanes("v_sub_i32:clamp", [](i32 a, i32 b) { return within<i32>(i64{a} - b); }),
    lanes("v_add_co_u32:clamp", [](u32 a, u32 b) { return Carry<u32>{within<u32>(i64{a} + b), a + b < a}; }),
    lanes("v_sub_co_u32:clamp", [](u32 a, u32 b) { return Carry<u32>{within<u32>(i64{a} - b), a < b}; }),
    lanes("v_subrev_co_u32:clamp", [](u32 a, u32 b) { return Carry<u32>{within<u32>(i64{b} - a), b < a}; }),
    lanes("v_addc_co_u32:clamp", [](u32 a, u32 b, Bit c) {
      const i64 sum = i64{a} + b + c.set;
      return Carry<u32>{within<u32>(sum), sum >> 32 != 0};
    }),
    lanes("v_subb_co_u32:clamp", [](u32 a, u32 b, Bit c) {
      const i64 left = i64{a} - b - c.set;
      return Carry<u32>{within<u32>(left), left < 0};
    }),
    lanes("v_subbrev_co_u32:clamp", [](u32 a, u32 b, Bit c) {
      const i64 left = i64{b} - a - c.set;
      return Carry<u32>{within<u32>(left), left < 0};
    }),
    lanes("v_mul_i32_i24:clamp", [](i32 a, i32 b) { return within<i32>(signed24(a) * signed24(b)); }),
    lanes("v_mul_u32_u24:clamp", [](u32 a, u32 b) { return within<u32>(unsigned24(a) * unsigned24(b)); }),
    lanes("v_mad_i32_i24:clamp", [](i32 a, i32 b, i32 c) { return within<i32>(signed24(a) * signed24(b) + c); }),
    lanes("v_mad_u32_u24:clamp", [](u32 a, u32 b, u32 c) { return within<u32>(unsigned24(a) * unsigned24(b) + c); }),
    lanes("v_mad_u64_u32:clamp", [](u32 a, u32 b, u64 c) {
      const u64 product = u64{a} * b, sum = product + c;
      return Carry<u64>{sum < c ? ~u64{0} : sum, sum < c};
    }),
    lanes("v_mad_i64_i32:clamp", [](i32 a, i32 b, i64 c) {
      const u64 product = static_cast<u64>(i64{a} * b), sum = product + static_cast<u64>(c);
      const u32 sign = static_cast<u32>((product >> 63) + (static_cast<u64>(c) >> 63) + (sum < product)) & 1;
      const bool over = sign != sum >> 63;
      return Carry<u64>{over ? (sign != 0 ? u64{1} << 63 : ~u64{0} >> 1) : sum, sign};
    }),

    lanes("v_add_u16:clamp", [](u16 a, u16 b) { return within<u16>(a + b); }),
    lanes("v_sub_u16:clamp", [](u16 a, u16 b) { return within<u16>(a - b); }),
    lanes("v_subrev_u16:clamp", [](u16 a, u16 b) { return within<u16>(b - a); }),
    lanes("v_mul_lo_u16:clamp", [](u16 a, u16 b) { return within<u16>(i64{a} * b); }),
    lanes("v_add_i16:clamp", [](i16 a, i16 b) { return within<i16>(a + b); }),
    lanes("v_sub_i16:clamp", [](i16 a, i16 b) { return within<i16>(a - b); }),
    lanes("v_mad_u16:clamp", [](u16 a, u16 b, u16 c) { return within<u16>(i64{a} * b + c); }),
    lanes("v_mad_i16:clamp", [](i16 a, i16 b, i16 c) { return within<i16>(i64{a} * b + c); }),
    lanes("v_mad_legacy_u16:clamp", [](u16 a, u16 b, u16 c) { return within<u16>(i64{a} * b + c); }),
    lanes("v_mad_legacy_i16:clamp", [](i16 a, i16 b, i16 c) { return within<i16>(i64{a} * b + c); }),
    lanes("v_mad_u32_u16:clamp", [](u16 a, u16 b, u32 c) { return within<u32>(i64{a} * b + c); }),
    lanes("v_mad_i32_i16:clamp", [](i16 a, i16 b, i32 c) { return within<i32>(i64{a} * b + c); }),
};

} // namespace

std::span<const LaneEntry> lanes_saturate() { return table; }

} // namespace sim::SIM_BUILD
