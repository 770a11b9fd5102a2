// Reading one instruction: what the parts of the decoder share. Included by decode*.cc only.
#pragma once

#include "sim/decode.h"

#include <cstring>

namespace sim {

constexpr std::uint32_t code_sdwa = 249, code_dpp = 250, code_literal = 255;

// Where a field lies in the encoding.
struct Place {
  std::uint8_t at, bits;
};

// Where a format keeps an operand's field.
Place place_of(Format format, Field field);

inline bool wide(Format format) { return format == Format::VOP3 || format == Format::VOP3P || format == Format::VOP3PX; }

class Decoder {
 public:
  Decoder(Arch arch, std::span<const std::uint8_t> code, std::uint64_t address) : code_(code) {
    out_.arch = arch;
    out_.address = address;
  }

  // Empty where all is well, else what is wrong.
  const char* run();

  Instruction& result() { return out_; }
  std::uint32_t size() const { return size_; }

 private:
  using Word = std::uint64_t;

  std::uint32_t read(std::size_t at) const {
    std::uint32_t value;
    std::memcpy(&value, code_.data() + at, 4);
    return value;
  }

  // Bits of the instruction; they count as understood.
  std::uint32_t take(unsigned at, unsigned bits, Word word) {
    const Word mask = ((Word{1} << bits) - 1) << at;
    used_ |= mask;
    return static_cast<std::uint32_t>((word & mask) >> at);
  }
  std::uint32_t take(unsigned at, unsigned bits) { return take(at, bits, word_); }
  bool bit(unsigned at) { return take(at, 1) != 0; }

  // Whether a matrix instruction follows the scales; then the two are one.
  bool scaled();
  const char* finish(unsigned words);

  bool has(Field field) const {
    for (std::size_t i = 0; i < out_.row->operand_count; ++i) {
      if (out_.row->operands[i].field == field) return true;
    }
    return false;
  }

  bool matrix() const {
    if (out_.row->name.starts_with("v_mfma_ld")) return false;
    return out_.row->name.starts_with("v_mfma") || out_.row->name.starts_with("v_smfmac") ||
           out_.row->name.starts_with("v_accvgpr");
  }

  bool allows(std::uint32_t modifier) const {
    const Row& row = *out_.row;
    return ((out_.form == Form::sdwa ? row.sdwa : out_.form == Form::dpp ? row.dpp : row.modifiers) & modifier) != 0;
  }

  // decode_modifiers.cc
  void modifiers();
  // A bit for each of `count` sources whose modifier is allowed; the bits start at `at`, the modifiers at `first`.
  std::uint8_t per_source(std::uint32_t first, unsigned at, unsigned count);
  void vop3_modifiers();
  void vop3p_modifiers();
  void matrix_modifiers();
  void sdwa_modifiers();
  void dpp_modifiers();
  void smem_modifiers();
  void ds_modifiers();
  void flat_modifiers();
  void buffer_modifiers();

  // decode_operands.cc
  Operand& add(const OperandSpec& spec, Kind kind, std::uint32_t reg, unsigned width);
  // A source, by the encoding's code: a scalar, a constant, a literal, or from 256 on a vector register.
  const char* source(const OperandSpec& spec, std::uint32_t code);
  const char* operand(const OperandSpec& spec);
  const char* vector(const OperandSpec& spec, Place place);
  const char* source_field(const OperandSpec& spec, Place place);

  // Registers of 32 numbers of 8, 6 or 4 bits.
  static std::uint8_t small_width(std::uint32_t kind) { return kind < 2 ? 8 : kind < 4 ? 6 : 4; }
  const char* vcc_operand(const OperandSpec& spec);
  const char* immediate(const OperandSpec& spec);
  const char* smem_offset(const OperandSpec& spec);
  const char* vector_address(const OperandSpec& spec, Place place);

  std::span<const std::uint8_t> code_;
  Instruction out_;
  Word word_ = 0, used_ = 0, scales_ = 0;
  std::uint32_t size_ = 4;
  const char* wrong_ = nullptr;
  bool has_literal_ = false, accumulation_ = false, sext_[2] = {false, false};
};

} // namespace sim
