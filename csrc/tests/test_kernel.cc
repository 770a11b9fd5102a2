// From a pack on disk to a launch: finding packs, loading once, the argument block, many threads, failures.
#include "api/c_strings.h"
#include "pack/search.h"
#include "tests/check.h"
#include "tests/fake.h"

#include <atomic>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

using namespace aotriton;
using dispatch::Kernel;
using dispatch::Options;
using tests::FakeDevice;
using tests::TemporaryFolder;

static std::atomic<long> allocations{0};

// Not inlined: the compiler would take malloc and delete for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

static std::shared_ptr<Kernel> open_in(const std::string& folder, FakeDevice& fake, const char* name = "scale") {
  auto kernel = Kernel::open(folder, "sample", name, fake.device);
  if (!kernel.ok()) tests::fail(__FILE__, __LINE__, kernel.status().text());
  return kernel.ok() ? *kernel : nullptr;
}

static core::Status open_error(const std::string& folder, FakeDevice& fake) {
  return Kernel::open(folder, "sample", "scale", fake.device).status();
}

struct OnePack : TemporaryFolder {
  OnePack() { write("amd-gfx942/sample/scale.zip", tests::make_sample().zip()); }
};

TEST(a_launch_passes_what_the_signature_says) {
  const OnePack pack;
  FakeDevice fake;
  const auto kernel = open_in(pack.path(), fake);
  auto values = tests::sample_values();
  values[tests::kN].bits = 300;
  std::string trace;
  CHECK_EQUAL(kernel->run(values, nullptr, {}, &trace).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  CHECK_EQUAL(fake.driver.loaded[0], "code of ;;#F;X='*fp16:16';W=32;PAD=True;MODE=0;;#P;BLOCK=128;;#CO;num_warps=4;;"
                                     "arch=gfx942@scale_kernel0");
  CHECK_EQUAL(fake.driver.last.grid[0], 3u);
  CHECK_EQUAL(fake.driver.last.threads, 256u);
  CHECK_EQUAL(fake.driver.last.shared, 70000u);
  // X, Y, S, stride_x, alpha, N, and two null pointers for Triton's scratch memory.
  const std::vector<std::uint64_t> wanted{0x1000, 0x2000, 0x3000, 64, std::bit_cast<std::uint32_t>(1.5f), 300, 0, 0};
  CHECK(fake.driver.last_parameters == wanted);
  CHECK_CONTAINS(trace, "\"loaded\": true, \"launched\": true");
}

TEST(an_image_is_loaded_once_and_a_launch_allocates_nothing) {
  const OnePack pack;
  FakeDevice fake;
  fake.driver.keep = false;
  const auto kernel = open_in(pack.path(), fake);
  const auto values = tests::sample_values();
  CHECK(kernel->run(values, nullptr, {}, nullptr).ok());
  const long before = allocations.load();
  constexpr int kLaunches = 20000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) {
    if (!kernel->run(values, nullptr, {}, nullptr).ok()) tests::fail(__FILE__, __LINE__, "launch failed");
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  CHECK_EQUAL(allocations.load() - before, 0);
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  CHECK_EQUAL(fake.driver.launches.load(), kLaunches + 1);
  std::printf("       %.0f ns a launch\n", spent.count() / kLaunches);
}

TEST(threads_that_come_first_load_once) {
  const OnePack pack;
  FakeDevice fake, second;
  second.device.name = "fake:1";
  second.device.ordinal = 1;
  fake.driver.delay_ms = second.driver.delay_ms = 20;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      FakeDevice& mine = t % 2 == 0 ? fake : second;
      const auto kernel = Kernel::open(pack.path(), "sample", "scale", mine.device);
      auto values = tests::sample_values();
      if (t >= 4) values[tests::kN].bits = 8;  // another image
      for (int i = 0; i < 50; ++i) failed += !kernel.ok() || !(*kernel)->run(values, nullptr, {}, nullptr).ok();
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
  for (FakeDevice* one : {&fake, &second}) {
    CHECK_EQUAL(one->driver.loaded.size(), 2u);
    CHECK_EQUAL(one->driver.launches.load(), 200);
  }
}

TEST(a_failed_load_is_tried_again) {
  const OnePack pack;
  FakeDevice fake;
  const auto kernel = open_in(pack.path(), fake);
  const auto values = tests::sample_values();
  fake.driver.failing = true;
  std::string trace;
  const core::Status status = kernel->run(values, nullptr, {}, &trace);
  CHECK_EQUAL(status.code(), AOTRITON_DRIVER_ERROR);
  CHECK_CONTAINS(status.text(), "amd-gfx942/sample/scale.zip: ;;#F;X=");
  CHECK_CONTAINS(status.text(), "the fake driver was told to fail");
  CHECK_CONTAINS(trace, "\"status\": \"driver_error\"");
  CHECK_CONTAINS(trace, "\"loaded\": false, \"launched\": false");
  CHECK_EQUAL(fake.driver.launches.load(), 0);
  fake.driver.failing = false;
  CHECK(kernel->run(values, nullptr, {}, nullptr).ok());
}

TEST(loading_and_asking_launch_nothing) {
  const OnePack pack;
  FakeDevice fake;
  const auto kernel = open_in(pack.path(), fake);
  auto values = tests::sample_values();
  Options query;
  query.load = query.launch = false;
  CHECK(kernel->run(values, nullptr, query, nullptr).ok());
  CHECK_EQUAL(fake.driver.loaded.size(), 0u);
  Options load;
  load.launch = false;
  CHECK(kernel->run(values, nullptr, load, nullptr).ok());
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  values[tests::kN].bits = 0;  // an empty grid
  CHECK(kernel->run(values, nullptr, {}, nullptr).ok());
  CHECK_EQUAL(fake.driver.launches.load(), 0);
}

TEST(a_target_can_be_asked_but_not_launched_on) {
  const OnePack pack;
  FakeDevice fake;
  fake.device.name = "target:gfx942";
  fake.device.driver = nullptr;
  const auto kernel = open_in(pack.path(), fake);
  Options query;
  query.load = query.launch = false;
  CHECK(kernel->run(tests::sample_values(), nullptr, query, nullptr).ok());
  const core::Status status = kernel->run(tests::sample_values(), nullptr, {}, nullptr);
  CHECK_EQUAL(status.code(), AOTRITON_NO_DEVICE);
  CHECK_CONTAINS(status.text(), "target:gfx942 is no device that runs code");
}

// ---- finding packs ----

TEST(pack_names_are_guessed_for_targets) {
  CHECK(pack::named_for("amd-gfx942", "gfx942"));
  CHECK(pack::named_for("amd-gfx110x", "gfx1103"));
  CHECK(pack::named_for("nvidia-sm90", "sm_90"));
  CHECK(pack::named_for("host", "host"));
  CHECK(!pack::named_for("amd-gfx110x", "gfx1150"));
  CHECK(!pack::named_for("amd-gfx90a", "gfx942"));
  CHECK(!pack::named_for("nvidia-sm80", "sm_86"));
}

TEST(a_missing_pack_is_told_with_what_is_there) {
  const TemporaryFolder folder;
  FakeDevice fake;
  core::Status status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "no pack has sample/scale for gfx942");
  CHECK_CONTAINS(status.text(), folder.path() + " has: none");
  tests::SampleOptions options;
  options.targets = {"gfx90a"};
  folder.write("amd-gfx90a/sample/scale.zip", tests::make_sample(options).zip());
  status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "it is in amd-gfx90a (for gfx90a)");
  CHECK_CONTAINS(status.text(), folder.path() + " has: amd-gfx90a");
  // A failure isn't remembered.
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error(folder.path(), fake).ok());
}

