// Where launches on CUDA go: the stream's context, the thread's, the primary one; and what is left when a kernel faults, a
// context ends, a process forks or ends, and code is unloaded. On the recording library, which has a driver's rules.
#include "drivers/devices.h"
#include "drivers/gpu.h"
#include "tests/check.h"
#include "tests/code_objects.h"
#include "tests/recorder.h"

#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace aotriton;
using namespace aotriton::tests;

const RecordLibrary& record() {
  static const RecordLibrary library;
  library.reset();
  return library;
}

aotriton_device& device(const std::string& name) {
  core::Result<aotriton_device*> opened = drivers::open_device(name);
  CHECK_EQUAL(opened.status().text(), "");
  return **opened;
}

drivers::Function load(aotriton_device& on, const char* label, std::uint32_t shared = 0) {
  const std::string code = on.machine.target == "sm_90" ? nvidia_code(90) : amd_code(kGfx942);
  core::Result<drivers::Function> function = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel", shared, label});
  CHECK_EQUAL(function.status().text(), "");
  return function.ok() ? *function : nullptr;
}

core::Status launch(aotriton_device& on, drivers::Function function, void* stream = nullptr, std::uint32_t shared = 0) {
  std::uint64_t pointer = 1, stride = 2, scratch = 0;
  std::int32_t count = 3;
  void* parameters[] = {&pointer, &count, &stride, &scratch};
  drivers::Launch launch;
  launch.function = function;
  launch.threads = 128;
  launch.shared = shared;
  launch.parameters = parameters;
  launch.count = 4;
  return on.driver->launch(on.ordinal, launch, stream);
}

// CUDA as an application uses it.
struct Cuda {
  const RecordLibrary& library = record();

  void* make_context(int ordinal) const {
    void* context = nullptr;
    CHECK_EQUAL(library.function<int(void**, unsigned, int)>("cuCtxCreate_v2")(&context, 0, ordinal), 0);
    return context;
  }
  void* make_stream() const {
    void* stream = nullptr;
    CHECK_EQUAL(library.function<int(void**, unsigned)>("cuStreamCreate")(&stream, 0), 0);
    return stream;
  }
  void* current() const {
    void* context = nullptr;
    library.function<int(void**)>("cuCtxGetCurrent")(&context);
    return context;
  }
  void* primary(int ordinal) const {
    void* context = nullptr;
    library.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, ordinal);
    return context;
  }
  void set(void* context) const { library.function<int(void*)>("cuCtxSetCurrent")(context); }
  void end(void* context) const { CHECK_EQUAL(library.function<int(void*)>("cuCtxDestroy_v2")(context), 0); }
};

void* as_stream(std::uintptr_t handle) { return reinterpret_cast<void*>(handle); }

}  // namespace

TEST(a_launch_goes_to_the_context_of_its_stream) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90:1");
  const drivers::Function function = load(on, "a", 100000);
  void* const foreign = cuda.make_context(on.ordinal);
  void* const stream = cuda.make_stream();
  cuda.set(nullptr);
  for (int i = 0; i < 2; ++i) {
    CHECK_EQUAL(launch(on, function, stream, 100000).text(), "");
    CHECK(cuda.current() == nullptr);  // the thread is as it was
  }
  cuda.set(cuda.primary(0));  // another device's is current
  CHECK_EQUAL(launch(on, function, stream).text(), "");
  CHECK(cuda.current() == cuda.primary(0));
  CHECK_EQUAL(launch(on, function).text(), "");  // no stream: into this device's primary context
  CHECK(cuda.current() == cuda.primary(0));
  CHECK_CONTAINS(cuda.library.launches(), R"("device":1,)");
  auto& driver = dynamic_cast<drivers::GpuDriver&>(*on.driver);
  CHECK_EQUAL(*driver.device_of_stream(stream), on.ordinal);
  cuda.set(nullptr);
  cuda.end(foreign);
}

