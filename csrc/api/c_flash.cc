// The C API's flash attention.
#include "api/c_strings.h"
#include "core/guarded.h"
#include "core/text.h"
#include "flash/attn_fwd.h"

#include <algorithm>

namespace {

using aotriton::core::cat;
using aotriton::core::Status;

// A struct that starts with its size. A larger one comes from a later version: what it has beyond ours must be zero,
// since we would ignore it.
template <typename Struct>
Status check_size(const char* name, const Struct& given) {
  if (given.size < sizeof(Struct)) {
    return Status(AOTRITON_INVALID_VERSION, cat(name, ".size is ", given.size, "; this library takes ", sizeof(Struct),
                                                ": set it to sizeof, and compile with this library's aotriton.h"));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > 4096 + sizeof(Struct) ||
      std::any_of(bytes + sizeof(Struct), bytes + given.size, [](unsigned char byte) { return byte != 0; })) {
    return Status(AOTRITON_INVALID_VERSION, cat(name, ".size is ", given.size, " where this library knows ", sizeof(Struct),
                                                " bytes, and what is beyond them isn't zero: it is a later version's; use "
                                                "that library"));
  }
  return {};
}

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
