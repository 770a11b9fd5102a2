// Masks and lanes.
#include "sim/lane_table.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace sim::SIM_BUILD {
namespace {

std::uint64_t gather(const std::uint32_t* bits) {
  std::uint64_t mask = 0;
#ifdef __AVX2__
  for (unsigned i = 0; i < 64; i += 8) {
    const __m256i eight = _mm256_slli_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + i)), 31);
    mask |= static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(eight))) << i;
  }
  return mask;
#endif
  for (unsigned i = 0; i < 64; ++i) mask |= std::uint64_t{bits[i]} << i;
  return mask;
}

void scatter(std::uint32_t* bits, std::uint64_t mask) {
  const auto low = static_cast<std::uint32_t>(mask), high = static_cast<std::uint32_t>(mask >> 32);
  for (unsigned i = 0; i < 32; ++i) bits[i] = low >> i & 1;
  for (unsigned i = 0; i < 32; ++i) bits[32 + i] = high >> i & 1;
}

void blend(std::uint32_t* to, const std::uint32_t* from, unsigned width, std::uint64_t mask) {
  alignas(64) std::uint32_t chosen[64];
  scatter(chosen, mask);
  for (unsigned i = 0; i < 64; ++i) chosen[i] = 0u - chosen[i];
  for (unsigned row = 0; row < width; ++row, to += 64, from += 64) {
    for (unsigned i = 0; i < 64; ++i) to[i] = (from[i] & chosen[i]) | (to[i] & ~chosen[i]);
  }
}

} // namespace

const MaskKernels& masks() {
  static constexpr MaskKernels all{gather, scatter, blend};
  return all;
}

} // namespace sim::SIM_BUILD
