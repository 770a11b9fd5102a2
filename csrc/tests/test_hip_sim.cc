// HIP's face of the simulator: handles, arguments, errors. What the functions take is declared here as HIP does.
#include "tests/check.h"
#include "tests/sim_sample.h"

#include <cstddef>
#include <cstdlib>

extern "C" {
void aotriton_sim_configure(const char* target, int count);
const char* aotriton_sim_last_error();
int hipInit(unsigned);
int hipGetDeviceCount(int*);
int hipGetDevice(int*);
int hipSetDevice(int);
int hipDeviceGetAttribute(int*, int, int);
int hipGetDeviceProperties(void*, int);
int hipGetDevicePropertiesR0600(void*, int);
int hipModuleLoadData(void**, const void*);
int hipModuleUnload(void*);
int hipModuleGetFunction(void**, void*, const char*);
int hipFuncGetAttribute(int*, int, void*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int hipExtModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, std::size_t, void*, void**, void**,
                             void*, void*, unsigned);
int hipMalloc(void**, std::size_t);
int hipFree(void*);
int hipHostRegister(void*, std::size_t, unsigned);
int hipHostUnregister(void*);
int hipPointerGetAttributes(void*, const void*);
int hipMemcpy(void*, const void*, std::size_t, int);
int hipMemcpyAsync(void*, const void*, std::size_t, int, void*);
int hipMemsetD32(void*, int, std::size_t);
int hipStreamCreate(void**);
int hipStreamDestroy(void*);
int hipStreamSynchronize(void*);
int hipStreamGetDevice(void*, int*);
int hipEventCreate(void**);
int hipEventRecord(void*, void*);
int hipEventElapsedTime(float*, void*, void*);
int hipEventDestroy(void*);
int hipGetLastError();
const char* hipGetErrorName(int);
const char* hipGetErrorString(int);
}

namespace {

using aotriton::tests::SampleObject;

// out[workgroup] = workgroup.
const SampleObject& numbers() {
  static const SampleObject object({0xc0060100, 0, 0xbf8cc07f, 0x8e038202, 0x7e020203, 0x7e040202, 0xdc708000, 0x00040201, 0xbf810000});
  return object;
}

// A module on the first device of gfx942, with its function.
struct Loaded {
  explicit Loaded(const SampleObject& object) {
    aotriton_sim_configure("gfx942", 2);
    CHECK_EQUAL(hipModuleLoadData(&module, object.bytes().data()), 0);
    CHECK_EQUAL(hipModuleGetFunction(&function, module, "k"), 0);
  }
  ~Loaded() { hipModuleUnload(module); }

  int launch(unsigned blocks, void** parameters, void** extra = nullptr, void* stream = nullptr) const {
    return hipModuleLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, stream, parameters, extra);
  }

  void* module = nullptr;
  void* function = nullptr;
};

void says(int error, const char* name, const char* text) {
  CHECK_EQUAL(std::string(hipGetErrorName(error)), std::string(name));
  CHECK_CONTAINS(aotriton_sim_last_error(), text);
}

}  // namespace

