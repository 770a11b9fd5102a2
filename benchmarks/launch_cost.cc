// What one call costs the host: the driver's own launch, and the library's calls of the very same launch, in turns.
//
//     launch_cost [--device cuda:0 | record:sm_90] [--calls N] [--json FILE]
//
// Each row is a time of one call in microseconds, until it returns: the mean of a batch of 32, and of all batches the
// median and the 10th and 90th percentile. The stream is drained between batches, so that no call waits for the queue.
// Packs are looked for as the library does. With the recording driver nothing of the driver's own row is a GPU's: it
// takes its notes. `ours` is the same call with a driver that does nothing, which is what the library itself costs;
// `ours_decided_anew`, without what the thread remembers of such calls.
#include "dispatch/memo.h"
#include "drivers/devices.h"
#include "drivers/library.h"
#include "flash/attn_fwd.h"
#include "pack/search.h"

#include <aotriton/flash.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace aotriton;
namespace cpp = AOTRITON_NS::v3::flash;

[[noreturn]] void stop(const std::string& text) {
  std::cerr << "error: " << text << "\n";
  std::exit(1);
}

void check(const core::Status& status) {
  if (!status.ok()) stop(status.text());
}

// What the program calls of CUDA, or of the recording library.
struct Cuda {
  int (*device)(int*, int);
  int (*retain)(void**, int);
  int (*push)(void*);
  int (*allocate)(std::uint64_t*, std::size_t);
  int (*synchronize)();
  int (*library_load)(void**, const void*, int*, void**, unsigned, int*, void**, unsigned);
  int (*library_kernel)(void**, void*, const char*);
  int (*kernel_attribute)(int, int, void*, int);
  int (*kernel_function)(void**, void*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  void (*reset)();  // the recording library's: forget what was launched

  explicit Cuda(const std::string& file) {
    void* const library = dlopen(file.c_str(), RTLD_NOW);
    if (library == nullptr) stop(dlerror());
    const auto find = [&](auto*& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(device, "cuDeviceGet");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(push, "cuCtxPushCurrent_v2");
    find(allocate, "cuMemAlloc_v2");
    find(synchronize, "cuCtxSynchronize");
    find(library_load, "cuLibraryLoadData");
    find(library_kernel, "cuLibraryGetKernel");
    find(kernel_attribute, "cuKernelSetAttribute");
    find(kernel_function, "cuKernelGetFunction");
    find(launch, "cuLaunchKernel");
    find(reset, "aotriton_record_reset");
    if (launch == nullptr || library_load == nullptr) stop(file + " isn't CUDA 12's driver");
  }
};

// Between dispatch and the driver: notes the launch, and loads its code a second time, for the driver's own launch. With no
// driver behind it, it does nothing.
class Tap final : public drivers::Driver {
 public:
  Tap(const Cuda& cuda, drivers::Driver* behind) : cuda_(cuda), behind_(behind) {}
  const char* name() const override { return "tap"; }
  core::Result<drivers::Function> load(int ordinal, const drivers::CodeObject& code) override {
    constexpr int kMaxDynamicShared = 8;
    if (behind_ == nullptr) return drivers::Function{this};
    void* library = nullptr;
    void* kernel = nullptr;
    if (cuda_.library_load(&library, code.image, nullptr, nullptr, 0, nullptr, nullptr, 0) != 0 ||
        cuda_.library_kernel(&kernel, library, code.symbol) != 0 ||
        cuda_.kernel_attribute(kMaxDynamicShared, static_cast<int>(code.shared), kernel, ordinal) != 0 ||
        cuda_.kernel_function(&function, kernel) != 0) {
      stop("the driver doesn't load this code object");
    }
    return behind_->load(ordinal, code);
  }
  void unload(int ordinal, drivers::Function function) override {
    if (behind_ != nullptr) behind_->unload(ordinal, function);
  }
  core::Status launch(int ordinal, const drivers::Launch& launch, aotriton_stream stream) override {
    if (behind_ == nullptr) return {};
    seen = launch;
    slots.assign(launch.count, 0);
    pointers.clear();
    for (std::size_t i = 0; i < launch.count; ++i) {
      std::memcpy(&slots[i], launch.parameters[i], sizeof slots[i]);
      pointers.push_back(&slots[i]);
    }
    return behind_->launch(ordinal, launch, stream);
  }

  void* function = nullptr;  // the driver's own
  drivers::Launch seen;
  std::vector<std::uint64_t> slots;  // the library keeps each parameter in 8 bytes
  std::vector<void*> pointers;

 private:
  const Cuda& cuda_;
  drivers::Driver* behind_;
};

struct Row {
  std::string name;
  std::function<bool()> call;
  std::vector<double> batches{};
};

constexpr int kBatch = 32;

void measure(std::vector<Row>& rows, int calls, const std::function<void()>& drain) {
  using Clock = std::chrono::steady_clock;
  for (int round = -1; round * kBatch < calls; ++round) {  // the first one warms up
    for (Row& row : rows) {
      drain();
      bool sound = true;
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < kBatch; ++i) sound &= row.call();
      const std::chrono::duration<double, std::micro> took = Clock::now() - start;
      if (!sound) stop(row.name + " failed: " + aotriton_last_error());
      if (round >= 0) row.batches.push_back(took.count() / kBatch);
    }
  }
  drain();
}

std::string json_of(std::vector<Row>& rows, const std::string& device, const drivers::Machine& machine, bool records) {
  std::string text = "{\"device\": \"" + device + "\", \"description\": \"" + machine.description + "\", \"unit\": \"us\", " +
                     "\"note\": \"" + (records ? "the recording driver, which takes its notes: not a GPU's launch" : "") +
                     "\", \"rows\": [";
  for (Row& row : rows) {
    std::ranges::sort(row.batches);
    const auto at = [&](double part) { return row.batches[static_cast<std::size_t>(part * double(row.batches.size() - 1))]; };
    std::array<char, 256> line;
    std::snprintf(line.data(), line.size(), "%s{\"name\": \"%s\", \"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f, \"calls\": %zu}",
                  &row == rows.data() ? "" : ", ", row.name.c_str(), at(0.5), at(0.1), at(0.9), row.batches.size() * kBatch);
    text += line.data();
  }
  return text + "]}\n";
}

// Of (1, 8, 128, 64) in fp16, in memory of the device's, or in addresses that nobody reads.
struct Problem {
  static constexpr std::int64_t kHeads = 8, kLength = 128, kHeadDim = 64;

