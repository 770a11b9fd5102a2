// Matrix instructions: registers to tiles of numbers.
#include "sim/lanes.h"
#include "sim/lanes_matrix.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace sim::SIM_BUILD {
namespace {

enum class Special { none, ieee, one_nan, fnuz }; // which codes are no finite numbers

// A float of `exponent` and `mantissa` bits, as a float of 32 bits, exactly.
template <unsigned exponent, unsigned mantissa, int bias, Special special, bool flush = false>
struct Small {
  using type = float;
  static constexpr unsigned bits = 1 + exponent + mantissa;

  static float decode(u32 code) {
    constexpr u32 sign = 1u << (exponent + mantissa), top = (1u << exponent) - 1;
    constexpr float unit = std::bit_cast<float>(static_cast<u32>(127 + 1 - bias - static_cast<int>(mantissa)) << 23);
    const u32 magnitude = code & (sign - 1), shifted = magnitude << (23 - mantissa);
    const float denormal = flush ? 0.0f : static_cast<float>(static_cast<i32>(magnitude)) * unit;
    u32 value = magnitude >> mantissa == 0 ? std::bit_cast<u32>(denormal) : shifted + (static_cast<u32>(127 - bias) << 23);
    if (special == Special::ieee && magnitude >> mantissa == top) value = shifted | 0x7f800000;
    if (special == Special::one_nan && magnitude == sign - 1) value = 0x7fc00000;
    if (special == Special::fnuz && code == sign) value = 0x7fc00000;
    return std::bit_cast<float>(value | (code & sign) << (31 - exponent - mantissa));
  }
};

// Brain floats: the upper half of a float.
struct Wide {
  using type = float;
  static constexpr unsigned bits = 16;
  static float decode(u32 code) { return std::bit_cast<float>(code << 16); }
};

struct WideFlushed {
  using type = float;
  static constexpr unsigned bits = 16;
  static float decode(u32 code) { return std::bit_cast<float>((code & 0x7f80) == 0 ? (code & 0x8000) << 16 : code << 16); }
};

struct Byte {
  using type = i32;
  static constexpr unsigned bits = 8;
  static i32 decode(u32 code) { return static_cast<i32>(code << 24) >> 24; }
};

struct Single {
  using type = float;
  static constexpr unsigned bits = 32;
  static float decode(u32 code) { return std::bit_cast<float>(code); }
};

// Ten bits of mantissa, rounded to nearest, ties to even; what is no number stays.
struct Reduced {
  using type = float;
  static constexpr unsigned bits = 32;
  static float decode(u32 code) {
    const u32 rounded = (code + 0xfff + (code >> 13 & 1)) & ~0x1fffu;
    return std::bit_cast<float>((code & 0x7f800000) == 0x7f800000 ? code : rounded);
  }
};

template <typename Kind>
void unpack(const u32* rows, unsigned items, void* tile) {
  constexpr u32 mask = Kind::bits == 32 ? ~0u : (1u << Kind::bits % 32) - 1;
  auto* to = static_cast<typename Kind::type*>(tile);
  for (unsigned item = 0; item < items; ++item, to += 64) {
    const unsigned at = item * Kind::bits, shift = at % 32;
    const u32* const row = rows + at / 32 * 64;
    if (shift + Kind::bits <= 32) {
      for (unsigned lane = 0; lane < 64; ++lane) to[lane] = Kind::decode(row[lane] >> shift & mask);
    } else {
      for (unsigned lane = 0; lane < 64; ++lane) {
        to[lane] = Kind::decode((row[lane] >> shift | row[64 + lane] << (32 - shift)) & mask);
      }
    }
  }
}

void unpack_double(const u32* rows, unsigned items, void* tile) {
  auto* to = static_cast<double*>(tile);
  for (unsigned item = 0; item < items; ++item, to += 64, rows += 128) {
    for (unsigned lane = 0; lane < 64; ++lane) to[lane] = load<f64>(rows, lane);
  }
}

#ifdef __F16C__
template <bool flush>
void unpack_half(const u32* rows, unsigned items, void* tile) {
  auto* to = static_cast<float*>(tile);
  const __m256i low = _mm256_set1_epi32(0xffff), exponent = _mm256_set1_epi16(0x7c00), sign = _mm256_set1_epi16(-0x8000);
  for (unsigned item = 0; item < items; item += 2, to += 128, rows += 64) {
    for (unsigned lane = 0; lane < 64; lane += 16) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + lane));
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + lane + 8));
      const __m256i even = _mm256_packus_epi32(_mm256_and_si256(x, low), _mm256_and_si256(y, low));
      const __m256i odd = _mm256_packus_epi32(_mm256_srli_epi32(x, 16), _mm256_srli_epi32(y, 16));
      __m256i halves[2] = {_mm256_permute4x64_epi64(even, 0xd8), _mm256_permute4x64_epi64(odd, 0xd8)};
      for (unsigned i = 0; i < 2; ++i) {
        if (flush) {
          const __m256i denormal = _mm256_cmpeq_epi16(_mm256_and_si256(halves[i], exponent), _mm256_setzero_si256());
          halves[i] = _mm256_and_si256(halves[i], _mm256_or_si256(sign, _mm256_xor_si256(denormal, _mm256_set1_epi16(-1))));
        }
        _mm256_storeu_ps(to + 64 * i + lane, _mm256_cvtph_ps(_mm256_castsi256_si128(halves[i])));
        _mm256_storeu_ps(to + 64 * i + lane + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves[i], 1)));
      }
    }
  }
}
#else
template <bool flush>
constexpr Unpack unpack_half = unpack<Small<5, 10, 15, Special::ieee, flush>>;
#endif

} // namespace

Unpack unpack_of(Number number) {
  switch (number) {
    case Number::f64: return unpack_double;
    case Number::f32: return unpack<Single>;
    case Number::xf32: return unpack<Reduced>;
    case Number::f16: return unpack_half<false>;
    case Number::bf16: return unpack<Wide>;
    case Number::f16_flushed: return unpack_half<true>;
    case Number::bf16_flushed: return unpack<WideFlushed>;
    case Number::i8: return unpack<Byte>;
    case Number::fp8: return unpack<Small<4, 3, 7, Special::one_nan>>;
    case Number::bf8: return unpack<Small<5, 2, 15, Special::ieee>>;
    case Number::fp8_fnuz: return unpack<Small<4, 3, 8, Special::fnuz>>;
    case Number::bf8_fnuz: return unpack<Small<5, 2, 16, Special::fnuz>>;
    case Number::fp6: return unpack<Small<2, 3, 1, Special::none>>;
    case Number::bf6: return unpack<Small<3, 2, 3, Special::none>>;
    case Number::fp4: return unpack<Small<2, 1, 1, Special::none>>;
  }
  return nullptr;
}

} // namespace sim::SIM_BUILD
