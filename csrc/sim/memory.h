// What instructions that touch memory share: where each lane's data lies, and what moves between there and registers.
//
// An instruction is an `Access`, what moves, and an `Addresses`, where: LDS, global memory, scratch and buffers differ in
// the second only. All memory is this process's own; LDS is the workgroup's vector.
#pragma once

#include "sim/launch.h"
#include "sim/wave.h"

namespace sim {

// Where the lanes' data lie. A lane of `on` that isn't in `valid[i]` is out of range with its dword i: it reads zero there
// and writes nothing.
struct Lanes {
  alignas(64) std::uint64_t at[lane_count];
  std::uint64_t on = 0;
  std::uint64_t valid[4] = {};
  std::uint32_t step = 4; // from a dword of a lane's data to the next

  void all_valid(std::uint64_t mask) {
    on = mask;
    for (std::uint64_t& part : valid) part = mask;
  }
};

// Places in an `Op`'s sources: the address, its scalar part (or descriptor), the data, and of DS more data, of buffers a
// scalar offset.
constexpr std::size_t at_address = 0, at_base = 1, at_data = 2, at_data1 = 3, at_soffset = 3;

// Changes memory in one indivisible step; what was there before.
using Update = std::uint64_t (*)(std::uint64_t address, std::uint64_t data, std::uint64_t data1);

struct Access {
  std::string_view name; // `load_dword` for FLAT, GLOBAL, SCRATCH and MUBUF alike; of DS the whole name
  void (*transfer)(Wave&, const Op&, const Lanes&);
  std::uint8_t bytes;    // that a lane touches
  bool reads, writes;
  Update update = nullptr; // of atomics
  bool beside = false;     // its second data follow the first, in registers of one operand
};

// The access of a name; null where there is none.
const Access* find_access(std::string_view name);

// The tables that it looks in.
std::span<const Access> moves();
std::span<const Access> atomics();
std::span<const Access> lds_moves();

template <typename F>
void each_lane(std::uint64_t mask, F&& work) {
  if (mask == ~0ull) {
    for (unsigned lane = 0; lane < lane_count; ++lane) work(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) work(static_cast<unsigned>(__builtin_ctzll(mask)));
}

// The run of an access: addresses, then what moves.
void run_access(Wave& wave, const Op& op);

// Settles the registers of a memory instruction's operands and its run; false where they don't exist.
bool bind_access(Program& program, Op& op, const Access* access, Addresses addresses);

// Each knows the instructions of some formats.
bool bind_lds(Program& program, Op& op);
bool bind_flat(Program& program, Op& op);
bool bind_buffer(Program& program, Op& op);
bool bind_smem(Program& program, Op& op);
bool bind_typed(Program& program, Op& op);

// ---- buffers ----

// Places of `bytes` for each lane; `whole`: in range or out of it as one, else dword by dword.
void buffer_places(const Wave& wave, const Op& op, unsigned bytes, bool whole, Lanes& lanes);

// The descriptor's and the scalar offset's registers.
void bind_descriptor(Program& program, Op& op);

// ---- LDS and scratch ----

inline std::uint64_t lds_size(const Wave& wave) { return 4 * wave.group->lds.size(); }
inline std::uint64_t lds_base(const Wave& wave) { return reinterpret_cast<std::uint64_t>(wave.group->lds.data()); }

// A lane's place in its wave's scratch, `offset` bytes from its start; fails where that is outside.
std::uint64_t scratch_place(const Wave& wave, const Op& op, unsigned lane, std::uint64_t offset);

// Whether scratch is interleaved over lanes by dwords, else each lane's lies in one piece.
inline bool interleaved(const Op& op) { return op.in->arch == Arch::gfx90a; }

} // namespace sim
