// Calls for tests of what launches cost and come to: attention and the made-up kernel, on addresses that nobody reads.
#pragma once

#include "flash/attn_fwd.h"
#include "tests/fake.h"
#include "tests/flash_pack.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace aotriton::tests {

inline constexpr aotriton_attn_options kDefaults = AOTRITON_ATTN_OPTIONS_INIT;

// A pack for attention alone, which the search path then names.
struct AttentionPack : TemporaryFolder {
  AttentionPack() {
    write("pack/flash/attn_fwd.zip", FlashPackWriter().zip());
    setenv("AOTRITON_PACK_PATH", path().c_str(), 1);
  }
};

// Addresses that nobody reads, 1 MiB for each tensor.
inline void* place(std::uintptr_t number, std::uintptr_t offset = 0) { return reinterpret_cast<void*>((number << 20) + offset); }

inline aotriton_tensor contiguous(void* data, std::initializer_list<std::int64_t> sizes,
                                  aotriton_dtype dtype = AOTRITON_FP16) {
  aotriton_tensor view{};
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<std::int32_t>(sizes.size());
  std::ranges::copy(sizes, view.sizes);
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0; stride *= view.sizes[i]) view.strides[i] = stride;
  return view;
}

inline aotriton_attn_fwd_params problem(std::int64_t length = 130, std::int64_t keys = 70) {
  aotriton_attn_fwd_params params{};
  params.size = sizeof params;
  params.q = contiguous(place(1), {2, 4, length, 32});
  params.k = contiguous(place(2), {2, 2, keys, 32});
  params.v = contiguous(place(3), {2, 2, keys, 32});
  params.out = contiguous(place(4), {2, 4, length, 32});
  params.lse = contiguous(place(5), {8, length}, AOTRITON_FP32);
  params.scale = 0.5f;
  return params;
}

inline core::Status attend(const aotriton_attn_fwd_params& params, FakeDevice& fake,
                           const aotriton_attn_options& options = kDefaults) {
  return flash::attn_fwd(params, &fake.device, nullptr, options, nullptr);
}

// Sound arguments of the made-up kernel, as its callers by name give them.
inline std::array<aotriton_argument, 6> sample_arguments() {
  std::array<aotriton_argument, 6> all;
  all[0] = {"X", AOTRITON_ARGUMENT_TENSOR, 0, 0, 0, contiguous(place(1), {4, 64})};
  all[1] = {"Y", AOTRITON_ARGUMENT_TENSOR, 0, 0, 0, contiguous(place(2), {4, 64})};
  all[2] = {"N", AOTRITON_ARGUMENT_INTEGER, 0, 32, 0, {}};
  all[3] = {"W", AOTRITON_ARGUMENT_INTEGER, 0, 32, 0, {}};
  all[4] = {"MODE", AOTRITON_ARGUMENT_INTEGER, 0, 0, 0, {}};
  all[5] = {"alpha", AOTRITON_ARGUMENT_REAL, 0, 0, 1.5, {}};
  return all;
}

}  // namespace aotriton::tests
