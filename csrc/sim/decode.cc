#include "sim/decoder.h"

#include <cstdio>

namespace sim {
namespace {

struct Encoding {
  Format format;
  std::uint32_t mask, match; // of the first 32 bits
  std::uint8_t opcode_at, opcode_bits, words;
};

// The more special ones first: the first that matches is meant.
constexpr Encoding encodings[] = {
    {Format::SOP1, 0xff800000, 0xbe800000, 8, 8, 1},    {Format::SOPC, 0xff800000, 0xbf000000, 16, 7, 1},
    {Format::SOPP, 0xff800000, 0xbf800000, 16, 7, 1},   {Format::SOPK, 0xf0000000, 0xb0000000, 23, 5, 1},
    {Format::SOP2, 0xc0000000, 0x80000000, 23, 7, 1},   {Format::VOP1, 0xfe000000, 0x7e000000, 9, 8, 1},
    {Format::VOPC, 0xfe000000, 0x7c000000, 17, 8, 1},   {Format::VOP2, 0x80000000, 0x00000000, 25, 6, 1},
    {Format::SMEM, 0xfc000000, 0xc0000000, 18, 8, 2},   {Format::VOP3P, 0xff800000, 0xd3800000, 16, 7, 2},
    {Format::VOP3, 0xfc000000, 0xd0000000, 16, 10, 2},  {Format::DS, 0xfc000000, 0xd8000000, 17, 8, 2},
    {Format::FLAT, 0xfc00c000, 0xdc000000, 18, 7, 2},   {Format::SCRATCH, 0xfc00c000, 0xdc004000, 18, 7, 2},
    {Format::GLOBAL, 0xfc00c000, 0xdc008000, 18, 7, 2}, {Format::MUBUF, 0xfc000000, 0xe0000000, 18, 7, 2},
    {Format::MTBUF, 0xfc000000, 0xe8000000, 15, 4, 2},
};

} // namespace

const char* Decoder::run() {
  if (code_.size() < 4) return "the code ends within an instruction";
  const std::uint32_t first = read(0);
  const Encoding* encoding = nullptr;
  for (const Encoding& candidate : encodings) {
    if ((first & candidate.mask) == candidate.match) {
      encoding = &candidate;
      break;
    }
  }
  if (encoding == nullptr) return "no known format";
  used_ = encoding->mask;
  const std::uint32_t opcode = take(encoding->opcode_at, encoding->opcode_bits, first);
  out_.row = find_row(out_.arch, encoding->format, opcode);
  if (out_.row == nullptr) return "no known opcode";
  size_ = 4u * encoding->words;
  if (out_.row->name == "v_mfma_ld_scale_b32" && scaled()) return finish(2);
  if (code_.size() < size_) return "the code ends within an instruction";
  word_ = encoding->words == 2 ? first | Word{read(4)} << 32 : first;
  return finish(encoding->words);
}

bool Decoder::scaled() {
  if (code_.size() < 16 || (read(8) & 0xff800000) != 0xd3800000) return false;
  const Row* row = find_row(out_.arch, Format::VOP3PX, read(8) >> 16 & 0x7f);
  if (row == nullptr) return false;
  scales_ = read(0) | Word{read(4)} << 32;
  word_ = read(8) | Word{read(12)} << 32;
  out_.row = row;
  used_ = 0xffff0000;
  size_ = 16;
  return true;
}

const char* Decoder::finish(unsigned words) {
  const Row& row = *out_.row;
  if (row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC) {
    const bool reads = has(Field::src0);
    const std::uint32_t code = static_cast<std::uint32_t>(word_ & 0x1ff);
    if (reads && (code == code_sdwa || code == code_dpp)) {
      if ((code == code_sdwa ? row.sdwa : row.dpp) == 0) return "this instruction has no such form";
      if (code_.size() < 8) return "the code ends within an instruction";
      out_.form = code == code_sdwa ? Form::sdwa : Form::dpp;
      word_ |= Word{read(4)} << 32;
      used_ |= 0x1ff;
      size_ = 8;
      words = 2;
    }
  }
  modifiers();
  for (std::size_t i = 0; i < row.operand_count; ++i) {
    if (const char* wrong = operand(row.operands[i])) return wrong;
  }
  for (std::size_t i = 0; i < out_.operand_count; ++i) {
    const Operand& o = out_.operands[i];
    const unsigned step = o.width >= 4 ? 4 : o.width >= 2 ? 2 : 1;
    if (o.kind == Kind::scalar && o.reg < 128 && o.reg % step != 0) return "scalar registers that aren't aligned";
  }
  if (row.format == Format::VOP3PX) {
    if ((scales_ & 0xe7fc0000000087ff) != 0) return "bits are set that mean nothing in it";
    out_.mods.op_sel = static_cast<std::uint8_t>(scales_ >> 11 & 7);
    out_.mods.op_sel_hi = static_cast<std::uint8_t>((scales_ >> 59 & 3) | (scales_ >> 14 & 1) << 2);
  }
  if (row.format == Format::VOP3PX || (row.format == Format::VOP3P && matrix())) matrix_modifiers();
  if (wrong_ != nullptr) return wrong_;
  const Word all = words == 2 ? ~Word{0} : 0xffffffff;
  if ((word_ & all & ~used_) != 0) return "bits are set that mean nothing in it";
  if (has_literal_) {
    if (code_.size() < size_ + 4) return "the code ends within an instruction";
    for (Operand& o : out_.operands) {
      if (o.kind == Kind::literal) o.value = read(size_);
    }
    size_ += 4;
  }
  out_.size = static_cast<std::uint8_t>(size_);
  return nullptr;
}

const Operand* Instruction::find(Field field) const {
  for (std::size_t i = 0; i < operand_count; ++i) {
    if (operands[i].field == field) return &operands[i];
  }
  return nullptr;
}

std::optional<Instruction> decode(Arch arch, std::span<const std::uint8_t> code, std::uint64_t address, std::string& error) {
  Decoder decoder(arch, code, address);
  const char* wrong = decoder.run();
  if (wrong == nullptr) return decoder.result();
  char number[32];
  std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(address));
  error = "not an instruction of " + std::string(arch_name(arch)) + " at " + number + ": bytes";
  for (std::size_t i = 0; i < code.size() && i < decoder.size(); ++i) {
    std::snprintf(number, sizeof number, " %02x", code[i]);
    error += number;
  }
  if (decoder.result().row != nullptr) error += ", " + std::string(decoder.result().row->mnemonic);
  error += std::string(": ") + wrong;
  return std::nullopt;
}

} // namespace sim
