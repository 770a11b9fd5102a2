// A program as users of HIP write it: it loads a code object, launches its kernel `add(x, y, out, n)` with an array of
// arguments and with a packed buffer, and looks at what comes back.   vector_add CODE_OBJECT [ARCHITECTURE]
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                                     \
  do {                                                                                                                 \
    const hipError_t error = (call);                                                                                   \
    if (error != hipSuccess) {                                                                                         \
      std::printf("%s: %s (%s)\n", #call, hipGetErrorString(error), hipGetErrorName(error));                           \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)

namespace {

constexpr int kCount = 1000, kBlock = 256;

// What the compiler appends to the arguments: two addresses of scratch memory, null.
struct Arguments {
  float *x, *y, *out;
  int n;
  void *scratch, *profile;
};

void check(const std::vector<float>& out, float step, const char* what) {
  for (int i = 0; i < kCount; ++i) {
    if (out[i] != static_cast<float>(i) + step * static_cast<float>(i)) {
      std::printf("%s: out[%d] is %g\n", what, i, out[i]);
      std::exit(1);
    }
  }
}

void choose(const std::string& architecture) {
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, device));
    const std::string name(properties.gcnArchName, std::strcspn(properties.gcnArchName, ":"));
    if (name != architecture) continue;
    int wave = 0, units = 0;
    CHECK(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, device));
    CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
    if (wave != properties.warpSize || units != properties.multiProcessorCount || properties.totalGlobalMem == 0) std::exit(1);
    std::printf("device %d: %s, %s, %d units\n", device, properties.name, properties.gcnArchName, units);
    CHECK(hipSetDevice(device));
    return;
  }
  std::printf("none of %d devices is a %s\n", count, architecture.c_str());
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  CHECK(hipInit(0));
  choose(count > 2 ? words[2] : "gfx942");
  hipModule_t module;
  hipFunction_t add;
  CHECK(hipModuleLoad(&module, words[1]));
  CHECK(hipModuleGetFunction(&add, module, "add"));

  std::vector<float> x(kCount), y(kCount), out(kCount, -1);
  for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = 2 * static_cast<float>(i);
  Arguments arguments{nullptr, nullptr, nullptr, kCount, nullptr, nullptr};
  for (float** memory : {&arguments.x, &arguments.y, &arguments.out}) {
    CHECK(hipMalloc(reinterpret_cast<void**>(memory), kCount * sizeof(float)));
  }
  hipStream_t stream;
  hipEvent_t start, stop;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipMemcpyAsync(arguments.x, x.data(), kCount * sizeof(float), hipMemcpyHostToDevice, stream));
  CHECK(hipMemcpyAsync(arguments.y, y.data(), kCount * sizeof(float), hipMemcpyHostToDevice, stream));

  CHECK(hipEventRecord(start, stream));
  void* parameters[] = {&arguments.x, &arguments.y, &arguments.out, &arguments.n, &arguments.scratch, &arguments.profile};
  CHECK(hipModuleLaunchKernel(add, (kCount + kBlock - 1) / kBlock, 1, 1, kBlock, 1, 1, 0, stream, parameters, nullptr));
  CHECK(hipEventRecord(stop, stream));
  CHECK(hipMemcpyAsync(out.data(), arguments.out, kCount * sizeof(float), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  check(out, 2, "an array of arguments");
  float milliseconds = -1;
  CHECK(hipEventElapsedTime(&milliseconds, start, stop));
  if (milliseconds < 0) return 1;

  CHECK(hipMemset(arguments.y, 0, kCount * sizeof(float)));
  std::size_t size = sizeof arguments;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(add, (kCount + kBlock - 1) / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(out.data(), arguments.out, kCount * sizeof(float), hipMemcpyDeviceToHost));
  check(out, 0, "a packed buffer");

  if (hipModuleLaunchKernel(add, 0, 1, 1, kBlock, 1, 1, 0, stream, parameters, nullptr) == hipSuccess) return 1;
  if (hipGetLastError() == hipSuccess || hipGetLastError() != hipSuccess) return 1;
  for (float* memory : {arguments.x, arguments.y, arguments.out}) CHECK(hipFree(memory));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipModuleUnload(module));
  std::printf("all is well\n");
  return 0;
}
