// Devices by name, and the HIP and CUDA drivers on the recording library: what is passed, and what becomes of failures.
#include "drivers/devices.h"
#include "drivers/gpu.h"
#include "tests/check.h"
#include "tests/code_objects.h"
#include "tests/recorder.h"

#include <atomic>
#include <thread>

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
  if (!opened.ok()) {
    std::printf("%s: %s\n", name.c_str(), opened.status().text().c_str());
    std::exit(1);
  }
  return **opened;
}

std::string json_of(const aotriton_device& of) { return squeeze(drivers::device_to_json(of)); }

drivers::Function load(aotriton_device& on, const std::string& code, std::uint32_t shared = 0) {
  core::Result<drivers::Function> function = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel", shared});
  CHECK_EQUAL(function.status().text(), "");
  return function.ok() ? *function : nullptr;
}

std::string load_failure(aotriton_device& on, const std::string& code, const char* symbol = "kernel", std::uint32_t shared = 0) {
  core::Result<drivers::Function> function = on.driver->load(on.ordinal, {code.data(), code.size(), symbol, shared});
  CHECK(!function.ok());
  CHECK_EQUAL(function.status().code(), AOTRITON_DRIVER_ERROR);
  return function.status().text();
}

// A pointer, an int32, a u64 and one more pointer, which is Triton's scratch.
struct Values {
  std::uint64_t pointer = 0x1122334455667788, stride = 0x0a0b0c0d, scratch = 0;
  std::int32_t count = -2;
  void* parameters[4] = {&pointer, &count, &stride, &scratch};
};

drivers::Launch launch_of(drivers::Function function, const Values& values) {
  drivers::Launch launch;
  launch.function = function;
  launch.grid = {7, 5, 3};
  launch.threads = 128;
  launch.shared = 512;
  launch.parameters = values.parameters;
  launch.count = 4;
  return launch;
}

std::string open_failure(const std::string& name) {
  core::Result<aotriton_device*> opened = drivers::open_device(name);
  CHECK(!opened.ok());
  CHECK_EQUAL(opened.status().code(), AOTRITON_NO_DEVICE);
  return opened.status().text();
}

constexpr const char* kArguments =
    R"("arguments":[{"offset":0,"size":8,"hex":"8877665544332211"},{"offset":8,"size":4,"hex":"feffffff"},)"
    R"({"offset":16,"size":8,"hex":"0d0c0b0a00000000"},{"offset":24,"size":8,"hex":"0000000000000000"}])";

}  // namespace

TEST(names_that_are_none_are_told_with_what_there_is) {
  CHECK_CONTAINS(open_failure("gpu"), "no device 'gpu'");
  CHECK_CONTAINS(open_failure("gpu"), "hip:N, cuda:N, host");
  CHECK_CONTAINS(open_failure("hip:x"), "its number is none");
  CHECK_CONTAINS(open_failure("record:gfx941"), "'gfx941' is no target of a GPU; the targets are gfx90a");
  CHECK_CONTAINS(open_failure("record:host"), "no target of a GPU");
  CHECK_CONTAINS(open_failure("record:gfx942:99"), "not one of 0 to 15");
  CHECK_CONTAINS(open_failure("record:gfx942:-1"), "not one of 0 to 15");
  CHECK_CONTAINS(open_failure("target:sm_91"), "no target; the targets are");
  CHECK_CONTAINS(open_failure("sim:sm_90"), "the simulator is of AMD's GPUs");
  CHECK_CONTAINS(open_failure(std::string("\xff\xfe", 2)), "no driver has such a name");
}

TEST(a_simulator_that_is_not_there_is_told) {
  if (dlopen((core::library_folder() + "/libaotriton_sim.so").c_str(), RTLD_LAZY) != nullptr) return;
  CHECK_CONTAINS(open_failure("sim:gfx942"), "libaotriton_sim.so, which belongs beside the library");
}

TEST(the_same_name_gives_the_same_device) {
  CHECK(&device("record:gfx942") == &device("record:gfx942"));
  CHECK(&device("record:gfx942:0") == &device("record:gfx942"));
  CHECK(&device("record:gfx942:1") != &device("record:gfx942"));
  CHECK_EQUAL(device("record:gfx942:0").name, "record:gfx942");
  CHECK_EQUAL(device("record:gfx942:5").machine.target, "gfx942");
  CHECK(&device("host") == &device("host"));
  CHECK(device("target:sm_90").driver == nullptr);
}

