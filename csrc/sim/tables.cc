#include "sim/tables.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sim {
namespace {

struct Text {
  Format format;
  std::string_view mnemonic, operands, modifiers;
  std::array<std::int16_t, arch_count> opcodes;
};

constexpr Text texts[] = {
#define X(format, mnemonic, operands, modifiers, ...) {Format::format, mnemonic, operands, modifiers, {__VA_ARGS__}},
#include "sim/tables/cdna.inc"
#undef X
};

constexpr std::string_view field_names[] = {
    "sdst", "vdst", "ssrc0", "ssrc1", "src0", "src1", "src2", "addr", "vaddr", "data0", "data1", "vdata",
    "srsrc", "soffset", "sdata", "sbase", "saddr", "scale0", "scale1", "vcc", "imm", "literal", "hwreg", "sendmsg", "gpr_idx", "waitcnt",
};

constexpr std::string_view modifier_names[] = {
    "abs0", "abs1", "abs2", "neg0", "neg1", "neg2", "sel0", "sel1", "sel2", "sel3", "clamp", "omod", "neghi0", "neghi1",
    "neghi2", "selhi0", "selhi1", "selhi2", "sext0", "sext1", "dstsel", "two", "returns",
};

// The next part of a text up to a separator, which goes.
std::string_view cut(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == text.npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

template <std::size_t count>
std::size_t index_of(const std::string_view (&names)[count], std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return i;
  }
  throw std::logic_error("the table of instructions has the unknown word " + std::string(name));
}

OperandSpec parse_operand(std::string_view text) {
  const std::string_view name = cut(text, ':');
  OperandSpec spec{static_cast<Field>(index_of(field_names, name))};
  if (text.empty()) return spec;
  spec.bank = text[0];
  for (const char c : text.substr(1)) {
    if (c == 'h') spec.constant = Constant::half;
    else if (c == 'w') spec.constant = Constant::short_integer;
    else spec.width = static_cast<std::uint8_t>(spec.width * 10 + (c - '0'));
  }
  return spec;
}

std::uint32_t parse_modifiers(std::string_view text, char separator) {
  std::uint32_t set = 0;
  while (!text.empty()) set |= 1u << index_of(modifier_names, cut(text, separator));
  return set;
}

Row parse(const Text& text) {
  Row row{text.format, text.mnemonic, text.mnemonic};
  if (row.name.ends_with("_e32") || row.name.ends_with("_e64")) row.name.remove_suffix(4);
  for (std::string_view rest = text.operands; !rest.empty();) {
    row.operands.at(row.operand_count++) = parse_operand(cut(rest, ' '));
  }
  for (std::string_view rest = text.modifiers; !rest.empty();) {
    std::string_view word = cut(rest, ' ');
    if (word.starts_with("sdwa=")) row.sdwa = has_sdwa | parse_modifiers(word.substr(5), ',');
    else if (word.starts_with("dpp=")) row.dpp = has_dpp | parse_modifiers(word.substr(4), ',');
    else row.modifiers |= parse_modifiers(word, ' ');
  }
  row.opcodes = text.opcodes;
  return row;
}

constexpr std::size_t format_count = static_cast<std::size_t>(Format::VOP3PX) + 1, most_opcodes = 1024;

struct Tables {
  std::vector<Row> rows;
  std::vector<std::int16_t> index = std::vector<std::int16_t>(arch_count * format_count * most_opcodes, -1);

  static std::size_t place(std::size_t arch, Format format, std::size_t opcode) {
    return (arch * format_count + static_cast<std::size_t>(format)) * most_opcodes + opcode;
  }

  Tables() {
    for (const Text& text : texts) rows.push_back(parse(text));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t arch = 0; arch < arch_count; ++arch) {
        if (rows[i].opcodes[arch] < 0) continue;
        index[place(arch, rows[i].format, static_cast<std::size_t>(rows[i].opcodes[arch]))] = static_cast<std::int16_t>(i);
      }
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

} // namespace

std::string_view arch_name(Arch arch) {
  constexpr std::string_view names[] = {"gfx90a", "gfx942", "gfx950"};
  return names[static_cast<std::size_t>(arch)];
}

std::optional<Arch> arch_of(std::string_view name) {
  for (std::size_t i = 0; i < arch_count; ++i) {
    if (arch_name(static_cast<Arch>(i)) == name) return static_cast<Arch>(i);
  }
  return std::nullopt;
}

const std::vector<Row>& rows() { return tables().rows; }

const Row* find_row(Arch arch, Format format, std::uint32_t opcode) {
  if (opcode >= most_opcodes) return nullptr;
  const std::int16_t i = tables().index[Tables::place(static_cast<std::size_t>(arch), format, opcode)];
  return i < 0 ? nullptr : &tables().rows[static_cast<std::size_t>(i)];
}

} // namespace sim
