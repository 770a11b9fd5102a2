// Closing kernels: the last handle unloads the code, what others hold stays, and nothing finds what is gone.
#include "drivers/devices.h"
#include "tests/calls.h"
#include "tests/recorder.h"

#include <thread>

namespace {

using namespace aotriton;
using namespace aotriton::tests;

aotriton_kernel* open(const std::string& folder, aotriton_device& on, const char* family = "sample", const char* name = "scale") {
  aotriton_kernel* kernel = nullptr;
  CHECK_EQUAL(aotriton_kernel_open(folder.c_str(), family, name, &on, &kernel), AOTRITON_SUCCESS);
  return kernel;
}

bool launch(aotriton_kernel* kernel, std::int64_t n = 32) {
  auto all = sample_arguments();
  all[2].integer = n;
  return aotriton_kernel_launch(kernel, all.data(), all.size(), nullptr, nullptr) == AOTRITON_SUCCESS;
}

// The flash kernel by name, whose code objects the recording library takes.
class Attention {
 public:
  Attention() {
    for (const char* name : {"Q", "K", "V", "Out"}) add(name, AOTRITON_ARGUMENT_TENSOR).tensor = contiguous(place(1), {2, 4, 130, 32});
    for (const char* name : {"Num_head_q", "Num_head_k", "Hdim_qk", "Hdim_vo", "Batch", "Max_seqlen_k", "Num_CU", "Num_seqlens",
                             "philox_offset2", "Window_left", "Window_right", "CAUSAL_TYPE", "ENABLE_DROPOUT"}) {
      add(name, AOTRITON_ARGUMENT_INTEGER).integer = 1;
    }
    for (const char* name : {"Sm_scale", "dropout_p"}) add(name, AOTRITON_ARGUMENT_REAL).real = 0.5;
    add("Max_seqlen_q", AOTRITON_ARGUMENT_INTEGER).integer = 130;
  }
  // More than 1000 queries have code of their own.
  bool launch(aotriton_kernel* kernel, std::int64_t queries = 130) {
    arguments_.back().integer = queries;
    return aotriton_kernel_launch(kernel, arguments_.data(), arguments_.size(), nullptr, nullptr) == AOTRITON_SUCCESS;
  }

 private:
  aotriton_argument& add(const char* name, std::int32_t kind) {
    arguments_.push_back({});
    arguments_.back().name = name;
    arguments_.back().kind = kind;
    return arguments_.back();
  }

  std::vector<aotriton_argument> arguments_;
};

const RecordLibrary& record() {
  static const RecordLibrary library;
  library.reset();
  library.calls();
  return library;
}

aotriton_device& device(const std::string& name) { return **drivers::open_device(name); }

std::string count(const char* function, int times) { return std::string("\"") + function + "\":" + std::to_string(times); }

}  // namespace

TEST(the_last_handle_unloads_all_that_was_loaded) {
  const AttentionPack pack;
  Attention attention;
  struct Face { const char *device, *load, *unload; };
  for (const auto& [name, load, unload] : {Face{"record:sm_90", "cuLibraryLoadData", "cuLibraryUnload"},
                                           Face{"record:gfx942", "hipModuleLoadData", "hipModuleUnload"}}) {
    const RecordLibrary& library = record();
    aotriton_device& on = device(name);
    aotriton_kernel* const first = open(pack.path(), on, "flash", "attn_fwd");
    aotriton_kernel* const second = open(pack.path(), on, "flash", "attn_fwd");
    for (aotriton_kernel* kernel : {first, second, first}) {
      CHECK(attention.launch(kernel));
      CHECK_EQUAL(std::string(aotriton_last_error()), "");
      CHECK(attention.launch(kernel, 1001));
    }
    aotriton_kernel_close(first);
    std::string calls = library.calls();
    CHECK_CONTAINS(calls, count(load, 2));
    CHECK(calls.find(unload) == calls.npos);
    CHECK(attention.launch(second));  // another's handle is as it was
    aotriton_kernel_close(second);
    CHECK_CONTAINS(library.calls(), count(unload, 2));
    aotriton_kernel* const again = open(pack.path(), on, "flash", "attn_fwd");
    CHECK(attention.launch(again) && attention.launch(again));
    aotriton_kernel_close(again);
    calls = library.calls();
    CHECK_CONTAINS(calls, count(load, 1));
    CHECK_CONTAINS(calls, count(unload, 1));
    CHECK_CONTAINS(calls, R"("violations":[])");
  }
  aotriton_kernel_close(nullptr);
}

