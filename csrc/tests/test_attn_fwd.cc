// What the flash forward refuses before any launch, and which memory it takes for shared.
#include "flash/attn_fwd_check.h"
#include "flash/views.h"
#include "tests/check.h"

#include <aotriton/flash.h>

#include <cmath>
#include <functional>
#include <vector>

namespace {

using namespace aotriton;
using namespace aotriton::tests;
using flash::Overlap;

aotriton_tensor view(void* data, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                     aotriton_dtype dtype = AOTRITON_FP16) {
  aotriton_tensor tensor{};
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = static_cast<std::int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), tensor.sizes);
  std::copy(strides.begin(), strides.end(), tensor.strides);
  return tensor;
}

aotriton_tensor contiguous(void* data, std::vector<std::int64_t> sizes, aotriton_dtype dtype = AOTRITON_FP16) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  return view(data, sizes, strides, dtype);
}

// Addresses that nobody reads: each tensor has 1 GiB of its own.
void* place(std::uintptr_t number) { return reinterpret_cast<void*>(number << 30); }

aotriton_attn_fwd_params sound() {
  aotriton_attn_fwd_params params{};
  params.size = sizeof params;
  params.q = contiguous(place(1), {2, 4, 5, 32});
  params.k = contiguous(place(2), {2, 2, 7, 32});
  params.v = contiguous(place(3), {2, 2, 7, 16});
  params.out = contiguous(place(4), {2, 4, 5, 16});
  params.lse = contiguous(place(5), {8, 5}, AOTRITON_FP32);
  params.scale = 0.25f;
  return params;
}

using Change = std::function<void(aotriton_attn_fwd_params&)>;

core::Status after(const Change& change) {
  aotriton_attn_fwd_params params = sound();
  change(params);
  return flash::check_attn_fwd(params);
}

void refused(const Change& change, aotriton_status code, const char* piece) {
  const core::Status status = after(change);
  CHECK_EQUAL(status.code(), code);
  CHECK_CONTAINS(status.text(), piece);
}

void invalid(const Change& change, const char* piece) { refused(change, AOTRITON_INVALID_ARGUMENT, piece); }
void unsupported(const Change& change, const char* piece) { refused(change, AOTRITON_UNSUPPORTED, piece); }
void accepted(const Change& change) { CHECK_EQUAL(after(change).text(), ""); }

}  // namespace

TEST(a_sound_call_passes) {
  accepted([](auto&) {});
  accepted([](auto& p) { p.lse.data = nullptr; });
  accepted([](auto& p) { p.lse = contiguous(place(5), {2, 4, 5}, AOTRITON_FP32); });
  accepted([](auto& p) { p.causal_type = 3; });
  accepted([](auto& p) { p.persistent_atomic_counter = view(place(9), {}, {}, AOTRITON_I32); });
  // Odd bases and strides are sound, only the last stride isn't free.
  accepted([](auto& p) { p.q = view(static_cast<char*>(place(1)) + 2, {2, 4, 5, 32}, {661, 165, 33, 1}); });
}

TEST(tensors_that_are_missing_are_named) {
  invalid([](auto& p) { p.q.data = nullptr; }, "q is null");
  invalid([](auto& p) { p.k = {}; }, "k is null");
  invalid([](auto& p) { p.v.data = nullptr; }, "v is null");
  invalid([](auto& p) { p.out.data = nullptr; }, "out is null");
}

TEST(types_and_ranks) {
  invalid([](auto& p) { p.k.dtype = AOTRITON_BF16; }, "k has type bf16 and q fp16");
  invalid([](auto& p) { p.q.dtype = AOTRITON_FP64; }, "q has type fp64; attention takes fp16, bf16 and fp32");
  invalid([](auto& p) { p.q.dtype = 99; }, "q has type 99; attention takes");
  invalid([](auto& p) { p.q.dtype = AOTRITON_NONE; }, "q has type none; attention takes");
  invalid([](auto& p) { p.k.dtype = 7000; }, "k has type 7000 and q fp16");
  invalid([](auto& p) { p.lse.dtype = AOTRITON_FP16; }, "lse has type fp16; it takes fp32");
  invalid([](auto& p) { p.q.rank = 3; }, "q has rank 3; it takes rank 4");
  invalid([](auto& p) { p.q.rank = 1 << 20; }, "q has rank 1048576");
  invalid([](auto& p) { p.out.rank = -1; }, "out has rank -1");
  invalid([](auto& p) { p.lse.rank = 1; }, "lse has rank 1");
}

