// The argument block of a launch: one pointer per parameter, as HIP and CUDA take it, with no memory but the stack's.
#pragma once

#include "dispatch/plan.h"

#include <array>
#include <cstdint>
#include <span>

namespace aotriton::dispatch {

class Parameters {
 public:
  // The values were checked against the signature. `scratch` null pointers follow.
  Parameters(const SignatureFacts& signature, std::span<const Value> values, std::size_t scratch);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  void* const* data() const { return pointers_.data(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kMost = pack::kMaxArguments + pack::kMaxScratchParameters;

  void add(std::uint64_t bits) {
    slots_[size_] = bits;
    pointers_[size_] = &slots_[size_];
    size_ += 1;
  }

  std::array<std::uint64_t, kMost> slots_;  // little-endian: a narrow number is the first bytes of its slot
  std::array<void*, kMost> pointers_;
  std::size_t size_ = 0;
};

// A floating-point number as the bits of a narrower type, rounded to nearest, ties to even.
std::uint64_t bits_of_real(double real, index::Type type);

}  // namespace aotriton::dispatch
