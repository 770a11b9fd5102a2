// The C API's flash attention.
#include "api/c_strings.h"
#include "api/sized_struct.h"
#include "core/guarded.h"
#include "flash/attn_fwd.h"

namespace {

using aotriton::api::check_size;
using aotriton::core::Status;

Status check_structs(const aotriton_attn_fwd_params* params, const aotriton_attn_options* options) {
  if (params == nullptr) return aotriton::api::null_argument("params");
  if (Status status = check_size("params", *params); !status.ok()) return status;
  return options == nullptr ? Status() : check_size("options", *options);
}

}  // namespace

extern "C" aotriton_status aotriton_attn_fwd(const aotriton_attn_fwd_params* params, aotriton_device* device,
                                             aotriton_stream stream, const aotriton_attn_options* options, char** trace) {
  return aotriton::core::guarded([&]() -> Status {
    if (trace != nullptr) *trace = nullptr;
    if (Status status = check_structs(params, options); !status.ok()) return status;
    static constexpr aotriton_attn_options kDefaults = AOTRITON_ATTN_OPTIONS_INIT;
    std::string text;
    Status status = aotriton::flash::attn_fwd(*params, device, stream, options != nullptr ? *options : kDefaults,
                                              trace != nullptr ? &text : nullptr);
    if (trace == nullptr) return status;
    if (Status copied = aotriton::api::give(text, trace); !copied.ok()) return copied;
    return status;
  });
}