TEST(shapes_must_agree) {
  invalid([](auto& p) { p.k.sizes[0] = 3; }, "same batch size");
  invalid([](auto& p) { p.v.sizes[1] = 4; }, "same number of heads");
  invalid([](auto& p) { p.v.sizes[2] = 8; }, "same number of keys");
  invalid([](auto& p) { p.k.sizes[3] = 16; }, "same head dimension");
  invalid([](auto& p) { p.out.sizes[2] = 6; }, "out has shape (2, 4, 6, 16) and q (2, 4, 5, 32)");
  invalid([](auto& p) { p.out.sizes[3] = 32; }, "out takes the head dimension of v");
  invalid([](auto& p) { p.lse.sizes[0] = 4; }, "with this q it takes (8, 5) or (2, 4, 5)");
  invalid([](auto& p) { p.lse.strides[0] = 6; }, "lse has stride 6 in dimension 0 where a contiguous one has 5");
  invalid([](auto& p) { p.q.sizes[3] = p.k.sizes[3] = 0; }, "head dimensions are at least 1");
}

TEST(heads_must_divide) {  // T24
  const auto heads = [](std::int64_t query, std::int64_t key) -> Change {
    return [=](auto& p) {
      p.q.sizes[1] = p.out.sizes[1] = query;
      p.k.sizes[1] = p.v.sizes[1] = key;
      p.lse = contiguous(place(5), {2 * query, 5}, AOTRITON_FP32);
      p.q = contiguous(place(1), {2, query, 5, 32});
      p.out = contiguous(place(4), {2, query, 5, 16});
    };
  };
  invalid(heads(3, 2), "q has 3 heads and k 2");
  invalid(heads(33, 2), "q has 33 heads and k 2");
  invalid(heads(4, 0), "k has none");
  accepted(heads(33, 11));
}

TEST(sizes_have_limits) {
  invalid([](auto& p) { p.q.sizes[2] = -5; }, "q has size -5 in dimension 2");
  invalid([](auto& p) { p.k.sizes[2] = p.v.sizes[2] = std::int64_t{1} << 31; }, "k has size 2147483648 in dimension 2");
  invalid([](auto& p) { p.q.strides[0] = -640; }, "q has stride -640 in dimension 0");
  invalid([](auto& p) { p.q.strides[0] = std::int64_t{1} << 62; }, "beyond 2^62 bytes");
  invalid([](auto& p) {
    for (auto* t : {&p.q, &p.k, &p.v, &p.out}) *t = view(t->data, {1 << 30, 1 << 30, 1 << 30, 32}, {0, 0, 0, 1});
  }, "beyond 2^62 bytes");
  unsupported([](auto& p) { p.v = contiguous(place(3), {2, 2, 7, 513}), p.out = contiguous(place(4), {2, 4, 5, 513}); },
              "the head dimension is 513; kernels go up to 512");
}

TEST(counts_fit_the_kernel) {
  const auto lengths = [](std::int64_t batch, std::int64_t rows, std::int64_t keys) {
    return [=](auto& p) {  // stride 0 along the batch and the keys: only q, out and lse would be large
      p.q = view(place(1), {batch, 4, rows, 32}, {0, 0, 0, 1});
      p.k = view(place(2), {batch, 2, keys, 32}, {0, 0, 0, 1});
      p.v = view(place(3), {batch, 2, keys, 16}, {0, 0, 0, 1});
      p.out = contiguous(place(4096), {batch, 4, rows, 16});
      p.lse.data = nullptr;
    };
  };
  accepted(lengths(1, 1 << 20, 1 << 30));
  invalid(lengths(1, 1 << 20, 0x7fffffff), "the kernel counts at most 2147483135");
  accepted(lengths(1 << 20, 5, 7));
  invalid(lengths(1 << 29, 5, 7), "split the batch");
  invalid(lengths(1 << 26, 160, 7), "split the batch");
}

