// SHA-256 (FIPS 180-4): the identity of a code object.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace aotriton::core {

std::array<std::uint8_t, 32> sha256(std::span<const std::uint8_t> bytes);

}  // namespace aotriton::core
