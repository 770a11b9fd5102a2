// The operands of each format.
#include "sim/decoder.h"

namespace sim {

Place place_of(Format format, Field field) {
  switch (field) {
    case Field::sdst: return format == Format::VOP3 ? Place{8, 7} : Place{16, 7};
    case Field::ssrc0: return {0, 8};
    case Field::ssrc1: return {8, 8};
    case Field::vdst:
      if (format == Format::VOP1 || format == Format::VOP2) return {17, 8};
      return wide(format) ? Place{0, 8} : Place{56, 8};
    case Field::src0: return wide(format) ? Place{32, 9} : Place{0, 9};
    case Field::src1: return wide(format) ? Place{41, 9} : Place{9, 8};
    case Field::src2: return {50, 9};
    case Field::addr: case Field::vaddr: return {32, 8};
    case Field::data0: case Field::vdata: return {40, 8};
    case Field::data1: return {48, 8};
    case Field::srsrc: return {48, 5};
    case Field::soffset: return {56, 8};
    case Field::sdata: return {6, 7};
    case Field::sbase: return {0, 6};
    case Field::saddr: return {48, 7};
    default: return {0, 16}; // the immediate of SOPK and SOPP
  }
}

Operand& Decoder::add(const OperandSpec& spec, Kind kind, std::uint32_t reg, unsigned width) {
  Operand& o = out_.operands[out_.operand_count++];
  o.field = spec.field;
  o.kind = kind;
  o.reg = static_cast<std::uint16_t>(reg);
  o.width = static_cast<std::uint8_t>(width);
  o.constant = spec.constant;
  return o;
}

const char* Decoder::source(const OperandSpec& spec, std::uint32_t code) {
  Kind kind = Kind::scalar;
  if (code >= 256) {
    add(spec, spec.bank == 'a' ? Kind::agpr : Kind::vgpr, code - 256, spec.width);
    return nullptr;
  }
  if (code == code_literal) {
    if (size_ != 4) return "a literal isn't allowed here";
    has_literal_ = true;
    kind = Kind::literal;
  } else if ((code >= 128 && code <= 208) || (code >= 240 && code <= 248)) {
    kind = Kind::constant;
  } else if ((code > 208 && code < 235) || code == 249 || code == 250 || code == 254) {
    return "an operand that doesn't exist";
  }
  add(spec, kind, code, spec.width);
  return nullptr;
}

const char* Decoder::operand(const OperandSpec& spec) {
  const Format format = out_.row->format;
  const Place place = place_of(format, spec.field);
  const Modifiers& m = out_.mods;
  switch (spec.field) {
    case Field::vcc: return vcc_operand(spec);
    case Field::imm: case Field::hwreg: case Field::sendmsg: case Field::waitcnt: case Field::gpr_idx: return immediate(spec);
    case Field::literal:
      has_literal_ = true;
      add(spec, Kind::literal, code_literal, 1);
      return nullptr;
    case Field::ssrc0: case Field::ssrc1: return source(spec, take(place.at, place.bits));
    case Field::src0: case Field::src1: case Field::src2: return source_field(spec, place);
    case Field::scale0: return source(spec, static_cast<std::uint32_t>(scales_ >> 32 & 0x1ff));
    case Field::scale1: return source(spec, static_cast<std::uint32_t>(scales_ >> 41 & 0x1ff));
    case Field::sdata:
      if (spec.bank == 'i') add(spec, Kind::immediate, 0, 1).value = take(place.at, place.bits);
      else add(spec, Kind::scalar, take(place.at, place.bits), spec.width);
      return nullptr;
    case Field::sdst: add(spec, Kind::scalar, take(place.at, place.bits), spec.width); return nullptr;
    case Field::sbase: add(spec, Kind::scalar, 2 * take(place.at, place.bits), spec.width); return nullptr;
    case Field::srsrc: add(spec, Kind::scalar, 4 * take(place.at, place.bits), spec.width); return nullptr;
    case Field::soffset: return format == Format::SMEM ? smem_offset(spec) : source(spec, take(place.at, place.bits));
    case Field::saddr: {
      const std::uint32_t code = take(place.at, place.bits);
      const bool off = code == 0x7f;
      add(spec, off ? Kind::off : Kind::scalar, code, format == Format::SCRATCH ? 1 : 2);
      return nullptr;
    }
    case Field::vaddr: return vector_address(spec, place);
    case Field::vdst:
      if (m.lds) return nullptr;
      if (allows(returns) && !m.glc) return nullptr;
      if (spec.bank == 's') {
        add(spec, Kind::scalar, take(place.at, place.bits), spec.width);
        return nullptr;
      }
      return vector(spec, place);
    case Field::vdata: return m.lds ? nullptr : vector(spec, place);
    default: return vector(spec, place);
  }
}

const char* Decoder::vector(const OperandSpec& spec, Place place) {
  bool accumulation = accumulation_ && spec.field != Field::addr;
  if (wide(out_.row->format) && spec.field == Field::vdst && matrix()) {
    accumulation = spec.bank == 'a' || (!out_.row->name.starts_with("v_accvgpr") && bit(15));
  } else if (spec.bank == 'a') {
    accumulation = true;
  }
  add(spec, accumulation ? Kind::agpr : Kind::vgpr, take(place.at, place.bits), spec.width);
  return nullptr;
}

const char* Decoder::source_field(const OperandSpec& spec, Place place) {
  const Format format = out_.row->format;
  const unsigned index = spec.field == Field::src0 ? 0 : spec.field == Field::src1 ? 1 : 2;
  std::uint32_t code = take(place.at, place.bits) + (place.bits == 8 && spec.bank != 's' ? 256 : 0);
  OperandSpec as = spec;
  if (out_.form != Form::plain && index == 0) {
    code = take(32, 8) + 256;
    if (out_.form == Form::sdwa && bit(55)) code -= 256;
  } else if (out_.form == Form::sdwa && bit(63)) {
    code -= 256;
  }
  if (wide(format) && matrix() && !out_.row->name.starts_with("v_accvgpr")) {
    const bool sparse_index = index == 2 && out_.row->name.starts_with("v_smfmac");
    const bool accumulation = index < 2 ? bit(59 + index) : !sparse_index && (word_ >> 15 & 1) != 0;
    as.bank = accumulation ? 'a' : 'v';
    if (index < 2 && out_.row->name.ends_with("_f8f6f4")) as.width = small_width(index == 0 ? take(8, 3) : take(61, 3));
    if (index < 2 && code < 256) return "a scalar isn't allowed here";
  }
  if (const char* wrong = source(as, code)) return wrong;
  Operand& o = out_.operands[out_.operand_count - 1u];
  const bool mix = out_.row->name.starts_with("v_fma_mix") || out_.row->name.starts_with("v_mad_mix");
  o.neg = (format != Format::VOP3P || mix) && (out_.mods.neg >> index & 1) != 0;
  o.abs = ((mix ? out_.mods.neg_hi : out_.mods.abs) >> index & 1) != 0; // these two have no halves to negate
  o.sext = index < 2 && sext_[index];
  return nullptr;
}

const char* Decoder::vcc_operand(const OperandSpec& spec) {
  constexpr std::uint32_t code_vcc = 106;
  std::uint32_t code = code_vcc;
  if (out_.form == Form::sdwa && out_.row->format == Format::VOPC && bit(47)) code = take(40, 7);
  else if (out_.form == Form::sdwa && out_.row->format == Format::VOPC && take(40, 7) != 0) return "a result that is not meant";
  add(spec, Kind::scalar, code, 2);
  return nullptr;
}

const char* Decoder::immediate(const OperandSpec& spec) {
  Operand& o = add(spec, Kind::immediate, 0, 1);
  if (out_.row->format == Format::SOPC) { // s_set_gpr_idx_on
    o.value = take(8, 8);
  } else if (spec.field == Field::imm && out_.row->name == "s_setreg_imm32_b32") {
    o.kind = Kind::literal;
    has_literal_ = true;
  } else {
    o.value = take(0, 16);
  }
  return nullptr;
}

const char* Decoder::smem_offset(const OperandSpec& spec) {
  const Modifiers& m = out_.mods;
  if (m.has_soffset) add(spec, Kind::scalar, take(57, 7), 1);
  else if (m.has_offset) add(spec, Kind::immediate, 0, 1).value = static_cast<std::uint32_t>(m.offset);
  else add(spec, Kind::scalar, take(32, 7), 1);
  return nullptr;
}

const char* Decoder::vector_address(const OperandSpec& spec, Place place) {
  const Modifiers& m = out_.mods;
  const Format format = out_.row->format;
  unsigned width = spec.width;
  bool off = false;
  if (format == Format::MUBUF || format == Format::MTBUF) {
    off = !m.offen && !m.idxen;
    width = m.offen && m.idxen ? 2 : 1;
    if (off && m.lds) return nullptr;
  } else if (format == Format::GLOBAL) {
    width = (word_ >> 48 & 0x7f) == 0x7f ? 2 : 1;
  } else if (format == Format::SCRATCH) {
    off = out_.arch == Arch::gfx90a ? (word_ >> 48 & 0x7f) != 0x7f : !m.offen;
    width = 1;
  }
  if (off) add(spec, Kind::off, 0, 0);
  else add(spec, Kind::vgpr, take(place.at, place.bits), width);
  return nullptr;
}

} // namespace sim
