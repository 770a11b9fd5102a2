// The state behind HIP's and CUDA's faces: pretended devices, what was loaded, and what was launched.
#pragma once

#include "machines.h"
#include "record/code_object.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aotriton::record {

// Numbers that HIP and CUDA share.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,  // HIP's only
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kCaptureUnsupported = 900,
};
const char* error_text(int error);

enum class Face { hip, cuda };

// A device; its address is its context's handle too.
struct Device {
  const drivers::MachineFacts* facts;
  int ordinal;  // among all of its face
  int number;   // among those of its target
};

struct Stream {
  Device* device;
  bool capturing = false;
};

struct Function {
  Device* device;
  std::shared_ptr<const CodeObject> code;
  const KernelCode* kernel;
  std::uint32_t dynamic_limit;  // CUDA: the dynamic shared memory that a launch may ask for
};

struct Module {
  Device* device;
  std::shared_ptr<const CodeObject> code;
  std::vector<std::unique_ptr<Function>> functions;
};

struct Grid {
  std::array<std::uint32_t, 3> blocks;
  std::array<std::uint32_t, 3> threads;
  std::uint32_t shared;
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::vector<std::pair<std::string, std::uint32_t>> attributes{};  // other ones of the launch, by name
};

// Whether a driver forbids a call while a stream is captured.
enum class InCapture { allowed, forbidden };

class Recorder {
 public:
  static Recorder& instance();

  // Every face's function is one of these: counted, made to fail where that was asked, and one at a time.
  template <typename Body>
  int call(const char* function, InCapture in_capture, Body&& body) {
    const std::lock_guard lock(mutex_);
    if (const int error = enter(function, in_capture); error != kSuccess) return error;
    return body(*this);
  }

  // ---- the controls; each locks by itself ----
  void configure(std::string_view target, int devices);
  void fail(std::string_view function, int code, int after);
  void reset();
  std::string take_launches();
  std::string take_calls();

  // ---- for faces, inside call() ----
  std::vector<std::unique_ptr<Device>>& devices(Face face) { return face == Face::hip ? hip_ : cuda_; }
  Device* device(Face face, int ordinal);
  int load(Device& device, const void* image, Module** module);
  int unload(Module* module);
  int find(Module* module, std::string_view name, Function** function);
  int set_dynamic_limit(Function* function, int bytes);
  int launch(Face face, Function* function, Device* current, const Grid& grid, Stream* stream, void** parameters);
  Stream* make_stream(Device& device);
  int drop_stream(Stream* stream);
  Stream* known(Stream* stream);  // null where it is none of ours: its device is then the current one
  int allocate(void** memory, std::size_t bytes);
  int release(void* memory);
  int set_capturing(Stream* stream, bool capturing);

 private:
  struct Failure {
    int code;
    int after;
  };

  int enter(const char* function, InCapture in_capture);
  int check(Face face, const Function& function, const Device* current, const Grid& grid) const;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> hip_;
  std::vector<std::unique_ptr<Device>> cuda_;
  std::map<const Module*, std::unique_ptr<Module>> modules_;
  std::map<const Function*, Module*> functions_;
  std::map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::map<void*, std::size_t> memory_;
  std::map<std::string, Failure, std::less<>> failures_;
  std::map<std::string, std::uint64_t> calls_;
  std::vector<std::string> violations_;
  std::vector<std::string> launches_;  // each JSON already
};

}  // namespace aotriton::record