  aotriton_attn_fwd_params c{};
  cpp::attn_fwd_params v3{};

  Problem(const Cuda& cuda, bool records) {
    c.size = sizeof c;
    std::array<std::uint64_t, 4> address{};
    for (std::size_t i = 0; i < address.size(); ++i) {
      address[i] = (i + 1) << 24;
      const std::size_t bytes = 2 * kHeads * kLength * kHeadDim;
      if (!records && cuda.allocate(&address[i], bytes) != 0) stop("cuMemAlloc failed");
    }
    aotriton_tensor* const views[] = {&c.q, &c.k, &c.v, &c.out};
    cpp::T4* const v3_views[] = {&v3.Q, &v3.K, &v3.V, &v3.Out};
    constexpr std::int64_t sizes[] = {1, kHeads, kLength, kHeadDim};
    constexpr std::int64_t strides[] = {kHeads * kLength * kHeadDim, kLength * kHeadDim, kHeadDim, 1};
    for (std::size_t i = 0; i < address.size(); ++i) {
      *views[i] = {std::bit_cast<void*>(address[i]), AOTRITON_FP16, 4, {}, {}};
      std::ranges::copy(sizes, views[i]->sizes);
      std::ranges::copy(strides, views[i]->strides);
      *v3_views[i] = cpp::T4(std::bit_cast<std::intptr_t>(address[i]), {1, kHeads, kLength, kHeadDim},
                             {kHeads * kLength * kHeadDim, kLength * kHeadDim, kHeadDim, 1}, AOTRITON_NS::kFloat16);
    }
    c.scale = v3.Sm_scale = 0.125f;
  }
};

struct Asked {
  std::string device = "record:sm_90";
  int calls = 20000;
  std::string json;
};

Asked read(int count, char** words) {
  Asked asked;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = words[i];
    if (option == "--device") asked.device = words[i + 1];
    else if (option == "--calls") asked.calls = std::max(kBatch, std::atoi(words[i + 1]));
    else if (option == "--json") asked.json = words[i + 1];
    else stop("unknown option " + option);
  }
  if (count % 2 == 0) stop("usage: launch_cost [--device cuda:0|record:sm_90] [--calls N] [--json FILE]");
  return asked;
}