TEST(devices_tell_the_same_in_both_layouts) {
  aotriton_sim_configure("gfx942", 2);
  aotriton_sim_configure("gfx942", 1);
  aotriton_sim_configure("no such target", 1);
  int count = 0;
  CHECK_EQUAL(hipInit(0), 0);
  CHECK_EQUAL(hipGetDeviceCount(&count), 0);
  CHECK_EQUAL(count, 2);
  alignas(16) char now[1472 + 16], before[792 + 16];
  std::memset(now, 0x5a, sizeof now);
  std::memset(before, 0x5a, sizeof before);
  CHECK_EQUAL(hipGetDevicePropertiesR0600(now, 1), 0);
  CHECK_EQUAL(hipGetDeviceProperties(before, 1), 0);
  CHECK_EQUAL(now[1472], 0x5a);
  CHECK_EQUAL(before[792], 0x5a);
  CHECK_EQUAL(std::string(now + 1160), std::string("gfx942:sramecc+:xnack-"));
  CHECK_EQUAL(std::string(before + 396), std::string(now + 1160));
  CHECK_EQUAL(std::string(before), std::string(now));
  int units = 0, more = 0;
  CHECK_EQUAL(hipDeviceGetAttribute(&units, 63, 1), 0);
  std::memcpy(&more, now + 388, 4);
  CHECK_EQUAL(units, 304);
  CHECK_EQUAL(more, units);
  CHECK_EQUAL(hipDeviceGetAttribute(&units, 12345, 1), 1);
  says(hipGetLastError(), "hipErrorInvalidValue", "attribute 12345");
  CHECK_EQUAL(hipSetDevice(2), 101);
  CHECK_EQUAL(hipSetDevice(0), 0);
}

