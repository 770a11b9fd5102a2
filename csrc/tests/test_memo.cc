// Calls that a thread's memo knows: the same as without it, in every case.
#include "dispatch/memo.h"
#include "pack/search.h"
#include "tests/calls.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <sstream>
#include <thread>

namespace {

using namespace aotriton;
using namespace aotriton::tests;
using dispatch::Memo;

std::uint64_t hits() { return Memo::of_this_thread().hits(); }

// What a call came to, as text.
std::string outcome(FakeDevice& fake, const core::Status& status, int launched) {
  std::ostringstream text;
  text << status.code() << " " << status.text() << " launches " << launched << " loaded " << fake.driver.loaded.size();
  if (launched == 0) return text.str();
  const drivers::Launch& last = fake.driver.last;
  text << " grid " << last.grid[0] << " " << last.grid[1] << " " << last.grid[2] << " threads " << last.threads << " shared "
       << last.shared << " function " << last.function << " parameters";
  for (const std::uint64_t parameter : fake.driver.last_parameters) text << " " << parameter;
  return text.str();
}

// The same call without the memo and, twice, with it.
template <typename Call>
void check_agreement(FakeDevice& fake, Call call, std::string& first) {
  const auto once = [&](bool memo) {
    Memo::of_this_thread().use(memo);
    const int before = fake.driver.launches;
    const core::Status status = call();
    return outcome(fake, status, fake.driver.launches - before);
  };
  once(false);  // what it loads is loaded then
  first = once(false);
  CHECK_EQUAL(once(true), first);
  CHECK_EQUAL(once(true), first);
}

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  // One of so many: 0 to sides - 1.
  std::int64_t operator()(std::int64_t sides) { return std::uniform_int_distribution<std::int64_t>(0, sides - 1)(engine_); }
  bool rarely() { return (*this)(200) == 0; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[(*this)(static_cast<std::int64_t>(values.size()))];
  }

 private:
  std::mt19937 engine_;
};

// Near each other, so that some overlap and some don't.
void* somewhere(Dice& dice, std::uintptr_t number) {
  if (dice.rarely()) return nullptr;
  if (dice(6) == 0) number = static_cast<std::uintptr_t>(dice(6) + 1);
  return place(number, static_cast<std::uintptr_t>(dice.of({0, 0, 0, 16, 4096, 65536, 2, 1, 8, 48})));
}

void disturb(Dice& dice, aotriton_tensor& view) {
  const auto dimension = dice(4);
  switch (dice(8)) {
    case 0: view.strides[dimension] = dice.of<std::int64_t>({0, 1, 33, 4096, -1, std::int64_t{1} << 61}); break;
    case 1: view.sizes[dimension] = dice.of<std::int64_t>({0, 1, 2, -3, std::int64_t{1} << 40}); break;
    case 2: view.dtype = dice.of<std::int32_t>({0, 1, 3, 12, 999}); break;
    case 3: view.rank = dice.of<std::int32_t>({0, 1, 3, 5, -1, 1 << 20}); break;
    case 4: view.sizes[dimension] = 1, view.strides[dimension] = dice(1000); break;
    default: std::swap(view.strides[1], view.strides[2]);
  }
}

aotriton_attn_fwd_params random_problem(Dice& dice) {
  const auto length = dice.of<std::int64_t>({5, 130, 1, 0}), keys = dice.of<std::int64_t>({7, 7, 70, 0});
  aotriton_attn_fwd_params p = problem(length, keys);
  std::uintptr_t number = 0;
  for (aotriton_tensor* view : {&p.q, &p.k, &p.v, &p.out, &p.lse}) {
    view->data = somewhere(dice, ++number);
    if (dice.rarely()) disturb(dice, *view);
  }
  if (dice(3) == 0) p.lse.data = nullptr;
  if (dice(4) == 0) p.lse = contiguous(p.lse.data, {2, 4, length}, AOTRITON_FP32);
  if (dice(3) == 0) p.persistent_atomic_counter = contiguous(somewhere(dice, 6), {}, AOTRITON_I32);
  if (dice.rarely()) p.persistent_atomic_counter.rank = 1, p.persistent_atomic_counter.sizes[0] = dice(2);
  p.scale = dice.of({0.5f, 0.5f, 0.25f, -0.0f});
  if (dice.rarely()) p.scale = dice.of({std::numeric_limits<float>::infinity(), std::nanf("")});
  p.causal_type = dice.rarely() ? 1 : dice.of({0, 3});
  p.window_left = dice.of({0, AOTRITON_WINDOW_TOP_LEFT});
  p.window_right = dice.of({0, -3});
  if (dice.rarely()) p.bias = p.q;
  if (dice.rarely()) p.seq_strides_q = p.q;
  if (dice.rarely()) p.dropout_p = dice.of({0.5f, -0.0f, std::nanf("")});
  if (dice.rarely()) p.varlen_type = 1;
  return p;
}

}  // namespace

