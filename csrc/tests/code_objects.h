// Code objects with no code: ELF files with as much of AMD's and NVIDIA's metadata as drivers read before a launch.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace aotriton::tests {

struct FakeParameter {
  std::uint32_t offset;
  std::uint32_t size;
};

struct FakeCode {
  std::string symbol = "kernel";
  std::vector<FakeParameter> parameters{{0, 8}, {8, 4}, {16, 8}, {24, 8}};
  std::uint32_t threads = 128;
  std::uint32_t static_shared = 0;
};

class ElfWriter {
 public:
  ElfWriter(std::uint8_t abi, std::uint8_t abi_version, std::uint16_t machine, std::uint32_t flags) : bytes_(64, '\0') {
    const unsigned char identity[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, abi, abi_version};
    std::memcpy(bytes_.data(), identity, sizeof identity);
    put<std::uint16_t>(bytes_, 0x12, machine);
    put<std::uint32_t>(bytes_, 0x30, flags);
    section("", 0, "");
  }

  void section(const std::string& name, std::uint32_t type, const std::string& content, std::uint64_t no_bits = 0) {
    std::string entry(64, '\0');
    put<std::uint32_t>(entry, 0x00, static_cast<std::uint32_t>(names_.size()));
    put<std::uint32_t>(entry, 0x04, no_bits != 0 ? 8 : type);
    put<std::uint64_t>(entry, 0x18, bytes_.size());
    put<std::uint64_t>(entry, 0x20, no_bits != 0 ? no_bits : content.size());
    names_ += name + '\0';
    bytes_ += content;
    sections_.push_back(entry);
  }

  std::string finish() {
    const std::string names = names_ + ".shstrtab" + '\0';
    section(".shstrtab", 3, names);
    put<std::uint64_t>(bytes_, 0x28, bytes_.size());
    put<std::uint16_t>(bytes_, 0x3a, 64);
    put<std::uint16_t>(bytes_, 0x3c, static_cast<std::uint16_t>(sections_.size()));
    put<std::uint16_t>(bytes_, 0x3e, static_cast<std::uint16_t>(sections_.size() - 1));
    for (const std::string& entry : sections_) bytes_ += entry;
    return bytes_;
  }

  template <typename Number>
  static void put(std::string& bytes, std::size_t at, Number number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
  template <typename Number>
  static std::string raw(Number number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  }

 private:
  std::string bytes_, names_;
  std::vector<std::string> sections_;
};

// ---- MessagePack, written in its widest forms and in short ones, as writers differ ----

inline std::string pack_text(const std::string& text) {
  return std::string("\xd9", 1) + static_cast<char>(text.size()) + text;
}
inline std::string pack_number(std::uint32_t number) {
  if (number < 128) return std::string(1, static_cast<char>(number));
  std::string packed = "\xce";
  for (int shift = 24; shift >= 0; shift -= 8) packed += static_cast<char>(number >> shift & 0xff);
  return packed;
}
inline std::string pack_list(char fixed, std::size_t count) { return std::string(1, static_cast<char>(fixed | count)); }

inline std::string amd_code(std::uint32_t machine, const FakeCode& code = {}) {
  std::string arguments = std::string("\xdc", 1) + '\0' + static_cast<char>(code.parameters.size() + 1);
  for (const auto& [offset, size] : code.parameters) {
    arguments += pack_list('\x83', 0) + pack_text(".offset") + pack_number(offset) + pack_text(".size") +
                 pack_number(size) + pack_text(".value_kind") + pack_text(size == 8 ? "global_buffer" : "by_value");
  }
  arguments += pack_list('\x83', 0) + pack_text(".offset") + pack_number(64) + pack_text(".size") + pack_number(8) +
               pack_text(".value_kind") + pack_text("hidden_block_count_x");
  const std::string kernel = pack_list('\x86', 0) + pack_text(".args") + arguments + pack_text(".name") +
                             pack_text(code.symbol) + pack_text(".uses_dynamic_stack") + "\xc2" +
                             pack_text(".max_flat_workgroup_size") + pack_number(code.threads) +
                             pack_text(".group_segment_fixed_size") + pack_number(code.static_shared) +
                             pack_text(".vgpr_count") + pack_number(300);
  const std::string metadata = pack_list('\x82', 0) + pack_text("amdhsa.version") + pack_list('\x92', 0) +
                               pack_number(1) + pack_number(2) + pack_text("amdhsa.kernels") + pack_list('\x91', 0) + kernel;
  std::string note = ElfWriter::raw<std::uint32_t>(7) + ElfWriter::raw(static_cast<std::uint32_t>(metadata.size())) +
                     ElfWriter::raw<std::uint32_t>(32) + std::string("AMDGPU\0\0", 8) + metadata;
  note.resize((note.size() + 3) / 4 * 4);
  ElfWriter elf(64, 3, 224, machine | 0x500);
  elf.section(".note", 7, note);
  return elf.finish();
}

inline std::string nvidia_code(std::uint32_t capability, const FakeCode& code = {}) {
  std::string attributes;
  // The last one first, as NVIDIA's assembler writes them.
  for (std::size_t i = code.parameters.size(); i-- > 0;) {
    const auto [offset, size] = code.parameters[i];
    attributes += std::string("\x04\x17\x0c\x00", 4) + ElfWriter::raw<std::uint32_t>(0) +
                  ElfWriter::raw(static_cast<std::uint16_t>(i)) + ElfWriter::raw(static_cast<std::uint16_t>(offset)) +
                  ElfWriter::raw<std::uint32_t>(size << 18 | 0x1f000);
  }
  attributes += std::string("\x03\x1b\xff\x00", 4);  // an attribute that is its two bytes
  attributes += std::string("\x04\x10\x0c\x00", 4) + ElfWriter::raw(code.threads) + ElfWriter::raw<std::uint32_t>(1) +
                ElfWriter::raw<std::uint32_t>(1);
  ElfWriter elf(capability >= 90 ? 65 : 51, capability >= 90 ? 8 : 7, 190,
                capability >= 90 ? capability << 8 : capability | capability << 16);
  elf.section(".nv.info." + code.symbol, 0x70000000, attributes);
  if (code.static_shared != 0) elf.section(".nv.shared." + code.symbol, 8, "", code.static_shared);
  return elf.finish();
}

// EF_AMDGPU_MACH of some targets.
inline constexpr std::uint32_t kGfx942 = 0x4c, kGfx1100 = 0x41;

}  // namespace aotriton::tests
