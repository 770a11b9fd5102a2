// The decision: which code object a call gets, and why not another.
#include "dispatch/packed_kernel.h"
#include "dispatch/trace.h"
#include "tests/check.h"
#include "tests/fake.h"

using namespace aotriton;
using dispatch::Options;
using dispatch::Value;

namespace {

// The sample kernel on a fake device, asked only.
struct Fixture {
  explicit Fixture(const std::string& target = "gfx942", tests::SampleOptions options = {})
      : fake(target), archive(tests::make_sample(std::move(options)).zip()), values(tests::sample_values()) {
    const auto file = pack::KernelFile::of_bytes(archive, "test.zip");
    if (!file.ok()) {
      tests::fail(__FILE__, __LINE__, file.status().text());
      std::exit(1);
    }
    pack::Located located{*file, (*file)->index().targets()->Get(0), true};
    for (const index::Target* one : *(*file)->index().targets()) {
      if (one->name()->string_view() == target) located.target = one;
    }
    located.exact = located.target->name()->string_view() == target;
    kernel = std::make_unique<dispatch::PackedKernel>(dispatch::make_plan(located), fake.device);
    options_.load = options_.launch = false;
  }

  core::Status ask() { return kernel->run(values, nullptr, options_, &trace); }
  // Asks, and gives the signature of the functional that was chosen, or the error.
  std::string chosen() {
    const core::Status status = ask();
    if (!status.ok()) return status.text();
    const std::string_view key = "\"signature\": \"";
    const std::size_t start = trace.find(key) + key.size();
    return trace.substr(start, trace.find("\"}", start) - start);
  }
  Value& value(int argument) { return values[static_cast<std::size_t>(argument)]; }

  tests::FakeDevice fake;
  tests::Buffer archive;
  std::vector<Value> values;
  std::unique_ptr<dispatch::PackedKernel> kernel;
  Options options_;
  std::string trace;
};

}  // namespace

TEST(the_best_functional_is_chosen) {
  Fixture f;
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=32;PAD=False;MODE=0");
  CHECK_CONTAINS(f.trace, "\"number\": 28");
  CHECK_CONTAINS(f.trace, "\"substituted\": [], \"rejected\": []");
  CHECK_CONTAINS(f.trace, "\"status\": \"success\", \"reason\": null, \"pack\": \"test.zip\"");
  CHECK_CONTAINS(f.trace, "\"table\": {\"source\": \"measured\", \"keys\": {\"N\": {\"value\": 32, \"bin\": 256}}}");
  CHECK_CONTAINS(f.trace, "\"config\": {\"performance\": \"BLOCK=128\", \"options\": \"num_warps=4\", \"index\": 1}");
  CHECK_CONTAINS(f.trace, "arch=gfx942\"");
  CHECK_CONTAINS(f.trace, "\"grid\": [1, 1, 1]");
  CHECK_CONTAINS(f.trace, "\"loaded\": false, \"launched\": false");
}

TEST(a_requested_number_takes_the_next_choice) {
  Fixture f;
  f.value(tests::kW).bits = 20;
  f.value(tests::kN).bits = 20;
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=32;PAD=True;MODE=0");
  CHECK_CONTAINS(f.trace, "\"substituted\": [{\"axis\": \"W\", \"requested\": \"20\", \"used\": \"32\"}]");
  f.value(tests::kW).bits = 64;
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=64;PAD=True;MODE=0");
  f.value(tests::kW).bits = static_cast<std::uint64_t>(-5);
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=16;PAD=True;MODE=0");
}

TEST(unaligned_arguments_get_code_that_assumes_nothing) {
  for (const int argument : {tests::kX, tests::kY}) {
    Fixture f;
    f.value(argument).bits += 2;
    CHECK_EQUAL(f.chosen(), "X='*fp16';W=32;PAD=False;MODE=0");
    CHECK_CONTAINS(f.trace, "{\"axis\": \"X\", \"requested\": \"'*fp16:16'\", \"used\": \"'*fp16'\"}");
    CHECK_CONTAINS(f.trace, "is not a multiple of 16, which the code assumes");
  }
  Fixture f;
  f.value(tests::kStrideX).bits = 60;
  CHECK_EQUAL(f.chosen(), "X='*fp16';W=32;PAD=False;MODE=0");
  CHECK_CONTAINS(f.trace, "'stride_x' is not a multiple of 8");
  // One candidate was turned down, not all wider ones too.
  CHECK_EQUAL(f.trace.find("W=64"), std::string::npos);
}

