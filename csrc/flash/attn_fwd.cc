#include "flash/attn_fwd.h"

#include "attn_fwd_arguments.h"
#include "core/environment.h"
#include "core/json.h"
#include "core/log.h"
#include "core/status_name.h"
#include "core/text.h"
#include "dispatch/kernel.h"
#include "drivers/devices.h"
#include "flash/attn_fwd_check.h"
#include "flash/attn_fwd_memo.h"
#include "flash/kernel_cache.h"
#include "flash/views.h"

#include <optional>

namespace aotriton::flash {
namespace {

using core::Result;
using core::Status;

constexpr const char* kOperator = "attn_fwd";

KernelCache& kernels() {
  static KernelCache& cache = *new KernelCache("flash", "attn_fwd", kAttnFwdArgumentNames);
  return cache;
}

// As the kernel takes it: (B·Hq, Sq), contiguous.
aotriton_tensor rows_of(const aotriton_attn_fwd_params& params) {
  aotriton_tensor lse = params.lse;
  if (lse.data == nullptr) return lse;
  const std::int64_t length = params.q.sizes[2];
  lse.rank = 2;
  lse.sizes[0] = params.q.sizes[0] * params.q.sizes[1];
  lse.sizes[1] = length;
  lse.strides[0] = length;
  lse.strides[1] = 1;
  return lse;
}

// Without keys the strides of k and v mean nothing; the kernel takes a last stride of 1 all the same.
aotriton_tensor with_address(const aotriton_tensor& view, void* address) {
  aotriton_tensor addressed = view;
  addressed.data = address;
  if (is_empty(view)) addressed.strides[3] = 1;
  return addressed;
}

aotriton_tensor number_at(void* address, aotriton_dtype dtype) {
  aotriton_tensor view{};
  view.data = address;
  view.dtype = dtype;
  return view;
}

Status run(const aotriton_attn_fwd_params& params, dispatch::Kernel& kernel, const aotriton_device& device,
           aotriton_stream stream, const dispatch::Options& options, std::string* trace) {
  const auto count = [](std::int64_t size) { return static_cast<std::int32_t>(size); };  // was checked to fit
  const aotriton_tensor k = with_address(params.k, address_of(params.k, params));
  const aotriton_tensor v = with_address(params.v, address_of(params.v, params));
  const aotriton_tensor lse = rows_of(params);
  const aotriton_tensor counter = number_at(params.persistent_atomic_counter.data, AOTRITON_I32);
  const AttnFwdArguments arguments{
      .Q = params.q,
      .K = k,
      .V = v,
      .B = params.bias,
      .Sm_scale = params.scale,
      .L = lse,
      .Out = params.out,
      .Num_head_q = count(params.q.sizes[1]),
      .Num_head_k = count(params.k.sizes[1]),
      .Num_seqlens = 0,
      .cu_seqlens_q = params.cu_seqlens_q,
      .cu_seqlens_k = params.cu_seqlens_k,
      .Max_seqlen_q = count(params.q.sizes[2]),
      .Max_seqlen_k = count(params.k.sizes[2]),
      .seq_strides_q = params.seq_strides_q,
      .seq_strides_k = params.seq_strides_k,
      .Hdim_qk = count(params.q.sizes[3]),
      .Hdim_vo = count(params.v.sizes[3]),
      .ENABLE_DROPOUT = false,
      .dropout_p = 0.0f,
      .philox_seed_ptr = nullptr,
      .philox_offset1 = nullptr,
      .philox_offset2 = std::uint64_t{0},
      .philox_seed_output = nullptr,
      .philox_offset_output = nullptr,
      .CAUSAL_TYPE = params.causal_type,
      .Window_left = params.window_left,
      .Window_right = params.window_right,
      .persistent_atomic_counter = counter,
      .Num_CU = device.machine.compute_units,
      .Batch = count(params.q.sizes[0]),
  };
  std::array<dispatch::Value, kAttnFwdArgumentNames.size()> values;
  if (Status status = fill(arguments, values); !status.ok()) return status;
  dispatch::Prepared prepared;
  Status status = kernel.run(values, stream, options, trace, &prepared);
  keep(key_of(params, kernel), prepared);
  return status;
}

// The trace of a call that came to no choice.
std::string short_trace(const Status& status, const aotriton_device* device, const char* note) {
  core::JsonWriter json;
  json.begin_object().member("operator", kOperator).member("family", "flash").member("kernel", "attn_fwd");
  for (const char* name : {"device", "target"}) {
    json.key(name);
    if (device == nullptr) {
      json.null();
    } else {
      json.value(*name == 'd' ? device->name : device->machine.target);
    }
  }
  json.member("status", core::status_name(status.code())).key("reason");
  if (status.ok()) {
    json.null();
  } else {
    json.value(status.text());
  }
  json.key("pack").null().key("functional").null();
  json.key("substituted").begin_array().end_array().key("rejected").begin_array().end_array();
  json.key("table").null().key("config").null().key("image").null().key("grid").null();
  json.key("notes").begin_array();
  if (note != nullptr) json.value(note);
  json.end_array().member("loaded", false).member("launched", false);
  return json.end_object().take();
}

Status finish(Status status, const aotriton_device* device, std::string* trace, const char* note = nullptr) {
  if (trace != nullptr && trace->empty()) *trace = short_trace(status, device, note);
  if (!status.ok()) AOTRITON_LOG(error, kOperator, ": ", status.text());
  return status;
}

// A call that this thread's memo knows. Nothing: it takes the whole way, with its checks in their order.
std::optional<Status> repeat(const aotriton_attn_fwd_params& params, aotriton_device* device, aotriton_stream stream,
                             const aotriton_attn_options& options) {
  if (kernels().empty()) return std::nullopt;
  const char* packs = nullptr;
  if (device == nullptr) {
    const Result<aotriton_device*> found = drivers::device_of_stream(stream);
    if (!found.ok()) return std::nullopt;
    device = *found;
    packs = core::environment_just_seen(core::Variable::pack_path);
  } else {
    packs = core::environment(core::Variable::pack_path);
  }
  const dispatch::Kernel* const kernel = kernels().opened(*device, packs);
  if (kernel == nullptr) return std::nullopt;
  const dispatch::Prepared* const prepared = dispatch::Memo::of_this_thread().find(key_of(params, *kernel));
  if (prepared == nullptr || !clearly_apart(params)) return std::nullopt;
  if (options.query_only != 0 || options.load_only != 0) return Status();
  return finish(launch(*prepared, params, stream), device, nullptr);
}

}  // namespace

Status attn_fwd(const aotriton_attn_fwd_params& params, aotriton_device* device, aotriton_stream stream,
                const aotriton_attn_options& options, std::string* trace) {
  if (Status status = check_attn_options(options); !status.ok()) return finish(status, device, trace);
  if (trace == nullptr) {
    if (std::optional<Status> status = repeat(params, device, stream, options)) return *std::move(status);
  }
  if (Status status = check_attn_fwd(params); !status.ok()) return finish(status, device, trace);
  if (has_no_output(params)) return finish({}, device, trace, "the output has no elements: nothing to launch");
  if (device == nullptr) {
    Result<aotriton_device*> found = drivers::device_of_stream(stream);
    if (!found.ok()) return finish(found.status(), device, trace);
    device = *found;
  }
  Result<dispatch::Kernel*> kernel = kernels().get(*device);
  if (!kernel.ok()) return finish(kernel.status(), device, trace);
  dispatch::Options wanted;
  wanted.load = options.query_only == 0;
  wanted.launch = options.query_only == 0 && options.load_only == 0;
  wanted.operation = kOperator;
  return finish(run(params, **kernel, *device, stream, wanted, trace), device, trace);
}

}  // namespace aotriton::flash
