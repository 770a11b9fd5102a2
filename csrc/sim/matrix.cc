// Matrix instructions: V_MFMA and V_SMFMAC. A name says the shape; where its numbers lie follows from that. EXEC doesn't
// matter to them.
#include "sim/matrix.h"

#include "sim/wave.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace sim {

struct Matrix {
  Number a{}, b{};
  Sum sum{};
  unsigned rows = 0, depth = 0, blocks = 0; // M and N, which are the same, K, and how many products at once
  bool sparse = false, scaled = false, flush = false, any_kinds = false; // the last: f8f6f4
  unsigned a_items = 0, b_items = 0;        // numbers that a lane holds
  Unpack unpack_a = nullptr, unpack_b = nullptr;
  MultiplyLoop multiply = nullptr;
  Places places;
  unsigned index_shift = 0;                 // of sparse: the first bit of a lane's indices
  unsigned b_lanes = 0;                     // which lanes B is read from, by blgp
  std::uint8_t negated = 0;                 // of f64: bit 0 A, 1 B, 2 C
  Source beside[2];                         // of sparse: the indices; of scaled: A's and B's scales
  unsigned scale_shift[2]{};
};

unsigned bits_of(Number number) {
  constexpr std::uint8_t bits[] = {64, 32, 32, 16, 16, 16, 16, 8, 8, 8, 8, 8, 6, 6, 4};
  return bits[static_cast<std::size_t>(number)];
}

namespace {

MatrixLoops loops() {
#ifdef SIM_HAS_AVX2
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (fast) return avx2::matrix_loops();
#endif
  return plain::matrix_loops();
}

bool cut_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

unsigned cut_number(std::string_view& text) {
  unsigned value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

Number cut_kind(std::string_view& text, Arch arch) {
  const bool fnuz = arch == Arch::gfx942, flushed = arch == Arch::gfx90a;
  if (cut_prefix(text, "f64")) return Number::f64;
  if (cut_prefix(text, "f32")) return Number::f32;
  if (cut_prefix(text, "xf32")) return Number::xf32;
  if (cut_prefix(text, "f16")) return flushed ? Number::f16_flushed : Number::f16;
  if (cut_prefix(text, "bf16")) return flushed ? Number::bf16_flushed : Number::bf16;
  if (cut_prefix(text, "i8")) return Number::i8;
  if (cut_prefix(text, "fp8")) return fnuz ? Number::fp8_fnuz : Number::fp8;
  if (cut_prefix(text, "bf8")) return fnuz ? Number::bf8_fnuz : Number::bf8;
  throw std::logic_error("a matrix instruction's name has the unknown kind " + std::string(text));
}

// The shape, as the name has it: v_mfma_f32_16x16x4_4b_f16, v_smfmac_i32_32x32x32_i8, v_mfma_f32_32x32x8bf16_1k, …
bool read_name(Matrix& m, const Instruction& in) {
  std::string_view text = in.row->name;
  m.sparse = cut_prefix(text, "v_smfmac_");
  if (!m.sparse && !cut_prefix(text, "v_mfma_")) return false;
  m.scaled = cut_prefix(text, "scale_");
  const bool f64 = cut_prefix(text, "f64_"), i32 = cut_prefix(text, "i32_");
  if (!f64 && !i32 && !cut_prefix(text, "f32_")) return false;
  m.rows = cut_number(text);
  cut_prefix(text, "x");
  if (cut_number(text) != m.rows) return false;
  cut_prefix(text, "x");
  m.depth = cut_number(text);
  cut_prefix(text, "_");
  if (!text.empty() && text[0] <= '9') {
    cut_number(text);
    cut_prefix(text, "b_");
  }
  m.sum = f64 ? Sum::f64 : i32 ? Sum::i32 : m.scaled ? Sum::f64_to_f32 : Sum::f32;
  m.blocks = in.find(Field::vdst)->width * 64u / (m.rows * m.rows * (f64 ? 2 : 1));
  if (text == "f8f6f4") {
    m.any_kinds = true;
    constexpr Number kinds[] = {Number::fp8, Number::bf8, Number::fp6, Number::bf6, Number::fp4};
    m.a = kinds[in.mods.cbsz];
    m.b = kinds[in.mods.blgp];
    return true;
  }
  m.a = m.b = cut_kind(text, in.arch);
  if (cut_prefix(text, "_") && text != "1k") m.b = cut_kind(text, in.arch);
  m.flush = m.a == Number::f16_flushed || m.a == Number::bf16_flushed;
  return true;
}

// Registers hold rows of blocks in groups of four (of doubles: one), a group beside the next in the lanes while there is room.
void place(Matrix& m, const Modifiers& mods) {
  const unsigned group = m.sum == Sum::f64 ? 1 : 4, pieces = 64 / m.rows;
  const unsigned shared = std::max(1u, 64 * group / (m.rows * m.rows)); // blocks that share a register
  Places& p = m.places;
  p.registers = m.rows * m.rows * m.blocks / 64;
  p.one_block = m.blocks == 1;
  p.a.resize(p.registers * pieces);
  p.b.resize(p.registers * pieces);
  for (unsigned block = 0; block < m.blocks; ++block) {
    const unsigned from = m.blocks == 1 ? 0 : (block >> mods.cbsz << mods.cbsz) + mods.abid; // one of A for 2^cbsz blocks
    for (unsigned i = 0; i < m.rows; ++i) {
      const unsigned reg = block * m.rows * m.rows / 64 / group * group + i / (group * pieces) * group + i % group;
      const unsigned piece = block % shared + i / group % pieces * shared;
      p.a[reg * pieces + piece] = static_cast<std::uint16_t>(from * m.rows + i);
      p.b[reg * pieces + piece] = static_cast<std::uint16_t>(block * m.rows);
    }
  }
  const unsigned groups = 64 / (m.rows * m.blocks); // of lanes, each with its part of k
  for (unsigned g = 0; g < groups; ++g) {
    for (unsigned item = 0; item < m.a_items; ++item) {
      p.step.push_back(static_cast<std::uint16_t>(item * 64 + g * m.rows * m.blocks));
    }
  }
}

// The lane of B that a lane's values come from.
unsigned lane_of_b(unsigned blgp, unsigned lane) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4: case 5: case 6: case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
  }
}

