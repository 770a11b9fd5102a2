// Views of tensors, names of GPUs, and what device is behind a stream.
#ifndef AOTRITON_UTIL_H
#define AOTRITON_UTIL_H

#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace AOTRITON_NS {

constexpr std::uint32_t CAT32(std::uint16_t high, std::uint16_t low) {
  return std::uint32_t(high) << 16 | low;
}
constexpr std::uint64_t CAT64(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t(high) << 32 | low;
}
constexpr std::uint64_t TRICAT(std::uint16_t high, std::uint16_t middle, std::uint16_t low) {
  return CAT64(high, CAT32(middle, low));
}

// The quotient, rounded up.
template <typename T>
constexpr T cdiv(T numerator, T denominator) {
  return (numerator + (denominator - 1)) / denominator;
}

// PCI vendor numbers.
enum GpuVendor : std::uint16_t {
  kAMD = 0x1002,
  kNVIDIA = 0x10de,
  kINTEL = 0x8086,
};

// Vendor, architecture, variant. An architecture's number is the digits of its name: gfx942 is 0x942, sm_90 is 0x90.
enum Gpu : std::uint64_t {
  GPU_ARCH_UNKNOWN = 0,
  GPU_AMD_ARCH_GFX90A_MOD0 = TRICAT(kAMD, 0x90a, 0),
  GPU_AMD_ARCH_GFX942_MOD0 = TRICAT(kAMD, 0x942, 0),
  GPU_AMD_ARCH_GFX942_MOD1 = TRICAT(kAMD, 0x942, 1),
  GPU_AMD_ARCH_GFX942_MOD2 = TRICAT(kAMD, 0x942, 2),
  GPU_AMD_ARCH_GFX950_MOD0 = TRICAT(kAMD, 0x950, 0),
  GPU_AMD_ARCH_GFX1100_MOD0 = TRICAT(kAMD, 0x1100, 0),
  GPU_AMD_ARCH_GFX1101_MOD0 = TRICAT(kAMD, 0x1101, 0),
  GPU_AMD_ARCH_GFX1102_MOD0 = TRICAT(kAMD, 0x1102, 0),
  GPU_AMD_ARCH_GFX1103_MOD0 = TRICAT(kAMD, 0x1103, 0),
  GPU_AMD_ARCH_GFX1150_MOD0 = TRICAT(kAMD, 0x1150, 0),
  GPU_AMD_ARCH_GFX1151_MOD0 = TRICAT(kAMD, 0x1151, 0),
  GPU_AMD_ARCH_GFX1152_MOD0 = TRICAT(kAMD, 0x1152, 0),
  GPU_AMD_ARCH_GFX1153_MOD0 = TRICAT(kAMD, 0x1153, 0),
  GPU_AMD_ARCH_GFX1200_MOD0 = TRICAT(kAMD, 0x1200, 0),
  GPU_AMD_ARCH_GFX1201_MOD0 = TRICAT(kAMD, 0x1201, 0),
  GPU_AMD_ARCH_GFX1250_MOD0 = TRICAT(kAMD, 0x1250, 0),
  GPU_NVIDIA_ARCH_SM80_MOD0 = TRICAT(kNVIDIA, 0x80, 0),
  GPU_NVIDIA_ARCH_SM86_MOD0 = TRICAT(kNVIDIA, 0x86, 0),
  GPU_NVIDIA_ARCH_SM89_MOD0 = TRICAT(kNVIDIA, 0x89, 0),
  GPU_NVIDIA_ARCH_SM90_MOD0 = TRICAT(kNVIDIA, 0x90, 0),
  GPU_NVIDIA_ARCH_SM100_MOD0 = TRICAT(kNVIDIA, 0x100, 0),
  GPU_NVIDIA_ARCH_SM120_MOD0 = TRICAT(kNVIDIA, 0x120, 0),
};

// Vendor and architecture without the variant: 0x10020942.
constexpr std::uint32_t Gpu2VendorArch(std::uint64_t gpu) {
  return static_cast<std::uint32_t>((gpu & 0xFFFFFFFF0000ull) >> 16);
}

// What device is behind a stream: the one that AOTRITON_DEVICE names, else the stream's, HIP before CUDA.
// GPU_ARCH_UNKNOWN where there is none, or one that has no name here.
AOTRITON_API Gpu getGpuFromStream(hipStream_t stream);
// Code for this architecture is built, but was tried less than the others'.
AOTRITON_API bool isArchExperimentallySupported(hipStream_t stream);
// Code for this architecture is built for a first look only.
AOTRITON_API bool isArchTechPreview(hipStream_t stream);
// 40 where there is no device.
AOTRITON_API int getMultiProcessorCount(hipStream_t stream);

// A view of memory that somebody else owns. Strides are in elements.
template <int Rank>
class TensorView {
 public:
  TensorView() = default;
  TensorView(std::intptr_t base, std::array<std::uint64_t, Rank> sizes, std::array<std::uint64_t, Rank> strides,
             DType dtype)
      : base_(reinterpret_cast<void*>(base)), sizes_(sizes), strides_(strides), dtype_(dtype) {}

  operator bool() const { return base_ != nullptr; }

  std::uint64_t size(int dimension) const { return sizes_[static_cast<std::size_t>(dimension)]; }
  std::uint64_t stride(int dimension) const { return strides_[static_cast<std::size_t>(dimension)]; }
  std::array<std::uint64_t, Rank> sizes() const { return sizes_; }
  std::array<std::uint64_t, Rank> strides() const { return strides_; }
  const std::uint64_t* size_ptr() const { return sizes_.data(); }
  const std::uint64_t* stride_ptr() const { return strides_.data(); }
  void* data_ptr() const { return base_; }
  DType dtype() const { return dtype_; }

  // Addresses of the fields themselves, as kernel parameters are given to a driver: the view must outlive the launch.
  const void* kparam_data_ptr() const { return &base_; }
  const void* kparam_stride(int dimension) const { return &strides_[static_cast<std::size_t>(dimension)]; }

  static TensorView get_null_tensor(DType dtype) { return TensorView(0, {}, {}, dtype); }

 private:
  void* base_ = nullptr;
  std::array<std::uint64_t, Rank> sizes_{};
  std::array<std::uint64_t, Rank> strides_{};
  DType dtype_ = kUnknown;
};

// A number in memory.
template <>
class TensorView<0> {
 public:
  TensorView() = default;
  TensorView(std::intptr_t base, DType dtype) : base_(reinterpret_cast<void*>(base)), dtype_(dtype) {}

  operator bool() const { return base_ != nullptr; }

  std::uint64_t size(int dimension) const { return dimension == 0 ? 1 : 0; }
  std::uint64_t stride(int dimension) const { return dimension == 0 ? 1 : 0; }
  std::array<std::uint64_t, 0> sizes() const { return {}; }
  std::array<std::uint64_t, 0> strides() const { return {}; }
  void* data_ptr() const { return base_; }
  DType dtype() const { return dtype_; }
  const void* kparam_data_ptr() const { return &base_; }

  static TensorView get_null_tensor(DType dtype) { return TensorView(0, dtype); }

 private:
  void* base_ = nullptr;
  DType dtype_ = kUnknown;
};

extern template class AOTRITON_API TensorView<1>;
extern template class AOTRITON_API TensorView<2>;
extern template class AOTRITON_API TensorView<3>;
extern template class AOTRITON_API TensorView<4>;

}  // namespace AOTRITON_NS

#endif
