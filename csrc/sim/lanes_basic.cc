// Vector arithmetic that most kernels begin with: moves, integers of 32 bits, float.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

constexpr LaneEntry table[] = {
    lanes("v_mov_b32", [](u32 a) { return a; }),
    lanes("v_mov_b64", [](u64 a) { return a; }),
    lanes("v_not_b32", [](u32 a) { return ~a; }),
    lanes("v_accvgpr_read_b32", [](u32 a) { return a; }),
    lanes("v_accvgpr_write_b32", [](u32 a) { return a; }),
    lanes("v_accvgpr_mov_b32", [](u32 a) { return a; }),
    lanes("v_cndmask_b32", [](u32 a, u32 b, Bit choose) { return choose.set != 0 ? b : a; }),

    lanes("v_add_u32", [](u32 a, u32 b) { return a + b; }),
    lanes("v_sub_u32", [](u32 a, u32 b) { return a - b; }),
    lanes("v_subrev_u32", [](u32 a, u32 b) { return b - a; }),
    lanes("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; }),
    lanes("v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }),
    lanes("v_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }),
    lanes("v_mul_u32_u24", [](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }),
    lanes("v_and_b32", [](u32 a, u32 b) { return a & b; }),
    lanes("v_or_b32", [](u32 a, u32 b) { return a | b; }),
    lanes("v_xor_b32", [](u32 a, u32 b) { return a ^ b; }),
    lanes("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; }),
    lanes("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
    lanes("v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); }),
    lanes("v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); }),
    lanes("v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); }),
    lanes("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
    lanes("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
    lanes("v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }),
    lanes("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }),
    lanes("v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); }),
    lanes("v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); }),
    lanes("v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); }),
    lanes("v_bfe_u32", [](u32 a, u32 b, u32 c) { return (c & 31) == 0 ? 0 : (a >> (b & 31)) & ((1u << (c & 31)) - 1); }),
    lanes("v_max_i32", [](i32 a, i32 b) { return a > b ? a : b; }),
    lanes("v_min_i32", [](i32 a, i32 b) { return a < b ? a : b; }),
    lanes("v_max_u32", [](u32 a, u32 b) { return a > b ? a : b; }),
    lanes("v_min_u32", [](u32 a, u32 b) { return a < b ? a : b; }),
    lanes("v_add_co_u32", [](u32 a, u32 b) { return Carry<u32>{a + b, a + b < a}; }),
    lanes("v_addc_co_u32", [](u32 a, u32 b, Bit c) {
      const u64 sum = u64{a} + b + c.set;
      return Carry<u32>{static_cast<u32>(sum), static_cast<u32>(sum >> 32)};
    }),

    lanes("v_add_f32", [](f32 a, f32 b) { return a + b; }),
    lanes("v_sub_f32", [](f32 a, f32 b) { return a - b; }),
    lanes("v_subrev_f32", [](f32 a, f32 b) { return b - a; }),
    lanes("v_mul_f32", [](f32 a, f32 b) { return a * b; }),
    lanes("v_fma_f32", [](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }),
    lanes("v_fmac_f32", [](f32 a, f32 b, f32 was) { return std::fma(a, b, was); }),
    lanes("v_add_f64", [](f64 a, f64 b) { return a + b; }),
    lanes("v_mul_f64", [](f64 a, f64 b) { return a * b; }),

};

} // namespace

std::span<const LaneEntry> lanes_basic() { return table; }

} // namespace sim::SIM_BUILD
