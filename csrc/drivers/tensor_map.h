// Tensor maps: what NVIDIA's drivers build from a tensor view, and code of sm_90 and later takes as one argument.
#pragma once

#include <aotriton/aotriton.h>

#include <array>
#include <cstdint>

namespace aotriton::drivers {

constexpr int kMostMapDimensions = 5;

// What one is built from, by dimension, as far as there are any. Whoever fills it keeps CUDA's limits.
struct TensorMapRequest {
  void* address = nullptr;
  aotriton_dtype type = AOTRITON_NONE;
  int rank = 0;
  std::array<std::uint64_t, kMostMapDimensions> sizes{};    // in elements
  std::array<std::uint64_t, kMostMapDimensions> strides{};  // in bytes; the last dimension is contiguous
  std::array<std::uint32_t, kMostMapDimensions> block{};    // what one access moves, in elements
  std::uint32_t swizzle = 0;                                // bytes: 0, 32, 64, 128
  bool fills_nan = false;                                   // outside of the tensor, instead of 0
};

struct alignas(128) TensorMap {
  std::array<std::uint64_t, 16> words;  // the driver's own
};

}  // namespace aotriton::drivers
