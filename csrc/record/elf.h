// Sections of a 64-bit little-endian ELF image, with every read inside its bounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace aotriton::record {

using Bytes = std::span<const std::uint8_t>;

// The number at `at`, or 0 where the bytes end before it does.
template <typename Number>
Number number_at(Bytes bytes, std::size_t at) {
  Number number{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof number) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

inline Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

struct Section {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t size;
  Bytes data;  // empty where the file has none
};

struct Elf {
  std::uint16_t machine;
  std::uint8_t abi_version;
  std::uint32_t flags;
  std::vector<Section> sections;

  const Section* find(std::string_view name) const {
    const auto found = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
    return found == sections.end() ? nullptr : &*found;
  }
};

// The image's length isn't known: the header's tables say how far it reaches.
std::optional<Elf> read_elf(const void* image);

}  // namespace aotriton::record
