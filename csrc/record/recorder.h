// The state behind HIP's and CUDA's faces: pretended devices, what was loaded, and what was launched.
#pragma once

#include "machines.h"
#include "record/code_object.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace aotriton::record {

// Numbers that HIP and CUDA share.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,  // HIP's only
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kContextDestroyed = 709,
  kCaptureUnsupported = 900,
};
const char* error_text(int error);

enum class Face { hip, cuda };

struct Device;

// What streams and functions belong to. HIP's devices have one each; with CUDA that is the primary one.
struct Context {
  Device* device;
  bool alive = true;   // a primary one: once it was retained
  int generation = 0;  // counts resets: what was made before one is gone
};

struct Device {
  Device(const drivers::MachineFacts* its_facts, int its_ordinal, int its_number)
      : facts(its_facts), ordinal(its_ordinal), number(its_number), primary{this} {}

  const drivers::MachineFacts* facts;
  int ordinal;  // among all of its face
  int number;   // among those of its target
  Context primary;
};

enum CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

struct Stream {
  Context* context;
  bool capturing = false;
  int mode = kGlobal;
  std::thread::id thread{};  // that began the capture
};

struct Function {
  Context* context;
  int generation;  // of the context, when it was loaded there
  std::shared_ptr<const CodeObject> code;
  const KernelCode* kernel;
  std::uint32_t dynamic_limit;  // CUDA: the dynamic shared memory that a launch may ask for
};

// HIP: code in a device.
struct Module {
  Device* device;
  std::shared_ptr<const CodeObject> code;
  std::vector<std::unique_ptr<Function>> functions;
};

// CUDA: code in no context, and one of its kernels.
struct Kernel {
  std::shared_ptr<const CodeObject> code;
  const KernelCode* kernel;
  std::map<const Device*, std::uint32_t> dynamic_limits{};
  std::vector<std::unique_ptr<Function>> functions{};
};
struct Library {
  std::shared_ptr<const CodeObject> code;  // null: it is read only when a kernel is asked for, and is none then
  std::vector<std::unique_ptr<Kernel>> kernels{};
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
  void fault(int code);
  void reset();
  std::string take_launches();
  std::string take_calls();

  // ---- for faces, inside call() ----
  std::vector<std::unique_ptr<Device>>& devices(Face face) { return face == Face::hip ? hip_ : cuda_; }
  Device* device(Face face, int ordinal);
  int load(Device& device, const void* image, Module** module);
  int unload(Module* module);
  int find(Module* module, std::string_view name, Function** function);
  int load(const void* image, Library** library);
  int unload(Library* library);
  int find(Library* library, std::string_view name, const Device& device, Kernel** kernel);
  int bring(Kernel* kernel, Context& context, Function** function);
  int set_dynamic_limit(Kernel* kernel, const Device& device, int bytes);
  int launch(Face face, Function* function, Context* current, const Grid& grid, Stream* stream, void** parameters);
  Context* make_context(Device& device);
  int end_context(Context* context);
  int reset_primary(Device& device);
  Stream* make_stream(Context& context);
  int drop_stream(Stream* stream);
  Stream* known(Stream* stream);  // null where it is none of ours
  // The stream's context: the current one where the handle is that of a default stream. Unknown handles are refused.
  int context_of(Stream* stream, Context* current, Context** context);
  int allocate(void** memory, std::size_t bytes);
  int release(void* memory);
  int begin_capture(Stream* stream, int mode);
  int end_capture(Stream* stream);
  static int exchange_capture_mode(int* mode);

 private:
  struct Failure {
    int code;
    int after;
  };

  Recorder();
  int enter(const char* function, InCapture in_capture);
  bool is_forbidden_by_a_capture() const;
  int check(Face face, const Function& function, const Context* context, const Grid& grid) const;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> hip_;
  std::vector<std::unique_ptr<Device>> cuda_;
  std::map<const Module*, std::unique_ptr<Module>> modules_;
  std::map<const Library*, std::unique_ptr<Library>> libraries_;
  std::set<const Kernel*> kernels_;
  std::set<const Function*> functions_;
  std::vector<std::unique_ptr<Context>> contexts_;  // beside the primary ones; kept when they end
  std::map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::map<void*, std::size_t> memory_;
  std::map<std::string, Failure, std::less<>> failures_;
  int fault_to_come_ = kSuccess;
  std::map<Face, int> faults_;  // that happened
  bool is_forked_ = false;
  std::map<std::string, std::uint64_t> calls_;
  std::vector<std::string> violations_;
  std::vector<std::string> launches_;  // each JSON already
};

}  // namespace aotriton::record
