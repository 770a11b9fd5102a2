// The flash forward's calls in the memo (dispatch/memo.h): what of a call its decision depends on, and what of its
// addresses is asked each time.
#pragma once

#include "dispatch/kernel.h"
#include "dispatch/memo.h"

namespace aotriton::flash {

// All of a call but its addresses. Not sound, so that the call takes the whole way, where it has anything that this
// doesn't know: what is refused today, and the features that come later.
dispatch::Key key_of(const aotriton_attn_fwd_params& params, const dispatch::Kernel& kernel);
// Whether what is written lies apart from all else, by the ranges alone. False: it takes the whole check to tell.
bool clearly_apart(const aotriton_attn_fwd_params& params);

core::Status launch(const dispatch::Prepared& prepared, const aotriton_attn_fwd_params& params, aotriton_stream stream);
// Keeps what dispatch prepared for a call.
void keep(const dispatch::Key& key, dispatch::Prepared& prepared);

// The address of k or v. Without keys there may be none behind them; the kernel, which then reads neither, takes q's.
inline void* address_of(const aotriton_tensor& keys, const aotriton_attn_fwd_params& params) {
  return keys.data != nullptr ? keys.data : params.q.data;
}

}  // namespace aotriton::flash