TEST(without_a_stream_the_current_context_of_the_device_is_taken) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  void* const foreign = cuda.make_context(on.ordinal);
  void* const own = cuda.make_stream();
  const drivers::Function function = load(on, "a");  // into that context
  for (const std::uintptr_t handle : {0, 1, 2}) {    // the default streams
    CHECK_EQUAL(launch(on, function, as_stream(handle)).text(), "");
    CHECK(cuda.current() == foreign);
  }
  CHECK_EQUAL(launch(on, function, own).text(), "");
  cuda.set(cuda.primary(on.ordinal));
  void* const stream = cuda.make_stream();
  CHECK_EQUAL(launch(on, function, stream).text(), "");
  CHECK_EQUAL(launch(on, function).text(), "");
  cuda.set(nullptr);
  std::thread([&] { CHECK_EQUAL(launch(on, function, as_stream(2)).text(), ""); }).join();  // a thread with no context
  cuda.end(foreign);
  CHECK_EQUAL(launch(on, function, stream).text(), "");
}

// On a device whose primary context the application made, as PyTorch does, before this library had to do with it.
TEST(the_common_case_is_one_call_or_two) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90:7");
  cuda.set(cuda.primary(on.ordinal));
  const drivers::Function function = load(on, "a");
  void* const stream = cuda.make_stream();
  cuda.library.calls();
  CHECK(launch(on, function, stream).ok());
  CHECK_CONTAINS(cuda.library.calls(), R"({"calls":{"cuLaunchKernel":1},)");  // no look at the context
  CHECK(launch(on, function).ok());
  CHECK_CONTAINS(cuda.library.calls(), R"({"calls":{"cuCtxGetCurrent":1,"cuLaunchKernel":1},)");
  cuda.set(nullptr);
}

TEST(streams_of_another_device_or_of_nobody_are_refused) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  aotriton_device& other = device("record:sm_90:1");
  const drivers::Function function = load(on, "a");
  cuda.set(cuda.primary(other.ordinal));
  void* const stream = cuda.make_stream();
  const core::Status refused = launch(on, function, stream);
  CHECK_EQUAL(refused.code(), AOTRITON_INVALID_ARGUMENT);
  CHECK_CONTAINS(refused.text(), "the stream is of record:" + std::to_string(other.ordinal));
  CHECK_CONTAINS(refused.text(), "pass a stream of that device");
  CHECK_CONTAINS(launch(on, function, as_stream(0x1230)).text(), "CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle");
  cuda.set(nullptr);
  aotriton_device& amd = device("record:gfx942");
  aotriton_device& second = device("record:gfx942:1");
  const drivers::Function amd_function = load(amd, "b");
  CHECK_CONTAINS(launch(amd, amd_function, as_stream(0x1230)).text(), "hipErrorInvalidHandle (400)");
  void* amd_stream = nullptr;
  cuda.library.function<int(int)>("hipSetDevice")(second.ordinal);
  cuda.library.function<int(void**)>("hipStreamCreate")(&amd_stream);
  CHECK_CONTAINS(launch(amd, amd_function, amd_stream).text(), "the stream is of record:" + std::to_string(second.ordinal));
  CHECK_EQUAL(launch(amd, amd_function, as_stream(2)).text(), "");
  CHECK(launch(amd, amd_function).ok());
}

TEST(contexts_may_end_before_the_code) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  const drivers::Function function = load(on, "a");
  for (int i = 0; i < 3; ++i) {
    void* const foreign = cuda.make_context(on.ordinal);
    CHECK_EQUAL(launch(on, function).text(), "");
    cuda.end(foreign);
    CHECK(cuda.current() == nullptr);
  }
  // The primary one is reset, as by cudaDeviceReset: it is made anew.
  cuda.set(cuda.primary(on.ordinal));
  CHECK_EQUAL(launch(on, function).text(), "");
  CHECK_EQUAL(cuda.library.function<int(int)>("cuDevicePrimaryCtxReset_v2")(on.ordinal), 0);
  CHECK_EQUAL(launch(on, function).text(), "");
  CHECK_EQUAL(launch(on, function).text(), "");
  CHECK_EQUAL(cuda.library.function<int(int)>("cuDevicePrimaryCtxReset_v2")(on.ordinal), 0);
  CHECK(load(on, "b") != nullptr);
  // A context that ended and is current still: an error, and no crash.
  void* const foreign = cuda.make_context(on.ordinal);
  void* const stream = cuda.make_stream();
  cuda.set(nullptr);
  cuda.end(foreign);
  cuda.set(foreign);
  CHECK_CONTAINS(launch(on, function).text(), "CUDA_ERROR_CONTEXT_IS_DESTROYED (709)");
  CHECK_CONTAINS(launch(on, function, stream).text(), "CUDA_ERROR_INVALID_HANDLE");
  cuda.set(nullptr);
  CHECK(launch(on, function).ok());
}

