#include "record/recorder.h"

#include "core/json.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <pthread.h>

namespace aotriton::record {
namespace {

using core::cat;

const drivers::MachineFacts* facts_of(std::string_view target) {
  for (const drivers::MachineFacts& facts : drivers::kMachines) {
    if (target == facts.target) return &facts;
  }
  return nullptr;
}

thread_local int capture_mode = kGlobal;

// Real drivers answer the rest from their own memory.
bool tells_of_faults(std::string_view function) {
  constexpr std::array kTelling{"LaunchKernel", "KernelGetFunction", "ModuleLoadData", "StreamCreate", "StreamGetCtx", "Synchronize",
                                "MemAlloc", "Malloc", "CtxCreate", "PrimaryCtxRetain"};
  return std::ranges::any_of(kTelling, [&](const char* part) { return function.find(part) != function.npos; });
}

bool is_vendor(const drivers::MachineFacts& facts, std::string_view vendor) { return vendor == facts.vendor; }

void write_launch(core::JsonWriter& json, const Function& function, const Grid& grid, const Stream* stream, bool captured,
                  void** parameters) {
  json.begin_object()
      .member("symbol", function.kernel->name)
      .member("target", function.context->device->facts->target)
      .member("device", function.context->device->number);
  json.key("grid").begin_array();
  for (const std::uint32_t size : grid.blocks) json.value(size);
  json.end_array().key("block").begin_array();
  for (const std::uint32_t size : grid.threads) json.value(size);
  json.end_array()
      .member("shared", grid.shared)
      .member("stream", reinterpret_cast<std::uintptr_t>(stream))
      .member("captured", captured);
  if (grid.cluster != std::array<std::uint32_t, 3>{1, 1, 1}) {
    json.key("cluster").begin_array();
    for (const std::uint32_t size : grid.cluster) json.value(size);
    json.end_array();
  }
  for (const auto& [name, value] : grid.attributes) json.member(name.c_str(), value);
  json.key("arguments").begin_array();
  for (std::size_t i = 0; i < function.kernel->parameters.size(); ++i) {
    const auto [offset, size] = function.kernel->parameters[i];
    json.begin_object().member("offset", offset).member("size", size);
    json.member("hex", core::hex({static_cast<const std::uint8_t*>(parameters[i]), size})).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

const char* error_text(int error) {
  switch (error) {
    case kSuccess: return "no error";
    case kInvalidValue: return "invalid argument";
    case kOutOfMemory: return "out of memory";
    case kInvalidConfiguration: return "invalid configuration argument";
    case kNotInitialized: return "initialization error";
    case kNoDevice: return "no GPU is detected";
    case kInvalidDevice: return "invalid device ordinal";
    case kInvalidImage: return "device kernel image is invalid";
    case kInvalidContext: return "invalid device context";
    case kNoBinaryForGpu: return "no kernel image is available for execution on the device";
    case kInvalidHandle: return "invalid resource handle";
    case kNotFound: return "named symbol not found";
    case 700: return "an illegal memory access was encountered";
    case 719: return "unspecified launch failure";
    case kContextDestroyed: return "context is destroyed";
    case kCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "an error that a test asked for";
  }
}

// CUDA is of no use in a process that was forked from one that had it.
Recorder::Recorder() {
  pthread_atfork(nullptr, nullptr, [] { instance().is_forked_ = true; });
}

Recorder& Recorder::instance() {
  static Recorder& recorder = *new Recorder;  // outlives all threads
  return recorder;
}

// ---- controls ----

void Recorder::configure(std::string_view target, int devices) {
  const std::lock_guard lock(mutex_);
  const drivers::MachineFacts* facts = facts_of(target);
  if (facts == nullptr || is_vendor(*facts, "host")) return;
  auto& all = is_vendor(*facts, "amd") ? hip_ : cuda_;
  int number = static_cast<int>(std::count_if(all.begin(), all.end(), [&](const auto& d) { return d->facts == facts; }));
  for (; number < devices; ++number) {
    all.push_back(std::make_unique<Device>(facts, static_cast<int>(all.size()), number));
  }
}

void Recorder::fail(std::string_view function, int code, int after) {
  const std::lock_guard lock(mutex_);
  failures_.insert_or_assign(std::string(function), Failure{code, after});
}

// The next kernel that is launched faults: what is called after it learns so.
void Recorder::fault(int code) {
  const std::lock_guard lock(mutex_);
  fault_to_come_ = code;
}

void Recorder::reset() {
  const std::lock_guard lock(mutex_);
  fault_to_come_ = kSuccess;
  faults_.clear();
  failures_.clear();
  calls_.clear();
  violations_.clear();
  launches_.clear();
  for (auto& [handle, stream] : streams_) stream->capturing = false;
}

std::string Recorder::take_launches() {
  const std::lock_guard lock(mutex_);
  core::JsonWriter json;
  json.begin_array();
  for (const std::string& launch : launches_) json.raw(launch);
  launches_.clear();
  return json.end_array().take();
}

std::string Recorder::take_calls() {
  const std::lock_guard lock(mutex_);
  core::JsonWriter json;
  json.begin_object().key("calls").begin_object();
  for (const auto& [function, count] : calls_) json.member(function, count);
  json.end_object().key("violations").begin_array();
  for (const std::string& violation : violations_) json.value(violation);
  json.end_array().end_object();
  calls_.clear();
  violations_.clear();
  return json.take();
}

int Recorder::enter(const char* function, InCapture in_capture) {
  ++calls_[function];
  if (const auto found = failures_.find(function); found != failures_.end() && found->second.after-- <= 0) {
    const int code = found->second.code;
    failures_.erase(found);
    return code;
  }
  const bool is_cuda = std::string_view(function).starts_with("cu");
  if (is_forked_ && is_cuda) return kNotInitialized;
  if (const auto fault = faults_.find(is_cuda ? Face::cuda : Face::hip); fault != faults_.end() && tells_of_faults(function)) {
    return fault->second;
  }
  if (in_capture == InCapture::forbidden && is_forbidden_by_a_capture()) {
    violations_.push_back(cat(function, " while a stream is captured"));
    return kCaptureUnsupported;
  }
  return kSuccess;
}

bool Recorder::is_forbidden_by_a_capture() const {
  if (capture_mode == kRelaxed) return false;
  return std::ranges::any_of(streams_, [](const auto& entry) {
    const Stream& stream = *entry.second;
    if (!stream.capturing || stream.mode == kRelaxed) return false;
    return stream.thread == std::this_thread::get_id() || (capture_mode == kGlobal && stream.mode == kGlobal);
  });
}

// ---- devices, code, launches ----

Device* Recorder::device(Face face, int ordinal) {
  auto& all = devices(face);
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < all.size() ? all[ordinal].get() : nullptr;
}

int Recorder::check(Face face, const Function& function, const Context* context, const Grid& grid) const {
  const int bad_size = face == Face::hip ? kInvalidConfiguration : kInvalidValue;
  if (context == nullptr) return kInvalidContext;
  if (!context->alive) return kContextDestroyed;
  if (function.context != context || function.generation != context->generation) return kInvalidHandle;
  constexpr std::uint32_t kMostBlocks = 0x7fffffff;
  const std::uint32_t most_others = face == Face::hip ? kMostBlocks : 65535;
  const auto [x, y, z] = grid.blocks;
  if (x < 1 || x > kMostBlocks || y < 1 || y > most_others || z < 1 || z > most_others) return bad_size;
  const std::uint64_t threads = std::uint64_t{grid.threads[0]} * grid.threads[1] * grid.threads[2];
  if (threads < 1 || threads > function.kernel->most_threads) return bad_size;
  if (function.kernel->exact_threads != 0 && threads != function.kernel->exact_threads) return bad_size;
  if (face == Face::hip && std::uint64_t{x} * grid.threads[0] > 0xffffffffu) return bad_size;
  if (face == Face::hip && function.kernel->static_shared + std::uint64_t{grid.shared} > function.dynamic_limit) return bad_size;
  if (face == Face::cuda && grid.shared > function.dynamic_limit) return bad_size;
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid.cluster[i] == 0 || grid.blocks[i] % grid.cluster[i] != 0) return bad_size;
  }
  return kSuccess;
}

int Recorder::launch(Face face, Function* function, Context* current, const Grid& grid, Stream* stream, void** parameters) {
  if (!functions_.contains(function)) return kInvalidHandle;
  Context* context = nullptr;
  if (const int error = context_of(stream, current, &context); error != kSuccess) return error;
  if (const int error = check(face, *function, context, grid); error != kSuccess) return error;
  const Stream* const ours = known(stream);
  if (parameters == nullptr && !function->kernel->parameters.empty()) return kInvalidValue;
  core::JsonWriter json;
  write_launch(json, *function, grid, stream, ours != nullptr && ours->capturing, parameters);
  launches_.push_back(json.take());
  if (fault_to_come_ != kSuccess) faults_[face] = fault_to_come_;
  fault_to_come_ = kSuccess;
  return kSuccess;
}

// ---- streams and memory ----

Stream* Recorder::make_stream(Context& context) {
  auto stream = std::make_unique<Stream>(Stream{&context});
  Stream* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

Stream* Recorder::known(Stream* stream) { return streams_.contains(stream) ? stream : nullptr; }

int Recorder::context_of(Stream* stream, Context* current, Context** context) {
  constexpr std::uintptr_t kPerThread = 2;  // 0 and 1 are the legacy one
  const Stream* const ours = known(stream);
  if (ours == nullptr && reinterpret_cast<std::uintptr_t>(stream) > kPerThread) return kInvalidHandle;
  *context = ours != nullptr ? ours->context : current;
  return *context == nullptr ? kInvalidContext : kSuccess;
}

int Recorder::drop_stream(Stream* stream) { return streams_.erase(stream) == 1 ? kSuccess : kInvalidHandle; }

int Recorder::begin_capture(Stream* stream, int mode) {
  Stream* const ours = known(stream);
  if (ours == nullptr || ours->capturing) return ours == nullptr ? kInvalidHandle : kInvalidValue;
  ours->capturing = true;
  ours->mode = mode;
  ours->thread = std::this_thread::get_id();
  return kSuccess;
}

int Recorder::end_capture(Stream* stream) {
  Stream* const ours = known(stream);
  if (ours == nullptr || !ours->capturing) return ours == nullptr ? kInvalidHandle : kInvalidValue;
  ours->capturing = false;
  return kSuccess;
}

int Recorder::exchange_capture_mode(int* mode) {
  if (*mode < kGlobal || *mode > kRelaxed) return kInvalidValue;
  std::swap(*mode, capture_mode);
  return kSuccess;
}

int Recorder::allocate(void** memory, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;  // as drivers give it
  if (memory == nullptr) return kInvalidValue;
  *memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (*memory == nullptr) return kOutOfMemory;
  memory_.emplace(*memory, bytes);
  return kSuccess;
}

int Recorder::release(void* memory) {
  if (memory == nullptr) return kSuccess;
  if (memory_.erase(memory) == 0) return kInvalidValue;
  std::free(memory);
  return kSuccess;
}

}  // namespace aotriton::record
