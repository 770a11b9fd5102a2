// The flash front end from a call to the launched bytes, on the recording library: through both APIs, from many threads
// at once, on several devices, in a capture, and when things fail.
#include "core/text.h"
#include "drivers/devices.h"
#include "tests/check.h"
#include "tests/fake.h"
#include "tests/flash_pack.h"
#include "tests/recorder.h"

#include <aotriton/flash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <thread>

namespace {

using namespace aotriton;
using namespace aotriton::tests;
namespace fl = AOTRITON_NS::v3::flash;

const RecordLibrary& record() {
  static const RecordLibrary library;
  library.reset();
  library.launches();
  return library;
}

struct Pack {
  explicit Pack(const char* name = "pack/flash/attn_fwd.zip") { file = folder.write(name, FlashPackWriter().zip()); }
  TemporaryFolder folder;
  std::string file;
};

// A call with memory of its own; outputs hold sevens until somebody writes.
struct Call {
  std::vector<std::uint16_t> q, k, v, out;
  std::vector<float> lse;
  fl::attn_fwd_params params{};

  explicit Call(std::uint64_t length = 130, std::uint64_t keys = 70)
      : q(2 * 4 * length * 32), k(2 * 2 * keys * 32), v(k.size()), out(q.size(), 7), lse(2 * 4 * length, 7) {
    const auto view = [](std::vector<std::uint16_t>& memory, std::uint64_t heads, std::uint64_t rows) {
      return fl::T4(std::bit_cast<std::intptr_t>(memory.data()), {2, heads, rows, 32},
                    {heads * rows * 32, rows * 32, 32, 1}, AOTRITON_NS::kFloat16);
    };
    params.Q = view(q, 4, length);
    params.K = view(k, 2, keys);
    params.V = view(v, 2, keys);
    params.Out = view(out, 4, length);
    params.L = fl::T2(std::bit_cast<std::intptr_t>(lse.data()), {8, length}, {length, 1}, AOTRITON_NS::kFloat32);
    params.Sm_scale = 0.5f;
    params.causal_type = fl::CausalType::WindowedAttention;
    params.window_left = fl::WindowValue::TopLeftAligned;
    params.window_right = -3;
  }

  hipError_t operator()(void* stream = nullptr) const {
    return fl::attn_fwd(params, fl::attn_fwd_params::kVersion, static_cast<hipStream_t>(stream));
  }
  bool untouched() const {
    return std::all_of(out.begin(), out.end(), [](auto x) { return x == 7; }) &&
           std::all_of(lse.begin(), lse.end(), [](auto x) { return x == 7; });
  }
};

template <typename Number>
std::string argument(int offset, Number number) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&number);
  return R"({"offset":)" + std::to_string(offset) + R"(,"size":)" + std::to_string(sizeof number) + R"(,"hex":")" +
         core::hex({bytes, sizeof number}) + "\"}";
}

void use(const char* device) { setenv("AOTRITON_DEVICE", device, 1); }

}  // namespace

TEST(a_call_becomes_these_bytes) {
  const Pack pack;
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  const RecordLibrary& library = record();
  for (const auto& [device, units] : {std::pair{"record:gfx942:1", 304}, {"record:sm_90:1", 132}}) {
    use(device);
    std::int32_t counter = 0;
    Call call;
    call.params.persistent_atomic_counter = fl::T0(std::bit_cast<std::intptr_t>(&counter), AOTRITON_NS::kInt32);
    CHECK_EQUAL(call(), hipSuccess);
    CHECK_EQUAL(std::string(aotriton_last_error()), "");
    const std::string launches = library.launches();
    CHECK_CONTAINS(launches, R"("device":1,"grid":[3,1,1],"block":[128,1,1],"shared":2048,"stream":0,"captured":false)");
    const std::string wanted = argument(0, call.q.data()) + "," + argument(8, 0.5f) + "," + argument(16, call.lse.data()) +
                               "," + argument(24, std::uint64_t{32}) + "," + argument(32, std::int32_t{2}) + "," +
                               argument(36, std::int32_t{-3}) + "," + argument(40, &counter) + "," +
                               argument(48, std::int32_t{units}) + "," + argument(56, std::uint64_t{0}) + "," +
                               argument(64, std::uint64_t{0});
    CHECK_CONTAINS(launches, "\"arguments\":[" + wanted + "]");
  }
}

TEST(nothing_to_compute_launches_nothing) {  // T2
  const Pack pack;
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  const RecordLibrary& library = record();
  use("record:gfx942");
  Call empty(0, 5);
  CHECK_EQUAL(empty(), hipSuccess);
  CHECK_EQUAL(library.launches(), "[]");
  // No keys is another matter: out and lse are written.
  Call keyless(5, 0);
  CHECK_EQUAL(keyless(), hipSuccess);
  CHECK_CONTAINS(library.launches(), R"("grid":[1,1,1])");
}

TEST(the_first_calls_of_eight_threads_load_once) {  // T38
  const Pack pack;
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  use("record:gfx942");
  const RecordLibrary& library = record();
  library.calls();
  constexpr int kThreads = 8, kCalls = 20;
  std::atomic<int> failed{0}, ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Call call(i % 2 == 0 ? 130 : 33, 70);
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (int j = 0; j < kCalls; ++j) failed += call() != hipSuccess;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
  const std::string calls = library.calls();
  CHECK_CONTAINS(calls, R"("hipModuleLoadData":1,)");
  CHECK_CONTAINS(calls, R"("hipModuleLaunchKernel":160,)");
}

