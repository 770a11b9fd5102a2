// A small code object for gfx942, made here: one kernel whose code is given.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace aotriton::tests {

class SampleObject {
 public:
  explicit SampleObject(const std::vector<std::uint32_t>& code) {
    bytes_.resize(at_code + 4 * code.size());
    std::memcpy(bytes_.data() + at_code, code.data(), 4 * code.size());
    header();
    const std::size_t size = bytes_.size();
    program_header(0, 1, 5, 0, size);
    program_header(1, 2, 6, at_dynamic, 96);
    program_header(2, 4, 4, at_note, note());
    dynamic();
    descriptor();
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  static constexpr std::size_t at_dynamic = 0x100, at_symbols = 0x180, at_names = 0x1c0, at_hash = 0x1e0, at_note = 0x200,
                               at_descriptor = 0x300, at_relocation = 0x340, at_target = 0x360, at_code = 0x400;

  template <typename T>
  void put(std::size_t at, T value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }
  void put(std::size_t at, const std::string& text) { std::memcpy(bytes_.data() + at, text.data(), text.size()); }

  void header() {
    put(0, std::string("\177ELF\2\1\1", 7));
    put<std::uint16_t>(18, 224);
    put<std::uint64_t>(32, 64);
    put<std::uint32_t>(48, 0x54c);
    put<std::uint16_t>(54, 56);
    put<std::uint16_t>(56, 3);
  }
  void program_header(std::size_t i, std::uint32_t type, std::uint32_t flags, std::uint64_t at, std::uint64_t size) {
    const std::size_t place = 64 + 56 * i;
    put<std::uint32_t>(place, type);
    put<std::uint32_t>(place + 4, flags);
    for (const unsigned field : {8u, 16u, 24u}) put<std::uint64_t>(place + field, at);
    put<std::uint64_t>(place + 32, size);
    put<std::uint64_t>(place + 40, size);
  }
  void dynamic() {
    const std::uint64_t entries[][2] = {{4, at_hash}, {5, at_names}, {6, at_symbols}, {10, 16}, {7, at_relocation}, {8, 24}, {9, 24}};
    std::size_t place = at_dynamic;
    for (const auto& [tag, value] : entries) {
      if (place + 16 > at_dynamic + 112) break;
      put<std::uint64_t>(place, tag);
      put<std::uint64_t>(place + 8, value);
      place += 16;
    }
    put<std::uint64_t>(64 + 56 + 32, place - at_dynamic);
    put(at_names, std::string("\0k.kd\0", 6));
    put<std::uint32_t>(at_symbols + 24, 1);
    put<std::uint64_t>(at_symbols + 32, at_descriptor);
    put<std::uint32_t>(at_hash, 1);
    put<std::uint32_t>(at_hash + 4, 2);
    put<std::uint64_t>(at_relocation, at_target);
    put<std::uint64_t>(at_relocation + 8, 13);
    put<std::uint64_t>(at_relocation + 16, at_code);
  }
  void descriptor() {
    put<std::uint32_t>(at_descriptor + 8, 16);
    put<std::uint64_t>(at_descriptor + 16, at_code - at_descriptor);
    put<std::uint32_t>(at_descriptor + 52, 2 << 1 | 1 << 7);
    put<std::uint16_t>(at_descriptor + 56, 8);
  }
  std::size_t note() {
    const std::string kernels("amdhsa.kernels"), size("\xa5.size", 6), offset("\xa7.offset", 8), kind("\xab.value_kind", 12);
    std::string body = "\x81\xae" + kernels + "\x91\x82\xa5.name\xa1k\xa5.args\x92";
    body += "\x83" + size + "\x08" + offset + std::string("\0", 1) + kind + "\xadglobal_buffer";
    body += "\x83" + size + "\x04" + offset + "\x08" + kind + "\xb4hidden_block_count_x";
    put<std::uint32_t>(at_note, 7);
    put<std::uint32_t>(at_note + 4, static_cast<std::uint32_t>(body.size()));
    put<std::uint32_t>(at_note + 8, 32);
    put(at_note + 12, std::string("AMDGPU"));
    put(at_note + 20, body);
    return 20 + ((body.size() + 3) & ~std::size_t{3});
  }

  std::vector<std::uint8_t> bytes_;
};

} // namespace aotriton::tests