TEST(a_device_says_what_it_is) {
  const std::string hip = json_of(device("record:gfx90a"));
  CHECK_CONTAINS(hip, R"({"name":"record:gfx90a","driver":"record","target":"gfx90a","compute_units":104,"warp_size":64,)");
  CHECK_CONTAINS(hip, R"("shared_memory":65536)");
  CHECK_CONTAINS(hip, R"("description":"recording gfx90a")");
  CHECK_CONTAINS(hip, "libaotriton_record.so");
  const std::string cuda = json_of(device("record:sm_120:1"));
  CHECK_CONTAINS(cuda, R"("driver":"record","target":"sm_120","compute_units":170,"warp_size":32,"shared_memory":101376)");
  CHECK_CONTAINS(json_of(device("target:gfx1151")), R"("driver":"target","target":"gfx1151")");
  CHECK_CONTAINS(json_of(device("host")), R"("driver":"host","target":"host","compute_units":1,)");
  const auto limits = device("record:sm_80").machine.grid_limits;
  CHECK(limits[0] == 0x7fffffff && limits[1] == 65535 && limits[2] == 65535);
}

TEST(drivers_are_listed_with_reasons) {
  const std::string all = squeeze(drivers::drivers_to_json());
  for (const char* name : {"hip", "cuda", "host", "sim", "record"}) CHECK_CONTAINS(all, std::string(R"({"driver":")") + name);
  CHECK_CONTAINS(all, R"("record:gfx942")");
  CHECK_CONTAINS(all, R"("record:sm_90")");
}

TEST(nothing_that_runs_code_is_told_with_what_would) {
  const std::string all = squeeze(drivers::drivers_to_json());
  const bool has_gpu = all.find(R"({"driver":"hip","available":true)") != all.npos ||
                       all.find(R"({"driver":"cuda","available":true)") != all.npos;
  if (has_gpu) return;
  unsetenv("AOTRITON_DEVICE");
  const core::Status status = drivers::device_of_stream(nullptr).status();
  CHECK_EQUAL(status.code(), AOTRITON_NO_DEVICE);
  for (const char* piece : {"HIP: ", "CUDA: ", "AOTRITON_DEVICE=host", "AOTRITON_DEVICE=record:gfx942"}) {
    CHECK_CONTAINS(status.text(), piece);
  }
  CHECK_CONTAINS(open_failure("cuda:0"), "there is no device cuda:0: ");
  CHECK_CONTAINS(open_failure("hip"), "there is no hip device: ");
}

TEST(the_environment_names_the_device) {
  setenv("AOTRITON_DEVICE", "record:gfx1100:1", 1);
  CHECK_EQUAL((*drivers::device_of_stream(nullptr))->name, "record:gfx1100:1");
  CHECK_EQUAL((*drivers::open_device(""))->name, "record:gfx1100:1");
  setenv("AOTRITON_DEVICE", "record:gfx1", 1);
  CHECK_CONTAINS(drivers::device_of_stream(nullptr).status().text(), "AOTRITON_DEVICE: there is no device 'record:gfx1'");
  unsetenv("AOTRITON_DEVICE");
}

TEST(hip_launches_what_it_is_told) {
  const RecordLibrary& library = record();
  aotriton_device& second = device("record:gfx942:1");
  const drivers::Function function = load(second, amd_code(kGfx942));
  void* stream = nullptr;
  CHECK_EQUAL(library.function<int(int)>("hipSetDevice")(second.ordinal), 0);
  CHECK_EQUAL(library.function<int(void**)>("hipStreamCreate")(&stream), 0);
  CHECK_EQUAL(library.function<int(int)>("hipSetDevice")(0), 0);
  const Values values;
  CHECK_EQUAL(second.driver->launch(second.ordinal, launch_of(function, values), stream).text(), "");
  const std::string launches = library.launches();
  CHECK_CONTAINS(launches, R"([{"symbol":"kernel","target":"gfx942","device":1,"grid":[7,5,3],"block":[128,1,1],"shared":512,)");
  CHECK_CONTAINS(launches, "\"stream\":" + std::to_string(reinterpret_cast<std::uintptr_t>(stream)));
  CHECK_CONTAINS(launches, kArguments);
  CHECK_EQUAL(library.launches(), "[]");
  int current = -1;
  library.function<int(int*)>("hipGetDevice")(&current);
  CHECK_EQUAL(current, 0);  // the caller's device is as it was
}

TEST(cuda_launches_what_it_is_told) {
  const RecordLibrary& library = record();
  aotriton_device& on = device("record:sm_90:1");
  const drivers::Function function = load(on, nvidia_code(90), 200000);
  const Values values;
  drivers::Launch launch = launch_of(function, values);
  launch.shared = 200000;
  CHECK_EQUAL(on.driver->launch(on.ordinal, launch, nullptr).text(), "");
  const std::string launches = library.launches();
  CHECK_CONTAINS(launches, R"("target":"sm_90","device":1,"grid":[7,5,3],"block":[128,1,1],"shared":200000,)");
  CHECK_CONTAINS(launches, kArguments);
  void* context = nullptr;
  library.function<int(void**)>("cuCtxGetCurrent")(&context);
  CHECK(context == nullptr);  // the caller's context is as it was
  CHECK_CONTAINS(library.calls(), R"("cuKernelSetCacheConfig":1)");
  load(on, nvidia_code(90), 1000);
  CHECK(library.calls().find("cuKernelSetCacheConfig") == std::string::npos);  // no limit to raise
}

TEST(a_stream_tells_its_device) {
  const RecordLibrary& library = record();
  aotriton_device& on = device("record:sm_80:1");
  auto& driver = dynamic_cast<drivers::GpuDriver&>(*on.driver);
  void* context = nullptr;
  void* stream = nullptr;
  CHECK_EQUAL(library.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, on.ordinal), 0);
  CHECK_EQUAL(*driver.device_of_stream(nullptr), 0);  // no context yet
  library.function<int(void*)>("cuCtxPushCurrent_v2")(context);
  CHECK_EQUAL(library.function<int(void**, unsigned)>("cuStreamCreate")(&stream, 0), 0);
  CHECK_EQUAL(*driver.device_of_stream(nullptr), on.ordinal);
  library.function<int(void**)>("cuCtxPopCurrent_v2")(&context);
  CHECK_EQUAL(*driver.device_of_stream(stream), on.ordinal);
  load(on, nvidia_code(80));  // the driver retains the context now
  CHECK_EQUAL(*driver.device_of_stream(stream), on.ordinal);
  CHECK_EQUAL(library.function<int(void*)>("cuStreamDestroy_v2")(stream), 0);
}

