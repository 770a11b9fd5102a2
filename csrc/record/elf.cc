#include "record/elf.h"

namespace aotriton::record {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kSectionBytes = 64;
constexpr std::uint32_t kNoBits = 8;

std::string_view text_at(Bytes bytes, std::size_t at) {
  const Bytes rest = part(bytes, at, bytes.size());
  const auto end = std::find(rest.begin(), rest.end(), std::uint8_t{0});
  return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

}  // namespace

std::optional<Elf> read_elf(const void* image) {
  const auto* start = static_cast<const std::uint8_t*>(image);
  constexpr std::uint8_t kIdentity[] = {0x7f, 'E', 'L', 'F', 2, 1};  // 64 bits, little-endian
  if (std::memcmp(start, kIdentity, sizeof kIdentity) != 0) return std::nullopt;
  const Bytes header(start, kHeaderBytes);
  const auto table = number_at<std::uint64_t>(header, 0x28);
  const auto count = number_at<std::uint16_t>(header, 0x3c);
  const auto names_index = number_at<std::uint16_t>(header, 0x3e);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  if (table > kMost || number_at<std::uint16_t>(header, 0x3a) != kSectionBytes || names_index >= count) return std::nullopt;
  // Linkers write the table of sections last or let sections follow it.
  std::uint64_t length = table + count * kSectionBytes;
  const Bytes entries(start + table, count * kSectionBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes entry = part(entries, i * kSectionBytes, kSectionBytes);
    if (number_at<std::uint32_t>(entry, 4) == kNoBits) continue;
    const auto end = number_at<std::uint64_t>(entry, 0x18) + number_at<std::uint64_t>(entry, 0x20);
    if (end > kMost) return std::nullopt;
    length = std::max(length, end);
  }
  const Bytes all(start, length);
  const auto contents = [&](std::size_t i) {
    const Bytes entry = part(entries, i * kSectionBytes, kSectionBytes);
    if (number_at<std::uint32_t>(entry, 4) == kNoBits) return Bytes();
    return part(all, number_at<std::uint64_t>(entry, 0x18), number_at<std::uint64_t>(entry, 0x20));
  };
  Elf elf{number_at<std::uint16_t>(header, 0x12), number_at<std::uint8_t>(header, 8),
          number_at<std::uint32_t>(header, 0x30), {}};
  const Bytes names = contents(names_index);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes entry = part(entries, i * kSectionBytes, kSectionBytes);
    elf.sections.push_back({text_at(names, number_at<std::uint32_t>(entry, 0)), number_at<std::uint32_t>(entry, 4),
                            number_at<std::uint64_t>(entry, 0x20), contents(i)});
  }
  return elf;
}

}  // namespace aotriton::record
