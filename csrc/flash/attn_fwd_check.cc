#include "flash/attn_fwd_check.h"

#include "core/text.h"
#include "flash/views.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace aotriton::flash {
namespace {

using core::cat;
using core::Status;

Status invalid(std::string text) { return Status(AOTRITON_INVALID_ARGUMENT, std::move(text)); }
Status unsupported(std::string text) { return Status(AOTRITON_UNSUPPORTED, std::move(text)); }

constexpr std::int64_t kMostHeadDim = 512;

// What has its parameters, but no kernel yet.
Status check_later_features(const aotriton_attn_fwd_params& params) {
  if (params.bias.data != nullptr) {
    return unsupported("a bias was given; no compiled kernel adds one yet: pass null, or add it in another library");
  }
  if (params.alibi_slopes.data != nullptr) return unsupported("ALiBi slopes were given; no kernel takes them: pass null");
  if (std::isnan(params.dropout_p) || params.dropout_p < 0 || params.dropout_p > 1) {
    return invalid(cat("dropout_p is ", std::to_string(params.dropout_p), "; it is a probability, 0 to 1"));
  }
  if (params.dropout_p > 0) {
    return unsupported(cat("dropout_p is ", std::to_string(params.dropout_p), "; no compiled kernel drops yet: pass 0"));
  }
  for (const aotriton_tensor* lengths :
       {&params.cu_seqlens_q, &params.cu_seqlens_k, &params.seq_strides_q, &params.seq_strides_k}) {
    if (lengths->data != nullptr) {
      return unsupported("sequence lengths were given (cu_seqlens, seq_strides); no compiled kernel takes sequences of "
                         "different lengths yet: call once for each sequence");
    }
  }
  if (params.varlen_type != 0) {
    return unsupported(cat("varlen_type is ", params.varlen_type, "; no compiled kernel takes sequences of different "
                           "lengths yet: pass 0, and call once for each sequence"));
  }
  if (params.encoded_softmax.data != nullptr) {
    return unsupported("a tensor for the encoded softmax was given; no compiled kernel writes it yet: pass null");
  }
  return {};
}

// A tensor without elements may have no address, but it has a shape.
bool is_absent(const aotriton_tensor& view) {
  const auto zero = [](std::int64_t size) { return size == 0; };
  return view.data == nullptr && (view.rank != 4 || std::all_of(view.sizes, view.sizes + 4, zero));
}

Status check_causal(const aotriton_attn_fwd_params& params) {
  if (params.causal_type == AOTRITON_CAUSAL_NONE || params.causal_type == AOTRITON_CAUSAL_WINDOWED) return {};
  return unsupported(cat("causal_type is ", params.causal_type, "; it is 0 (none) or 3 (windowed: causal with the window "
                         "sizes that stand for an alignment)"));
}

Status check_dtypes(const aotriton_attn_fwd_params& params) {
  const std::int32_t dtype = params.q.dtype;
  if (dtype != AOTRITON_FP16 && dtype != AOTRITON_BF16 && dtype != AOTRITON_FP32) {
    return invalid(cat("q has type ", dtype_name(dtype), "; attention takes fp16, bf16 and fp32"));
  }
  const struct {
    const char* name;
    const aotriton_tensor& view;
  } others[] = {{"k", params.k}, {"v", params.v}, {"out", params.out}};
  for (const auto& [name, view] : others) {
    if (view.dtype == dtype) continue;
    return invalid(cat(name, " has type ", dtype_name(view.dtype), " and q ", dtype_name(dtype),
                       "; q, k, v and out take the same type"));
  }
  if (params.lse.data != nullptr && params.lse.dtype != AOTRITON_FP32) {
    return invalid(cat("lse has type ", dtype_name(params.lse.dtype), "; it takes fp32"));
  }
  return {};
}

Status check_last_stride(const char* name, const aotriton_tensor& view) {
  if (view.sizes[3] <= 1 || view.strides[3] == 1 || is_empty(view)) return {};
  return invalid(cat("the last stride of ", name, " is ", view.strides[3], "; the head dimension takes stride 1: make it "
                     "contiguous in that dimension"));
}

Status disagree(const char* what, const char* a, const aotriton_tensor& va, const char* b, const aotriton_tensor& vb) {
  return invalid(cat(a, " has shape ", shape_text(va), " and ", b, " ", shape_text(vb), "; ", what));
}

Status check_shapes(const aotriton_attn_fwd_params& p) {
  const auto& [q, k, v, out] = std::tie(p.q, p.k, p.v, p.out);
  if (k.sizes[0] != q.sizes[0]) return disagree("they take the same batch size", "k", k, "q", q);
  if (v.sizes[0] != q.sizes[0]) return disagree("they take the same batch size", "v", v, "q", q);
  if (v.sizes[1] != k.sizes[1]) return disagree("they take the same number of heads", "v", v, "k", k);
  if (v.sizes[2] != k.sizes[2]) return disagree("they take the same number of keys", "v", v, "k", k);
  if (k.sizes[3] != q.sizes[3]) return disagree("they take the same head dimension", "k", k, "q", q);
  for (int i = 0; i < 3; ++i) {
    if (out.sizes[i] != q.sizes[i]) {
      return disagree("out takes the batch, heads and length of q", "out", out, "q", q);
    }
  }
  if (out.sizes[3] != v.sizes[3]) return disagree("out takes the head dimension of v", "out", out, "v", v);
  if (q.sizes[3] < 1 || v.sizes[3] < 1) return disagree("head dimensions are at least 1", "q", q, "v", v);
  if (q.sizes[3] > kMostHeadDim || v.sizes[3] > kMostHeadDim) {
    return unsupported(cat("the head dimension is ", std::max(q.sizes[3], v.sizes[3]), "; kernels go up to ", kMostHeadDim));
  }
  return {};
}

Status check_heads(std::int64_t query_heads, std::int64_t key_heads) {
  if (query_heads == 0) return {};
  if (key_heads == 0) return invalid(cat("q has ", query_heads, " heads and k has none; k takes at least one"));
  if (query_heads % key_heads == 0) return {};
  return invalid(cat("q has ", query_heads, " heads and k ", key_heads, "; the number of q's heads takes a multiple of k's"));
}

// Counts that the kernel holds in 32 bits: heads, a row and a key added up with what a block reaches beyond them, and
// tiles of the smallest block with one more number for each program of a persistent launch.
Status check_counts(const aotriton_attn_fwd_params& p) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kBlock = 512, kRowsOfTile = 16, kPrograms = 1 << 20;
  const std::int64_t heads = p.q.sizes[0] * p.q.sizes[1], rows = p.q.sizes[2], keys = p.k.sizes[2];  // each below 2^31
  if (rows + keys > kMost - kBlock) {
    return invalid(cat("there are ", rows, " queries and ", keys, " keys; the kernel counts at most ", kMost - kBlock,
                       " in all"));
  }
  if (heads > kMost || heads * ((rows + kRowsOfTile - 1) / kRowsOfTile) > kMost - kPrograms) {
    return invalid(cat("q has shape ", shape_text(p.q), ": ", heads, " heads of ", rows, " rows; the kernel counts at most ",
                       kMost - kPrograms, " tiles of ", kRowsOfTile, " rows: split the batch"));
  }
  return {};
}