struct Room {
  alignas(64) double a[32 * 64], b[32 * 64];
  alignas(64) float small[32 * 64];
  alignas(64) std::uint32_t rows[32 * 64];
  std::uint16_t sparse[16 * 64];
};

const std::uint32_t* rows_of(const Wave& wave, const Source& s, std::uint32_t* room) {
  if (s.kind == Source::Kind::vector) return wave.vgpr[s.reg];
  if (s.kind == Source::Kind::constant) return s.lanes;
  std::fill_n(room, lane_count, static_cast<std::uint32_t>(scalar_value(wave, s)));
  return room;
}

void negate(double* tile, unsigned items) {
  for (unsigned i = 0; i < items * lane_count; ++i) tile[i] = -tile[i];
}

// Bytes of f8f6f4 lie in two runs of 16 for each lane, half of k apart: brings them to where narrower ones lie, 32 in a row.
void join_runs(const Matrix& m, float* to, const float* from) {
  for (unsigned k = 0; k < m.depth; ++k) {
    const unsigned item = k / (m.depth / 2) * 16 + k % 16, group = k % (m.depth / 2) / 16;
    const float* const row = from + item * lane_count + group * m.rows;
    std::memcpy(to + k % 32 * lane_count + k / 32 * m.rows, row, 16 * sizeof *row);
    if (m.rows == 32) std::memcpy(to + k % 32 * lane_count + k / 32 * 32 + 16, row + 16, 16 * sizeof *row);
  }
}