TEST(code_comes_into_a_context_while_a_stream_is_captured) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  const drivers::Function before = load(on, "before");
  void* const foreign = cuda.make_context(on.ordinal);
  void* const stream = cuda.make_stream();
  const auto begin = cuda.library.function<int(void*, int)>("cuStreamBeginCapture_v2");
  const auto end = cuda.library.function<int(void*, void**)>("cuStreamEndCapture");
  const auto exchange = cuda.library.function<int(int*)>("cuThreadExchangeStreamCaptureMode");
  cuda.library.calls();
  for (const int mode : {0, 1, 2}) {
    CHECK_EQUAL(begin(stream, mode), 0);
    const drivers::Function during = load(on, "during");
    CHECK_EQUAL(launch(on, before, stream).text(), "");
    CHECK_EQUAL(launch(on, during, stream).text(), "");
    on.driver->unload(on.ordinal, during);
    int set = 1;
    exchange(&set);
    CHECK_EQUAL(set, 0);  // the thread's mode is as it was
    exchange(&set);
    CHECK_EQUAL(end(stream, nullptr), 0);
  }
  CHECK_CONTAINS(cuda.library.calls(), R"("violations":[])");
  cuda.library.fail("cuLibraryLoadData", 900);
  CHECK_EQUAL(begin(stream, 0), 0);
  const std::string code = nvidia_code(90);
  const core::Status refused = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel"}).status();
  CHECK_CONTAINS(refused.text(), "load the code object before the capture begins");
  end(stream, nullptr);
  cuda.set(nullptr);
  cuda.end(foreign);
}

TEST(a_kernel_that_faults_is_told_by_every_later_call) {
  for (const char* name : {"record:sm_90", "record:gfx942"}) {
    const RecordLibrary& library = record();
    aotriton_device& on = device(name);
    const drivers::Function wild = load(on, "family.wild, functional 3");
    const drivers::Function good = load(on, "family.good, functional 5");
    library.function<void(int)>("aotriton_record_fault")(700);
    CHECK(launch(on, wild).ok());  // the fault comes later
    for (int i = 0; i < 2; ++i) {
      const core::Status lost = launch(on, good);
      CHECK_EQUAL(lost.code(), AOTRITON_DRIVER_ERROR);
      CHECK_CONTAINS(lost.text(), "(700): an illegal memory access was encountered; grid 1 x 1 x 1, 128 threads");
      CHECK_CONTAINS(lost.text(), "a kernel of this process faulted, this one or any that was launched before");
      CHECK_CONTAINS(lost.text(), "end it and start another");
      CHECK_CONTAINS(lost.text(), ":" + std::to_string(on.ordinal) + " before is family.wild, functional 3;");
      CHECK_CONTAINS(lost.text(), on.machine.target == "sm_90" ? "CUDA_LAUNCH_BLOCKING=1" : "HIP_LAUNCH_BLOCKING=1");
      CHECK_CONTAINS(lost.text(), on.machine.target == "sm_90" ? "compute-sanitizer" : "rocgdb");
      CHECK(lost.text().find("can go on") == std::string::npos);
    }
    const std::string code = on.machine.target == "sm_90" ? nvidia_code(90) : amd_code(kGfx942);
    const core::Status loading = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel"}).status();
    CHECK_CONTAINS(loading.text(), "end it and start another");
    on.driver->unload(on.ordinal, wild);  // and its name is not looked at again
    CHECK(launch(on, good).text().find("before is") == std::string::npos);
    library.reset();
    CHECK(launch(on, good).ok());
  }
}

