// The argument block of a launch: one pointer per parameter, as HIP and CUDA take it, with no memory but the stack's.
#pragma once

#include "dispatch/plan.h"
#include "drivers/driver.h"

#include <array>
#include <cstdint>
#include <span>

namespace aotriton::dispatch {

class Parameters {
 public:
  // The values were checked against the signature. `scratch` null pointers follow. `maps`: the code takes descriptors as
  // tensor maps, which `encode` builds then.
  Parameters(const SignatureFacts& signature, std::span<const Value> values, std::size_t scratch, bool maps = false);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // The tensor maps of an image that has them.
  core::Status encode(drivers::Driver& driver, int ordinal, const Plan& plan, const SignatureFacts& signature,
                      const index::Image& image, std::span<const Value> values);

  void* const* data() const { return pointers_.data(); }
  std::size_t size() const { return size_; }

 private:
  // A descriptor of five dimensions without a tensor map is 23 values: address, two flags, sizes and strides twice.
  static constexpr std::size_t kMost =
      pack::kMaxArguments + pack::kMaxScratchParameters + pack::kMaxDescriptors * 22;

  void add(std::uint64_t bits) {
    slots_[size_] = bits;
    pointers_[size_] = &slots_[size_];
    size_ += 1;
  }
  void add_descriptor(const ParameterFacts& parameter, const Value& value, bool maps);
  void add_shape(const aotriton_tensor& view, std::int64_t element_bytes);

  std::array<std::uint64_t, kMost> slots_;  // little-endian: a narrow number is the first bytes of its slot
  std::array<void*, kMost> pointers_;
  std::size_t size_ = 0;
  std::array<drivers::TensorMap, pack::kMaxDescriptors> maps_;
  std::size_t map_count_ = 0;
};

// A floating-point number as the bits of a narrower type, rounded to nearest, ties to even.
std::uint64_t bits_of_real(double real, index::Type type);

}  // namespace aotriton::dispatch
