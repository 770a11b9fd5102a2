// Flash attention.
#ifndef AOTRITON_FLASH_H
#define AOTRITON_FLASH_H

#include <aotriton/config.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <cstdint>

namespace AOTRITON_NS::v3::flash {

using T4 = TensorView<4>;
using T2 = TensorView<2>;
using T1 = TensorView<1>;
using T0 = TensorView<0>;

struct CausalType {
  static constexpr std::int8_t None = 0;
  static constexpr std::int8_t WindowedAttention = 3;
};

// Window sizes that depend on the lengths: causal, aligned to the first query and key or to the last ones.
struct WindowValue {
  static constexpr std::int32_t TopLeftAligned = -2147483647;
  static constexpr std::int32_t BottomRightAligned = -2147483646;
};

struct VarlenType {
  static constexpr std::int8_t None = 0;
  static constexpr std::int8_t CompactVarlen = 1;
  static constexpr std::int8_t PaddedVarlen = 2;
  static constexpr std::int8_t StridedVarlen = 3;
};

struct AOTRITON_API attn_options {
  int force_backend_index = -1;  // -1: the library chooses; else this backend and no other
  bool deterministic = false;    // the same bits from the same inputs
};

// The order of the fields is ABI; kVersion changes with it.
// B (bias), A, the sequences' lengths, dropout, and encoded_softmax belong to later versions of the library: null or zero.
struct AOTRITON_API attn_fwd_params {
  static constexpr std::int32_t kVersion = 3;

  T4 Q;  // (batch, query heads, query length, head dim)
  T4 K;  // (batch, key heads, key length, head dim)
  T4 V;  // (batch, key heads, key length, head dim of V)
  T4 B;
  T2 A;
  float Sm_scale = 0.0f;
  T2 L;  // (batch * query heads, query length), fp32, contiguous: logarithms of the sums; may be null
  T4 Out;
  T1 cu_seqlens_q;
  T1 cu_seqlens_k;
  std::int32_t Max_seqlen_q = 0;
  std::int32_t Max_seqlen_k = 0;
  T1 seq_strides_q;
  T1 seq_strides_k;
  float dropout_p = 0.0f;
  T0 philox_seed_ptr;
  T0 philox_offset1;
  std::uint64_t philox_offset2 = 0;
  T0 philox_seed_output;
  T0 philox_offset_output;
  T4 encoded_softmax;
  T0 persistent_atomic_counter;  // an int32 that is zero at each causal call, or null
  std::int8_t causal_type = CausalType::None;
  std::int8_t varlen_type = VarlenType::None;
  // Element (m, n) is visible iff m - window_left <= n <= m + window_right, where causal_type says so.
  std::int32_t window_left = 0;
  std::int32_t window_right = 0;
};

// Enqueues softmax(Sm_scale * Q Kᵀ) V on the stream. `params_version` is attn_fwd_params::kVersion as the caller was
// compiled. Anything but hipSuccess launched nothing; aotriton_last_error() (aotriton.h) says why in words.
AOTRITON_API hipError_t attn_fwd(const attn_fwd_params& params, std::int32_t params_version, Stream stream,
                                 const attn_options* options = nullptr);

}  // namespace AOTRITON_NS::v3::flash

#endif
