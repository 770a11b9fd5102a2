// The modifiers of each format.
#include "sim/decoder.h"

namespace sim {

void Decoder::modifiers() {
  switch (out_.row->format) {
    case Format::VOP1: case Format::VOP2: case Format::VOPC:
      if (out_.form == Form::sdwa) sdwa_modifiers();
      if (out_.form == Form::dpp) dpp_modifiers();
      break;
    case Format::VOP3: vop3_modifiers(); break;
    case Format::VOP3P: if (!matrix()) vop3p_modifiers(); break;
    case Format::SMEM: smem_modifiers(); break;
    case Format::DS: ds_modifiers(); break;
    case Format::FLAT: case Format::GLOBAL: case Format::SCRATCH: flat_modifiers(); break;
    case Format::MUBUF: case Format::MTBUF: buffer_modifiers(); break;
    default: break;
  }
}

std::uint8_t Decoder::per_source(std::uint32_t first, unsigned at, unsigned count) {
  std::uint8_t set = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (allows(first << i) && bit(at + i)) set = static_cast<std::uint8_t>(set | 1u << i);
  }
  return set;
}

void Decoder::vop3_modifiers() {
  Modifiers& m = out_.mods;
  if (out_.row->name.starts_with("v_bitop3")) { // the truth table lies where other instructions have modifiers
    m.op_sel = per_source(sel0, 11, 4);
    m.abid = static_cast<std::uint8_t>(take(59, 2) << 6 | take(8, 3) << 3 | take(61, 3));
    return;
  }
  m.abs = per_source(abs0, 8, 3);
  m.op_sel = per_source(sel0, 11, 4);
  if (allows(clamp)) m.clamp = bit(15);
  if (allows(omod)) m.omod = static_cast<std::uint8_t>(take(59, 2));
  m.neg = per_source(neg0, 61, 3);
}

void Decoder::vop3p_modifiers() {
  Modifiers& m = out_.mods;
  m.neg_hi = per_source(neghi0, 8, 3);
  m.op_sel = per_source(sel0, 11, 3);
  if (allows(clamp)) m.clamp = bit(15);
  m.op_sel_hi = static_cast<std::uint8_t>(take(59, 2) | take(14, 1) << 2);
  m.neg = per_source(neg0, 61, 3);
}

void Decoder::matrix_modifiers() {
  Modifiers& m = out_.mods;
  if (out_.row->name.starts_with("v_accvgpr")) {
    take(14, 1);
    take(59, 2);
    return;
  }
  m.cbsz = static_cast<std::uint8_t>(take(8, 3));
  m.abid = static_cast<std::uint8_t>(take(11, 4));
  m.blgp = static_cast<std::uint8_t>(take(61, 3));
  if (out_.row->name.ends_with("_f8f6f4") && (m.cbsz > 4 || m.blgp > 4)) wrong_ = "a kind of number that doesn't exist";
}

void Decoder::sdwa_modifiers() {
  Modifiers& m = out_.mods;
  if (out_.row->format != Format::VOPC) {
    m.dst_sel = static_cast<std::uint8_t>(take(40, 3));
    m.dst_unused = static_cast<std::uint8_t>(take(43, 2));
    if (allows(clamp)) m.clamp = bit(45);
    if (allows(omod)) m.omod = static_cast<std::uint8_t>(take(46, 2));
  }
  m.src0_sel = static_cast<std::uint8_t>(take(48, 3));
  if (has(Field::src1)) m.src1_sel = static_cast<std::uint8_t>(take(56, 3));
  for (unsigned i = 0; i < 2; ++i) {
    sext_[i] = allows(sext0 << i) && bit(51 + 8 * i);
    if (allows(neg0 << i) && bit(52 + 8 * i)) m.neg = static_cast<std::uint8_t>(m.neg | 1u << i);
    if (allows(abs0 << i) && bit(53 + 8 * i)) m.abs = static_cast<std::uint8_t>(m.abs | 1u << i);
  }
}

void Decoder::dpp_modifiers() {
  Modifiers& m = out_.mods;
  m.dpp_ctrl = static_cast<std::uint16_t>(take(40, 9));
  m.bound_ctrl = bit(51);
  for (unsigned i = 0; i < 2; ++i) {
    if (allows(neg0 << i) && bit(52 + 2 * i)) m.neg = static_cast<std::uint8_t>(m.neg | 1u << i);
    if (allows(abs0 << i) && bit(53 + 2 * i)) m.abs = static_cast<std::uint8_t>(m.abs | 1u << i);
  }
  m.bank_mask = static_cast<std::uint8_t>(take(56, 4));
  m.row_mask = static_cast<std::uint8_t>(take(60, 4));
}

void Decoder::smem_modifiers() {
  Modifiers& m = out_.mods;
  if (!has(Field::soffset)) return;
  for (std::size_t i = 0; i < out_.row->operand_count; ++i) {
    if (out_.row->operands[i].field == Field::sdata && out_.row->operands[i].bank == 's') m.glc = bit(16);
  }
  m.has_soffset = bit(14);
  m.has_offset = bit(17);
  if (m.has_offset) m.offset = static_cast<std::int32_t>(take(32, 21) << 11) >> 11;
}

void Decoder::ds_modifiers() {
  Modifiers& m = out_.mods;
  if (allows(two)) {
    m.offset = static_cast<std::int32_t>(take(0, 8));
    m.offset1 = static_cast<std::uint8_t>(take(8, 8));
  } else {
    m.offset = static_cast<std::int32_t>(take(0, 16));
  }
  accumulation_ = bit(25);
}

void Decoder::flat_modifiers() {
  Modifiers& m = out_.mods;
  const Format format = out_.row->format;
  const bool old = out_.arch == Arch::gfx90a;
  if (format == Format::FLAT) m.offset = static_cast<std::int32_t>(take(0, 12)), take(48, 7);
  else m.offset = static_cast<std::int32_t>(take(0, 13) << 19) >> 19;
  if (old) m.lds = has(Field::vdst) && out_.row->name.find("_load_") != std::string_view::npos && bit(13);
  else if (format == Format::SCRATCH) m.offen = bit(13); // says that there is a vector address
  m.glc = bit(16);
  m.slc = bit(17);
  m.scc = bit(25);
  accumulation_ = bit(55);
}

void Decoder::buffer_modifiers() {
  Modifiers& m = out_.mods;
  if (out_.row->operand_count != 0) {
    m.offset = static_cast<std::int32_t>(take(0, 12));
    m.offen = bit(12);
    m.idxen = bit(13);
    if (out_.row->format == Format::MUBUF) m.lds = bit(16);
  }
  m.glc = bit(14);
  if (out_.row->format == Format::MUBUF) {
    m.scc = bit(15);
    m.slc = bit(17);
  } else {
    m.data_format = static_cast<std::uint8_t>(take(19, 7));
    m.scc = bit(53);
    m.slc = bit(54);
  }
  accumulation_ = bit(55);
}

} // namespace sim