// Numbers times the powers of two that stand beside them: 2^(byte - 127), one for each lane; 255 is no number.
void scale(double* tile, const float* from, unsigned items, const std::uint32_t* scales, unsigned shift) {
  double factors[lane_count];
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    const std::uint32_t byte = scales[lane] >> shift & 255;
    factors[lane] = byte == 255 ? std::bit_cast<double>(0x7ff8000000000000) : std::bit_cast<double>((byte + 1023ull - 127) << 52);
  }
  for (unsigned item = 0; item < items; ++item) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      tile[item * lane_count + lane] = from[item * lane_count + lane] * factors[lane];
    }
  }
}

void unpack_any_kinds(const Matrix& m, const Wave& wave, const std::uint32_t* a, const std::uint32_t* b, Room& room) {
  std::uint32_t spread[lane_count];
  for (unsigned i = 0; i < 2; ++i) {
    float* const numbers = reinterpret_cast<float*>(i == 0 ? room.a : room.b);
    const bool bytes = bits_of(i == 0 ? m.a : m.b) == 8;
    float* const first = bytes != m.scaled ? room.small : numbers; // so that the last of the steps ends in its tile
    (i == 0 ? m.unpack_a : m.unpack_b)(i == 0 ? a : b, 32, first);
    if (bytes) join_runs(m, m.scaled ? room.small : numbers, first);
    if (m.scaled) scale(i == 0 ? room.a : room.b, room.small, 32, rows_of(wave, m.beside[i], spread), m.scale_shift[i]);
  }
}

// Of each number of A: two bits say which of four of B's it meets.
void find_partners(const Matrix& m, const std::uint32_t* indices, std::uint16_t* to) {
  for (unsigned item = 0; item < m.a_items; ++item) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      const unsigned which = indices[lane] >> (m.index_shift + 2 * item) % 32 & 3;
      to[item * lane_count + lane] = static_cast<std::uint16_t>((item / 2 * 4 + which) * lane_count + lane / m.rows * m.rows);
    }
  }
}

void unpack(const Matrix& m, Wave& wave, const Op& op, Room& room) {
  const std::uint32_t* a = wave.vgpr[op.source[0].reg];
  const std::uint32_t* b = wave.vgpr[op.source[1].reg];
  if (m.b_lanes != 0) {
    for (unsigned i = 0; i < op.source[1].width * lane_count; ++i) room.rows[i] = b[i / 64 * 64 + lane_of_b(m.b_lanes, i % 64)];
    b = room.rows;
  }
  if (m.any_kinds) return unpack_any_kinds(m, wave, a, b, room);
  m.unpack_a(a, m.a_items, room.a);
  m.unpack_b(b, m.b_items, room.b);
  if ((m.negated & 1) != 0) negate(room.a, m.a_items);
  if ((m.negated & 2) != 0) negate(room.b, m.b_items);
}

void run_matrix(Wave& wave, const Op& op) {
  const Matrix& m = *op.matrix;
  const Source& c = op.source[2];
  Room room;
  unpack(m, wave, op, room);
  Multiply arguments{room.a, room.b, nullptr, wave.vgpr[c.reg], lane_count * c.width, wave.vgpr[op.out], &m.places, m.flush};
  if (c.kind != Source::Kind::vector) {
    arguments.c = rows_of(wave, c, room.rows);
    arguments.c_step = 0;
  } else if (m.negated >= 4 || (c.reg != op.out && c.reg < op.out + op.out_width && op.out < c.reg + op.out_width)) {
    std::copy_n(wave.vgpr[c.reg], op.out_width * lane_count, room.rows); // the result may begin within C
    arguments.c = room.rows;
  }
  if (m.negated >= 4) {
    if (c.kind != Source::Kind::vector) std::copy_n(c.lanes, 2 * lane_count, room.rows);
    for (unsigned i = lane_count; i < op.out_width * lane_count; i += 2 * lane_count) {
      for (unsigned lane = 0; lane < lane_count; ++lane) room.rows[i + lane] ^= 0x80000000;
    }
    arguments.c = room.rows;
  }
  if (m.sparse) {
    std::uint32_t spread[lane_count];
    find_partners(m, rows_of(wave, m.beside[0], spread), room.sparse);
    arguments.sparse = room.sparse;
  }
  m.multiply(arguments);
}

