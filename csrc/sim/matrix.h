// Matrix instructions: what their loops work on. Registers become tiles of numbers, `item` times 64 lanes: an item is a
// lane's n-th number of its registers. Compiled twice, as the loops over lanes (lane_table.h).
#pragma once

#include <cstdint>
#include <vector>

namespace sim {

// The kinds of numbers in A and B. `flushed`: denormal inputs are zero. `fnuz`: no infinities, one NaN, no negative zero.
enum class Number : std::uint8_t {
  f64, f32, xf32, f16, bf16, f16_flushed, bf16_flushed, i8, fp8, bf8, fp8_fnuz, bf8_fnuz, fp6, bf6, fp4,
};

unsigned bits_of(Number number);

// What sums are made in, and what the result's registers hold.
enum class Sum : std::uint8_t { f32, f64, i32, f64_to_f32 };

// Where a shape's numbers lie, by index into tiles. A row of 64 lanes of the result is 64 / N pieces of N lanes, each a row
// of a block; the piece needs A at `a[piece] + step[s]`, and B from `b[piece] + step[s]` on, for every s.
struct Places {
  unsigned registers = 0; // of the result
  bool one_block = true;  // b is 0 throughout
  std::vector<std::uint16_t> a, b, step;
};

struct Multiply {
  const void* a = nullptr; // tiles
  const void* b = nullptr;
  const std::uint16_t* sparse = nullptr; // beside each number of A where its numbers of B begin; null: at b and step
  const std::uint32_t* c = nullptr;      // rows
  unsigned c_step = 0;                   // from one register to the next; 0: the same again
  std::uint32_t* out = nullptr;
  const Places* places = nullptr;
  bool flush = false;                    // denormal results are zero
};

// Reads `items` numbers of each lane from rows of registers.
using Unpack = void (*)(const std::uint32_t* rows, unsigned items, void* tile);
using MultiplyLoop = void (*)(const Multiply&);

struct MatrixLoops {
  Unpack (*unpack)(Number number);
  MultiplyLoop (*multiply)(Sum sum, unsigned width, bool sparse); // width: N; null where there is none
};

namespace plain {
MatrixLoops matrix_loops();
}
namespace avx2 {
MatrixLoops matrix_loops();
}

} // namespace sim
