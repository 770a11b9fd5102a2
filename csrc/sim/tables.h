// The instructions that an architecture has: one row for each way that a mnemonic is encoded, from tables/*.inc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sim {

enum class Arch : std::uint8_t { gfx90a, gfx942, gfx950 };
constexpr std::size_t arch_count = 3;

// The name of an architecture, such as `gfx942`.
std::string_view arch_name(Arch arch);

// The architecture of a name; nothing where there is none of that name.
std::optional<Arch> arch_of(std::string_view name);

enum class Format : std::uint8_t {
  SOP2, SOP1, SOPC, SOPK, SOPP, SMEM, VOP2, VOP1, VOPC, VOP3, VOP3P, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF,
  VOP3PX, // a matrix instruction with its scales in front, 16 bytes
};

// What an operand is in the encoding. Those from `vcc` on have no register of their own there.
enum class Field : std::uint8_t {
  sdst, vdst, ssrc0, ssrc1, src0, src1, src2, addr, vaddr, data0, data1, vdata, srsrc, soffset, sdata, sbase, saddr,
  scale0, scale1, vcc, imm, literal, hwreg, sendmsg, gpr_idx, waitcnt,
};

// What constants stand for in a source: their width is the operand's, except for halves and 16-bit integers.
enum class Constant : std::uint8_t { full, half, short_integer };

struct OperandSpec {
  Field field;
  char bank = 0;          // v, s, a: registers; i: an immediate; 0: none
  std::uint8_t width = 0; // in 32-bit registers
  Constant constant = Constant::full;
};

// Bits that a row may take beside its operands, as a set.
enum Modifier : std::uint32_t {
  abs0 = 1, abs1 = 2, abs2 = 4, neg0 = 8, neg1 = 16, neg2 = 32, sel0 = 64, sel1 = 128, sel2 = 256, sel3 = 512,
  clamp = 1 << 10, omod = 1 << 11, neghi0 = 1 << 12, neghi1 = 1 << 13, neghi2 = 1 << 14, selhi0 = 1 << 15,
  selhi1 = 1 << 16, selhi2 = 1 << 17, sext0 = 1 << 18, sext1 = 1 << 19, dstsel = 1 << 20, two = 1 << 21,
  returns = 1 << 22, has_sdwa = 1 << 23, has_dpp = 1 << 24,
};

struct Row {
  Format format;
  std::string_view mnemonic; // as LLVM prints it, with _e32 or _e64
  std::string_view name;     // without them: what a handler is found by
  std::array<OperandSpec, 6> operands{};
  std::uint8_t operand_count = 0;
  std::uint32_t modifiers = 0, sdwa = 0, dpp = 0; // sets of Modifier; has_sdwa and has_dpp say whether there is the form
  std::array<std::int16_t, arch_count> opcodes{};
};

// All rows, in the table's order.
const std::vector<Row>& rows();

// The row of an opcode; null where the architecture has none.
const Row* find_row(Arch arch, Format format, std::uint32_t opcode);

} // namespace sim