// Whether cbsz, abid and blgp say something that the instruction doesn't have: AMD's documents leave it open.
bool open_question(const Matrix& m, const Instruction& in) {
  const Modifiers& mods = in.mods;
  if (m.any_kinds) return !m.scaled && mods.abid != 0;
  if (m.sparse) return mods.blgp != 0 || (mods.cbsz == 0 && mods.abid * 2 * m.a_items >= 32);
  if (m.sum == Sum::f64) return mods.cbsz != 0 || mods.abid != 0 || (in.arch == Arch::gfx90a && mods.blgp != 0);
  return 1u << mods.cbsz > m.blocks || mods.abid >= 1u << mods.cbsz;
}

// False where the modifiers mean nothing.
bool settle(Matrix& m, const Instruction& in) {
  const unsigned items = m.rows * m.depth * m.blocks / lane_count;
  m.a_items = m.sparse ? items / 2 : items;
  m.b_items = items;
  if (open_question(m, in)) return false;
  place(m, in.mods);
  m.unpack_a = loops().unpack(m.a);
  m.unpack_b = loops().unpack(m.b);
  m.multiply = loops().multiply(m.sum, m.rows, m.sparse);
  if (m.sparse) {
    // The indices of a lane fill 8, 16 or 32 bits; abid says which of them, unless cbsz says the first.
    if (in.mods.cbsz == 0) m.index_shift = in.mods.abid * 2 * m.a_items % 32;
  } else if (m.sum == Sum::f64) {
    if (in.arch != Arch::gfx90a) m.negated = in.mods.blgp;
  } else if (!m.any_kinds) {
    m.b_lanes = in.mods.blgp;
  }
  for (unsigned i = 0; i < 2; ++i) {
    m.scale_shift[i] = 8 * ((in.mods.op_sel >> i & 1u) + 2 * (in.mods.op_sel_hi >> i & 1u));
  }
  return true;
}

} // namespace

bool bind_matrix(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if (in.row->format != Format::VOP3P && in.row->format != Format::VOP3PX) return false;
  auto matrix = std::make_shared<Matrix>();
  if (!read_name(*matrix, in)) return false;
  if (!settle(*matrix, in)) {
    op.run = [](Wave&, const Op& at) { fail_at(at, "cbsz, abid or blgp say what isn't defined for it"); };
    return true;
  }
  const Operand& out = *in.find(Field::vdst);
  op.out = vector_register(out);
  op.out_width = out.width;
  const Type type = matrix->sum == Sum::f64 ? Type::f64 : matrix->sum == Sum::i32 ? Type::i32 : Type::f32;
  for (unsigned i = 0; i < 2; ++i) {
    const Operand& o = *in.find(i == 0 ? Field::src0 : Field::src1);
    op.source[i] = make_source(program, o, Type::u32);
    op.source[i].width = o.width;
    if (op.source[i].kind != Source::Kind::vector) return false;
  }
  op.source[2] = make_source(program, matrix->sparse ? out : *in.find(Field::src2), type);
  op.source_count = 3;
  if (op.source[2].kind == Source::Kind::scalar) return false; // only constants stand for registers here
  if (matrix->sparse) matrix->beside[0] = make_source(program, *in.find(Field::src2), Type::u32);
  if (matrix->scaled) {
    matrix->beside[0] = make_source(program, *in.find(Field::scale0), Type::u32);
    matrix->beside[1] = make_source(program, *in.find(Field::scale1), Type::u32);
  }
  op.matrix = matrix.get();
  program.kept.push_back(std::move(matrix));
  op.run = run_matrix;
  return true;
}

} // namespace sim