TEST(a_pack_of_another_architecture_is_seen_under_any_name) {
  const TemporaryFolder folder;
  FakeDevice fake;
  tests::SampleOptions options;
  options.targets = {"gfx90a"};
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample(options).zip());
  const core::Status status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "amd-gfx942 (for gfx90a)");
  // The right one, oddly named, is found all the same.
  folder.write("mine/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error(folder.path(), fake).ok());
}

TEST(a_damaged_pack_is_an_error_even_beside_a_good_one) {
  const OnePack good;
  const TemporaryFolder bad;
  FakeDevice fake;
  tests::Buffer archive = tests::make_sample().zip();
  archive.resize(archive.size() / 2);
  const std::string path = bad.write("amd-gfx942/sample/scale.zip", archive);
  pack::add_path(good.path());
  pack::add_path(bad.path());
  core::Status status = open_error("", fake);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), path);
  CHECK_CONTAINS(status.text(), "sample/scale for gfx942");
  CHECK_CONTAINS(status.text(), "truncated");
  bad.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error("", fake).ok());
  tests::SampleOptions other;
  other.kernel = "shift";
  bad.write("amd-gfx942/sample/scale.zip", tests::make_sample(other).zip());
  status = open_error("", fake);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), "it is the file of sample/shift under another name");
}

