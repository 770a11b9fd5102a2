#include "flash/attn_fwd_memo.h"

#include "attn_fwd_arguments.h"
#include "flash/views.h"

#include <array>
#include <bit>
#include <string_view>

namespace aotriton::flash {
namespace {

constexpr unsigned kFrontEnd = 1;

// Where a prepared launch has its addresses from.
enum From : std::uint8_t { kQ, kK, kV, kOut, kLse, kCounter, kAddresses };

constexpr std::array<std::string_view, kAddresses> kArguments{"Q", "K", "V", "Out", "L", "persistent_atomic_counter"};

constexpr std::uint8_t from_of(std::size_t argument) {
  std::uint8_t from = 0;
  while (from < kAddresses && kArguments[from] != kAttnFwdArgumentNames[argument]) ++from;
  return from;
}

constexpr auto kFrom = [] {
  std::array<std::uint8_t, kAttnFwdArgumentNames.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = from_of(i);
  return all;
}();

// Tensors and numbers that a key has no word for.
bool has_more(const aotriton_attn_fwd_params& p) {
  const auto address = [](const aotriton_tensor& view) { return std::bit_cast<std::uintptr_t>(view.data); };
  const auto any = address(p.bias) | address(p.alibi_slopes) | address(p.cu_seqlens_q) | address(p.cu_seqlens_k) |
                   address(p.seq_strides_q) | address(p.seq_strides_k) | address(p.encoded_softmax);
  return any != 0 || p.varlen_type != 0 || !(p.dropout_p == 0);
}

std::uint64_t pair(std::int32_t high, std::uint32_t low) {
  return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | low;
}

// Nothing where there is no tensor: what else stands in its struct then has no meaning.
void add_optional(const aotriton_tensor& view, dispatch::Key& key) {
  if (view.data != nullptr) {
    key.add(view);
  } else {
    key.add(0);
  }
}

}  // namespace

dispatch::Key key_of(const aotriton_attn_fwd_params& params, const dispatch::Kernel& kernel) {
  dispatch::Key key(kFrontEnd, kernel.number());
  if (has_more(params)) key.refuse();
  key.add(pair(params.causal_type, std::bit_cast<std::uint32_t>(params.scale)));
  key.add(pair(params.window_left, static_cast<std::uint32_t>(params.window_right)));
  key.add(params.q);
  key.add(params.k);
  key.add(params.v);
  key.add(params.out);
  add_optional(params.lse, key);
  add_optional(params.persistent_atomic_counter, key);
  return key;
}

bool clearly_apart(const aotriton_attn_fwd_params& p) {
  const Range q = range_of(p.q), k = range_of(p.k), v = range_of(p.v), out = range_of(p.out);
  if (out.meets(q) || out.meets(k) || out.meets(v)) return false;
  const Range lse = p.lse.data != nullptr ? range_of(p.lse) : Range();
  if (lse.meets(q) || lse.meets(k) || lse.meets(v) || lse.meets(out)) return false;
  if (p.persistent_atomic_counter.data == nullptr) return true;
  const auto begin = std::bit_cast<std::uintptr_t>(p.persistent_atomic_counter.data);
  const Range counter{begin, begin + sizeof(std::int32_t)};
  return !(counter.meets(q) || counter.meets(k) || counter.meets(v) || counter.meets(out) || counter.meets(lse));
}

core::Status launch(const dispatch::Prepared& prepared, const aotriton_attn_fwd_params& params, aotriton_stream stream) {
  const std::array<void*, kAddresses> addresses{
      params.q.data,   address_of(params.k, params), address_of(params.v, params),
      params.out.data, params.lse.data,              params.persistent_atomic_counter.data};
  return prepared.launch(stream, [&](std::uint8_t from) { return std::bit_cast<std::uint64_t>(addresses[from]); });
}

void keep(const dispatch::Key& key, dispatch::Prepared& prepared) {
  for (std::size_t i = 0; prepared.ready() && i < prepared.addresses; ++i) {
    std::uint8_t& from = prepared.address[i].from;
    from = kFrom[from];
    if (from == kAddresses) return;
  }
  dispatch::Memo::of_this_thread().keep(key, prepared);
}

}  // namespace aotriton::flash