// (B·Hq, Sq) or (B, Hq, Sq), contiguous.
Status check_lse(const aotriton_attn_fwd_params& p) {
  const aotriton_tensor& lse = p.lse;
  if (lse.data == nullptr) return {};
  const std::int64_t batch = p.q.sizes[0], heads = p.q.sizes[1], length = p.q.sizes[2];
  if (lse.rank != 2 && lse.rank != 3) {
    return invalid(cat("lse has rank ", lse.rank, "; it takes rank 2, (batch * heads, length), or 3, (batch, heads, length)"));
  }
  if (Status status = check_view("lse", lse, lse.rank); !status.ok()) return status;
  const bool fits = lse.rank == 2 ? lse.sizes[0] == batch * heads && lse.sizes[1] == length
                                  : lse.sizes[0] == batch && lse.sizes[1] == heads && lse.sizes[2] == length;
  if (!fits) {
    return invalid(cat("lse has shape ", shape_text(lse), "; with this q it takes (", batch * heads, ", ", length, ") or (",
                       batch, ", ", heads, ", ", length, ")"));
  }
  std::int64_t contiguous = 1;
  for (int i = lse.rank - 1; i >= 0; --i) {
    if (lse.sizes[i] > 1 && lse.strides[i] != contiguous && !is_empty(lse)) {
      return invalid(cat("lse has stride ", lse.strides[i], " in dimension ", i, " where a contiguous one has ", contiguous,
                         "; it takes contiguous memory"));
    }
    contiguous *= lse.sizes[i];
  }
  return {};
}

