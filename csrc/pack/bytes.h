// Little-endian numbers out of bytes. Callers have checked the bounds.
#pragma once

#include <cstdint>
#include <cstring>

namespace aotriton::pack {

inline std::uint16_t read_u16(const std::uint8_t* p) { return static_cast<std::uint16_t>(p[0] | p[1] << 8); }

inline std::uint32_t read_u32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}

}  // namespace aotriton::pack
