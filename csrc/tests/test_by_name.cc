// The C API of kernels: arguments by name.
#include "tests/fake.h"

#include <algorithm>
#include <bit>

using namespace aotriton;
using tests::FakeDevice;
using tests::OnePack;

namespace {

struct ByName {
  explicit ByName(const std::string& folder) {
    CHECK_EQUAL(aotriton_kernel_open(folder.c_str(), "sample", "scale", &fake.device, &kernel), AOTRITON_SUCCESS);
    tensor("X", 0x1000, AOTRITON_FP16, 2);
    tensor("Y", 0x2000, AOTRITON_FP16, 2);
    number("N", 32);
    number("W", 32);
    number("MODE", 0);
    real("alpha", 1.5);
  }
  ~ByName() { aotriton_kernel_close(kernel); }

  aotriton_argument& add(const char* name, int kind) {
    arguments.push_back({});
    arguments.back().name = name;
    arguments.back().kind = kind;
    return arguments.back();
  }
  void tensor(const char* name, std::uintptr_t address, int dtype, int rank) {
    aotriton_tensor& view = add(name, AOTRITON_ARGUMENT_TENSOR).tensor;
    view.data = reinterpret_cast<void*>(address);
    view.dtype = dtype;
    view.rank = rank;
    for (int i = 0; i < rank; ++i) view.sizes[i] = 4, view.strides[i] = i == rank - 1 ? 1 : 64;
  }
  void number(const char* name, std::int64_t value) { add(name, AOTRITON_ARGUMENT_INTEGER).integer = value; }
  void real(const char* name, double value) { add(name, AOTRITON_ARGUMENT_REAL).real = value; }
  aotriton_argument& at(const std::string& name) {
    for (aotriton_argument& one : arguments) {
      if (name == one.name) return one;
    }
    std::abort();
  }
  std::string launch(const aotriton_launch_options* options = nullptr) {
    const aotriton_status status = aotriton_kernel_launch(kernel, arguments.data(), arguments.size(), nullptr, options);
    CHECK_EQUAL(status == AOTRITON_SUCCESS, *aotriton_last_error() == '\0');
    return aotriton_last_error();
  }

  FakeDevice fake;
  aotriton_kernel* kernel = nullptr;
  std::vector<aotriton_argument> arguments;
};

}  // namespace

TEST(arguments_by_name_launch) {
  const OnePack pack;
  ByName call(pack.path());
  CHECK_EQUAL(call.launch(), "");
  const std::vector<std::uint64_t> wanted{0x1000, 0x2000, 0, 64, std::bit_cast<std::uint32_t>(1.5f), 32, 0, 0};
  CHECK(call.fake.driver.last_parameters == wanted);
  std::ranges::reverse(call.arguments);
  CHECK_EQUAL(call.launch(), "");
  CHECK(call.fake.driver.last_parameters == wanted);
  call.at("alpha").kind = AOTRITON_ARGUMENT_INTEGER;
  call.at("alpha").integer = 2;
  CHECK_EQUAL(call.launch(), "");
  CHECK_EQUAL(call.fake.driver.last_parameters[4], std::bit_cast<std::uint32_t>(2.0f));
}

TEST(a_dimension_of_one_element_has_any_stride) {
  const OnePack pack;
  ByName call(pack.path());
  call.at("X").tensor.sizes[1] = 1;
  call.at("X").tensor.strides[1] = 77;
  CHECK_EQUAL(call.launch(), "");
  call.at("X").tensor.sizes[1] = 2;
  CHECK_CONTAINS(call.launch(), "'stride_xu' is 77; the code was compiled for 1");
}

TEST(wrong_arguments_by_name_are_told) {
  const OnePack pack;
  const auto refused = [&](auto change) {
    ByName call(pack.path());
    change(call);
    const std::string text = call.launch();
    CHECK_EQUAL(call.fake.driver.launches.load(), 0);
    return text;
  };
  CHECK_CONTAINS(refused([](ByName& c) { c.number("M", 1), c.number("K", 1); }),
                 "unknown argument(s) 'M', 'K'; the kernel takes X, Y, S, alpha, N, W, PAD, MODE, FLAG");
  CHECK_CONTAINS(refused([](ByName& c) { c.number("N", 1); }), "argument 'N' is given twice");
  CHECK_CONTAINS(refused([](ByName& c) { c.number("stride_x", 1); }), "is a stride: it is taken from its tensor");
  CHECK_CONTAINS(refused([](ByName& c) { c.number("BLOCK", 1); }), "is a performance choice");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").kind = AOTRITON_ARGUMENT_INTEGER; }), "argument 'X' takes a tensor");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("N").kind = AOTRITON_ARGUMENT_TENSOR; }), "argument 'N' takes a number");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("N").kind = AOTRITON_ARGUMENT_REAL; }), "'N' takes a whole number");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").tensor.rank = 3; }), "'X' has rank 3; the kernel takes rank 2");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").tensor.rank = -1; }), "'X' has rank -1");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").tensor.dtype = 99; }), "'X' has dtype 99, which is none");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").tensor.sizes[0] = -4; }), "size -4 in dimension 0");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("X").tensor.data = nullptr; }), "tensor 'X' is null");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("N").name = "S"; }), "argument 'S' takes a tensor");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("N").name = nullptr; }), "has no name");
  CHECK_CONTAINS(refused([](ByName& c) { c.at("N").reserved = 1; }),
                 "argument 'N' has 1 for `reserved`, which takes 0");
  CHECK_CONTAINS(refused([](ByName& c) { c.arguments.erase(c.arguments.begin() + 5); }),
                 "argument 'alpha' was not given");
  CHECK_CONTAINS(refused([](ByName& c) {
                   c.tensor("S", 0x3000, AOTRITON_FP32, 1);
                   c.at("S").tensor.strides[0] = 2;
                 }),
                 "tensor 'S' has stride 2 in dimension 0; the kernel takes it for contiguous, with 1");
}

