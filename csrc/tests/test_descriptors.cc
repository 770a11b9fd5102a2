// Arguments that stand for a whole view: what the index says of them, what a view must be, what a launch passes.
#include "dispatch/descriptors.h"
#include "dispatch/packed_kernel.h"
#include "tests/check.h"
#include "tests/fake.h"

#include <cstdint>

using namespace aotriton;
using tests::SampleOptions;

namespace {

SampleOptions with_maps(std::vector<std::vector<std::uint16_t>> blocks = {{64, 32}}, std::uint8_t swizzle = 64) {
  SampleOptions options;
  options.targets = {"sm_90"};
  options.descriptor = true;
  options.blocks = std::move(blocks);
  options.swizzle = swizzle;
  return options;
}

SampleOptions without_maps() { return with_maps({}, 0); }

std::string index_error(const SampleOptions& options) {
  return pack::KernelFile::of_bytes(tests::make_sample(options).zip(), "test.zip").status().text();
}

// The sample kernel with Y, 70 rows of 200 numbers that lie 208 apart, as a descriptor.
struct Fixture {
  explicit Fixture(const SampleOptions& options)
      : fake("sm_90"), archive(tests::make_sample(options).zip()), values(tests::sample_values()) {
    const auto file = pack::KernelFile::of_bytes(archive, "test.zip");
    if (!file.ok()) tests::fail(__FILE__, __LINE__, file.status().text());
    fake.device.machine.largest_cluster = 16;
    pack::Located located{*file, (*file)->index().targets()->Get(0), true};
    kernel = std::make_unique<dispatch::PackedKernel>(dispatch::make_plan(located), fake.device);
    y.data = reinterpret_cast<void*>(std::uintptr_t{0x2000});
    y.dtype = AOTRITON_FP16;
    y.rank = 2;
    y.sizes[0] = 70, y.sizes[1] = 200;
    y.strides[0] = 208, y.strides[1] = 1;
  }

  core::Status launch() {
    values[tests::kY].bits = reinterpret_cast<std::uintptr_t>(y.data);
    values[tests::kY].view = &y;
    return kernel->run(values, nullptr, {}, &trace);
  }
  std::string failure() {
    const core::Status status = launch();
    CHECK_EQUAL(status.code(), AOTRITON_UNSUPPORTED);
    CHECK_EQUAL(fake.driver.launches.load(), 0);
    return status.text();
  }

  tests::FakeDevice fake;
  tests::Buffer archive;
  std::vector<dispatch::Value> values;
  std::unique_ptr<dispatch::PackedKernel> kernel;
  aotriton_tensor y{};
  std::string trace;
};

constexpr std::int64_t kLargest = INT32_MAX;

}  // namespace

TEST(an_index_with_other_maps_than_the_signature_asks_for_is_refused) {
  CHECK_EQUAL(index_error(with_maps()), "");
  CHECK_EQUAL(index_error(without_maps()), "");
  CHECK_CONTAINS(index_error(with_maps({{64, 32}, {64, 32}})), "too many tensor maps");
  CHECK_CONTAINS(index_error(with_maps({{1, 64, 32}})), "a tensor map of another rank");
  CHECK_CONTAINS(index_error(with_maps({{0, 32}})), "empty or too large");
  CHECK_CONTAINS(index_error(with_maps({{257, 32}})), "empty or too large");
  CHECK_CONTAINS(index_error(with_maps({{64, 32}}, 65)), "unknown swizzle");
  CHECK_CONTAINS(index_error(with_maps({{64, 64}}, 64)), "wrong rows");  // of 128 bytes
  CHECK_CONTAINS(index_error(with_maps({{64, 12}}, 0)), "wrong rows");   // of 24
  SampleOptions tensor = with_maps();
  tensor.descriptor = false;
  CHECK_CONTAINS(index_error(tensor), "too many tensor maps");
}

TEST(clusters_of_no_sense_are_refused) {
  for (const int blocks : {0, 3, 32}) {
    SampleOptions options = with_maps();
    options.num_ctas = blocks;
    CHECK_CONTAINS(index_error(options), "with a wrong cluster");
  }
}

TEST(a_map_is_asked_for_with_the_views_facts) {
  Fixture f(with_maps());
  CHECK_EQUAL(f.launch().text(), "");
  CHECK_EQUAL(f.fake.driver.requests.size(), std::size_t{1});
  const drivers::TensorMapRequest& request = f.fake.driver.requests[0];
  CHECK(request.address == f.y.data && request.type == AOTRITON_FP16 && request.rank == 2);
  CHECK(request.sizes[0] == 70 && request.sizes[1] == 200 && request.strides[0] == 416);
  CHECK(request.block[0] == 64 && request.block[1] == 32 && request.swizzle == 64 && !request.fills_nan);
  // X; the map, sizes, strides of Y; S, stride_x, alpha, N, two null pointers.
  const std::vector<std::uint64_t>& passed = f.fake.driver.last_parameters;
  CHECK_EQUAL(passed.size(), std::size_t{12});
  const std::vector<std::uint64_t> of_y(passed.begin() + 1, passed.begin() + 6);
  CHECK(of_y == (std::vector<std::uint64_t>{1, 70, 200, 208, 1}));
  CHECK_EQUAL(passed[6], std::uint64_t{0x3000});
}