TEST(a_kernel_that_was_kept_is_never_unloaded) {
  const AttentionPack pack;
  Attention attention;
  const RecordLibrary& library = record();
  aotriton_device& on = device("record:sm_90");
  for (int i = 0; i < 3; ++i) {
    aotriton_kernel* const kernel = open(pack.path(), on, "flash", "attn_fwd");
    CHECK_EQUAL(aotriton_kernel_keep_loaded(kernel), AOTRITON_SUCCESS);
    CHECK(attention.launch(kernel));
    aotriton_kernel_close(kernel);
  }
  const std::string calls = library.calls();
  CHECK_CONTAINS(calls, count("cuLibraryLoadData", 1));
  CHECK(calls.find("cuLibraryUnload") == calls.npos);
  CHECK_EQUAL(aotriton_kernel_keep_loaded(nullptr), AOTRITON_INVALID_ARGUMENT);
}

TEST(what_a_front_end_loaded_stays) {
  const AttentionPack pack;
  FakeDevice fake;
  CHECK_EQUAL(attend(problem(), fake).text(), "");
  Attention attention;
  aotriton_kernel* const kernel = open("", fake.device, "flash", "attn_fwd");  // the same question: the same kernel
  CHECK(attention.launch(kernel));
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
  aotriton_kernel_close(kernel);
  CHECK_EQUAL(fake.driver.unloaded.load(), 0);
  CHECK_EQUAL(attend(problem(), fake).text(), "");
  CHECK_EQUAL(fake.driver.loaded.size(), 1u);
}

// The next kernel may stand at the very address of the one before; a memo that took it for that would launch its function.
TEST(a_memo_finds_nothing_of_a_closed_kernel) {
  const OnePack pack;
  FakeDevice fake;
  for (std::size_t i = 1; i <= 100; ++i) {
    aotriton_kernel* const kernel = open(pack.path(), fake.device);
    for (int again = 0; again < 3; ++again) {
      CHECK(launch(kernel));
      CHECK_EQUAL(fake.driver.loaded.size(), i);
      CHECK_EQUAL(fake.driver.last.function, reinterpret_cast<drivers::Function>(i));
    }
    aotriton_kernel_close(kernel);
    CHECK_EQUAL(fake.driver.unloaded.load(), static_cast<int>(i));
  }
}

TEST(a_replaced_file_leaves_open_kernels_alone) {
  const OnePack pack;
  FakeDevice fake;
  aotriton_kernel* const before = open(pack.path(), fake.device);
  CHECK(launch(before));
  pack.write("amd-gfx942/sample/scale.zip", make_sample().zip());
  aotriton_kernel* const after = open(pack.path(), fake.device);
  CHECK(launch(after) && launch(before));
  CHECK_EQUAL(fake.driver.last.function, reinterpret_cast<drivers::Function>(1));
  CHECK_EQUAL(fake.driver.loaded.size(), 2u);
  aotriton_kernel_close(before);
  CHECK_EQUAL(fake.driver.unloaded.load(), 1);
  CHECK(launch(after));
  CHECK_EQUAL(fake.driver.last.function, reinterpret_cast<drivers::Function>(2));
  aotriton_kernel_close(after);
  CHECK_EQUAL(fake.driver.unloaded.load(), 2);
}

// The recording library refuses functions of code that is unloaded.
TEST(threads_open_launch_and_close) {
  const AttentionPack pack;
  const RecordLibrary& library = record();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Attention attention;
      aotriton_device& on = device(t % 2 == 0 ? "record:sm_90:1" : "record:gfx942:1");
      for (int i = 0; i < 50; ++i) {
        aotriton_kernel* const kernel = open(pack.path(), on, "flash", "attn_fwd");
        for (int again = 0; again < 3; ++again) failed += !attention.launch(kernel, (i + t) % 4 == 0 ? 1001 : 130);
        aotriton_kernel_close(kernel);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
  const std::string calls = library.calls();
  const auto times = [&](const std::string& function) {
    const std::size_t at = calls.find("\"" + function + "\":");
    return at == calls.npos ? 0 : std::atoi(calls.c_str() + at + function.size() + 3);
  };
  CHECK(times("cuLibraryUnload") > 0 && times("hipModuleUnload") > 0);
  CHECK_EQUAL(times("cuLibraryUnload"), times("cuLibraryLoadData"));
  CHECK_EQUAL(times("hipModuleUnload"), times("hipModuleLoadData"));
}

int main() { return run_all(); }
