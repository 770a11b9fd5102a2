// Kernels: what a vector instruction does to all 64 lanes, as loops that the compiler vectorises. A kernel sees rows of
// lanes and no registers, masks or modifiers: those are the drivers' (vector.cc).
//
// To add an instruction: a line in a lanes_*.cc with its name and a lambda on the values of one lane; types say how
// operands are read. A parameter more than the instruction has sources is the old value of the result.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sim {

enum class Type : std::uint8_t { u32, i32, f32, u64, i64, f64, u16, i16, f16, bf16, bit, wide, none };

// The rows that a kernel reads and writes: a value of 64 bits is two rows of 64, low half first.
struct Rows {
  std::uint32_t* out;          // the result; null where there is none
  const std::uint32_t* in[4];  // the sources; of a bit, 0 or 1
  std::uint32_t* bits;         // what a comparison gives, or a carry: 0 or 1
};

using LaneLoop = void (*)(const Rows&);

struct LaneEntry {
  std::string_view name; // the mnemonic without _e32 or _e64
  LaneLoop run;
  Type out;
  std::uint8_t count;    // of inputs
  Type in[4];
  bool gives_bits;       // writes `bits`
};

// The tables of the files lanes_*.cc, each in the two builds of the kernels.
#define SIM_LANE_TABLES(X) \
  X(basic) X(integer) X(saturate) X(short) X(float) X(convert) X(compare) X(bytes) X(small)

// What masks need: bits from and to lanes of 0 or 1, and registers that take the lanes of a mask.
struct MaskKernels {
  std::uint64_t (*gather)(const std::uint32_t* bits);
  void (*scatter)(std::uint32_t* bits, std::uint64_t mask);
  void (*blend)(std::uint32_t* to, const std::uint32_t* from, unsigned width, std::uint64_t mask);
};

#define SIM_DECLARE(name) std::span<const LaneEntry> lanes_##name();
namespace plain {
const MaskKernels& masks();
SIM_LANE_TABLES(SIM_DECLARE)
}
namespace avx2 {
const MaskKernels& masks();
SIM_LANE_TABLES(SIM_DECLARE)
}
#undef SIM_DECLARE

// The kernel of a name, of the build that suits this processor; null where there is none.
const LaneEntry* find_lanes(std::string_view name);

// Those of the build that suits this processor.
const MaskKernels& mask_kernels();

} // namespace sim