TEST(attention_is_the_same_with_and_without) {
  const AttentionPack pack;
  FakeDevice fake, other("sm_90");
  Dice dice(20261201);
  const std::uint64_t before = hits();
  int launched = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const aotriton_attn_fwd_params params = random_problem(dice);
    aotriton_attn_options options = kDefaults;
    options.query_only = dice(10) == 0;
    options.load_only = dice(10) == 0;
    if (dice.rarely()) options.force_backend = static_cast<std::int32_t>(dice(3) - 1);
    FakeDevice& device = dice(4) == 0 ? other : fake;
    std::string found;
    check_agreement(device, [&] { return attend(params, device, options); }, found);
    launched += found.find("launches 1") != found.npos;
    refused += found[0] != '0';
  }
  // All that was worth trying was tried.
  CHECK(launched > 1000 && refused > 1000);
  CHECK(hits() - before > 1500);
}

TEST(calls_by_name_are_the_same_with_and_without) {
  const OnePack pack;
  FakeDevice fake;
  aotriton_kernel* kernel = nullptr;
  CHECK_EQUAL(aotriton_kernel_open(pack.path().c_str(), "sample", "scale", &fake.device, &kernel), AOTRITON_SUCCESS);
  Dice dice(7);
  const std::uint64_t before = hits();
  int launched = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::vector<aotriton_argument> all;
    const auto add = [&](const char* name, std::int32_t kind) -> aotriton_argument& {
      all.push_back({});
      all.back().name = name;
      all.back().kind = kind;
      return all.back();
    };
    const aotriton_dtype dtype = dice.of({AOTRITON_FP16, AOTRITON_BF16});
    for (const char* name : {"X", "Y"}) {
      aotriton_tensor& view = add(name, AOTRITON_ARGUMENT_TENSOR).tensor;
      view = contiguous(somewhere(dice, 1), {dice.of<std::int64_t>({4, 1}), dice.of<std::int64_t>({64, 30, 1})}, dtype);
      if (dice.rarely()) disturb(dice, view);
    }
    if (dice(3) == 0) add("S", AOTRITON_ARGUMENT_TENSOR).tensor = contiguous(somewhere(dice, 2), {4}, AOTRITON_FP32);
    add("N", AOTRITON_ARGUMENT_INTEGER).integer = dice.of({32, 64, 0, 300, -1});
    add("W", AOTRITON_ARGUMENT_INTEGER).integer = dice.of({16, 32, 64, 65});
    add("MODE", AOTRITON_ARGUMENT_INTEGER).integer = dice.of({0, 0, 3, 1});
    add("alpha", AOTRITON_ARGUMENT_REAL).real = dice.of({1.5, -0.0, 1e300});
    if (dice(3) == 0) all.back().kind = AOTRITON_ARGUMENT_INTEGER, all.back().integer = dice(3);
    if (dice(3) == 0) std::ranges::reverse(all);
    if (dice.rarely()) all[static_cast<std::size_t>(dice(3))].name = dice.of({"X", "Y", "x", "", "stride_x"});
    if (dice.rarely()) all.back().reserved = 1;
    if (dice.rarely()) all.pop_back();
    const std::uint32_t grid[] = {static_cast<std::uint32_t>(dice(3)), 1, static_cast<std::uint32_t>(dice(2) + 1)};
    aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
    if (dice(5) == 0) options.grid = grid;
    if (dice(5) == 0) options.config = static_cast<std::int32_t>(dice(3));
    options.query_only = dice(10) == 0;
    std::string found;
    check_agreement(fake, [&] {
      const aotriton_status status = aotriton_kernel_launch(kernel, all.data(), all.size(), nullptr, &options);
      return core::Status(status, aotriton_last_error());
    }, found);
    launched += found.find("launches 1") != found.npos;
    refused += found[0] != '0';
  }
  CHECK(launched > 500 && refused > 500);
  CHECK(hits() - before > 900);
  aotriton_kernel_close(kernel);
}