TEST(the_scale_is_a_number) {
  accepted([](auto& p) { p.scale = -1; });
  accepted([](auto& p) { p.scale = 0; });
  invalid([](auto& p) { p.scale = NAN; }, "finite");
  invalid([](auto& p) { p.scale = INFINITY; }, "finite");
}

TEST(strides_and_addresses) {
  invalid([](auto& p) { p.v.strides[3] = 2; }, "the last stride of v is 2");
  invalid([](auto& p) { p.out.strides[3] = 0; }, "the last stride of out is 0");
  invalid([](auto& p) { p.q.data = static_cast<char*>(p.q.data) + 1; }, "the address of q is not a multiple of its element's 2");
  invalid([](auto& p) { p.lse.data = static_cast<char*>(p.lse.data) + 2; }, "the address of lse");
  accepted([](auto& p) {
    p.q = view(place(1), {2, 4, 5, 1}, {20, 5, 1, 77});  // one column: its stride leads nowhere
    p.k = view(place(2), {2, 2, 7, 1}, {14, 7, 1, 77});
  });
}

TEST(what_is_written_has_memory_of_its_own) {
  invalid([](auto& p) { p.out.strides[1] = 0; }, "out overlaps itself");
  invalid([](auto& p) { p.out.strides[2] = 15; }, "out overlaps itself");
  invalid([](auto& p) { p.out.strides[1] = p.out.strides[0]; }, "out overlaps itself");
  invalid([](auto& p) { p.out = contiguous(p.q.data, {2, 4, 5, 16}); }, "out shares memory with q");
  invalid([](auto& p) { p.out.data = static_cast<char*>(p.k.data) + 100; }, "out shares memory with k");
  invalid([](auto& p) { p.lse.data = p.v.data; }, "lse shares memory with v");
  invalid([](auto& p) { p.lse.data = static_cast<char*>(p.out.data) + 2 * 4 * 5 * 16 * 2 - 4; }, "lse shares memory with out");
  accepted([](auto& p) { p.lse.data = static_cast<char*>(p.out.data) + 2 * 4 * 5 * 16 * 2; });
  accepted([](auto& p) { p.k.strides[1] = 0; });  // what is read may repeat itself
  const auto counter_in = [](aotriton_tensor aotriton_attn_fwd_params::*tensor, int at) -> Change {
    return [=](auto& p) {
      p.persistent_atomic_counter = view(static_cast<char*>((p.*tensor).data) + at, {}, {}, AOTRITON_I32);
    };
  };
  using Params = aotriton_attn_fwd_params;
  invalid(counter_in(&Params::out, 1276), "persistent_atomic_counter shares memory with out");
  invalid(counter_in(&Params::lse, 156), "persistent_atomic_counter shares memory with lse");
  invalid(counter_in(&Params::q, 0), "persistent_atomic_counter shares memory with q");
  invalid(counter_in(&Params::k, 64), "persistent_atomic_counter shares memory with k");
  invalid(counter_in(&Params::v, 892), "persistent_atomic_counter shares memory with v");
  accepted(counter_in(&Params::lse, 160));
  accepted(counter_in(&Params::lse, -4));
}

TEST(packed_tensors_share_no_memory) {
  // q, k, v and out in one allocation: (B, S, 4, H, D).
  accepted([](auto& p) {
    aotriton_tensor* all[] = {&p.q, &p.k, &p.v, &p.out};
    for (int i = 0; i < 4; ++i) {
      *all[i] = view(static_cast<char*>(place(1)) + i * 3 * 16 * 2, {2, 3, 5, 16}, {5 * 4 * 48, 16, 4 * 48, 1});
    }
    p.lse = contiguous(place(5), {6, 5}, AOTRITON_FP32);
  });
}

