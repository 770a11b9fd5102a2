// What a wave is while it runs, and the small operations that its instructions become.
#pragma once

#include "sim/code_object.h"
#include "sim/decode.h"
#include "sim/lane_table.h"

#include <cstring>
#include <stdexcept>
#include <unordered_map>

namespace sim {

constexpr unsigned lane_count = 64;
constexpr unsigned code_flat_scratch = 102, code_vcc = 106, code_m0 = 124, code_exec = 126;

// The register MODE: rounding of f32 and of f16 and f64, whether denormals are kept, what a clamp makes of NaN, IEEE's
// minima, and whether vector registers are counted from m0.
constexpr std::uint32_t mode_usual = 0x3f0, mode_clamps_nan = 1 << 8, mode_ieee = 1 << 9, mode_indexed = 1 << 27;
// The bits that vector arithmetic has to look at beyond what is usual.
constexpr std::uint32_t mode_matters = 0xff | mode_clamps_nan | mode_indexed;

struct Workgroup;
struct Op;
struct Program;
struct Matrix;
struct Access;
struct Lanes;

enum class State : std::uint8_t { running, barrier, ended };

// Registers are arrays over lanes. Accumulation registers follow the vector registers; scalars have their encoding's codes.
struct alignas(64) Wave {
  std::uint32_t vgpr[512][lane_count];
  std::uint32_t sgpr[128];
  bool scc = false;
  State state = State::running;
  const Op* next = nullptr;      // what runs after the current operation
  Workgroup* group = nullptr;
  std::uint32_t index = 0;       // within the workgroup
  std::uint32_t mode = mode_usual; // the hardware register MODE
  std::uint64_t instructions = 0;
  std::uint8_t* scratch = nullptr; // memory of its own,
  std::uint32_t scratch_size = 0;  // so many bytes for each lane

  std::uint64_t pair(unsigned code) const { return sgpr[code] | std::uint64_t{sgpr[code + 1]} << 32; }
  void set_pair(unsigned code, std::uint64_t value) {
    sgpr[code] = static_cast<std::uint32_t>(value);
    sgpr[code + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  std::uint64_t exec() const { return pair(code_exec); }
  std::uint64_t vcc() const { return pair(code_vcc); }
};

// Where an operand comes from, settled when the module is loaded.
struct Source {
  enum class Kind : std::uint8_t { none, vector, scalar, constant } kind = Kind::none;
  std::uint8_t width = 1;               // in registers
  std::uint16_t reg = 0;                // vector register (accumulation from 256 on), or a scalar's code
  const std::uint32_t* lanes = nullptr; // a constant, spread over the lanes, `width` rows
  std::uint64_t value = 0;              // a constant, for scalar operations
  std::uint32_t sign_bit = 0;           // of the last register; 0: the source has no modifiers
  Type type = Type::u32;
  bool neg = false, abs = false;
};

constexpr std::uint16_t no_mask = 0xffff;

using Run = void (*)(Wave&, const Op&);
using Addresses = void (*)(const Wave&, const Op&, Lanes&);

struct Op {
  Run run = nullptr;
  LaneLoop lanes = nullptr;
  std::uint8_t source_count = 0, out_width = 0;
  std::uint16_t out = 0;           // vector register, or for scalar results a code
  std::uint16_t mask_out = no_mask; // code of the scalar pair that takes a comparison's or a carry's bits
  std::uint16_t mask_in = no_mask;  // code of the pair that a select or a carry reads
  bool clamp = false, exec_too = false; // `exec_too`: a comparison that writes EXEC as well
  std::uint8_t omod = 0;
  std::uint8_t upper = 0;          // bit i: source i is the upper half of its register; 3: the result goes there
  bool keeps_half = false;         // a result of 16 bits leaves the other half as it was
  Type out_type = Type::u32;
  Source source[4];
  const Op* target = nullptr;      // of branches
  const Program* program = nullptr; // of jumps
  const Access* access = nullptr;  // of memory instructions (memory.h): what moves,
  Addresses addresses = nullptr;   // and where,
  std::int32_t offset = 0;         // so many bytes further on
  const Op* second = nullptr;      // of those with two addresses, the same for the other
  const Matrix* matrix = nullptr;  // of matrix instructions (matrix.cc)
  const char* error = nullptr;     // of bytes that are no instruction
  const Instruction* in = nullptr; // all that the encoding says
};

// A kernel's code, decoded once: `ops` in the order of the code.
struct Program {
  std::vector<Instruction> instructions;
  std::vector<Op> ops;
  std::uint64_t shift = 0; // from the file's addresses to those of this process
  std::vector<std::unique_ptr<std::uint32_t[]>> constants; // rows of lanes
  std::vector<std::unique_ptr<Op>> seconds;                 // `Op::second`
  std::vector<std::shared_ptr<const void>> kept;            // what else operations point at
  std::unordered_map<std::size_t, std::string> errors;      // by index: what is wrong with bytes that are no instruction
  const Op* entry(std::uint64_t address) const;            // null where no instruction starts there
};

// Decodes and binds the code of a code object. What isn't known becomes an operation that fails when it is reached.
std::unique_ptr<Program> make_program(const CodeObject& object);

// An error at an instruction: what, its text, its address.
[[noreturn]] void fail_at(const Op& op, const std::string& what);

// Each of these knows some instructions by name and fills in `op`; false where it doesn't know this one.
bool bind_scalar(Program& program, Op& op);
bool bind_vector(Program& program, Op& op);
bool bind_memory(Program& program, Op& op);
bool bind_matrix(Program& program, Op& op);

// Settles where an operand comes from; `type` decides what constants and literals are.
Source make_source(Program& program, const Operand& operand, Type type);

// Where the windows of LDS and scratch lie in the addresses of FLAT instructions: the upper halves of these.
constexpr std::uint64_t shared_base = 1ull << 48, private_base = 2ull << 48;

// The vector register of an operand, accumulation registers counted from 256.
inline std::uint16_t vector_register(const Operand& operand) {
  return static_cast<std::uint16_t>(operand.reg + (operand.kind == Kind::agpr ? 256 : 0));
}

// A scalar operand's value.
inline std::uint64_t scalar_value(const Wave& wave, const Source& source) {
  if (source.kind == Source::Kind::constant) return source.value;
  if (source.reg < 128) return source.width == 2 ? wave.pair(source.reg) : wave.sgpr[source.reg];
  switch (source.reg) {
    case 235: return source.width == 2 ? shared_base : shared_base >> 32;
    case 236: return source.width == 2 ? shared_base | 0xffffffff : shared_base >> 32;
    case 237: return source.width == 2 ? private_base : private_base >> 32;
    case 238: return source.width == 2 ? private_base | 0xffffffff : private_base >> 32;
    case 251: return wave.vcc() == 0;
    case 252: return wave.exec() == 0;
    case 253: return wave.scc;
    default: return 0;
  }
}

} // namespace sim
