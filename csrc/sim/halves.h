// Floats of 16 bits where single lanes are handled: any compiler, any processor.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sim {

inline float half_value(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff, sign = (bits & 0x8000) << 16;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000u : 0u));
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                    : std::ldexp(static_cast<float>(fraction | 0x400), static_cast<int>(exponent) - 25);
  return sign != 0 ? -value : value;
}

// To nearest, ties to even; a NaN stays one.
inline std::uint32_t half_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // halfway to 65536, and beyond
  if (magnitude < 0x38800000) return sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
  return sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
}

} // namespace sim
