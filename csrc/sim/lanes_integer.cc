// Vector arithmetic on integers of 32 and 64 bits, and on bits.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

inline i32 signed24(i32 a) { return static_cast<i32>(static_cast<u32>(a) << 8) >> 8; }
inline u32 count_leading(u32 a) { return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)); }
inline u32 reversed(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
}
inline u32 ones(u32 a) {
  a -= a >> 1 & 0x55555555;
  a = (a & 0x33333333) + (a >> 2 & 0x33333333);
  return ((a + (a >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}
template <typename T> inline T least(T a, T b) { return a < b ? a : b; }
template <typename T> inline T most(T a, T b) { return a > b ? a : b; }
template <typename T> inline T middle(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); }

constexpr LaneEntry table[] = {
    lanes("v_add_i32", [](u32 a, u32 b) { return a + b; }),
    lanes("v_sub_i32", [](u32 a, u32 b) { return a - b; }),
    lanes("v_sub_co_u32", [](u32 a, u32 b) { return Carry<u32>{a - b, a < b}; }),
    lanes("v_subrev_co_u32", [](u32 a, u32 b) { return Carry<u32>{b - a, b < a}; }),
    lanes("v_subb_co_u32", [](u32 a, u32 b, Bit c) {
      const u64 taken = u64{b} + c.set;
      return Carry<u32>{static_cast<u32>(a - taken), taken > a};
    }),
    lanes("v_subbrev_co_u32", [](u32 a, u32 b, Bit c) {
      const u64 taken = u64{a} + c.set;
      return Carry<u32>{static_cast<u32>(b - taken), taken > b};
    }),
    lanes("v_mul_hi_i32", [](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }),
    lanes("v_mul_i32_i24", [](i32 a, i32 b) { return static_cast<u32>(i64{signed24(a)} * signed24(b)); }),
    lanes("v_mul_hi_i32_i24", [](i32 a, i32 b) { return static_cast<i32>(i64{signed24(a)} * signed24(b) >> 32); }),
    lanes("v_mul_hi_u32_u24", [](u32 a, u32 b) { return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32); }),
    lanes("v_mad_i32_i24", [](i32 a, i32 b, u32 c) { return static_cast<u32>(i64{signed24(a)} * signed24(b)) + c; }),
    lanes("v_mad_u32_u24", [](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }),
    lanes("v_mad_u64_u32", [](u32 a, u32 b, u64 c) {
      const u64 product = u64{a} * b, sum = product + c;
      return Carry<u64>{sum, sum < c};
    }),
    lanes("v_mad_i64_i32", [](i32 a, i32 b, i64 c) {
      const u64 product = static_cast<u64>(i64{a} * b), sum = product + static_cast<u64>(c);
      const u32 sign = static_cast<u32>((product >> 63) + (static_cast<u64>(c) >> 63) + (sum < product));
      return Carry<u64>{sum, sign & 1};
    }),
    lanes("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
    lanes("v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); }),
    lanes("v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }),
    lanes("v_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
    lanes("v_bfe_i32", [](i32 a, u32 b, u32 c) {
      const u32 width = c & 31, up = 32 - width;
      const i32 part = static_cast<i32>((static_cast<u32>(a >> (b & 31)) & ((1u << width) - 1)) << (up & 31)) >> (up & 31);
      return width == 0 ? 0 : part;
    }),
    lanes("v_bfrev_b32", [](u32 a) { return reversed(a); }),
    lanes("v_ffbh_u32", [](u32 a) { return count_leading(a); }),
    lanes("v_ffbl_b32", [](u32 a) { return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a)); }),
    lanes("v_ffbh_i32", [](u32 a) {
      const u32 differing = a ^ static_cast<u32>(static_cast<i32>(a) >> 31);
      return count_leading(differing);
    }),
    lanes("v_bcnt_u32_b32", [](u32 a, u32 b) { return ones(a) + b; }),
    lanes("v_alignbit_b32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }),
    lanes("v_alignbyte_b32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3)); }),
    lanes("v_min3_i32", [](i32 a, i32 b, i32 c) { return least(least(a, b), c); }),
    lanes("v_min3_u32", [](u32 a, u32 b, u32 c) { return least(least(a, b), c); }),
    lanes("v_max3_i32", [](i32 a, i32 b, i32 c) { return most(most(a, b), c); }),
    lanes("v_max3_u32", [](u32 a, u32 b, u32 c) { return most(most(a, b), c); }),
    lanes("v_med3_i32", [](i32 a, i32 b, i32 c) { return middle(a, b, c); }),
    lanes("v_med3_u32", [](u32 a, u32 b, u32 c) { return middle(a, b, c); }),
    // The truth table is the fourth source: bit 4a + 2b + c.
    lanes("v_bitop3_b32", [](u32 a, u32 b, u32 c, u32 t) {
      u32 r = 0;
      for (unsigned i = 0; i < 8; ++i) {
        r |= (0u - (t >> i & 1)) & ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      }
      return r;
    }),
    lanes("v_prng_b32", [](u32 a) { return a << 1 ^ (a >> 31) * 197; }),
};

} // namespace

std::span<const LaneEntry> lanes_integer() { return table; }

} // namespace sim::SIM_BUILD