Status check_counter(const aotriton_tensor& counter) {
  if (counter.data == nullptr) return {};
  if (counter.dtype != AOTRITON_I32) {
    return invalid(cat("persistent_atomic_counter has type ", dtype_name(counter.dtype), "; it takes int32"));
  }
  if (counter.rank != 0 && counter.rank != 1) {
    return invalid(cat("persistent_atomic_counter has rank ", counter.rank, "; it takes one number: rank 0, or 1"));
  }
  if (counter.rank == 1 && counter.sizes[0] < 1) return invalid("persistent_atomic_counter is empty; it takes one number");
  return check_view("persistent_atomic_counter", counter, counter.rank);
}

// The counter's one number is counted up while tensors are read and written.
Status check_counter_is_apart(const aotriton_attn_fwd_params& p) {
  if (p.persistent_atomic_counter.data == nullptr) return {};
  aotriton_tensor number = p.persistent_atomic_counter;
  number.rank = 0;
  const struct {
    const char* name;
    const aotriton_tensor& view;
  } tensors[] = {{"out", p.out}, {"lse", p.lse}, {"q", p.q}, {"k", p.k}, {"v", p.v}};
  for (const auto& [name, view] : tensors) {
    if (view.data == nullptr || overlap(number, view) == Overlap::none) continue;
    return invalid(cat("persistent_atomic_counter shares memory with ", name, ", or may; it takes memory of its own"));
  }
  return {};
}

// What is written must be one place for each element, and none that is read.
Status check_overlaps(const aotriton_attn_fwd_params& p) {
  switch (overlaps_itself(p.out)) {
    case Overlap::none: break;
    case Overlap::some:
      return invalid("out overlaps itself: by its strides, different elements are the same memory; pass a tensor of its own");
    case Overlap::untold:
      return invalid("out may overlap itself: its strides don't nest; pass a contiguous tensor");
  }
  const Range out = range_of(p.out);
  const Range lse = p.lse.data != nullptr ? range_of(p.lse) : Range();
  const auto shared = [](const char* written, const char* with) {
    return invalid(cat(written, " shares memory with ", with, ", or may; what is written takes memory of its own"));
  };
  const struct {
    const char* name;
    const aotriton_tensor& view;
  } read[] = {{"q", p.q}, {"k", p.k}, {"v", p.v}};
  for (const auto& [name, view] : read) {
    const Range range = range_of(view);
    if (out.meets(range) && overlap(p.out, view) != Overlap::none) return shared("out", name);
    if (lse.meets(range) && overlap(p.lse, view) != Overlap::none) return shared("lse", name);
  }
  if (lse.meets(out) && overlap(p.lse, p.out) != Overlap::none) return shared("lse", "out");
  return {};
}

}  // namespace

Status check_attn_fwd(const aotriton_attn_fwd_params& params) {
  const struct {
    const char* name;
    const aotriton_tensor& view;
  } views[] = {{"q", params.q}, {"k", params.k}, {"v", params.v}, {"out", params.out}};
  for (const auto& [name, view] : views) {
    if (is_absent(view)) return invalid(cat(name, " is null; attention takes a tensor there"));
  }
  if (Status status = check_dtypes(params); !status.ok()) return status;
  for (const auto& [name, view] : views) {
    if (Status status = check_view(name, view, 4); !status.ok()) return status;
  }
  for (const auto& [name, view] : views) {
    if (Status status = check_last_stride(name, view); !status.ok()) return status;
  }
  if (Status status = check_heads(params.q.sizes[1], params.k.sizes[1]); !status.ok()) return status;
  if (Status status = check_shapes(params); !status.ok()) return status;
  if (Status status = check_counts(params); !status.ok()) return status;
  if (!std::isfinite(params.scale)) {
    return invalid(cat("the scale is ", std::to_string(params.scale), "; it takes a finite number"));
  }
  if (Status status = check_lse(params); !status.ok()) return status;
  if (Status status = check_causal(params); !status.ok()) return status;
  if (Status status = check_later_features(params); !status.ok()) return status;
  if (Status status = check_counter(params.persistent_atomic_counter); !status.ok()) return status;
  if (Status status = check_counter_is_apart(params); !status.ok()) return status;
  return check_overlaps(params);
}

Status check_attn_options(const aotriton_attn_options& options) {
  if (options.force_backend == -1 || options.force_backend == 0) return {};
  return unsupported(cat("backend ", options.force_backend, " was asked for; the forward has one: 0, or -1 for the best"));
}

bool has_no_output(const aotriton_attn_fwd_params& params) { return is_empty(params.out); }

}  // namespace aotriton::flash
