// Instructions as LLVM's disassembler prints them.
#include "sim/decode.h"

#include <cstdio>

namespace sim {
namespace {

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

// Small numbers as they are, others in hexadecimal.
std::string number(std::uint32_t value) { return value <= 64 ? std::to_string(value) : hex(value); }

std::string span_of(char bank, unsigned first, unsigned width) {
  const std::string start = std::to_string(first);
  if (width <= 1) return bank + start;
  return std::string(1, bank) + "[" + start + ":" + std::to_string(first + width - 1) + "]";
}

std::string scalar_name(unsigned code, unsigned width) {
  const auto pair = [&](const char* name) { return std::string(name) + (width > 1 ? "" : code % 2 != 0 ? "_hi" : "_lo"); };
  if (code < 102) return span_of('s', code, width);
  if (code >= 108 && code < 124) return "ttmp" + (width <= 1 ? std::to_string(code - 108)
      : "[" + std::to_string(code - 108) + ":" + std::to_string(code - 109 + width) + "]");
  switch (code) {
    case 102: case 103: return pair("flat_scratch");
    case 104: case 105: return pair("xnack_mask");
    case 106: case 107: return pair("vcc");
    case 124: return "m0";
    case 126: case 127: return pair("exec");
    case 235: return "src_shared_base";
    case 236: return "src_shared_limit";
    case 237: return "src_private_base";
    case 238: return "src_private_limit";
    case 239: return "src_pops_exiting_wave_id";
    case 251: return "src_vccz";
    case 252: return "src_execz";
    case 253: return "src_scc";
    default: return "null";
  }
}

std::string constant_text(const Operand& o, bool packed) {
  if (o.reg <= 192) return std::to_string(o.reg - 128);
  if (o.reg <= 208) return std::to_string(192 - static_cast<int>(o.reg));
  constexpr const char* floats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"};
  constexpr const char* halves[] = {"0x3800", "0xb800", "0x3c00", "0xbc00", "0x4000", "0xc000", "0x4400", "0xc400", "0x3118"};
  if (o.constant == Constant::short_integer) return halves[o.reg - 240];
  if (o.reg == 248 && o.width == 2 && !packed) return "0.15915494309189532";
  return floats[o.reg - 240];
}

std::string hwreg_text(std::uint32_t value, Arch arch) {
  constexpr const char* names[] = {nullptr, "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_TRAPSTS", "HW_REG_HW_ID",
                                   "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC", "HW_REG_IB_STS", nullptr, nullptr, nullptr, nullptr,
                                   nullptr, nullptr, nullptr, "HW_REG_SH_MEM_BASES", "HW_REG_TBA_LO", "HW_REG_TBA_HI",
                                   "HW_REG_TMA_LO", "HW_REG_TMA_HI", "HW_REG_XCC_ID", "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                   "HW_REG_SQ_PERF_SNAPSHOT_DATA1", "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                   "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
  const unsigned id = value & 63, offset = value >> 6 & 31, size = (value >> 11) + 1;
  const bool known = id < std::size(names) && names[id] != nullptr && (id < 20 || arch != Arch::gfx90a);
  std::string text = "hwreg(" + (known ? std::string(names[id]) : std::to_string(id));
  if (offset != 0 || size != 32) text += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return text + ")";
}

std::string waitcnt_text(std::uint32_t value) {
  const unsigned vm = (value & 15) | (value >> 14 & 3) << 4, exp = value >> 4 & 7, lgkm = value >> 8 & 15;
  std::string text;
  const auto add = [&](const char* name, unsigned count, unsigned none, bool always) {
    if (count == none && !always) return;
    if (!text.empty()) text += ' ';
    text.append(name).append("(").append(std::to_string(count)).append(")");
  };
  const bool all = vm == 63 && exp == 7 && lgkm == 15;
  add("vmcnt", vm, 63, all);
  add("expcnt", exp, 7, all);
  add("lgkmcnt", lgkm, 15, all);
  return text;
}

std::string sendmsg_text(std::uint32_t value) {
  constexpr const char* names[] = {nullptr, "MSG_INTERRUPT", "MSG_GS", "MSG_GS_DONE", "MSG_SAVEWAVE", "MSG_STALL_WAVE_GEN",
                                   "MSG_HALT_WAVES", "MSG_ORDERED_PS_DONE", "MSG_EARLY_PRIM_DEALLOC", "MSG_GS_ALLOC_REQ",
                                   "MSG_GET_DOORBELL"};
  constexpr const char* gs[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  const unsigned id = value & 15, op = value >> 4 & 7, stream = value >> 8 & 3;
  // LLVM names what it knows, whatever other bits say; the rest is three numbers, or one where they don't say it all.
  if ((id == 2 || id == 3) && op <= 3 && (op != 0 || (id == 3 && stream == 0))) {
    return std::string("sendmsg(") + names[id] + ", " + gs[op] + (op != 0 ? ", " + std::to_string(stream) : "") + ")";
  }
  const bool known = id != 0 && id != 2 && id != 3 && id <= 10;
  if (known && op == 0 && stream == 0) return std::string("sendmsg(") + names[id] + ")";
  if ((value & ~0x37fu) != 0) return std::to_string(value);
  return "sendmsg(" + std::to_string(id) + ", " + std::to_string(op) + ", " + std::to_string(stream) + ")";
}

std::string gpr_idx_text(std::uint32_t value) {
  constexpr const char* names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (value >= 16) return hex(value);
  std::string text;
  for (unsigned i = 0; i < 4; ++i) {
    if ((value >> i & 1) != 0) text += (text.empty() ? "" : ",") + std::string(names[i]);
  }
  return "gpr_idx(" + text + ")";
}

bool is_branch(const Instruction& in) {
  const std::string_view name = in.row->name;
  return name.starts_with("s_branch") || name.starts_with("s_cbranch") || name == "s_call_b64";
}

std::string immediate_text(const Instruction& in, const Operand& o) {
  switch (o.field) {
    case Field::hwreg: return hwreg_text(o.value, in.arch);
    case Field::waitcnt: return waitcnt_text(o.value);
    case Field::sendmsg: return sendmsg_text(o.value);
    case Field::gpr_idx: return gpr_idx_text(o.value);
    case Field::soffset: {
      const auto offset = static_cast<std::int32_t>(o.value);
      return offset < 0 ? "-" + hex(static_cast<std::uint32_t>(-offset)) : hex(o.value);
    }
    case Field::sdata: return std::to_string(o.value);
    default:
      if (is_branch(in)) return std::to_string(o.value);
      return in.row->format == Format::SOPP ? number(o.value) : hex(o.value);
  }
}

std::string operand_text(const Instruction& in, const Operand& o) {
  std::string text;
  switch (o.kind) {
    case Kind::vgpr: text = span_of('v', o.reg, o.width); break;
    case Kind::agpr: text = span_of('a', o.reg, o.width); break;
    case Kind::scalar: text = scalar_name(o.reg, o.width); break;
    case Kind::constant: text = constant_text(o, in.row->name.starts_with("v_pk_")); break;
    case Kind::literal: text = hex(o.constant == Constant::full ? o.value : o.value & 0xffff); break;
    case Kind::immediate: text = immediate_text(in, o); break;
    case Kind::off: text = "off"; break;
  }
  if (o.sext) text = "sext(" + text + ")";
  if (o.abs) text = "|" + text + "|";
  if (o.neg) text = o.kind == Kind::constant && !o.abs ? "neg(" + text + ")" : "-" + text;
  return text;
}

unsigned source_count(const Instruction& in) {
  unsigned count = 0;
  for (const Field field : {Field::src0, Field::src1, Field::src2}) count += in.find(field) != nullptr;
  return count;
}

std::string list(const char* name, unsigned bits, unsigned count) {
  std::string text = std::string(" ") + name + ":[";
  for (unsigned i = 0; i < count; ++i) text += (i != 0 ? "," : "") + std::to_string(bits >> i & 1);
  return text + "]";
}

constexpr const char* omod_text[] = {"", " mul:2", " mul:4", " div:2"};

std::string vop3_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool bitop = in.row->name.starts_with("v_bitop3");
  std::string text;
  if (in.row->name.starts_with("v_permlane")) {
    return std::string((m.op_sel & 2) != 0 ? " bound_ctrl:1" : "") + ((m.op_sel & 1) != 0 ? " fi:1" : "");
  }
  if (bitop && m.abid != 0) text += " bitop3:" + (m.abid < 10 ? std::to_string(m.abid) : hex(m.abid));
  if (m.op_sel != 0) {
    const unsigned sources = (in.row->modifiers & sel2) != 0 ? 3 : source_count(in);
    text += list("op_sel", (m.op_sel & ((1u << sources) - 1)) | (m.op_sel >> 3 & 1u) << sources, sources + 1);
  }
  if (m.clamp) text += " clamp";
  return text + omod_text[m.omod];
}

std::string vop3p_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  std::string text;
  if (in.row->modifiers == 0 || in.row->format == Format::VOP3PX) {
    if (in.row->format == Format::VOP3PX && m.op_sel != 0) text += list("op_sel", m.op_sel, 3);
    if (in.row->format == Format::VOP3PX && m.op_sel_hi != 7) text += list("op_sel_hi", m.op_sel_hi, 3);
    if (m.cbsz != 0) text += " cbsz:" + std::to_string(m.cbsz);
    if (m.abid != 0 && in.row->format != Format::VOP3PX) text += " abid:" + std::to_string(m.abid);
    const bool negates = in.row->name.ends_with("_f64") && in.arch != Arch::gfx90a; // blgp's bits are signs there
    if (m.blgp != 0 && negates) text += list("neg", m.blgp, 3);
    else if (m.blgp != 0) text += " blgp:" + std::to_string(m.blgp);
    return text;
  }
  const unsigned count = source_count(in), all = (1u << count) - 1;
  const bool mix = in.row->name.find("_mix") != std::string_view::npos;
  if ((m.op_sel & all) != 0) text += list("op_sel", m.op_sel, count);
  if ((m.op_sel_hi & all) != (mix ? 0 : all)) text += list("op_sel_hi", m.op_sel_hi, count);
  if (!mix && m.neg != 0) text += list("neg_lo", m.neg, count);
  if (!mix && m.neg_hi != 0) text += list("neg_hi", m.neg_hi, count);
  if (m.clamp) text += " clamp";
  return text;
}

std::string sdwa_text(const Instruction& in) {
  constexpr const char* sel[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "7"};
  constexpr const char* unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3"};
  const Modifiers& m = in.mods;
  std::string text = m.clamp ? " clamp" : "";
  text += omod_text[m.omod];
  if ((in.row->sdwa & dstsel) != 0) {
    text += std::string(" dst_sel:") + sel[m.dst_sel] + " dst_unused:" + unused[m.dst_unused];
  }
  text += std::string(" src0_sel:") + sel[m.src0_sel];
  if (in.find(Field::src1) != nullptr) text += std::string(" src1_sel:") + sel[m.src1_sel];
  return text;
}

std::string dpp_control(unsigned c) {
  const std::string number = std::to_string(c & 15);
  if (c < 0x100) {
    return "quad_perm:[" + std::to_string(c & 3) + "," + std::to_string(c >> 2 & 3) + "," + std::to_string(c >> 4 & 3) + "," +
           std::to_string(c >> 6) + "]";
  }
  if (c > 0x100 && c < 0x110) return "row_shl:" + number;
  if (c > 0x110 && c < 0x120) return "row_shr:" + number;
  if (c > 0x120 && c < 0x130) return "row_ror:" + number;
  if (c >= 0x150 && c < 0x160) return "row_newbcast:" + number;
  switch (c) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    case 0x143: return "row_bcast:31";
    default: return "/* unknown dpp_ctrl */";
  }
}

std::string dpp_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  return " " + dpp_control(m.dpp_ctrl) + " row_mask:" + hex(m.row_mask) + " bank_mask:" + hex(m.bank_mask) +
         (m.bound_ctrl ? " bound_ctrl:1" : "");
}