TEST(sized_structs_are_checked) {
  const OnePack pack;
  ByName call(pack.path());
  aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
  options.query_only = 1;
  CHECK_EQUAL(call.launch(&options), "");
  CHECK_EQUAL(call.fake.driver.loaded.size(), 0u);
  options.size -= 1;
  CHECK_CONTAINS(call.launch(&options), "options.size is");
  CHECK_EQUAL(aotriton_kernel_launch(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, &options),
              AOTRITON_INVALID_VERSION);
  CHECK_EQUAL(aotriton_kernel_launch(nullptr, nullptr, 0, nullptr, nullptr), AOTRITON_INVALID_ARGUMENT);
  // A later version's struct is served as long as what it adds is zero.
  struct {
    aotriton_launch_options known = AOTRITON_LAUNCH_OPTIONS_INIT;
    std::uint64_t added = 0;
  } larger;
  larger.known.size = sizeof larger;
  CHECK_EQUAL(call.launch(&larger.known), "");
  larger.added = 1;
  CHECK_EQUAL(aotriton_kernel_launch(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, &larger.known),
              AOTRITON_INVALID_VERSION);
  CHECK_CONTAINS(call.launch(&larger.known), "use that library");
}

TEST(options_have_no_other_negative_config) {
  const OnePack pack;
  ByName call(pack.path());
  aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
  CHECK_EQUAL(call.launch(&options), "");
  options.config = -2;
  CHECK_CONTAINS(call.launch(&options), "options.config is -2; it is the position of a config, or -1");
  CHECK_EQUAL(aotriton_kernel_launch(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, &options),
              AOTRITON_INVALID_ARGUMENT);
  CHECK_EQUAL(call.fake.driver.launches.load(), 1);
}

TEST(a_kernel_opened_after_its_damaged_pack_was_replaced_works) {  // T40
  const tests::TemporaryFolder folder;
  tests::Sample sample = tests::make_sample();
  const tests::Buffer good = sample.zip();
  for (tests::TestEntry& cluster : sample.clusters) cluster.data[cluster.data.size() / 2] ^= 0xff;
  folder.write("amd-gfx942/sample/scale.zip", sample.zip());
  ByName call(folder.path());
  const auto code = [&](aotriton_kernel* kernel) {
    return aotriton_kernel_launch(kernel, call.arguments.data(), call.arguments.size(), nullptr, nullptr);
  };
  CHECK_EQUAL(code(call.kernel), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(call.launch(), "scale.zip");
  folder.write("amd-gfx942/sample/scale.zip", good);
  aotriton_kernel* again = nullptr;
  CHECK_EQUAL(aotriton_kernel_open(folder.path().c_str(), "sample", "scale", &call.fake.device, &again),
              AOTRITON_SUCCESS);
  CHECK_EQUAL(code(again), AOTRITON_SUCCESS);
  CHECK_EQUAL(call.fake.driver.launches.load(), 1);
  aotriton_kernel_close(again);
}

TEST(a_negative_number_to_divide_for_the_grid_is_refused) {
  const OnePack pack;
  ByName call(pack.path());
  for (const int rows : {-1, -1000}) {
    call.at("N").integer = rows;
    CHECK_CONTAINS(call.launch(),
                   "'N' is " + std::to_string(rows) + "; the grid is computed from it: it takes 0 or more");
  }
  CHECK_EQUAL(aotriton_kernel_launch(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, nullptr),
              AOTRITON_INVALID_ARGUMENT);
  call.at("N").integer = 0;
  CHECK_EQUAL(call.launch(), "");
  CHECK_EQUAL(call.fake.driver.launches.load(), 0);
  // With a grid of the caller's own, nothing is computed from it.
  const std::uint32_t grid[] = {1, 1, 1};
  aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
  options.grid = grid;
  call.at("N").integer = -1;
  CHECK_EQUAL(call.launch(&options), "");
}

TEST(explain_writes_a_trace_of_refusals_too) {
  const OnePack pack;
  ByName call(pack.path());
  char* trace = nullptr;
  const auto explain = [&] {
    const aotriton_status status =
        aotriton_kernel_explain(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, &trace);
    const std::string text = trace == nullptr ? "" : trace;
    aotriton_free_string(trace);
    return std::pair(status, text);
  };
  auto [status, text] = explain();
  CHECK_EQUAL(status, AOTRITON_SUCCESS);
  CHECK_CONTAINS(text, "\"operator\": null, \"family\": \"sample\", \"kernel\": \"scale\", \"device\": \"fake:0\"");
  call.number("M", 1);
  std::tie(status, text) = explain();
  CHECK_EQUAL(status, AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(text, "\"status\": \"invalid_argument\", \"reason\": \"unknown argument(s) 'M'");
  CHECK_CONTAINS(text, "\"functional\": null");
}

int main() { return tests::run_all(); }