TEST(each_function_that_fails_once_is_told_and_the_next_call_works) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  const std::string code = nvidia_code(90);
  for (const char* function : {"cuCtxGetCurrent", "cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction",
                               "cuKernelSetCacheConfig"}) {
    for (const int error : {2, 201, 400, 999}) {
      cuda.library.fail(function, error);
      const core::Status status = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel", 60000}).status();
      CHECK_EQUAL(status.code(), error == 2 ? AOTRITON_OUT_OF_MEMORY : AOTRITON_DRIVER_ERROR);
      CHECK_CONTAINS(status.text(), std::string(function) + " failed: ");
      CHECK_EQUAL(status.text().find("can go on") == std::string::npos, error == 999);  // nothing is known of that one
      CHECK_EQUAL(status.text().find("used up to the last byte: free some") != std::string::npos, error == 999);
      load(on, "a", 60000);
    }
  }
  // What a failed load had made is gone.
  cuda.library.calls();
  cuda.library.fail("cuKernelGetFunction", 2);
  CHECK(!on.driver->load(on.ordinal, {code.data(), code.size(), "kernel"}).ok());
  CHECK_CONTAINS(cuda.library.calls(), R"("cuLibraryUnload":1)");
  const drivers::Function function = load(on, "a");
  for (const int error : {1, 2, 701, 720}) {
    cuda.library.fail("cuLaunchKernel", error);
    CHECK_CONTAINS(launch(on, function).text(), "the process can go on");
    CHECK(launch(on, function).ok());
  }
  cuda.library.fail("cuStreamGetCtx", 4);
  CHECK_CONTAINS(launch(on, function, as_stream(0x1230)).text(), "the process is at its end");
}

TEST(unloaded_code_is_gone_and_the_rest_stays) {
  const RecordLibrary& library = record();
  for (const char* name : {"record:sm_90", "record:gfx942"}) {
    aotriton_device& on = device(name);
    const drivers::Function kept = load(on, "kept");
    library.calls();
    for (int i = 0; i < 10; ++i) {
      const drivers::Function function = load(on, "short");
      CHECK(launch(on, function).ok());
      on.driver->unload(on.ordinal, function);
    }
    const std::string calls = library.calls();
    CHECK_CONTAINS(calls, on.machine.target == "sm_90" ? R"("cuLibraryUnload":10)" : R"("hipModuleUnload":10)");
    CHECK(launch(on, kept).ok());
    library.fail(on.machine.target == "sm_90" ? "cuLibraryUnload" : "hipModuleUnload", 4);
    on.driver->unload(on.ordinal, kept);  // the driver is gone: nothing to say
  }
}

TEST(a_forked_process_is_told_to_be_spawned) {
  record();
  aotriton_device& on = device("record:sm_90");
  const drivers::Function function = load(on, "a");
  const pid_t child = fork();
  if (child == 0) {
    const bool told = launch(on, function).text().find("forked from one that used CUDA already") != std::string::npos;
    on.driver->unload(on.ordinal, function);
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(launch(on, function).ok());
}

TEST(threads_with_contexts_of_their_own_launch_the_same_code) {
  const Cuda cuda;
  aotriton_device& on = device("record:sm_90");
  const drivers::Function function = load(on, "a", 60000);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      void* const foreign = i % 2 == 0 ? cuda.make_context(on.ordinal) : nullptr;
      void* const stream = foreign != nullptr ? cuda.make_stream() : nullptr;
      const std::string code = nvidia_code(90);
      for (int j = 0; j < 25; ++j) {
        failed += !launch(on, function, j % 2 == 0 ? stream : nullptr, 60000).ok();
        const core::Result<drivers::Function> own = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel"});
        failed += !own.ok() || !launch(on, *own, stream).ok();
        if (own.ok()) on.driver->unload(on.ordinal, *own);
      }
      if (foreign != nullptr) cuda.end(foreign);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
}

// Closed by a destructor that runs after main: nothing is freed any more, and nothing is touched.
struct Last {
  aotriton_device* on = nullptr;
  drivers::Function function = nullptr;
  ~Last() {
    if (function != nullptr) on->driver->unload(on->ordinal, function);
  }
} last;

int main() {
  const int result = run_all();
  record();
  last.on = &device("record:sm_90");
  last.function = load(*last.on, "last");
  return result;
}