std::string cache_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  std::string text;
  if (in.arch == Arch::gfx90a) {
    if (m.glc) text += " glc";
    if (m.slc) text += " slc";
    if (m.scc) text += " scc";
  } else {
    if (m.glc) text += " sc0";
    if (m.slc) text += " nt";
    if (m.scc) text += " sc1";
  }
  return text + (m.lds ? " lds" : "");
}

std::string swizzle_text(unsigned offset) {
  const auto decimal = [](unsigned n) { return std::to_string(n); };
  if ((offset & 0x8000) != 0 && (offset & 0xff00) == 0x8000) {
    return " offset:swizzle(QUAD_PERM," + decimal(offset & 3) + "," + decimal(offset >> 2 & 3) + "," + decimal(offset >> 4 & 3) +
           "," + decimal(offset >> 6 & 3) + ")";
  }
  if ((offset & 0xf800) == 0xc000) {
    return " offset:swizzle(ROTATE," + decimal(offset >> 10 & 1) + "," + decimal(offset >> 5 & 31) + ")";
  }
  if ((offset & 0x8000) != 0) return " offset:" + decimal(offset);
  const unsigned keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
  if (flip == 31 && keep == 31 && set == 0) return " offset:swizzle(REVERSE,32)";
  if (set == 0 && keep == 31 && (flip & (flip - 1)) == 0 && flip != 0) return " offset:swizzle(SWAP," + decimal(flip) + ")";
  if (set == 0 && keep == 31 && flip != 0 && ((flip + 1) & flip) == 0) {
    return " offset:swizzle(REVERSE," + decimal(flip + 1) + ")";
  }
  const unsigned group = 32 - keep;
  if (flip == 0 && group > 1 && (group & (group - 1)) == 0 && set < group) {
    return " offset:swizzle(BROADCAST," + decimal(group) + "," + decimal(set) + ")";
  }
  std::string text;
  for (unsigned i = 5; i-- > 0;) {
    const unsigned k = keep >> i & 1, s = set >> i & 1, f = flip >> i & 1;
    text += k == 0 ? (((s ^ f) != 0) ? '1' : '0') : s != 0 ? (f != 0 ? '0' : '1') : f != 0 ? 'i' : 'p';
  }
  return " offset:swizzle(BITMASK_PERM,\"" + text + "\")";
}

