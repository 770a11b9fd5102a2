// Matrix instructions: products of tiles. Each sum begins with C and takes the products one by one, k ascending: a fused
// multiply-add of its type for each, so that no product is rounded by itself.
#include "sim/lanes_matrix.h"
#include "sim/lanes.h"

#include <cstring>

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace sim::SIM_BUILD {
namespace {

// Eight registers' worth of lanes: 32 bytes each, so that a row of 64 floats is eight of them.
typedef float Floats __attribute__((vector_size(32)));
typedef u32 Words __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));

template <typename T> struct Vector;
template <> struct Vector<float> { using type = Floats; };
template <> struct Vector<u32> { using type = Words; };
template <> struct Vector<double> { using type = Doubles; };

#ifdef __FMA__
inline Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
#else
template <typename V>
inline V fused(V a, V b, V c) {
  for (unsigned i = 0; i < sizeof(V) / sizeof a[0]; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}
#endif
inline Words fused(Words a, Words b, Words c) { return a * b + c; }
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline u32 fused(u32 a, u32 b, u32 c) { return a * b + c; }

template <typename V, typename T, std::size_t... i>
inline V all(T value, std::index_sequence<i...>) { return V{(static_cast<void>(i), value)...}; }

template <typename V, typename T>
inline V load_vector(const T* from) {
  V result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

// A register of the result, as numbers of the sum's type.
template <typename T, typename Out>
inline void read_row(T* to, const u32* row) {
  for (unsigned i = 0; i < 64; ++i) to[i] = static_cast<T>(load<Out>(row, i));
}

template <typename T, typename Out>
inline void write_row(u32* row, const T* from) {
  for (unsigned i = 0; i < 64; ++i) store<Out>(row, i, static_cast<Out>(from[i]));
}

// One register of the result: `pieces` rows of `width` numbers, of which `count` vectors each.
template <typename T, unsigned width, bool sparse, bool one_block>
inline void multiply_row(const Multiply& m, const u16* a_at, const u16* b_at, T* sums) {
  constexpr unsigned pieces = 64 / width, room = 8, per = 32 / sizeof(T);
  using V = std::conditional_t<width % per == 0, typename Vector<T>::type, T>;
  constexpr unsigned lanes = sizeof(V) / sizeof(T), count = width / lanes;
  constexpr unsigned at_once = count >= room || width % per != 0 ? 1 : room / count < pieces ? room / count : pieces;
  const T* const a = static_cast<const T*>(m.a);
  const T* const b = static_cast<const T*>(m.b);
  const u16* const step = m.places->step.data();
  const std::size_t steps = m.places->step.size();
  for (unsigned piece = 0; piece < pieces; piece += at_once) {
    V sum[at_once][count];
#pragma GCC unroll 8
    for (unsigned p = 0; p < at_once; ++p) {
#pragma GCC unroll 8
      for (unsigned v = 0; v < count; ++v) sum[p][v] = load_vector<V>(sums + (piece + p) * width + v * lanes);
    }
    for (std::size_t s = 0; s < steps; ++s) {
      const unsigned base = step[s];
      V row[count];
      const auto read = [&](const T* from) {
#pragma GCC unroll 8
        for (unsigned v = 0; v < count; ++v) row[v] = load_vector<V>(from + v * lanes);
      };
      if constexpr (one_block && !sparse) read(b + base);
#pragma GCC unroll 8
      for (unsigned p = 0; p < at_once; ++p) {
        const unsigned at = base + a_at[piece + p];
        if constexpr (sparse) read(b + m.sparse[at]);
        else if constexpr (!one_block) read(b + base + b_at[piece + p]);
        const V factor = all<V>(a[at], std::make_index_sequence<lanes>());
#pragma GCC unroll 8
        for (unsigned v = 0; v < count; ++v) sum[p][v] = fused(factor, row[v], sum[p][v]);
      }
    }
    std::memcpy(sums + piece * width, sum, sizeof sum);
  }
}

template <typename T, typename Out, unsigned width, bool sparse>
void multiply(const Multiply& m) {
  constexpr unsigned pieces = 64 / width, out_step = 64 * sizeof(Out) / 4;
  const Places& places = *m.places;
  alignas(64) T sums[64];
  for (unsigned r = 0; r < places.registers; ++r) {
    const u16* const a_at = places.a.data() + r * pieces;
    const u16* const b_at = places.b.data() + r * pieces;
    read_row<T, Out>(sums, m.c + r * m.c_step);
    if (sparse || places.one_block) multiply_row<T, width, sparse, true>(m, a_at, b_at, sums);
    else multiply_row<T, width, sparse, false>(m, a_at, b_at, sums);
    u32* const row = m.out + r * out_step;
    write_row<T, Out>(row, sums);
    if (!m.flush) continue;
    for (unsigned i = 0; i < 64; ++i) row[i] = (row[i] & 0x7f800000) == 0 ? row[i] & 0x80000000 : row[i];
  }
}

template <typename T>
MultiplyLoop of_width(unsigned width, bool sparse) {
  switch (width) {
    case 4: return sparse ? nullptr : multiply<T, T, 4, false>;
    case 16: return sparse ? multiply<T, T, 16, true> : multiply<T, T, 16, false>;
    case 32: return sparse ? multiply<T, T, 32, true> : multiply<T, T, 32, false>;
    default: return nullptr;
  }
}

MultiplyLoop multiply_of(Sum sum, unsigned width, bool sparse) {
  switch (sum) {
    case Sum::f32: return of_width<float>(width, sparse);
    case Sum::i32: return of_width<u32>(width, sparse);
    case Sum::f64: return width == 4 ? multiply<double, double, 4, false> : multiply<double, double, 16, false>;
    case Sum::f64_to_f32: return width == 16 ? multiply<double, float, 16, false> : multiply<double, float, 32, false>;
  }
  return nullptr;
}

} // namespace

MatrixLoops matrix_loops() { return {unpack_of, multiply_of}; }

} // namespace sim::SIM_BUILD
