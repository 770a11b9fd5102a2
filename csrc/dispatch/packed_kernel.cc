#include "dispatch/packed_kernel.h"

#include "core/log.h"
#include "core/text.h"
#include "dispatch/extents.h"
#include "dispatch/parameters.h"
#include "dispatch/trace.h"

#include <bit>
#include <cstring>
#include <chrono>
#include <optional>

namespace aotriton::dispatch {
namespace {

using core::cat;
using core::Result;
using core::Status;

std::size_t hash(std::string_view name) {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char c : name) state = (state ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return static_cast<std::size_t>(state ^ state >> 32);
}

using Clock = std::chrono::steady_clock;

std::int64_t microseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

PackedKernel::Names::Names(const std::vector<std::string>& names)
    : names_(names), slots_(std::bit_ceil(names.size() * 2 + 1), -1) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t at = hash(names[i]) & (slots_.size() - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<std::int16_t>(i);
  }
}

int PackedKernel::Names::find(std::string_view name) const {
  std::size_t at = hash(name) & (slots_.size() - 1);
  while (slots_[at] >= 0 && names_[static_cast<std::size_t>(slots_[at])] != name) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

PackedKernel::PackedKernel(Plan plan, aotriton_device& device)
    : plan_(std::move(plan)), names_(plan_.names), device_(device),
      functions_(std::make_unique<std::atomic<drivers::Function>[]>(plan_.images)) {}

PackedKernel::~PackedKernel() {
  for (std::size_t i = 0; i < plan_.images; ++i) {
    const drivers::Function function = functions_[i].load(std::memory_order_acquire);
    if (function != nullptr) device_.driver->unload(device_.ordinal, function);
  }
}

// What errors of drivers call a code object.
std::string PackedKernel::label_of(const index::Functional& functional, const index::Image& image) const {
  return cat(plan_.index().family()->string_view(), ".", plan_.index().kernel()->string_view(), ", functional ",
             functional.number(), " (", image.name()->string_view(), ")");
}

// A driver's failure, with what failed and where.
Status PackedKernel::named(const index::Functional& functional, const index::Image& image, const Status& status) const {
  return Status(status.code(), cat(label_of(functional, image), " on ", device_.name, " (", device_.machine.target, "): ",
                                   status.text(), "; pack ", plan_.located.file->path()));
}

Status PackedKernel::expect_arguments(std::span<const char* const> names) const {
  std::size_t same = 0;
  while (same < names.size() && same < plan_.names.size() && names[same] == plan_.names[same]) ++same;
  if (same == names.size() && same == plan_.names.size()) return {};
  const auto name_at = [&](const auto& list) { return same < list.size() ? std::string(list[same]) : "no more"; };
  return Status(AOTRITON_BAD_PACK,
                cat(plan_.located.file->path(), ": argument ", same, " is '", name_at(plan_.names),
                    "'; this library was built for '", name_at(names),
                    "'; use packs and a library of the same version"));
}

std::string PackedKernel::refusal(const Status& status, const Options& options) const {
  return trace_of(plan_, device_, Selection{}, options, {status});
}

Status PackedKernel::run(std::span<const Value> values, aotriton_stream stream, const Options& options,
                         std::string* trace_json, Prepared* prepared) {
  if (prepared != nullptr) prepared->facts.function = nullptr;
  if (values.size() != plan_.names.size()) {
    return Status(AOTRITON_INTERNAL_ERROR, cat("internal error, please report: ", values.size(), " values for ",
                                               plan_.names.size(), " arguments"));
  }
  Selection selection;
  select(plan_, device_.machine, values, options, selection);
  bool loaded = false, launched = false;
  Status status = selection.failure.reason != Reason::none
                      ? failure_of(plan_, device_, selection)
                      : enqueue(selection, values, stream, options, loaded, launched);
  if (trace_json != nullptr) *trace_json = trace_of(plan_, device_, selection, options, {status, loaded, launched});
  if (prepared != nullptr && status.ok() && loaded) prepare(selection, values, *prepared);
  return status;
}

void PackedKernel::prepare(const Selection& selection, std::span<const Value> values, Prepared& prepared) const {
  // What a descriptor comes to is built for each launch.
  if (selection.signature->descriptors != 0 || !plan_.sees_little_of_addresses) return;
  if (device_.driver->wants_tensors()) return;
  const Parameters parameters(*selection.signature, values, plan_.index().scratch_parameters());
  if (parameters.size() > Prepared::kMostParameters) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::memcpy(&prepared.slots[i], parameters.data()[i], sizeof prepared.slots[i]);
  }
  prepared.addresses = 0;
  for (std::size_t i = 0; i < selection.signature->parameters.size(); ++i) {
    const ParameterFacts& facts = selection.signature->parameters[i];
    if (!facts.pointer || values[facts.argument].bits == 0) continue;
    if (prepared.addresses == Prepared::kMostAddresses) return;
    prepared.address[prepared.addresses++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(facts.argument)};
  }
  prepared.kernel = this;
  prepared.functional = selection.functional;
  prepared.image = selection.image;
  prepared.driver = device_.driver;
  prepared.ordinal = device_.ordinal;
  prepared.facts = launch_of(selection, parameters);
}

Status Prepared::failure(const Status& status) const { return kernel->named(*functional, *image, status); }

// All that the driver is told of a launch.
drivers::Launch PackedKernel::launch_of(const Selection& selection, const Parameters& parameters) const {
  const index::Image& image = *selection.image;
  drivers::Launch launch;
  launch.function = functions_[selection.image_number].load(std::memory_order_acquire);
  launch.grid = selection.grid;
  launch.threads = image.threads();
  launch.shared = image.shared();
  launch.cluster = image.num_ctas();
  launch.dependent = image.dependent();
  launch.cooperative = image.cooperative();
  launch.parameters = parameters.data();
  launch.count = parameters.size();
  return launch;
}

Status PackedKernel::enqueue(const Selection& selection, std::span<const Value> values, aotriton_stream stream,
                             const Options& options, bool& loaded, bool& launched) {
  const bool launches = options.launch && !selection.empty;
  if (!launches && !options.load) return {};
  if (!launches && selection.empty) return {};
  const Result<drivers::Function> function = function_of(selection);
  if (!function.ok()) return function.status();
  loaded = true;
  if (!launches) return {};
  const bool maps = selection.image->tensor_maps() != nullptr && selection.image->tensor_maps()->size() != 0;
  Parameters parameters(*selection.signature, values, plan_.index().scratch_parameters(), maps);
  if (maps) {
    Status status = parameters.encode(*device_.driver, device_.ordinal, plan_, *selection.signature, *selection.image, values);
    if (!status.ok()) return status;
  }
  drivers::Launch launch = launch_of(selection, parameters);
  std::optional<Extents> tensors;
  if (device_.driver->wants_tensors()) launch.tensors = tensors.emplace(*selection.signature, values).all();
  Status status = device_.driver->launch(device_.ordinal, launch, stream);
  launched = status.ok();
  return launched ? status : named(*selection.functional, *selection.image, status);
}

Result<drivers::Function> PackedKernel::function_of(const Selection& selection) {
  const drivers::Function function = functions_[selection.image_number].load(std::memory_order_acquire);
  if (function != nullptr) return function;
  return load(selection);
}

// Threads that come while one loads wait for it; a failure is not kept, so the next call tries again.
Result<drivers::Function> PackedKernel::load(const Selection& selection) {
  if (device_.driver == nullptr) {
    return Status(AOTRITON_NO_DEVICE, cat(device_.name, " is no device that runs code: it can be asked (query_only, "
                                          "explain), not loaded for or launched on"));
  }
  const std::lock_guard lock(loading_);
  std::atomic<drivers::Function>& slot = functions_[selection.image_number];
  if (const drivers::Function function = slot.load(std::memory_order_acquire)) return function;
  const index::Image& image = *selection.image;
  const Clock::time_point start = Clock::now();
  const Result<std::vector<std::uint8_t>> code = plan_.located.file->image(*selection.functional, image);
  if (!code.ok()) {
    if (code.status().code() == AOTRITON_BAD_PACK) stale_.store(true, std::memory_order_relaxed);
    return code.status();
  }
  const Clock::time_point decoded = Clock::now();
  const std::string label = label_of(*selection.functional, image);
  const drivers::CodeObject object{code->data(), code->size(), plan_.index().symbol()->c_str(), image.shared(), label};
  const Result<drivers::Function> function = device_.driver->load(device_.ordinal, object);
  if (!function.ok()) return named(*selection.functional, image, function.status());
  AOTRITON_LOG(info, device_.name, " loaded ", image.name()->string_view(), "; decoding took ",
               microseconds(decoded - start), " us, the driver ", microseconds(Clock::now() - decoded), " us");
  slot.store(*function, std::memory_order_release);
  return function;
}

}  // namespace aotriton::dispatch