TEST(a_name_is_what_stands_there_at_the_call) {
  const OnePack pack;
  FakeDevice fake;
  aotriton_kernel* kernel = nullptr;
  CHECK_EQUAL(aotriton_kernel_open(pack.path().c_str(), "sample", "scale", &fake.device, &kernel), AOTRITON_SUCCESS);
  char first[] = "X", second[] = "Y";
  auto all = sample_arguments();
  all[0].name = first;
  all[1].name = second;
  for (const bool swapped : {false, false, true, true, false}) {
    first[0] = swapped ? 'Y' : 'X';
    second[0] = swapped ? 'X' : 'Y';
    CHECK_EQUAL(aotriton_kernel_launch(kernel, all.data(), all.size(), nullptr, nullptr), AOTRITON_SUCCESS);
    CHECK_EQUAL(fake.driver.last_parameters[0], std::uint64_t{swapped ? 2u : 1u} << 20);
  }
  // Another kernel, perhaps where the first one was: it loads code of its own.
  const OnePack again;
  aotriton_kernel_close(kernel);
  const std::size_t loaded = fake.driver.loaded.size();
  CHECK_EQUAL(aotriton_kernel_open(again.path().c_str(), "sample", "scale", &fake.device, &kernel), AOTRITON_SUCCESS);
  CHECK_EQUAL(aotriton_kernel_launch(kernel, all.data(), all.size(), nullptr, nullptr), AOTRITON_SUCCESS);
  CHECK_EQUAL(fake.driver.loaded.size(), loaded + 1);
  aotriton_kernel_close(kernel);
}

TEST(another_search_path_is_another_kernel) {
  FakeDevice fake;
  const auto loaded = [&] {
    CHECK_EQUAL(attend(problem(), fake).text(), "");
    CHECK_EQUAL(attend(problem(), fake).text(), "");
    return fake.driver.loaded.size();
  };
  const AttentionPack first;
  CHECK_EQUAL(loaded(), 1u);
  const AttentionPack second;
  CHECK_EQUAL(loaded(), 2u);
  setenv("AOTRITON_PACK_PATH", first.path().c_str(), 1);
  CHECK_EQUAL(loaded(), 2u);
  unsetenv("AOTRITON_PACK_PATH");
  CHECK_EQUAL(attend(problem(), fake).code(), AOTRITON_NO_PACK);
  setenv("AOTRITON_PACK_PATH", (first.path() + "/none").c_str(), 1);
  CHECK_EQUAL(attend(problem(), fake).code(), AOTRITON_NO_PACK);
  const AttentionPack third;
  CHECK_EQUAL(loaded(), 3u);
  pack::add_path(second.path());
  CHECK_EQUAL(loaded(), 4u);
}

TEST(each_device_gets_its_own_launches) {
  const AttentionPack pack;
  FakeDevice first, second;
  for (int i = 0; i < 3; ++i) {
    CHECK_EQUAL(attend(problem(), first).text(), "");
    CHECK_EQUAL(attend(problem(), second).text(), "");
  }
  CHECK_EQUAL(first.driver.launches.load(), 3);
  CHECK_EQUAL(second.driver.launches.load(), 3);
}

TEST(what_was_only_asked_is_loaded_when_it_is_launched) {
  const AttentionPack pack;
  FakeDevice fake;
  aotriton_attn_options query = kDefaults, load = kDefaults;
  query.query_only = load.load_only = 1;
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake, query).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 0u);
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake, load).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  CHECK_EQUAL(fake.driver.launches.load(), 0);
  CHECK_EQUAL(attend(problem(), fake).text(), "");
  CHECK_EQUAL(fake.driver.launches.load(), 1);
}

TEST(a_traced_call_takes_the_whole_way) {
  const AttentionPack pack;
  FakeDevice fake;
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake).text(), "");
  std::string trace;
  CHECK(flash::attn_fwd(problem(), &fake.device, nullptr, kDefaults, &trace).ok());
  CHECK_CONTAINS(trace, "\"launched\": true");
  CHECK_CONTAINS(trace, "\"config\": {");
  CHECK_EQUAL(fake.driver.launches.load(), 3);
}