std::string ds_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  std::string text;
  if ((in.row->modifiers & two) != 0) {
    if (m.offset != 0) text += " offset0:" + std::to_string(m.offset);
    if (m.offset1 != 0) text += " offset1:" + std::to_string(m.offset1);
  } else if (m.offset != 0) {
    text += in.row->name == "ds_swizzle_b32" ? swizzle_text(static_cast<unsigned>(m.offset))
                                             : " offset:" + std::to_string(m.offset);
  }
  return text;
}

std::string buffer_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  std::string text;
  if (in.row->format == Format::MTBUF) {
    constexpr const char* data[] = {"INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2",
                                    "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
    constexpr const char* number[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"};
    const unsigned d = m.data_format & 15, n = m.data_format >> 4;
    std::string names = d != 1 ? std::string("BUF_DATA_FORMAT_") + data[d] : "";
    if (n != 0) names += (names.empty() ? "" : ",") + std::string("BUF_NUM_FORMAT_") + number[n];
    if (!names.empty()) text += " format:[" + names + "]";
  }
  if (m.idxen) text += " idxen";
  if (m.offen) text += " offen";
  if (m.offset != 0) text += " offset:" + std::to_string(m.offset);
  return text + cache_text(in);
}

std::string tail_text(const Instruction& in) {
  const Modifiers& m = in.mods;
  if (in.form == Form::sdwa) return sdwa_text(in);
  if (in.form == Form::dpp) return dpp_text(in);
  switch (in.row->format) {
    case Format::VOP3: return vop3_text(in);
    case Format::VOP3P: case Format::VOP3PX: return vop3p_text(in);
    case Format::SMEM:
      return (m.has_soffset && m.has_offset
                  ? " offset:" + (m.offset < 0 ? "-" + hex(static_cast<std::uint32_t>(-m.offset)) : hex(static_cast<std::uint32_t>(m.offset)))
                  : "") + (m.glc ? " glc" : "");
    case Format::DS: return ds_text(in);
    case Format::FLAT: case Format::GLOBAL: case Format::SCRATCH:
      return (m.offset != 0 ? " offset:" + std::to_string(m.offset) : "") + cache_text(in);
    case Format::MUBUF: case Format::MTBUF: return buffer_text(in);
    default: return "";
  }
}

} // namespace

std::string to_text(const Instruction& in) {
  std::string text(in.form == Form::plain ? in.row->mnemonic : in.row->name);
  if (in.form != Form::plain) text += in.form == Form::sdwa ? "_sdwa" : "_dpp";
  for (std::size_t i = 0; i < in.operand_count; ++i) {
    text += (i == 0 ? " " : ", ") + operand_text(in, in.operands[i]);
  }
  return text + tail_text(in);
}

} // namespace sim
