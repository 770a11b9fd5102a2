// What every launch does and what it must not: memory of its own, and strings of the environment.
#include "core/environment.h"
#include "tests/calls.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include <unistd.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
static std::atomic<long> allocations{0};
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* malloc(std::size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void* realloc(void* memory, std::size_t bytes) { return ++allocations, __libc_realloc(memory, bytes); }
}
#endif

using namespace aotriton;
using namespace aotriton::tests;

#ifdef COUNTS_ALLOCATIONS
TEST(launches_allocate_nothing) {  // new shapes too, as long as their code is loaded
  const AttentionPack pack;
  const OnePack sample;
  FakeDevice fake;
  fake.driver.keep = false;
  aotriton_kernel* kernel = nullptr;
  CHECK_EQUAL(aotriton_kernel_open(sample.path().c_str(), "sample", "scale", &fake.device, &kernel), AOTRITON_SUCCESS);
  auto all = sample_arguments();
  long before = 0;
  int failed = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    if (i == 1) before = allocations;
    for (int again = 0; again < 2; ++again) {
      auto params = problem(100 + i, 50 + i % 7);
      failed += aotriton_attn_fwd(&params, &fake.device, nullptr, nullptr, nullptr) != AOTRITON_SUCCESS;
      all[2].integer = 300 + i;
      failed += aotriton_kernel_launch(kernel, all.data(), all.size(), nullptr, nullptr) != AOTRITON_SUCCESS;
    }
  }
  CHECK_EQUAL(allocations - before, 0);
  CHECK_EQUAL(failed, 0);
  CHECK_EQUAL(fake.driver.launches.load(), 800);
  aotriton_kernel_close(kernel);
}
#endif

TEST(the_environment_is_what_getenv_says) {
  static char own[] = "AOTRITON_PACK_PATH=given";
  std::mt19937 engine(3);
  const auto one_of = [&](auto... all) { return std::array{all...}[engine() % sizeof...(all)]; };
  for (int i = 0; i < 3000; ++i) {
    for (unsigned changes = 1 + engine() % 3; changes > 0; --changes) {
      const char* const name = one_of("AOTRITON_PACK_PATH", "AOTRITON_DEVICE", "AOTRITON_TEST_A", "AOTRITON_TEST_B");
      switch (engine() % 5) {
        case 0: unsetenv(name); break;
        case 1: putenv(own); break;
        case 2: std::strcpy(std::strchr(own, '=') + 1, one_of("a", "given", "b")); break;
        default: setenv(name, one_of("", "x", "y"), 1);
      }
    }
    for (const auto& [variable, text] : {std::pair{core::Variable::device, "AOTRITON_DEVICE"},
                                         {core::Variable::pack_path, "AOTRITON_PACK_PATH"}}) {
      const char* const wanted = std::getenv(text);
      CHECK_EQUAL(std::string(core::environment(variable)), std::string(wanted == nullptr ? "" : wanted));
    }
  }
  for (const char* name : {"AOTRITON_PACK_PATH", "AOTRITON_DEVICE", "AOTRITON_TEST_A", "AOTRITON_TEST_B"}) unsetenv(name);
}

// After clearenv, what was freed may be what setenv allocates: the old entries still stand behind the new list's end.
TEST(a_shorter_environment_in_the_same_place_is_another_one) {
  static char a[] = "A=1", b[] = "B=1", c[] = "C=1", own[] = "AOTRITON_DEVICE=record:sm_90";
  std::array<char*, 5> list{a, b, c, nullptr, nullptr};
  char** const before = environ;
  environ = list.data();
  const std::string unset = core::environment(core::Variable::device);
  list[0] = own;
  list[1] = nullptr;
  const std::string set = core::environment(core::Variable::device);
  environ = before;
  CHECK_EQUAL(unset, std::string());
  CHECK_EQUAL(set, std::string("record:sm_90"));
}

int main() { return run_all(); }