TEST(null_is_aligned_where_it_may_be) {
  Fixture f;
  f.value(tests::kS) = {};
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=32;PAD=False;MODE=0");
  f.value(tests::kY) = {};
  CHECK_EQUAL(f.ask().code(), AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(f.chosen(), "tensor 'Y' is null");
  f.value(tests::kY).dtype = AOTRITON_FP16;  // no elements, so no address
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=32;PAD=False;MODE=0");
}

TEST(substitutes_stand_in_for_holes) {
  // Unaligned fp16 with W 16 is not in the pack: a wider one does it, padded.
  Fixture f;
  f.value(tests::kX).bits += 2;
  f.value(tests::kW).bits = f.value(tests::kN).bits = 16;
  CHECK_EQUAL(f.chosen(), "X='*fp16';W=32;PAD=True;MODE=0");
  CHECK_CONTAINS(f.trace, "{\"functional\": \"X='*fp16';W=16;PAD=False;MODE=0\", \"reason\": \"not in this pack\"}");
  CHECK_CONTAINS(f.trace, "{\"axis\": \"W\", \"requested\": \"16\", \"used\": \"32\"}");
}

TEST(excluded_functionals_repeat_their_reason) {
  Fixture f;
  f.value(tests::kW).bits = 64;
  f.value(tests::kMode).bits = 3;
  CHECK_EQUAL(f.ask().code(), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(f.chosen(), "X='*fp16:16';W=64;PAD=True;MODE=3: excluded: mode 3 has no wide form");
  CHECK_CONTAINS(f.trace, "\"status\": \"unsupported\"");
  CHECK_CONTAINS(f.trace, "\"functional\": null");
}

TEST(failed_functionals_are_not_built) {
  Fixture f;
  f.value(tests::kX).dtype = f.value(tests::kY).dtype = AOTRITON_BF16;
  f.value(tests::kX).bits += 2;
  f.value(tests::kW).bits = 64;
  CHECK_EQUAL(f.ask().code(), AOTRITON_NOT_BUILT);
  CHECK_CONTAINS(f.chosen(), "its compilation failed: the compiler crashed");
  CHECK_CONTAINS(f.chosen(), "test.zip");
}

TEST(what_is_not_in_the_choice_space_is_unsupported) {
  Fixture f;
  f.value(tests::kW).bits = 65;
  CHECK_EQUAL(f.ask().code(), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(f.chosen(), "W has no choice for 65; its choices are 16, 32, 64");
  Fixture g;
  g.value(tests::kMode).bits = 7;
  CHECK_CONTAINS(g.chosen(), "MODE has no choice for 7; its choices are 0, 3");
  Fixture h;
  h.value(tests::kX).dtype = h.value(tests::kY).dtype = AOTRITON_FP64;
  CHECK_EQUAL(h.ask().code(), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(h.chosen(), "X has no choice for fp64");
}

TEST(wrong_arguments_are_named) {
  const auto refused = [](auto change) {
    Fixture f;
    change(f);
    const core::Status status = f.ask();
    CHECK_EQUAL(status.code(), AOTRITON_INVALID_ARGUMENT);
    CHECK_CONTAINS(f.trace, "\"status\": \"invalid_argument\"");
    return status.text();
  };
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kY).dtype = AOTRITON_BF16; }),
                 "'X' is fp16 and 'Y' is bf16; they must have the same type");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kS).dtype = AOTRITON_FP16; }),
                 "'S' is fp16; the kernel takes fp32");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kX).bits += 1; }),
                 "the address of 'X' is not a multiple of its element's 2 bytes");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kS).bits += 2; }), "'S' is not a multiple of its element's 4");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kStrideXUnit).bits = 2; }),
                 "'stride_xu' is 2; the code was compiled for 1");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kFlag) = {1, 0, AOTRITON_NONE, true}; }),
                 "'FLAG' is 1; the code was compiled for 0");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kN).bits = std::uint64_t{1} << 31; }),
                 "'N' is 2147483648, which i32 can't hold");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kN) = {}; }), "needs 'N', which was not given");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kW) = {}; }), "argument 'W' was not given");
  CHECK_CONTAINS(refused([](Fixture& f) { f.value(tests::kAlpha) = {}; }), "argument 'alpha' was not given");
}

