// What hipModuleLoadData is given: how long it is, and which of a bundle's code objects is meant.
#include "sim/hip.h"

#include <algorithm>

namespace sim::hip {
namespace {

template <typename T>
T read(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

constexpr std::string_view elf_magic("\177ELF\2\1", 6), bundle_magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB";

bool starts(const void* image, std::string_view magic) {
  // Byte by byte: a shorter text may stand there.
  const char* bytes = static_cast<const char*>(image);
  return std::all_of(magic.begin(), magic.end(), [&](char c) { return *bytes++ == c; });
}

// How far the file reaches, as its headers say.
std::uint64_t elf_size(const std::uint8_t* elf) {
  constexpr std::uint32_t nobits = 8;
  constexpr std::uint64_t most = 1ull << 32;
  std::uint64_t size = 64;
  const auto reach = [&](std::uint64_t at, std::uint64_t bytes) {
    if (at > most || bytes > most) wrong(invalid_image, "the code object's tables lie outside of any file");
    size = std::max(size, at + bytes);
  };
  const auto segments = read<std::uint64_t>(elf + 32), sections = read<std::uint64_t>(elf + 40);
  const std::uint64_t segment_count = read<std::uint16_t>(elf + 56), section_count = read<std::uint16_t>(elf + 60);
  reach(segments, segment_count * 56);
  if (section_count != 0) reach(sections, section_count * 64);
  for (std::uint64_t i = 0; i < segment_count; ++i) {
    const std::uint8_t* entry = elf + segments + 56 * i;
    reach(read<std::uint64_t>(entry + 8), read<std::uint64_t>(entry + 32));
  }
  for (std::uint64_t i = 0; i < section_count; ++i) {
    const std::uint8_t* entry = elf + sections + 64 * i;
    if (read<std::uint32_t>(entry + 4) != nobits) reach(read<std::uint64_t>(entry + 24), read<std::uint64_t>(entry + 32));
  }
  return size;
}

// An entry is for us where its name ends in the architecture, or in that and features behind a colon.
bool is_for(std::string_view entry, std::string_view arch) {
  const std::size_t at = entry.find("--");
  if (entry.starts_with("host") || at == entry.npos) return false;
  std::string_view target = entry.substr(at + 2);
  return target.substr(0, target.find(':')) == arch;
}

std::span<const std::uint8_t> of_bundle(const std::uint8_t* bundle, Arch arch) {
  const std::uint64_t count = read<std::uint64_t>(bundle + bundle_magic.size());
  if (count > 1024) wrong(invalid_image, "the bundle has more entries than there are targets");
  const std::uint8_t* entry = bundle + bundle_magic.size() + 8;
  std::string names;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto offset = read<std::uint64_t>(entry), size = read<std::uint64_t>(entry + 8), length = read<std::uint64_t>(entry + 16);
    if (length > 256) wrong(invalid_image, "an entry of the bundle has a name that is none");
    const std::string_view name(reinterpret_cast<const char*>(entry + 24), length);
    if (is_for(name, arch_name(arch))) return {bundle + offset, size};
    names += (names.empty() ? "" : ", ") + std::string(name);
    entry += 24 + length;
  }
  wrong(no_binary_for_gpu, "the bundle has code for " + names + ", none for " + std::string(arch_name(arch)));
}

} // namespace

std::span<const std::uint8_t> image_for(const void* image, Arch arch) {
  const auto* bytes = static_cast<const std::uint8_t*>(image);
  if (starts(image, elf_magic)) return {bytes, elf_size(bytes)};
  if (starts(image, bundle_magic)) return of_bundle(bytes, arch);
  if (starts(image, compressed_magic)) {
    wrong(invalid_image, "the bundle is compressed, which the simulator doesn't read; build with --no-offload-compress");
  }
  wrong(invalid_image, "neither an ELF file of 64 bits nor a bundle of some");
}

} // namespace sim::hip