TEST(code_of_another_architecture_is_refused_with_the_drivers_words) {
  CHECK_CONTAINS(load_failure(device("record:gfx942"), amd_code(kGfx1100)),
                 "hipModuleLoadData failed: hipErrorNoBinaryForGpu (209): no kernel image is available");
  CHECK_CONTAINS(load_failure(device("record:gfx942"), nvidia_code(90)), "hipErrorInvalidImage (200)");
  CHECK_CONTAINS(load_failure(device("record:gfx942"), std::string(256, 'x')), "hipErrorInvalidImage (200)");
  const std::string newer = load_failure(device("record:sm_100"), nvidia_code(90));
  CHECK_CONTAINS(newer, "cuLibraryGetKernel failed: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  CHECK_CONTAINS(newer, "the code object is for sm_90; code for sm_90a and later serves its own compute capability only");
  CHECK_CONTAINS(newer, "the process can go on");
  CHECK_CONTAINS(load_failure(device("record:sm_90"), std::string(256, 'x')), "(200): device kernel image is invalid; the code object is no");
  CHECK_CONTAINS(load_failure(device("record:sm_90"), amd_code(kGfx942)), "no ELF file of NVIDIA's");
  load(device("record:sm_89"), nvidia_code(80));  // the major version's own code
  CHECK_CONTAINS(load_failure(device("record:sm_80"), nvidia_code(89)), "(209)");
}

TEST(a_symbol_that_is_not_there_is_named) {
  CHECK_CONTAINS(load_failure(device("record:gfx942"), amd_code(kGfx942), "other"), "asked for 'other'");
  CHECK_CONTAINS(load_failure(device("record:sm_90"), nvidia_code(90), "other"), "asked for 'other'");
}

TEST(too_much_shared_memory_is_the_drivers_error) {
  const std::string text = load_failure(device("record:sm_86"), nvidia_code(86), "kernel", 150000);
  CHECK_CONTAINS(text, "cuKernelSetAttribute failed: CUDA_ERROR_INVALID_VALUE (1)");
  CHECK_CONTAINS(text, "needs 150000 bytes");
}

TEST(injected_failures_come_out_with_names) {
  const RecordLibrary& library = record();
  aotriton_device& amd = device("record:gfx942");
  aotriton_device& nvidia = device("record:sm_90");
  library.fail("hipModuleLoadData", 2);
  const core::Status no_memory = amd.driver->load(amd.ordinal, {"", 0, "kernel"}).status();
  CHECK_EQUAL(no_memory.code(), AOTRITON_OUT_OF_MEMORY);
  CHECK_CONTAINS(no_memory.text(), "hipErrorOutOfMemory (2): out of memory; the process can go on: free memory");
  library.fail("hipSetDevice", 101);
  CHECK_CONTAINS(load_failure(device("record:gfx942:1"), amd_code(kGfx942)), "hipSetDevice failed: hipErrorInvalidDevice");
  library.fail("cuCtxPushCurrent", 201);
  CHECK_CONTAINS(load_failure(nvidia, nvidia_code(90)), "cuCtxPushCurrent failed: CUDA_ERROR_INVALID_CONTEXT");
  const drivers::Function function = load(amd, amd_code(kGfx942));
  const drivers::Function other = load(nvidia, nvidia_code(90));
  const Values values;
  library.fail("hipModuleLaunchKernel", 719, 1);
  CHECK(amd.driver->launch(amd.ordinal, launch_of(function, values), nullptr).ok());
  const core::Status failed = amd.driver->launch(amd.ordinal, launch_of(function, values), nullptr);
  CHECK_EQUAL(failed.code(), AOTRITON_DRIVER_ERROR);
  CHECK_CONTAINS(failed.text(), "hipModuleLaunchKernel failed: hipErrorUnknown (719)");
  CHECK_CONTAINS(failed.text(), "grid 7 x 5 x 3, 128 threads, 512 bytes of shared memory");
  CHECK(amd.driver->launch(amd.ordinal, launch_of(function, values), nullptr).ok());  // once only
  library.fail("cuLaunchKernel", 400);
  const core::Status refused = nvidia.driver->launch(nvidia.ordinal, launch_of(other, values), nullptr);
  CHECK_CONTAINS(refused.text(), "CUDA_ERROR_INVALID_HANDLE");
  CHECK_CONTAINS(refused.text(), "the process can go on");
  CHECK(nvidia.driver->launch(nvidia.ordinal, launch_of(other, values), nullptr).ok());
}

TEST(launches_that_a_gpu_would_refuse_are_refused) {
  aotriton_device& amd = device("record:gfx942");
  aotriton_device& nvidia = device("record:sm_90");
  const drivers::Function function = load(amd, amd_code(kGfx942));
  const drivers::Function other = load(nvidia, nvidia_code(90));
  const Values values;
  const auto refused = [&](aotriton_device& on, drivers::Launch launch) {
    return on.driver->launch(on.ordinal, launch, nullptr).code();
  };
  drivers::Launch launch = launch_of(function, values);
  launch.threads = 256;  // the code is for 128
  CHECK_EQUAL(refused(amd, launch), AOTRITON_DRIVER_ERROR);
  launch = launch_of(function, values);
  launch.grid[2] = 0;
  CHECK_EQUAL(refused(amd, launch), AOTRITON_DRIVER_ERROR);
  launch = launch_of(function, values);
  launch.shared = 65537;
  CHECK_EQUAL(refused(amd, launch), AOTRITON_DRIVER_ERROR);
  launch = launch_of(function, values);
  launch.grid[0] = 1u << 25;  // times 128 threads: 2^32
  CHECK_EQUAL(refused(amd, launch), AOTRITON_UNSUPPORTED);
  launch = launch_of(other, values);
  launch.threads = 64;
  CHECK_EQUAL(refused(nvidia, launch), AOTRITON_DRIVER_ERROR);
  launch = launch_of(other, values);
  launch.grid[1] = 65536;
  CHECK_EQUAL(refused(nvidia, launch), AOTRITON_DRIVER_ERROR);
  launch = launch_of(other, values);
  launch.shared = 48 * 1024 + 1;  // it was not asked for at loading
  CHECK_EQUAL(refused(nvidia, launch), AOTRITON_DRIVER_ERROR);
  // A function of one device does not run on another.
  aotriton_device& second = device("record:gfx942:1");
  CHECK_EQUAL(refused(second, launch_of(function, values)), AOTRITON_DRIVER_ERROR);
}

TEST(code_is_loaded_while_a_stream_is_captured) {
  const RecordLibrary& library = record();
  aotriton_device& on = device("record:gfx942");
  const drivers::Function function = load(on, amd_code(kGfx942));
  void* stream = nullptr;
  library.function<int(int)>("hipSetDevice")(on.ordinal);
  library.function<int(void**)>("hipStreamCreate")(&stream);
  library.calls();
  CHECK_EQUAL(library.function<int(void*, int)>("hipStreamBeginCapture")(stream, 0), 0);
  const Values values;
  CHECK(on.driver->launch(on.ordinal, launch_of(function, values), stream).ok());
  CHECK_CONTAINS(library.launches(), R"("captured":true)");
  CHECK_CONTAINS(library.calls(), R"("violations":[])");
  const drivers::Function later = load(on, amd_code(kGfx942));
  CHECK(on.driver->launch(on.ordinal, launch_of(later, values), stream).ok());
  CHECK_CONTAINS(library.launches(), R"("captured":true)");
  on.driver->unload(on.ordinal, later);
  CHECK_CONTAINS(library.calls(), R"("violations":[])");
  // The thread's own mode is as it was: what a capture forbids is forbidden to the caller still.
  void* module = nullptr;
  const std::string code = amd_code(kGfx942);
  CHECK_EQUAL(library.function<int(void**, const void*)>("hipModuleLoadData")(&module, code.data()), 900);
  library.fail("hipModuleLoadData", 900);
  CHECK_CONTAINS(load_failure(on, amd_code(kGfx942)), "load the code object before the capture begins");
  library.calls();
  CHECK_EQUAL(library.function<int(void*, void**)>("hipStreamEndCapture")(stream, nullptr), 0);
  load(on, amd_code(kGfx942));
  library.function<int(void*)>("hipStreamDestroy")(stream);
}

TEST(the_host_without_callbacks_says_so) {
  aotriton_device& host = device("host");
  const core::Result<drivers::Function> function = host.driver->load(0, {"{}", 2, "kernel"});
  CHECK_EQUAL(function.status().code(), AOTRITON_NO_DEVICE);
  CHECK_CONTAINS(function.status().text(), "aotriton_set_host_driver");
}

TEST(the_host_calls_back) {
  aotriton_host_driver callbacks{sizeof callbacks, nullptr, nullptr, nullptr};
  callbacks.load = [](const void*, std::size_t bytes, const char* symbol, std::uint64_t* handle, char* message, std::size_t) {
    *handle = bytes;
    std::strcpy(message, symbol);
    return static_cast<std::int32_t>(bytes == 3);
  };
  callbacks.launch = [](std::uint64_t handle, const std::uint32_t grid[3], void* const* parameters, std::size_t count,
                        char* message, std::size_t capacity) {
    const bool right = handle == 2 && grid[0] == 7 && grid[2] == 3 && count == 4 &&
                       *static_cast<const std::int32_t*>(parameters[1]) == -2;
    std::snprintf(message, capacity, "not what was passed");
    return right ? 0 : 1;
  };
  drivers::set_host_driver(callbacks);
  aotriton_device& host = device("host");
  const Values values;
  core::Result<drivers::Function> function = host.driver->load(0, {"{}", 2, "kernel"});
  CHECK(function.ok());
  CHECK_EQUAL(host.driver->launch(0, launch_of(*function, values), nullptr).text(), "");
  drivers::Launch wrong = launch_of(*function, values);
  wrong.grid[0] = 1;
  CHECK_CONTAINS(host.driver->launch(0, wrong, nullptr).text(), "failed to launch: not what was passed");
  CHECK_CONTAINS(host.driver->load(0, {"{ }", 3, "kernel"}).status().text(), "failed to load kernel: kernel");
}

TEST(eight_threads_open_load_and_launch) {
  const RecordLibrary& library = record();
  constexpr int kThreads = 8, kLaunches = 50;
  const char* names[] = {"record:gfx950", "record:gfx950:1", "record:sm_100", "record:sm_100:1"};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      aotriton_device& on = device(names[i % 4]);
      const std::string code = i % 4 < 2 ? amd_code(0x4f) : nvidia_code(100);
      core::Result<drivers::Function> function = on.driver->load(on.ordinal, {code.data(), code.size(), "kernel", 60000});
      const Values values;
      if (!function.ok()) ++failed;
      for (int j = 0; function.ok() && j < kLaunches; ++j) {
        if (!on.driver->launch(on.ordinal, launch_of(*function, values), nullptr).ok()) ++failed;
        if (&device(names[i % 4]) != &on) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failed.load(), 0);
  const std::string calls = library.calls();
  CHECK_CONTAINS(calls, R"("hipModuleLaunchKernel":200)");
  CHECK_CONTAINS(calls, R"("cuLaunchKernel":200)");
}

int main() { return run_all(); }
