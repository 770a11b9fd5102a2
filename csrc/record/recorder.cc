#include "record/recorder.h"

#include "core/json.h"
#include "core/text.h"

#include <algorithm>
#include <cstdlib>

namespace aotriton::record {
namespace {

using core::cat;

const drivers::MachineFacts* facts_of(std::string_view target) {
  for (const drivers::MachineFacts& facts : drivers::kMachines) {
    if (target == facts.target) return &facts;
  }
  return nullptr;
}

bool is_vendor(const drivers::MachineFacts& facts, std::string_view vendor) { return vendor == facts.vendor; }

void write_launch(core::JsonWriter& json, const Function& function, const Grid& grid, const Stream* stream, bool captured,
                  void** parameters) {
  json.begin_object()
      .member("symbol", function.kernel->name)
      .member("target", function.device->facts->target)
      .member("device", function.device->number);
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
    case kNoDevice: return "no GPU is detected";
    case kInvalidDevice: return "invalid device ordinal";
    case kInvalidImage: return "device kernel image is invalid";
    case kInvalidContext: return "invalid device context";
    case kNoBinaryForGpu: return "no kernel image is available for execution on the device";
    case kInvalidHandle: return "invalid resource handle";
    case kNotFound: return "named symbol not found";
    case kCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "an error that a test asked for";
  }
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
    all.push_back(std::make_unique<Device>(Device{facts, static_cast<int>(all.size()), number}));
  }
}

void Recorder::fail(std::string_view function, int code, int after) {
  const std::lock_guard lock(mutex_);
  failures_.insert_or_assign(std::string(function), Failure{code, after});
}

void Recorder::reset() {
  const std::lock_guard lock(mutex_);
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
  const bool capturing = std::any_of(streams_.begin(), streams_.end(), [](const auto& s) { return s.second->capturing; });
  if (capturing && in_capture == InCapture::forbidden) {
    violations_.push_back(cat(function, " while a stream is captured"));
    return kCaptureUnsupported;
  }
  return kSuccess;
}

// ---- devices, code, launches ----

Device* Recorder::device(Face face, int ordinal) {
  auto& all = devices(face);
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < all.size() ? all[ordinal].get() : nullptr;
}

int Recorder::load(Device& device, const void* image, Module** module) {
  if (image == nullptr || module == nullptr) return kInvalidValue;
  std::optional<CodeObject> code = read_code_object(image);
  if (!code || code->amd != is_vendor(*device.facts, "amd")) return kInvalidImage;
  if (!runs_on(*code, device.facts->target)) return kNoBinaryForGpu;
  auto loaded = std::make_unique<Module>(Module{&device, std::make_shared<const CodeObject>(std::move(*code)), {}});
  *module = loaded.get();
  modules_.emplace(*module, std::move(loaded));
  return kSuccess;
}

int Recorder::unload(Module* module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return kInvalidHandle;
  for (const auto& function : module->functions) functions_.erase(function.get());
  modules_.erase(found);
  return kSuccess;
}

int Recorder::find(Module* module, std::string_view name, Function** function) {
  if (!modules_.contains(module)) return kInvalidHandle;
  constexpr std::uint32_t kWithoutAsking = 48 * 1024;
  const bool amd = module->code->amd;
  for (const KernelCode& kernel : module->code->kernels) {
    if (kernel.name != name) continue;
    const auto limit = amd ? static_cast<std::uint32_t>(module->device->facts->shared_memory) : kWithoutAsking;
    module->functions.push_back(std::make_unique<Function>(Function{module->device, module->code, &kernel, limit}));
    *function = module->functions.back().get();
    functions_.emplace(*function, module);
    return kSuccess;
  }
  return kNotFound;
}

int Recorder::set_dynamic_limit(Function* function, int bytes) {
  if (!functions_.contains(function)) return kInvalidHandle;
  const std::int64_t most = function->device->facts->shared_memory - function->kernel->static_shared;
  if (bytes < 0 || bytes > most) return kInvalidValue;
  function->dynamic_limit = static_cast<std::uint32_t>(bytes);
  return kSuccess;
}

int Recorder::check(Face face, const Function& function, const Device* current, const Grid& grid) const {
  const int bad_size = face == Face::hip ? kInvalidConfiguration : kInvalidValue;
  if (function.device != current) return face == Face::hip ? kInvalidHandle : kInvalidContext;
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

int Recorder::launch(Face face, Function* function, Device* current, const Grid& grid, Stream* stream, void** parameters) {
  if (!functions_.contains(function)) return kInvalidHandle;
  Stream* const ours = known(stream);
  if (const int error = check(face, *function, ours != nullptr ? ours->device : current, grid); error != kSuccess) return error;
  if (parameters == nullptr && !function->kernel->parameters.empty()) return kInvalidValue;
  core::JsonWriter json;
  write_launch(json, *function, grid, stream, ours != nullptr && ours->capturing, parameters);
  launches_.push_back(json.take());
  return kSuccess;
}

// ---- streams and memory ----

Stream* Recorder::make_stream(Device& device) {
  auto stream = std::make_unique<Stream>(Stream{&device});
  Stream* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

Stream* Recorder::known(Stream* stream) { return streams_.contains(stream) ? stream : nullptr; }

int Recorder::drop_stream(Stream* stream) { return streams_.erase(stream) == 1 ? kSuccess : kInvalidHandle; }

int Recorder::set_capturing(Stream* stream, bool capturing) {
  Stream* const ours = known(stream);
  if (ours == nullptr || ours->capturing == capturing) return ours == nullptr ? kInvalidHandle : kInvalidValue;
  ours->capturing = capturing;
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