TEST(causal_types_and_what_comes_later) {
  unsupported([](auto& p) { p.causal_type = 1; }, "causal_type is 1; it is 0 (none) or 3");
  unsupported([](auto& p) { p.bias = contiguous(place(6), {2, 4, 5, 7}); }, "bias");
  unsupported([](auto& p) { p.alibi_slopes = contiguous(place(6), {2, 4}); }, "ALiBi");
  unsupported([](auto& p) { p.dropout_p = 0.5f; }, "dropout_p is 0.5");
  invalid([](auto& p) { p.dropout_p = -0.1f; }, "a probability");
  invalid([](auto& p) { p.dropout_p = 1.5f; }, "a probability");
  invalid([](auto& p) { p.dropout_p = NAN; }, "a probability");
  unsupported([](auto& p) { p.cu_seqlens_k = contiguous(place(6), {3}, AOTRITON_I32); }, "call once for each sequence");
  unsupported([](auto& p) { p.varlen_type = 2; }, "varlen_type is 2");
  unsupported([](auto& p) { p.encoded_softmax = contiguous(place(6), {2, 4, 5, 7}); }, "encoded softmax");
  invalid([](auto& p) { p.persistent_atomic_counter = view(place(6), {}, {}, AOTRITON_I64); }, "has type int64; it takes int32");
  invalid([](auto& p) { p.persistent_atomic_counter = contiguous(place(6), {2, 2}, AOTRITON_I32); }, "has rank 2");
}

TEST(calls_with_nothing_to_do) {  // T2
  aotriton_attn_fwd_params params = sound();
  params.q = contiguous(nullptr, {2, 4, 0, 32});
  params.out = contiguous(nullptr, {2, 4, 0, 16});
  params.lse.sizes[1] = 0;
  CHECK_EQUAL(flash::check_attn_fwd(params).text(), "");
  CHECK(flash::has_no_output(params));
  params = sound();
  params.k = contiguous(nullptr, {2, 2, 0, 32});
  params.v = contiguous(nullptr, {2, 2, 0, 16});
  CHECK_EQUAL(flash::check_attn_fwd(params).text(), "");
  CHECK(!flash::has_no_output(params));
}

// All small layouts, against a count of the places that they touch.
TEST(overlaps_are_found_exactly) {
  const auto places = [](const aotriton_tensor& t, std::vector<int>& touched, int base) {
    int most = 0;
    for (std::int64_t i = 0; i < t.sizes[0]; ++i) {
      for (std::int64_t j = 0; j < t.sizes[1]; ++j) {
        for (std::int64_t k = 0; k < t.sizes[2]; ++k) {
          const auto at = static_cast<std::size_t>(base + i * t.strides[0] + j * t.strides[1] + k * t.strides[2]);
          if (touched.size() <= at) touched.resize(at + 1);
          most = std::max(most, ++touched[at]);
        }
      }
    }
    return most;
  };
  unsigned state = 1;
  const auto random = [&](unsigned limit) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::int64_t>((state >> 16) % limit);
  };
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto any = [&](void* data) {
      return view(data, {1 + random(4), 1 + random(4), 1 + random(4)}, {random(14), random(14), random(14)});
    };
    const aotriton_tensor a = any(place(1));
    std::vector<int> touched;
    const bool itself = places(a, touched, 0) > 1;
    CHECK(flash::overlaps_itself(a) == (itself ? Overlap::some : Overlap::none));
    const auto apart = static_cast<int>(random(60));
    const aotriton_tensor b = any(static_cast<char*>(place(1)) + 2 * apart);
    for (int& count : touched) count = count > 0 ? 1 : 0;
    std::vector<int> others;
    places(b, others, apart);
    bool common = false;
    for (std::size_t i = 0; i < others.size() && i < touched.size(); ++i) common |= others[i] > 0 && touched[i] > 0;
    CHECK(flash::overlap(a, b) == (common ? Overlap::some : Overlap::none));
    CHECK(flash::overlap(b, a) == flash::overlap(a, b));
    overlapping += itself + common;
  }
  CHECK(overlapping > 2000 && overlapping < 38000);
}

