// The C++ API's flash attention: views become the C API's, statuses HIP's codes.
#include "core/guarded.h"
#include "core/text.h"
#include "flash/attn_fwd.h"

#include <aotriton/flash.h>

namespace AOTRITON_NS::v3::flash {
namespace {

using ::aotriton::core::cat;
using ::aotriton::core::Status;

// A size or stride beyond 2^63 comes out negative, which is refused as such.
template <int Rank>
void assign(aotriton_tensor& to, const TensorView<Rank>& from) {
  to.data = from.data_ptr();
  to.dtype = from.dtype();
  to.rank = Rank;
  for (int i = 0; i < Rank; ++i) {
    to.sizes[i] = static_cast<std::int64_t>(from.size(i));
    to.strides[i] = static_cast<std::int64_t>(from.stride(i));
  }
}

aotriton_attn_fwd_params to_c(const attn_fwd_params& from) {
  aotriton_attn_fwd_params to;
  to.size = sizeof to;
  assign(to.q, from.Q);
  assign(to.k, from.K);
  assign(to.v, from.V);
  assign(to.bias, from.B);
  assign(to.alibi_slopes, from.A);
  assign(to.lse, from.L);
  assign(to.out, from.Out);
  assign(to.cu_seqlens_q, from.cu_seqlens_q);
  assign(to.cu_seqlens_k, from.cu_seqlens_k);
  assign(to.seq_strides_q, from.seq_strides_q);
  assign(to.seq_strides_k, from.seq_strides_k);
  assign(to.philox_seed, from.philox_seed_ptr);
  assign(to.philox_offset1, from.philox_offset1);
  assign(to.philox_seed_output, from.philox_seed_output);
  assign(to.philox_offset_output, from.philox_offset_output);
  assign(to.encoded_softmax, from.encoded_softmax);
  assign(to.persistent_atomic_counter, from.persistent_atomic_counter);
  to.philox_offset2 = from.philox_offset2;
  to.scale = from.Sm_scale;
  to.dropout_p = from.dropout_p;
  to.max_seqlen_q = from.Max_seqlen_q;
  to.max_seqlen_k = from.Max_seqlen_k;
  to.causal_type = from.causal_type;
  to.varlen_type = from.varlen_type;
  to.window_left = from.window_left;
  to.window_right = from.window_right;
  return to;
}

// The codes that the original gives in the same cases, where it has the case.
hipError_t hip_error(aotriton_status status) {
  switch (status) {
    case AOTRITON_SUCCESS: return hipSuccess;
    case AOTRITON_INVALID_ARGUMENT: return hipErrorInvalidValue;
    case AOTRITON_INVALID_VERSION: return hipErrorInvalidSymbol;
    case AOTRITON_NO_DEVICE: return hipErrorNoDevice;
    case AOTRITON_NO_PACK: return hipErrorNoBinaryForGpu;
    case AOTRITON_BAD_PACK: return hipErrorInvalidImage;
    case AOTRITON_UNSUPPORTED: return hipErrorNotSupported;
    case AOTRITON_NOT_BUILT: return hipErrorProfilerNotInitialized;
    case AOTRITON_DRIVER_ERROR: return hipErrorLaunchFailure;
    case AOTRITON_OUT_OF_MEMORY: return hipErrorOutOfMemory;
    case AOTRITON_INTERNAL_ERROR: break;
  }
  return hipErrorUnknown;
}

}  // namespace

hipError_t attn_fwd(const attn_fwd_params& params, std::int32_t params_version, Stream stream, const attn_options* options) {
  return hip_error(::aotriton::core::guarded([&]() -> Status {
    if (params_version != attn_fwd_params::kVersion) {
      return Status(AOTRITON_INVALID_VERSION,
                    cat("attn_fwd_params has version ", params_version, "; this library takes version ",
                        attn_fwd_params::kVersion, ": compile with this library's flash.h, and pass kVersion"));
    }
    aotriton_attn_options wanted = AOTRITON_ATTN_OPTIONS_INIT;
    if (options != nullptr) {
      wanted.force_backend = options->force_backend_index;
      wanted.deterministic = options->deterministic ? 1 : 0;
    }
    return ::aotriton::flash::attn_fwd(to_c(params), nullptr, stream.native(), wanted, nullptr);
  }));
}

}  // namespace AOTRITON_NS::v3::flash
