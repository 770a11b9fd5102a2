// Code in the recorder: HIP's modules, CUDA's libraries and kernels, and contexts, which functions belong to.
#include "record/recorder.h"

#include <algorithm>
#include <string_view>

namespace aotriton::record {
namespace {

constexpr std::uint32_t kWithoutAsking = 48 * 1024;

bool is_amd(const Device& device) { return std::string_view(device.facts->vendor) == "amd"; }

const KernelCode* kernel_of(const CodeObject& code, std::string_view name) {
  const auto found = std::ranges::find(code.kernels, name, &KernelCode::name);
  return found == code.kernels.end() ? nullptr : &*found;
}

int fits(const CodeObject* code, const Device& device) {
  if (code == nullptr || code->amd != is_amd(device)) return kInvalidImage;
  return runs_on(*code, device.facts->target) ? kSuccess : kNoBinaryForGpu;
}

std::shared_ptr<const CodeObject> read(const void* image) {
  std::optional<CodeObject> code = read_code_object(image);
  return code ? std::make_shared<const CodeObject>(std::move(*code)) : nullptr;
}

}  // namespace

// ---- HIP ----

int Recorder::load(Device& device, const void* image, Module** module) {
  if (image == nullptr || module == nullptr) return kInvalidValue;
  std::shared_ptr<const CodeObject> code = read(image);
  if (const int error = fits(code.get(), device); error != kSuccess) return error;
  auto loaded = std::make_unique<Module>(Module{&device, std::move(code), {}});
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
  const KernelCode* kernel = kernel_of(*module->code, name);
  if (kernel == nullptr) return kNotFound;
  Context& context = module->device->primary;
  const auto limit = static_cast<std::uint32_t>(module->device->facts->shared_memory);
  module->functions.push_back(std::make_unique<Function>(Function{&context, context.generation, module->code, kernel, limit}));
  *function = module->functions.back().get();
  functions_.insert(*function);
  return kSuccess;
}

// ---- CUDA: like its driver, it looks at the code only when a kernel is asked for ----

int Recorder::load(const void* image, Library** library) {
  if (image == nullptr || library == nullptr) return kInvalidValue;
  auto loaded = std::make_unique<Library>(Library{read(image)});
  *library = loaded.get();
  libraries_.emplace(*library, std::move(loaded));
  return kSuccess;
}

int Recorder::unload(Library* library) {
  const auto found = libraries_.find(library);
  if (found == libraries_.end()) return kInvalidHandle;
  for (const auto& kernel : library->kernels) {
    for (const auto& function : kernel->functions) functions_.erase(function.get());
    kernels_.erase(kernel.get());
  }
  libraries_.erase(found);
  return kSuccess;
}

int Recorder::find(Library* library, std::string_view name, const Device& device, Kernel** kernel) {
  if (!libraries_.contains(library)) return kInvalidHandle;
  if (const int error = fits(library->code.get(), device); error != kSuccess) return error;
  const KernelCode* found = kernel_of(*library->code, name);
  if (found == nullptr) return kNotFound;
  library->kernels.push_back(std::make_unique<Kernel>(Kernel{library->code, found}));
  *kernel = library->kernels.back().get();
  kernels_.insert(*kernel);
  return kSuccess;
}

int Recorder::bring(Kernel* kernel, Context& context, Function** function) {
  if (!kernels_.contains(kernel)) return kInvalidHandle;
  if (!context.alive) return kContextDestroyed;
  const auto asked = kernel->dynamic_limits.find(context.device);
  const std::uint32_t limit = asked == kernel->dynamic_limits.end() ? kWithoutAsking : asked->second;
  for (const auto& known : kernel->functions) {
    if (known->context != &context || known->generation != context.generation) continue;
    *function = known.get();
    known->dynamic_limit = limit;
    return kSuccess;
  }
  kernel->functions.push_back(
      std::make_unique<Function>(Function{&context, context.generation, kernel->code, kernel->kernel, limit}));
  *function = kernel->functions.back().get();
  functions_.insert(*function);
  return kSuccess;
}

int Recorder::set_dynamic_limit(Kernel* kernel, const Device& device, int bytes) {
  if (!kernels_.contains(kernel)) return kInvalidHandle;
  const std::int64_t most = device.facts->shared_memory - kernel->kernel->static_shared;
  if (bytes < 0 || bytes > most) return kInvalidValue;
  kernel->dynamic_limits[&device] = static_cast<std::uint32_t>(bytes);
  return kSuccess;
}

// ---- contexts ----

Context* Recorder::make_context(Device& device) {
  contexts_.push_back(std::make_unique<Context>(Context{&device}));
  return contexts_.back().get();
}

int Recorder::end_context(Context* context) {
  const auto ours = [&](const auto& one) { return one.get() == context; };
  if (std::ranges::none_of(contexts_, ours) || !context->alive) return kInvalidContext;
  context->alive = false;
  std::erase_if(streams_, [&](const auto& stream) { return stream.second->context == context; });
  return kSuccess;
}

// What was in it is gone, and it is of no use until it is retained again.
int Recorder::reset_primary(Device& device) {
  device.primary.alive = false;
  device.primary.generation += 1;
  std::erase_if(streams_, [&](const auto& stream) { return stream.second->context == &device.primary; });
  return kSuccess;
}

}  // namespace aotriton::record