TEST(each_device_loads_its_own) {
  const Pack pack;
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  const RecordLibrary& library = record();
  const Call call;
  for (const char* device : {"record:sm_90", "record:sm_90:1", "record:sm_90", "record:gfx942"}) {
    use(device);
    CHECK_EQUAL(call(), hipSuccess);
  }
  const std::string calls = library.calls();
  CHECK_CONTAINS(calls, R"("cuLibraryLoadData":2,)");
  CHECK_CONTAINS(calls, R"("hipModuleLoadData":1,)");
}

TEST(calls_are_captured_loaded_before_or_not) {
  const Pack pack;
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  const RecordLibrary& library = record();
  use("record:gfx942");
  void* stream = nullptr;
  library.function<int(int)>("hipSetDevice")((*drivers::open_device("record:gfx942"))->ordinal);
  library.function<int(void**)>("hipStreamCreate")(&stream);
  const Call call;
  // The code is loaded in the middle of a capture; where a driver refuses that, words say so.
  library.function<int(void*, int)>("hipStreamBeginCapture")(stream, 0);
  library.fail("hipModuleLoadData", 900);
  CHECK_EQUAL(call(stream), hipErrorLaunchFailure);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "load the code object before the capture begins");
  CHECK_EQUAL(call(stream), hipSuccess);
  CHECK_CONTAINS(library.calls(), R"("violations":[])");
  library.function<int(void*, void**)>("hipStreamEndCapture")(stream, nullptr);
  library.calls();
  library.launches();
  library.function<int(void*, int)>("hipStreamBeginCapture")(stream, 0);
  CHECK_EQUAL(call(stream), hipSuccess);
  library.function<int(void*, void**)>("hipStreamEndCapture")(stream, nullptr);
  CHECK_CONTAINS(library.launches(), R"("captured":true)");
  CHECK_CONTAINS(library.calls(), R"("violations":[])");
}

TEST(a_failure_leaves_outputs_and_the_next_call_works) {  // T40
  const RecordLibrary& library = record();
  const Pack pack;
  Call call;
  use("record:gfx942");
  setenv("AOTRITON_PACK_PATH", (pack.folder.path() + "/none").c_str(), 1);
  CHECK_EQUAL(call(), hipErrorNoBinaryForGpu);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "flash/attn_fwd for gfx942");
  setenv("AOTRITON_PACK_PATH", pack.folder.path().c_str(), 1);
  use("record:gfx1100");
  CHECK_EQUAL(call(), hipErrorNoBinaryForGpu);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "gfx1100");
  use("record:gfx942");
  library.fail("hipModuleLoadData", 2);
  CHECK_EQUAL(call(), hipErrorOutOfMemory);
  CHECK_CONTAINS(std::string(aotriton_last_error()), "hipErrorOutOfMemory (2)");
  CHECK_EQUAL(call(), hipSuccess);
  library.fail("hipModuleLaunchKernel", 719);
  CHECK_EQUAL(call(), hipErrorLaunchFailure);
  CHECK_EQUAL(call(), hipSuccess);
  CHECK_EQUAL(std::string(aotriton_last_error()), "");
  CHECK(call.untouched());
  use("target:gfx942");
  CHECK(call() != hipSuccess);
}

TEST(a_damaged_pack_is_told_and_a_good_one_then_works) {  // T40
  record();
  const TemporaryFolder folder;
  Buffer bytes = FlashPackWriter().zip();
  Buffer half(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
  const std::string file = folder.write("pack/flash/attn_fwd.zip", half);
  setenv("AOTRITON_PACK_PATH", folder.path().c_str(), 1);
  use("record:sm_90");
  const Call call;
  CHECK_EQUAL(call(), hipErrorInvalidImage);
  CHECK_CONTAINS(std::string(aotriton_last_error()), file);
  folder.write("pack/flash/attn_fwd.zip", bytes);
  CHECK_EQUAL(call(), hipSuccess);
  CHECK(call.untouched());
}

// The index is sound, and what it names is damaged: found only when the code object is loaded.
TEST(a_damaged_code_object_is_told_and_a_good_pack_then_works) {  // T40
  const RecordLibrary& library = record();
  const TemporaryFolder folder;
  const Buffer good = FlashPackWriter().zip();
  Buffer damaged = good;
  constexpr std::string_view kMagic = "AKS2";
  const auto cluster = std::search(damaged.begin(), damaged.end(), kMagic.begin(), kMagic.end());
  CHECK(damaged.end() - cluster > 100);
  cluster[60] ^= 0xff;
  const std::string file = folder.write("pack/flash/attn_fwd.zip", damaged);
  setenv("AOTRITON_PACK_PATH", folder.path().c_str(), 1);
  use("record:sm_90");
  const Call call;
  for (int i = 0; i < 3; ++i) {
    CHECK_EQUAL(call(), hipErrorInvalidImage);
    CHECK_CONTAINS(std::string(aotriton_last_error()), file);
  }
  folder.write("pack/flash/attn_fwd.zip", good);
  library.calls();
  CHECK_EQUAL(call(), hipSuccess);
  CHECK_EQUAL(call(), hipSuccess);
  CHECK_CONTAINS(library.calls(), R"("cuLibraryLoadData":1,)");
  CHECK(call.untouched());
}

int main() { return run_all(); }