namespace {

// A driver that is called for a launch, and itself makes more of them meanwhile, as the one of the host may.
struct Nested final : drivers::Driver {
  explicit Nested(FakeDevice& fake) : fake(fake) {}
  const char* name() const override { return "nested"; }
  core::Result<drivers::Function> load(int ordinal, const drivers::CodeObject& code) override {
    return fake.driver.load(ordinal, code);
  }
  void unload(int ordinal, drivers::Function function) override { fake.driver.unload(ordinal, function); }
  core::Status launch(int ordinal, const drivers::Launch& launch, aotriton_stream stream) override {
    if (depth++ == 0) {
      for (std::int64_t length = 1; length < 200; ++length) {
        auto inner = problem(length);
        inner.q.data = place(9);
        CHECK_EQUAL(flash::attn_fwd(inner, device, nullptr, kDefaults, nullptr).text(), "");
      }
    }
    depth -= 1;
    return fake.driver.launch(ordinal, launch, stream);
  }
  FakeDevice& fake;
  aotriton_device* device = nullptr;
  int depth = 0;
};

}  // namespace

TEST(a_launch_within_a_launch_disturbs_nothing) {
  const AttentionPack pack;
  FakeDevice fake;
  Nested nested(fake);
  aotriton_device device = fake.device;
  device.driver = &nested;
  nested.device = &device;
  for (int i = 0; i < 3; ++i) {
    CHECK_EQUAL(flash::attn_fwd(problem(), &device, nullptr, kDefaults, nullptr).text(), "");
    CHECK_EQUAL(fake.driver.last_parameters[0], std::uint64_t{1} << 20);
    CHECK_EQUAL(fake.driver.last.grid[0], 3u);
  }
}

namespace {

// Launches when it is told to.
struct Moody final : drivers::Driver {
  const char* name() const override { return "moody"; }
  core::Result<drivers::Function> load(int, const drivers::CodeObject&) override { return drivers::Function{this}; }
  void unload(int, drivers::Function) override {}
  core::Status launch(int, const drivers::Launch&, aotriton_stream) override {
    return fails ? core::Status(AOTRITON_DRIVER_ERROR, "no mood") : core::Status();
  }
  bool fails = false;
};

}  // namespace

TEST(a_failure_of_the_driver_is_told_the_same) {
  const AttentionPack pack;
  FakeDevice fake;
  Moody moody;
  fake.device.driver = &moody;
  CHECK(attend(problem(), fake).ok());
  moody.fails = true;
  const core::Status found = attend(problem(), fake);
  Memo::of_this_thread().use(false);
  const core::Status wanted = attend(problem(), fake);
  Memo::of_this_thread().use(true);
  CHECK_EQUAL(found.code(), AOTRITON_DRIVER_ERROR);
  CHECK_EQUAL(found.text(), wanted.text());
  CHECK_CONTAINS(found.text(), "no mood");
  moody.fails = false;
  CHECK(attend(problem(), fake).ok());
}

// What served before goes on as it was until the file is mended; then the mended one serves.
TEST(a_kernel_found_damaged_is_opened_again) {
  const TemporaryFolder folder;
  folder.write("pack/flash/attn_fwd.zip", FlashPackWriter(true).zip());
  setenv("AOTRITON_PACK_PATH", folder.path().c_str(), 1);
  FakeDevice fake;
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake).text(), "");
  CHECK_EQUAL(attend(problem(2000), fake).code(), AOTRITON_BAD_PACK);
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  folder.write("pack/flash/attn_fwd.zip", FlashPackWriter().zip());
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(), fake).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 2u);
  for (int i = 0; i < 2; ++i) CHECK_EQUAL(attend(problem(2000), fake).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 3u);
}

TEST(every_thread_has_its_own) {
  const AttentionPack pack;
  FakeDevice first, second;
  first.driver.keep = second.driver.keep = false;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 500; ++i) {
        failed += !attend(problem(1 + (i * (t + 1)) % 10), i % 3 == 0 ? second : first).ok();
      }
      failed += hits() < 100;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
  CHECK_EQUAL(first.driver.launches + second.driver.launches, 2000);
}

int main() { return run_all(); }