// The folder of the shared library that this program is linked with.
std::string library_folder() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&aotriton_attn_fwd), &info);
  const std::string path = info.dli_fname != nullptr ? info.dli_fname : "";
  return path.substr(0, path.find_last_of('/'));
}

constexpr aotriton_attn_options kOptions = AOTRITON_ATTN_OPTIONS_INIT;

// The driver's own launch first. What is given outlives the rows.
std::vector<Row> rows_of(const Cuda& cuda, const Problem& problem, aotriton_device& device, Tap& tap, aotriton_device& idle) {
  static aotriton_attn_options query = kOptions;
  query.query_only = 1;
  return {
      {"driver", [&] {
         const auto& [x, y, z] = tap.seen.grid;
         return cuda.launch(tap.function, x, y, z, tap.seen.threads, 1, 1, tap.seen.shared, nullptr, tap.pointers.data(),
                            nullptr) == 0;
       }},
      {"c_api", [&] { return aotriton_attn_fwd(&problem.c, &device, nullptr, nullptr, nullptr) == AOTRITON_SUCCESS; }},
      {"c_api_stream_device", [&] {
         return aotriton_attn_fwd(&problem.c, nullptr, nullptr, nullptr, nullptr) == AOTRITON_SUCCESS;
       }},
      {"cpp_v3", [&] { return cpp::attn_fwd(problem.v3, cpp::attn_fwd_params::kVersion, nullptr) == hipSuccess; }},
      {"query_only", [&] { return aotriton_attn_fwd(&problem.c, &device, nullptr, &query, nullptr) == AOTRITON_SUCCESS; }},
      {"ours", [&] { return flash::attn_fwd(problem.c, &idle, nullptr, kOptions, nullptr).ok(); }},
      {"ours_decided_anew", [&] {
         dispatch::Memo::of_this_thread().use(false);
         const bool sound = flash::attn_fwd(problem.c, &idle, nullptr, kOptions, nullptr).ok();
         dispatch::Memo::of_this_thread().use(true);
         return sound;
       }},
  };
}

}  // namespace

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const bool records = asked.device.starts_with("record:");
  if (!records && !asked.device.starts_with("cuda:")) stop("--device takes cuda:N or record:sm_…");
  // Calls that name no device take the stream's, as most do, where there is a GPU.
  if (records) setenv("AOTRITON_DEVICE", asked.device.c_str(), 1);
  else unsetenv("AOTRITON_DEVICE");
  // This program has dispatch a second time, beside the library's, to see what it hands to the driver.
  if (std::getenv("AOTRITON_PACK_PATH") == nullptr) pack::add_path(library_folder() + "/aotriton.images");

  aotriton_device* device = nullptr;
  if (aotriton_device_open(asked.device.c_str(), &device) != AOTRITON_SUCCESS) stop(aotriton_last_error());
  core::Result<aotriton_device*> own = drivers::open_device(asked.device);
  check(own.status());
  const Cuda cuda(records ? library_folder() + "/libaotriton_record.so" : "libcuda.so.1");
  int ordinal = 0;
  void* context = nullptr;
  if (cuda.device(&ordinal, (*own)->ordinal) != 0 || cuda.retain(&context, ordinal) != 0 || cuda.push(context) != 0) {
    stop("CUDA's primary context can't be made");
  }
  const Problem problem(cuda, records);

  // The same launch, seen on its way to the driver.
  Tap tap(cuda, (*own)->driver), nothing(cuda, nullptr);
  aotriton_device tapped = **own, idle = **own;
  tapped.driver = &tap;
  idle.driver = &nothing;
  check(flash::attn_fwd(problem.c, &tapped, nullptr, kOptions, nullptr));
  const drivers::Launch& seen = tap.seen;
  if (seen.cluster != 1 || seen.dependent || seen.cooperative) stop("this launch has attributes; cuLaunchKernel takes none");

  std::vector<Row> rows = rows_of(cuda, problem, *device, tap, idle);
  measure(rows, asked.calls, [&] {
    if (records) cuda.reset();
    else if (cuda.synchronize() != 0) stop("cuCtxSynchronize failed");
  });
  const std::string text = json_of(rows, asked.device, (*own)->machine, records);
  std::cout << text;
  if (!asked.json.empty()) std::ofstream(asked.json) << text;
}
