// From a pack on disk to a launch: loading once, the argument block, many threads, failures.
#include "tests/check.h"
#include "tests/fake.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

using namespace aotriton;
using dispatch::Kernel;
using dispatch::Options;
using tests::FakeDevice;
using tests::OnePack;
using tests::open_in;

static std::atomic<long> allocations{0};

// Not inlined: the compiler would take malloc and delete for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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
  std::array<std::shared_ptr<Kernel>, 8> kept;  // else a thread that is done early unloads
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      FakeDevice& mine = t % 2 == 0 ? fake : second;
      const auto kernel = Kernel::open(pack.path(), "sample", "scale", mine.device);
      if (kernel.ok()) kept[static_cast<std::size_t>(t)] = *kernel;
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
  CHECK_CONTAINS(status.text(), "sample.scale, functional 28 (;;#F;X='*fp16:16';");
  CHECK_CONTAINS(status.text(), " on fake:0 (gfx942): the fake driver was told to fail; pack ");
  CHECK_CONTAINS(status.text(), "amd-gfx942/sample/scale.zip");
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

int main() { return tests::run_all(); }
