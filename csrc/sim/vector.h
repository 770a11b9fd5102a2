// What the files of vector arithmetic share: rows of lanes, masks, and the drivers around kernels.
#pragma once

#include "sim/wave.h"

namespace sim {

struct alignas(64) Row64 {
  std::uint32_t lane[lane_count];
};

constexpr unsigned most_width = 2; // registers of an operand of ordinary kernels

// Bits of a mask as lanes of 0 or 1, and back; and registers written in the lanes of a mask only.
inline std::uint64_t gather(const std::uint32_t* bits) { return mask_kernels().gather(bits); }
inline void scatter(std::uint32_t* bits, std::uint64_t mask) { mask_kernels().scatter(bits, mask); }
inline void blend(std::uint32_t* to, const std::uint32_t* from, unsigned width, std::uint64_t mask) {
  if (mask == ~0ull) std::memcpy(to, from, width * sizeof(Row64));
  else mask_kernels().blend(to, from, width, mask);
}

// The rows of a source before its modifiers; `room` takes them where they have to be made.
const std::uint32_t* plain_rows(const Wave& wave, const Source& s, Row64* room);

// With neg and abs.
const std::uint32_t* rows_of(const Wave& wave, const Source& s, Row64* room);

// Whether vector arithmetic has to look at MODE.
inline bool unusual(const Wave& wave) { return ((wave.mode ^ mode_usual) & mode_matters) != 0; }

// The rounding and the denormals that MODE asks for, while it lives. Costs nothing in the usual mode.
class FloatMode {
 public:
  FloatMode(const Wave& wave, const Op& op);
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

  // Denormals become zero where the mode says so: those of a source, those of a result.
  void flush_source(std::uint32_t* rows, Type type) const;
  void flush_result(std::uint32_t* rows, Type type) const;

 private:
  std::uint32_t mode_;
  int rounding_ = 0;
  bool changed_ = false;
};

// clamp and omod, where the mode lets them have an effect.
void scale_and_clamp(const Wave& wave, std::uint32_t* rows, const Op& op);

// The operation with its vector registers counted from m0, as s_set_gpr_idx_on asks.
Op indexed(const Wave& wave, const Op& op);

// All that the quick drivers leave out: SDWA, DPP, halves, clamp, omod, unusual modes.
void run_general(Wave& wave, const Op& op);

// A constant as a source, such as modifiers that a kernel wants to know.
Source constant_source(Program& program, std::uint32_t value);

// Registers of a type.
unsigned registers(Type type);

// Parts of bind_vector: packed forms, lanes that move, operands of many registers.
bool bind_packed(Program& program, Op& op);
bool bind_moves(Program& program, Op& op);
bool bind_whole(Program& program, Op& op, const LaneEntry& entry);

} // namespace sim