TEST(arguments_come_as_an_array_or_packed) {
  const Loaded loaded(numbers());
  void* memory = nullptr;
  CHECK_EQUAL(hipMalloc(&memory, 64), 0);
  auto* out = static_cast<std::uint32_t*>(memory);
  void* parameters[] = {&memory};
  CHECK_EQUAL(hipMemsetD32(memory, -1, 16), 0);
  CHECK_EQUAL(loaded.launch(7, parameters), 0);
  for (std::uint32_t i = 0; i < 16; ++i) CHECK_EQUAL(out[i], i < 7 ? i : ~0u);
  std::size_t size = sizeof memory;
  void* extra[] = {reinterpret_cast<void*>(1), &memory, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  CHECK_EQUAL(hipMemsetD32(memory, -1, 16), 0);
  CHECK_EQUAL(loaded.launch(3, nullptr, extra), 0);
  for (std::uint32_t i = 0; i < 16; ++i) CHECK_EQUAL(out[i], i < 3 ? i : ~0u);
  CHECK_EQUAL(hipExtModuleLaunchKernel(loaded.function, 5, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr, nullptr, nullptr, 0), 0);
  CHECK_EQUAL(out[4], 4u);
  CHECK_EQUAL(hipFree(memory), 0);
}

TEST(launches_that_cannot_be_are_errors) {
  const Loaded loaded(numbers());
  std::uint64_t place = 0;
  void* memory = &place;
  void* parameters[] = {&memory};
  void* nothing[] = {nullptr};
  CHECK_EQUAL(loaded.launch(0, parameters), 9);
  says(9, "hipErrorInvalidConfiguration", "at least");
  CHECK_EQUAL(loaded.launch(0x80000000u, parameters), 9);
  says(9, "hipErrorInvalidConfiguration", "more than 2^31 - 1 blocks");
  CHECK_EQUAL(hipModuleLaunchKernel(loaded.function, 1, 1, 1, 1025, 1, 1, 0, nullptr, parameters, nullptr), 9);
  CHECK_EQUAL(hipModuleLaunchKernel(loaded.function, 1, 1, 1, 1, 1, 1, 1 << 20, nullptr, parameters, nullptr), 9);
  says(9, "hipErrorInvalidConfiguration", "a workgroup has 65536");
  CHECK_EQUAL(hipExtModuleLaunchKernel(loaded.function, 5, 1, 1, 2, 1, 1, 0, nullptr, parameters, nullptr, nullptr, nullptr, 0), 9);
  CHECK_EQUAL(loaded.launch(1, nullptr), 1);
  CHECK_EQUAL(loaded.launch(1, nothing), 1);
  says(1, "hipErrorInvalidValue", "argument 0 of `k`");
  for (std::size_t size : {std::size_t{4}, std::size_t{64}}) {
    void* extra[] = {reinterpret_cast<void*>(1), &memory, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
    CHECK_EQUAL(loaded.launch(1, nullptr, extra), 1);
    says(1, "hipErrorInvalidValue", "the kernel takes 8");
    CHECK_EQUAL(loaded.launch(1, parameters, extra), 1);
  }
  CHECK_EQUAL(loaded.launch(1, parameters, nullptr, &memory), 400);
  CHECK_EQUAL(hipModuleLaunchKernel(&memory, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), 400);
  CHECK_EQUAL(place, 0u);
}

TEST(a_kernel_that_faults_or_never_ends_leaves_the_process_usable) {
  const Loaded stray(numbers()), endless(SampleObject({0xbf82ffff, 0xbf810000}));
  void* nowhere = reinterpret_cast<void*>(0x10);
  void* parameters[] = {&nowhere};
  CHECK_EQUAL(stray.launch(1, parameters), 700);
  says(hipGetLastError(), "hipErrorIllegalAddress", "0x10");
  CHECK_EQUAL(hipGetLastError(), 0);
  setenv("AOTRITON_SIM_LIMIT", "100000", 1);
  CHECK_EQUAL(endless.launch(1, parameters), 702);
  says(702, "hipErrorLaunchTimeOut", "limit of 100000 instructions");
  setenv("AOTRITON_SIM_LIMIT", "many", 1);
  CHECK_EQUAL(endless.launch(1, parameters), 1);
  says(1, "hipErrorInvalidValue", "AOTRITON_SIM_LIMIT is 'many'");
  unsetenv("AOTRITON_SIM_LIMIT");
  std::uint32_t out[2] = {9, 9};
  void* memory = out;
  void* good[] = {&memory};
  CHECK_EQUAL(stray.launch(2, good), 0);
  CHECK_EQUAL(out[1], 1u);
}

TEST(modules_are_checked) {
  aotriton_sim_configure("gfx942", 2);
  void *module = nullptr, *function = nullptr;
  CHECK_EQUAL(hipModuleLoadData(&module, "no code object at all, but long enough to look at its first bytes and a few more"), 200);
  says(200, "hipErrorInvalidImage", "neither an ELF file");
  std::vector<std::uint8_t> other = numbers().bytes();
  other[48] = 0x3f;
  CHECK_EQUAL(hipModuleLoadData(&module, other.data()), 209);
  says(209, "hipErrorNoBinaryForGpu", "the code object is for gfx90a, the device is a gfx942");
  Loaded loaded(numbers());
  CHECK_EQUAL(hipModuleGetFunction(&function, loaded.module, "nobody"), 500);
  says(500, "hipErrorNotFound", "there are: k");
  int value = 0;
  CHECK_EQUAL(hipFuncGetAttribute(&value, 0, loaded.function), 0);
  CHECK_EQUAL(value, 1024);
  CHECK_EQUAL(hipModuleUnload(loaded.module), 0);
  CHECK_EQUAL(hipModuleUnload(loaded.module), 400);
  CHECK_EQUAL(hipFuncGetAttribute(&value, 0, loaded.function), 400);
}

TEST(a_bundle_is_searched_for_the_device) {
  aotriton_sim_configure("gfx942", 2);
  const std::string host = "host-x86_64-unknown-linux--", other = "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+";
  for (const std::string device : {"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "hipv4-amdgcn-amd-amdhsa--gfx9420"}) {
    std::vector<std::uint8_t> bundle;
    const auto text = [&](const std::string& s) { bundle.insert(bundle.end(), s.begin(), s.end()); };
    const auto number = [&](std::uint64_t n) { for (int i = 0; i < 8; ++i) bundle.push_back(static_cast<std::uint8_t>(n >> 8 * i)); };
    text("__CLANG_OFFLOAD_BUNDLE__");
    number(3);
    for (const std::string& name : {host, other, device}) {
      number(4096);
      number(name == device ? numbers().bytes().size() : 0);
      number(name.size());
      text(name);
    }
    bundle.resize(4096);
    bundle.insert(bundle.end(), numbers().bytes().begin(), numbers().bytes().end());
    void* module = nullptr;
    const bool ours = device.find(':') != device.npos;
    CHECK_EQUAL(hipModuleLoadData(&module, bundle.data()), ours ? 0 : 209);
    if (ours) CHECK_EQUAL(hipModuleUnload(module), 0);
    else says(209, "hipErrorNoBinaryForGpu", other.c_str());
  }
}

TEST(memory_is_known_to_its_end) {
  void* memory = nullptr;
  std::vector<char> bytes(256);
  CHECK_EQUAL(hipMalloc(&memory, 100), 0);
  CHECK_EQUAL(hipMemcpy(memory, bytes.data(), 100, 1), 0);
  CHECK_EQUAL(hipMemcpy(static_cast<char*>(memory) + 50, bytes.data(), 51, 1), 1);
  says(1, "hipErrorInvalidValue", "the destination has 50 bytes");
  CHECK_EQUAL(hipMemcpy(bytes.data(), memory, 101, 2), 1);
  CHECK_EQUAL(hipMemcpy(bytes.data(), memory, 1, 7), 21);
  CHECK_EQUAL(hipMemcpy(nullptr, memory, 1, 2), 1);
  CHECK_EQUAL(hipMemcpyAsync(bytes.data(), memory, 1, 2, &bytes), 400);
  char attributes[64];
  CHECK_EQUAL(hipPointerGetAttributes(attributes, static_cast<char*>(memory) + 99), 0);
  CHECK_EQUAL(hipPointerGetAttributes(attributes, bytes.data()), 1);
  CHECK_EQUAL(hipHostRegister(bytes.data(), 256, 0), 0);
  CHECK_EQUAL(hipHostRegister(bytes.data(), 256, 0), 712);
  CHECK_EQUAL(hipPointerGetAttributes(attributes, bytes.data() + 255), 0);
  CHECK_EQUAL(hipFree(bytes.data()), 1);
  CHECK_EQUAL(hipHostUnregister(bytes.data()), 0);
  CHECK_EQUAL(hipHostUnregister(bytes.data()), 713);
  CHECK_EQUAL(hipFree(memory), 0);
  CHECK_EQUAL(hipFree(memory), 1);
  CHECK_EQUAL(hipFree(nullptr), 0);
}

TEST(streams_and_events_are_handles) {
  aotriton_sim_configure("gfx942", 2);
  void *stream = nullptr, *start = nullptr, *stop = nullptr;
  int device = -1;
  CHECK_EQUAL(hipSetDevice(1), 0);
  CHECK_EQUAL(hipStreamCreate(&stream), 0);
  CHECK_EQUAL(hipSetDevice(0), 0);
  CHECK_EQUAL(hipStreamGetDevice(stream, &device), 0);
  CHECK_EQUAL(device, 1);
  CHECK_EQUAL(hipEventCreate(&start), 0);
  CHECK_EQUAL(hipEventCreate(&stop), 0);
  float time = -1;
  CHECK_EQUAL(hipEventElapsedTime(&time, start, stop), 400);
  CHECK_EQUAL(hipEventRecord(start, stream), 0);
  CHECK_EQUAL(hipEventRecord(stop, stream), 0);
  CHECK_EQUAL(hipEventElapsedTime(&time, start, stop), 0);
  CHECK_EQUAL(time >= 0, true);
  CHECK_EQUAL(hipEventDestroy(start), 0);
  CHECK_EQUAL(hipEventDestroy(start), 400);
  CHECK_EQUAL(hipStreamDestroy(stream), 0);
  CHECK_EQUAL(hipStreamSynchronize(stream), 400);
  CHECK_EQUAL(hipStreamSynchronize(nullptr), 0);
  CHECK_EQUAL(hipEventDestroy(stop), 0);
}

int main() { return aotriton::tests::run_all(); }