TEST(a_stride_that_is_not_given_is_any) {
  Fixture f;
  f.value(tests::kStrideXUnit) = {};
  f.value(tests::kStrideX) = {};
  CHECK_EQUAL(f.chosen(), "X='*fp16:16';W=32;PAD=False;MODE=0");
}

TEST(bins_are_first_not_below_and_last_for_more) {
  const std::pair<std::uint64_t, const char*> wanted[] = {
      {1, "BLOCK=64"}, {16, "BLOCK=64"}, {17, "BLOCK=128"}, {256, "BLOCK=128"}, {100000, "BLOCK=128"}};
  for (const auto& [n, block] : wanted) {
    Fixture f;
    f.value(tests::kN).bits = n;
    f.chosen();
    CHECK_CONTAINS(f.trace, std::string("\"performance\": \"") + block);
  }
}

TEST(a_cell_without_config_is_not_built) {
  tests::SampleOptions options;
  options.cells = {0, -1};
  Fixture f("gfx942", options);
  CHECK_EQUAL(f.ask().code(), AOTRITON_NOT_BUILT);
  CHECK_CONTAINS(f.chosen(), "its look-up table has no config for these sizes");
  f.value(tests::kN).bits = 16;
  CHECK(f.ask().ok());
}

TEST(one_table_cell_decides_the_config) {
  tests::SampleOptions options;
  options.cells = {0, 0};
  Fixture f("gfx942", options);
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "\"performance\": \"BLOCK=64\"");
}

TEST(a_config_can_be_forced) {
  Fixture f;
  f.options_.config = 0;
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "\"performance\": \"BLOCK=64\"");
  CHECK_CONTAINS(f.trace, "\"table\": null");
  f.options_.config = 2;
  CHECK_EQUAL(f.ask().code(), AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(f.chosen(), "config 2 was asked for; there are 2");
}

TEST(shared_memory_that_is_not_there_means_another_config) {
  Fixture f;
  f.fake.device.machine.shared_memory = 65536;
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "\"performance\": \"BLOCK=64\"");
  CHECK_CONTAINS(f.trace, "more shared memory than the device's 65536");
  f.options_.config = 1;
  CHECK_EQUAL(f.ask().code(), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(f.chosen(), "needs 70000 bytes of shared memory, a block has 65536");
  f.options_.config = -1;
  f.fake.device.machine.shared_memory = 999;
  CHECK_EQUAL(f.ask().code(), AOTRITON_UNSUPPORTED);
}

TEST(clusters_of_blocks_are_refused) {
  tests::SampleOptions options;
  options.num_ctas = 2;
  Fixture f("gfx942", options);
  CHECK_EQUAL(f.ask().code(), AOTRITON_UNSUPPORTED);
  CHECK_CONTAINS(f.chosen(), "clusters of 2 blocks");
}

TEST(the_grid_is_declared_or_given_and_has_limits) {
  Fixture f;
  f.value(tests::kN).bits = 1000;
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "\"grid\": [8, 1, 1]");
  const std::uint32_t given[] = {5, 6, 7};
  f.options_.grid = given;
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "\"grid\": [5, 6, 7]");
  const std::uint32_t large[] = {1, 65536, 1};
  f.options_.grid = large;
  CHECK_EQUAL(f.ask().code(), AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(f.chosen(), "dimension 1 of the grid is 65536, more than the device's limit");
  f.options_.grid = nullptr;
  f.value(tests::kN).bits = static_cast<std::uint64_t>(-1000);
  CHECK_EQUAL(f.ask().code(), AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(f.chosen(), "'N' is -1000; the grid is computed from it: it takes 0 or more");
  f.value(tests::kN).bits = 0;
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "the grid is empty: nothing to launch");
}

TEST(code_of_another_target_that_serves_is_told) {
  tests::SampleOptions options;
  options.targets = {"sm_80"};
  options.serves = {{"sm_80", {"sm_86"}}};
  Fixture f("sm_86", options);
  CHECK(f.ask().ok());
  CHECK_CONTAINS(f.trace, "no pack has code for sm_86; code for sm_80 serves it");
}

int main() { return tests::run_all(); }
