// One instruction, from its bytes: the row of the table, the operands, the modifiers.
#pragma once

#include "sim/tables.h"

#include <optional>
#include <span>
#include <string>

namespace sim {

// What an operand is. Scalar codes are the encoding's: 0 to 101 s, 106 and 107 vcc, 124 m0, 126 and 127 exec, …
enum class Kind : std::uint8_t { vgpr, agpr, scalar, constant, literal, immediate, off };

struct Operand {
  Field field{};
  Kind kind = Kind::off;
  std::uint8_t width = 1;     // in 32-bit registers
  Constant constant = Constant::full;
  std::uint16_t reg = 0;      // number of the first register, or the scalar's or constant's code
  std::uint32_t value = 0;    // of literals and immediates, as encoded
  bool neg = false, abs = false, sext = false; // modifiers of this source
};

enum class Form : std::uint8_t { plain, sdwa, dpp };

struct Modifiers {
  bool clamp = false, glc = false, slc = false, scc = false, lds = false; // glc: sc0, slc: nt, scc: sc1
  bool offen = false, idxen = false, bound_ctrl = false, has_soffset = false, has_offset = false;
  std::uint8_t omod = 0, op_sel = 0, op_sel_hi = 0, neg_hi = 0, neg = 0, abs = 0; // bit i is source i's; op_sel 3 is the result's
  std::uint8_t dst_sel = 6, dst_unused = 0, src0_sel = 6, src1_sel = 6;           // SDWA: 0 to 3 a byte, 4, 5 a half, 6 all
  std::uint8_t row_mask = 0xf, bank_mask = 0xf;                                  // DPP
  std::uint16_t dpp_ctrl = 0;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0; // matrix instructions
  std::uint8_t data_format = 0;              // MTBUF
  std::int32_t offset = 0;                   // of memory; for `two`, offset0
  std::uint8_t offset1 = 0;
};

struct Instruction {
  const Row* row = nullptr;
  Arch arch{};
  Form form = Form::plain;
  std::uint8_t size = 0; // in bytes
  std::uint8_t operand_count = 0;
  std::uint64_t address = 0;
  std::array<Operand, 6> operands{}; // in the order of the text
  Modifiers mods;

  // The operand of a field; null where the instruction has none.
  const Operand* find(Field field) const;
};

// Reads the instruction at the start of `code`, which lies at `address`. What isn't one of `arch`, or has bits set that
// mean nothing in it, is an error: its text, with the bytes and the address. Reads no byte beyond `code`.
std::optional<Instruction> decode(Arch arch, std::span<const std::uint8_t> code, std::uint64_t address, std::string& error);

// The text that LLVM's disassembler prints, which assembles to the same bytes.
std::string to_text(const Instruction& instruction);

} // namespace sim