TEST(sized_structs_of_the_c_api) {
  aotriton_attn_fwd_params params = sound();
  params.size = sizeof params - 8;
  CHECK_EQUAL(aotriton_attn_fwd(&params, nullptr, nullptr, nullptr, nullptr), AOTRITON_INVALID_VERSION);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "params.size is");
  CHECK_EQUAL(aotriton_attn_fwd(nullptr, nullptr, nullptr, nullptr, nullptr), AOTRITON_INVALID_ARGUMENT);
  // A later version's struct is served as long as what it adds is zero.
  struct {
    aotriton_attn_fwd_params known = sound();
    std::uint64_t added = 0;
  } larger;
  larger.known.size = sizeof larger;
  larger.known.q.sizes[2] = larger.known.out.sizes[2] = larger.known.lse.sizes[1] = 0;
  CHECK_EQUAL(aotriton_attn_fwd(&larger.known, nullptr, nullptr, nullptr, nullptr), AOTRITON_SUCCESS);
  larger.added = 1;
  CHECK_EQUAL(aotriton_attn_fwd(&larger.known, nullptr, nullptr, nullptr, nullptr), AOTRITON_INVALID_VERSION);
}

TEST(traces_of_calls_that_come_to_no_choice) {
  aotriton_attn_fwd_params params = sound();
  params.causal_type = 2;
  char* trace = nullptr;
  CHECK_EQUAL(aotriton_attn_fwd(&params, nullptr, nullptr, nullptr, &trace), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(std::string(trace), R"({"operator": "attn_fwd", "family": "flash", "kernel": "attn_fwd", "device": null,)");
  CHECK_CONTAINS(std::string(trace), R"("status": "unsupported", "reason": "causal_type is 2)");
  aotriton_free_string(trace);
  aotriton_attn_options options = AOTRITON_ATTN_OPTIONS_INIT;
  options.force_backend = 1;
  CHECK_EQUAL(aotriton_attn_fwd(&params, nullptr, nullptr, &options, nullptr), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "backend 1");
}

TEST(the_cpp_api_gives_hips_codes) {
  namespace fl = AOTRITON_NS::v3::flash;
  const auto four = [](void* data, std::uint64_t length) {
    return fl::T4(reinterpret_cast<std::intptr_t>(data), {1, 2, length, 16}, {2 * length * 16, length * 16, 16, 1},
                  AOTRITON_NS::kFloat16);
  };
  fl::attn_fwd_params params{};
  params.Q = four(place(1), 0);
  params.K = four(place(2), 4);
  params.V = four(place(3), 4);
  params.Out = four(place(4), 0);
  constexpr std::int32_t version = fl::attn_fwd_params::kVersion;
  CHECK_EQUAL(fl::attn_fwd(params, version, {}), hipSuccess);
  CHECK_EQUAL(fl::attn_fwd(params, version + 1, {}), hipErrorInvalidSymbol);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "version 4; this library takes version 3");
  CHECK_EQUAL(fl::attn_fwd(params, version - 1, {}), hipErrorInvalidSymbol);
  params.causal_type = 1;
  CHECK_EQUAL(fl::attn_fwd(params, version, {}), hipErrorNotSupported);
  params.causal_type = fl::CausalType::None;
  params.Q = fl::T4(reinterpret_cast<std::intptr_t>(place(1)), {1, 2, ~std::uint64_t{0}, 16}, {32, 16, 16, 1},
                    AOTRITON_NS::kFloat16);
  CHECK_EQUAL(fl::attn_fwd(params, version, {}), hipErrorInvalidValue);
  fl::attn_options options;
  options.force_backend_index = 7;
  CHECK_EQUAL(fl::attn_fwd(params, version, {}, &options), hipErrorNotSupported);
}

int main() { return run_all(); }
