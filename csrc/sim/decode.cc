#include "sim/decode.h"

#include <cstdio>
#include <cstring>

namespace sim {
namespace {

using Word = std::uint64_t;

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

constexpr std::uint32_t code_sdwa = 249, code_dpp = 250, code_literal = 255;

struct Place {
  std::uint8_t at, bits;
};

bool wide(Format format) { return format == Format::VOP3 || format == Format::VOP3P || format == Format::VOP3PX; }

// Where a format keeps an operand's field.
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

class Decoder {
 public:
  Decoder(Arch arch, std::span<const std::uint8_t> code, std::uint64_t address) : code_(code) {
    out_.arch = arch;
    out_.address = address;
  }

  // Empty where all is well, else what is wrong.
  const char* run() {
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

  Instruction& result() { return out_; }
  std::uint32_t size() const { return size_; }

 private:
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
  bool scaled() {
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

  const char* finish(unsigned words) {
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

  void modifiers() {
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

  bool allows(std::uint32_t modifier) const {
    const Row& row = *out_.row;
    return ((out_.form == Form::sdwa ? row.sdwa : out_.form == Form::dpp ? row.dpp : row.modifiers) & modifier) != 0;
  }

  // A bit for each of `count` sources whose modifier is allowed; the bits start at `at`, the modifiers at `first`.
  std::uint8_t per_source(std::uint32_t first, unsigned at, unsigned count) {
    std::uint8_t set = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (allows(first << i) && bit(at + i)) set = static_cast<std::uint8_t>(set | 1u << i);
    }
    return set;
  }

  void vop3_modifiers() {
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

  void vop3p_modifiers() {
    Modifiers& m = out_.mods;
    m.neg_hi = per_source(neghi0, 8, 3);
    m.op_sel = per_source(sel0, 11, 3);
    if (allows(clamp)) m.clamp = bit(15);
    m.op_sel_hi = static_cast<std::uint8_t>(take(59, 2) | take(14, 1) << 2);
    m.neg = per_source(neg0, 61, 3);
  }

  void matrix_modifiers() {
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

  void sdwa_modifiers() {
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

  void dpp_modifiers() {
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

  void smem_modifiers() {
    Modifiers& m = out_.mods;
    if (!has(Field::soffset)) return;
    for (std::size_t i = 0; i < out_.row->operand_count; ++i) {
      if (out_.row->operands[i].field == Field::sdata && out_.row->operands[i].bank == 's') m.glc = bit(16);
    }
    m.has_soffset = bit(14);
    m.has_offset = bit(17);
    if (m.has_offset) m.offset = static_cast<std::int32_t>(take(32, 21) << 11) >> 11;
  }

  void ds_modifiers() {
    Modifiers& m = out_.mods;
    if (allows(two)) {
      m.offset = static_cast<std::int32_t>(take(0, 8));
      m.offset1 = static_cast<std::uint8_t>(take(8, 8));
    } else {
      m.offset = static_cast<std::int32_t>(take(0, 16));
    }
    accumulation_ = bit(25);
  }

  void flat_modifiers() {
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

  void buffer_modifiers() {
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

  Operand& add(const OperandSpec& spec, Kind kind, std::uint32_t reg, unsigned width) {
    Operand& o = out_.operands[out_.operand_count++];
    o.field = spec.field;
    o.kind = kind;
    o.reg = static_cast<std::uint16_t>(reg);
    o.width = static_cast<std::uint8_t>(width);
    o.constant = spec.constant;
    return o;
  }

  // A source, by the encoding's code: a scalar, a constant, a literal, or from 256 on a vector register.
  const char* source(const OperandSpec& spec, std::uint32_t code) {
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

  const char* operand(const OperandSpec& spec) {
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
        const bool off = code == 0x7f || (code == 0x7d && out_.arch != Arch::gfx90a && false);
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

  const char* vector(const OperandSpec& spec, Place place) {
    bool accumulation = accumulation_ && spec.field != Field::addr;
    if (wide(out_.row->format) && spec.field == Field::vdst && matrix()) {
      accumulation = spec.bank == 'a' || (!out_.row->name.starts_with("v_accvgpr") && bit(15));
    } else if (spec.bank == 'a') {
      accumulation = true;
    }
    add(spec, accumulation ? Kind::agpr : Kind::vgpr, take(place.at, place.bits), spec.width);
    return nullptr;
  }

  const char* source_field(const OperandSpec& spec, Place place) {
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

  // Registers of 32 numbers of 8, 6 or 4 bits.
  static std::uint8_t small_width(std::uint32_t kind) { return kind < 2 ? 8 : kind < 4 ? 6 : 4; }

  const char* vcc_operand(const OperandSpec& spec) {
    constexpr std::uint32_t code_vcc = 106;
    std::uint32_t code = code_vcc;
    if (out_.form == Form::sdwa && out_.row->format == Format::VOPC && bit(47)) code = take(40, 7);
    else if (out_.form == Form::sdwa && out_.row->format == Format::VOPC && take(40, 7) != 0) return "a result that is not meant";
    add(spec, Kind::scalar, code, 2);
    return nullptr;
  }

  const char* immediate(const OperandSpec& spec) {
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

  const char* smem_offset(const OperandSpec& spec) {
    const Modifiers& m = out_.mods;
    if (m.has_soffset) add(spec, Kind::scalar, take(57, 7), 1);
    else if (m.has_offset) add(spec, Kind::immediate, 0, 1).value = static_cast<std::uint32_t>(m.offset);
    else add(spec, Kind::scalar, take(32, 7), 1);
    return nullptr;
  }

  const char* vector_address(const OperandSpec& spec, Place place) {
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

  std::span<const std::uint8_t> code_;
  Instruction out_;
  Word word_ = 0, used_ = 0, scales_ = 0;
  std::uint32_t size_ = 4;
  const char* wrong_ = nullptr;
  bool has_literal_ = false, accumulation_ = false, sext_[2] = {false, false};
};

} // namespace

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