TEST(a_damaged_image_is_an_error_at_the_call) {
  const TemporaryFolder folder;
  FakeDevice fake;
  tests::Sample sample = tests::make_sample();
  for (auto& cluster : sample.clusters) cluster.data[cluster.data.size() / 2] ^= 0x10;
  folder.write("amd-gfx942/sample/scale.zip", sample.zip());
  const auto kernel = open_in(folder.path(), fake);
  const core::Status status = kernel->run(tests::sample_values(), nullptr, {}, nullptr);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), "entry 'X='*fp16:16';W=32;PAD=False;MODE=0'");
  CHECK_EQUAL(fake.driver.launches.load(), 0);
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_in(folder.path(), fake)->run(tests::sample_values(), nullptr, {}, nullptr).ok());
}

TEST(the_target_s_own_pack_comes_before_one_that_serves) {
  const TemporaryFolder first, second;
  FakeDevice fake("sm_86");
  tests::SampleOptions options;
  options.targets = {"sm_80"};
  options.serves = {{"sm_80", {"sm_86"}}};
  first.write("nvidia-sm80/sample/scale.zip", tests::make_sample(options).zip());
  pack::add_path(second.path());
  pack::add_path(first.path());
  const auto served = open_in("", fake);
  std::string trace;
  CHECK(served->run(tests::sample_values(), nullptr, {}, &trace).ok());
  CHECK_CONTAINS(trace, "code for sm_80 serves it");
  options.targets = {"sm_86"};
  second.write("nvidia-sm86/sample/scale.zip", tests::make_sample(options).zip());
  // What is open stays as it is while its file and the search path do.
  pack::add_path(first.path() + "/.");
  CHECK(open_in("", fake)->run(tests::sample_values(), nullptr, {}, &trace).ok());
  CHECK_CONTAINS(trace, second.path());
  CHECK_CONTAINS(trace, "arch=sm_86");
}

TEST(the_same_question_gives_the_same_kernel) {
  const OnePack pack;
  FakeDevice fake, other;
  const auto kernel = open_in(pack.path(), fake);
  CHECK(open_in(pack.path(), fake) == kernel);
  CHECK(open_in(pack.path(), other) != kernel);
  pack.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_in(pack.path(), fake) != kernel);
  CHECK(kernel->run(tests::sample_values(), nullptr, {}, nullptr).ok());  // the old file is still mapped
}

TEST(names_can_not_leave_the_folder) {
  FakeDevice fake;
  for (const char* name : {"", "..", "../scale", "a/b", ".hidden"}) {
    CHECK_EQUAL(Kernel::open("/tmp", "sample", name, fake.device).status().code(), AOTRITON_INVALID_ARGUMENT);
    CHECK_EQUAL(Kernel::open("/tmp", name, "scale", fake.device).status().code(), AOTRITON_INVALID_ARGUMENT);
  }
}

TEST(front_ends_insist_on_their_arguments) {
  const OnePack pack;
  FakeDevice fake;
  const auto kernel = open_in(pack.path(), fake);
  std::vector<const char*> names;
  for (const std::string& name : kernel->argument_names()) names.push_back(name.c_str());
  CHECK(kernel->expect_arguments(names).ok());
  names[2] = "T";
  CHECK_CONTAINS(kernel->expect_arguments(names).text(), "argument 2 is 'S'; this library was built for 'T'");
  names[2] = "S";
  names.pop_back();
  CHECK_CONTAINS(kernel->expect_arguments(names).text(), "is 'BLOCK'; this library was built for 'no more'");
}

// ---- the C API: arguments by name ----

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
  CHECK_CONTAINS(refused([](ByName& c) { c.arguments.erase(c.arguments.begin() + 5); }), "argument 'alpha' was not given");
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
  CHECK_CONTAINS(call.launch(&options), "use AOTRITON_LAUNCH_OPTIONS_INIT");
  CHECK_EQUAL(aotriton_kernel_launch(call.kernel, call.arguments.data(), call.arguments.size(), nullptr, &options),
              AOTRITON_INVALID_VERSION);
  CHECK_EQUAL(aotriton_kernel_launch(nullptr, nullptr, 0, nullptr, nullptr), AOTRITON_INVALID_ARGUMENT);
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