TEST(without_maps_the_view_is_passed_in_pieces) {
  Fixture f(without_maps());
  CHECK_EQUAL(f.launch().text(), "");
  CHECK(f.fake.driver.requests.empty());
  const std::vector<std::uint64_t>& passed = f.fake.driver.last_parameters;
  CHECK_EQUAL(passed.size(), std::size_t{18});
  const std::vector<std::uint64_t> of_y(passed.begin() + 1, passed.begin() + 12);
  CHECK(of_y == (std::vector<std::uint64_t>{0x2000, 70, 200, 208, 1, 0, 0, 70, 200, 208, 1}));
}

TEST(views_that_no_map_describes_are_named) {
  const auto with = [](auto change) {
    Fixture f(with_maps());
    change(f.y);
    return f.failure();
  };
  CHECK_CONTAINS(with([](auto& y) { y.data = reinterpret_cast<void*>(std::uintptr_t{0x2008}); }),
                 "the address of 'Y' is not a multiple of 16 bytes");
  CHECK_CONTAINS(with([](auto& y) { y.strides[0] = 204; }), "'Y' has stride 204 in dimension 0");
  CHECK_CONTAINS(with([](auto& y) { y.strides[0] = -208; }), "'Y' has stride -208 in dimension 0");
  CHECK_CONTAINS(with([](auto& y) { y.strides[0] = std::int64_t{1} << 39; }), "less than 2**40");
  CHECK_CONTAINS(with([](auto& y) { y.strides[0] = INT64_MAX; }), "less than 2**40");
  CHECK_CONTAINS(with([](auto& y) { y.strides[1] = 2; }), "'Y' has stride 2 in its last dimension");
  CHECK_CONTAINS(with([](auto& y) { y.sizes[0] = 0; }), "'Y' has size 0 in dimension 0");
  CHECK_CONTAINS(with([](auto& y) { y.sizes[1] = kLargest + 1; }), "'Y' has size 2147483648 in dimension 1");
}

TEST(a_view_of_another_rank_is_refused) {
  for (const int rank : {1, 3}) {
    Fixture f(with_maps());
    f.y.rank = rank;
    const core::Status status = f.launch();
    CHECK_EQUAL(status.code(), AOTRITON_INVALID_ARGUMENT);
    CHECK_CONTAINS(status.text(), "the kernel takes rank 2");
  }
}

TEST(the_largest_views_are_taken) {
  Fixture f(with_maps());
  f.y.sizes[0] = f.y.sizes[1] = kLargest;
  f.y.strides[0] = (std::int64_t{1} << 39) - 8;
  CHECK_EQUAL(f.launch().text(), "");
  CHECK_EQUAL(f.fake.driver.requests[0].strides[0], (std::uint64_t{1} << 40) - 16);
}

TEST(the_stride_of_one_row_does_not_matter) {
  for (const std::int64_t stride : {std::int64_t{7}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    Fixture f(with_maps());
    f.y.sizes[0] = 1;
    f.y.strides[0] = stride;
    CHECK_EQUAL(f.launch().text(), "");
    CHECK_EQUAL(f.fake.driver.requests[0].strides[0], std::uint64_t{400});
  }
  Fixture f(with_maps());
  f.y.sizes[1] = 1;
  f.y.strides[1] = 12345;
  CHECK_EQUAL(f.launch().text(), "");
}

TEST(an_empty_grid_needs_no_tensor) {
  Fixture f(with_maps());
  f.values[tests::kN].bits = 0;
  f.y.sizes[0] = 0;
  CHECK_EQUAL(f.launch().text(), "");
  CHECK_EQUAL(f.fake.driver.launches.load(), 0);
}

TEST(what_the_driver_refuses_names_the_argument) {
  Fixture f(with_maps());
  f.fake.driver.failing_maps = true;
  CHECK_CONTAINS(f.launch().text(), "argument 'Y': the fake driver was told to fail");
  CHECK_EQUAL(f.fake.driver.launches.load(), 0);
}

TEST(clusters_multiply_the_grid_within_its_limit) {
  SampleOptions options = with_maps();
  options.num_ctas = 4;
  Fixture f(options);
  CHECK_EQUAL(f.launch().text(), "");
  CHECK_EQUAL(f.fake.driver.last.cluster, std::uint32_t{4});
  const std::array<std::uint32_t, 3> grid{0x20000000, 1, 1};
  dispatch::Options given;
  given.grid = grid.data();
  CHECK_CONTAINS(f.kernel->run(f.values, nullptr, given, &f.trace).text(), "more than the device's limit");
}

int main() { return tests::run_all(); }
