// Names of devices, and the devices behind streams.
#include "drivers/devices.h"

#include "core/environment.h"
#include "core/json.h"
#include "core/text.h"
#include "drivers/facts.h"
#include "drivers/registry.h"
#include "machines.h"

#include <charconv>
#include <map>
#include <optional>

namespace aotriton::drivers {
namespace {

using core::cat;
using core::Result;
using core::Status;

constexpr const char* kNames =
    "hip:N, cuda:N, host, sim:TARGET, sim:TARGET:N, record:TARGET, record:TARGET:N and target:TARGET, such as hip:0 or "
    "sim:gfx942";
// What the recording library has of each target, unless a name asks for more.
constexpr int kRecordDevices = 2;
constexpr int kMostRecordDevices = 16;

Backend& hip() {
  static Backend& backend = *new Backend("hip", []() -> Result<std::unique_ptr<GpuDriver>> {
    static constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                                 "libamdhip64.so"};
    Result<Library> library = Library::open(kLibraries);
    if (!library.ok()) return library.status();
    return open_hip("hip", *library);
  });
  return backend;
}

Backend& cuda() {
  static Backend& backend = *new Backend("cuda", []() -> Result<std::unique_ptr<GpuDriver>> {
    static constexpr const char* kLibraries[] = {"libcuda.so.1"};
    Result<Library> library = Library::open(kLibraries);
    if (!library.ok()) return library.status();
    return open_cuda("cuda", *library);
  });
  return backend;
}

// A device of libaotriton_<kind>.so, which pretends the target: `record:gfx942:1`.
struct Pretended {
  std::string kind;
  std::string target;
  int number;

  std::string name() const { return number == 0 ? cat(kind, ":", target) : cat(kind, ":", target, ":", number); }
};

std::optional<int> parse_number(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

Status no_such_name(std::string_view name, std::string_view why) {
  return Status(AOTRITON_NO_DEVICE, cat("there is no device '", core::utf8(name), "': ", why, "; devices are called ", kNames));
}

// What the simulator executes, as `gfx90a, gfx942`; empty of a library that doesn't say.
std::string simulated_targets(const Library& library) {
  const auto targets = reinterpret_cast<const char* (*)()>(library.symbol("aotriton_sim_targets"));
  return targets == nullptr ? std::string() : targets();
}

// The devices that names beyond hip and cuda opened, and the drivers behind them.
class Registry {
 public:
  Result<aotriton_device*> open(const std::string& name, const MachineFacts& facts, Driver* driver) {
    const std::lock_guard lock(mutex_);
    return keep(name, aotriton_device{name, driver, 0, machine_of(facts)});
  }

  Result<aotriton_device*> open(const Pretended& wanted, const MachineFacts& facts) {
    const std::lock_guard lock(mutex_);
    const std::string name = wanted.name();
    if (const auto found = devices_.find(name); found != devices_.end()) return found->second;
    const bool amd = std::string_view(facts.vendor) == "amd";
    Result<GpuDriver*> driver = pretender(wanted, amd);
    if (!driver.ok()) return Status(AOTRITON_NO_DEVICE, cat("there is no device ", name, ": ", driver.status().text()));
    const Result<int> count = (*driver)->device_count();
    if (!count.ok()) return count.status();
    // The library's devices stand in the order in which their targets were asked for.
    int left = wanted.number;
    for (int ordinal = 0; ordinal < *count; ++ordinal) {
      Result<Machine> machine = (*driver)->describe(ordinal);
      if (!machine.ok()) return machine.status();
      if (machine->target != wanted.target || left-- > 0) continue;
      return keep(name, aotriton_device{name, *driver, ordinal, *machine});
    }
    const std::string targets = simulated_targets((*driver)->library());
    return Status(AOTRITON_NO_DEVICE, cat("there is no device ", name, ": ", (*driver)->library().path(),
                                          " has no such device of target ", wanted.target,
                                          targets.empty() ? "" : cat("; it has ", targets)));
  }

 private:
  aotriton_device* keep(const std::string& name, aotriton_device device) {
    const auto [place, is_new] = devices_.try_emplace(name, nullptr);
    if (is_new) place->second = new aotriton_device(std::move(device));  // as long as the process
    return place->second;
  }

  // The library's driver for the vendor, told to have the device that is wanted.
  Result<GpuDriver*> pretender(const Pretended& wanted, bool amd) {
    Result<Library> library = open_beside(wanted.kind.c_str());
    if (!library.ok()) return library.status();
    const std::string configure = cat("aotriton_", wanted.kind, "_configure");
    auto* const function = reinterpret_cast<void (*)(const char*, int)>(library->symbol(configure.c_str()));
    if (function == nullptr) return Status(AOTRITON_NO_DEVICE, cat(library->path(), " has no function ", configure));
    const int devices = wanted.number < kRecordDevices ? kRecordDevices : wanted.number + 1;
    function(wanted.target.c_str(), devices);
    const auto [place, is_new] = drivers_.try_emplace(cat(wanted.kind, amd ? ":hip" : ":cuda"), nullptr);
    if (!is_new && place->second != nullptr) return place->second;
    const char* name = wanted.kind == "sim" ? "sim" : "record";
    Result<std::unique_ptr<GpuDriver>> opened = amd ? open_hip(name, *library) : open_cuda(name, *library);
    if (!opened.ok()) return opened.status();
    place->second = opened->release();
    return place->second;
  }

  std::mutex mutex_;
  std::map<std::string, aotriton_device*, std::less<>> devices_;
  std::map<std::string, GpuDriver*> drivers_;
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

Result<aotriton_device*> open_real(Backend& backend, std::string_view name, std::string_view number) {
  if (const std::optional<int> ordinal = parse_number(number)) return backend.device(*ordinal);
  return no_such_name(name, "its number is none");
}

// The device that a stream or, without one, the thread has chosen.
Result<aotriton_device*> current(Backend& backend, aotriton_stream stream) {
  GpuDriver* const driver = backend.driver();
  if (driver == nullptr) {
    return Status(AOTRITON_NO_DEVICE, cat("there is no ", backend.name(), " device: ", backend.reason()));
  }
  const Result<int> ordinal = driver->device_of_stream(stream);
  if (!ordinal.ok()) return ordinal.status();
  return backend.device(*ordinal);
}

Result<aotriton_device*> open_pretended(std::string_view name, std::string_view kind, std::string_view rest) {
  const std::size_t colon = rest.find(':');
  const std::string target(rest.substr(0, colon));
  const std::optional<int> number = colon == rest.npos ? 0 : parse_number(rest.substr(colon + 1));
  const MachineFacts* facts = facts_of(target);
  if (facts == nullptr || target == "host") {
    return no_such_name(name, cat("'", core::utf8(target), "' is no target of a GPU; the targets are ", target_names()));
  }
  if (!number || *number >= kMostRecordDevices) {
    return no_such_name(name, cat("its number is not one of 0 to ", kMostRecordDevices - 1));
  }
  if (kind == "sim" && std::string_view(facts->vendor) != "amd") return no_such_name(name, "the simulator is of AMD's GPUs");
  return registry().open(Pretended{std::string(kind), target, *number}, *facts);
}

Result<aotriton_device*> open_named(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view rest = colon == name.npos ? std::string_view() : name.substr(colon + 1);
  if (kind == "hip") return colon == name.npos ? current(hip(), nullptr) : open_real(hip(), name, rest);
  if (kind == "cuda") return colon == name.npos ? current(cuda(), nullptr) : open_real(cuda(), name, rest);
  if (kind == "record" || kind == "sim") return open_pretended(name, kind, rest);
  if (kind == "target") {
    const MachineFacts* facts = facts_of(rest);
    if (facts == nullptr) {
      return no_such_name(name, cat("'", core::utf8(rest), "' is no target; the targets are ", target_names()));
    }
    return registry().open(std::string(name), *facts, nullptr);
  }
  if (name == "host") return registry().open("host", *facts_of("host"), &host_driver());
  return no_such_name(name, "no driver has such a name");
}

// The same name again is found without a lock: a device never goes away.
Result<aotriton_device*> open_known(std::string_view name) {
  thread_local std::string last_name;
  thread_local aotriton_device* last = nullptr;
  if (last != nullptr && last_name == name) return last;
  Result<aotriton_device*> device = open_named(name);
  // `hip` and `cuda` alone mean what is current at the call.
  if (device.ok() && name != "hip" && name != "cuda") {
    last_name = name;
    last = *device;
  }
  return device;
}

Status nothing_here() {
  return Status(AOTRITON_NO_DEVICE,
                cat("nothing on this machine can run code. HIP: ", hip().reason(), ". CUDA: ", cuda().reason(),
                    ". Without a GPU a device is asked for by name: AOTRITON_DEVICE=sim:gfx942 runs AMD's code on the "
                    "processor, AOTRITON_DEVICE=host the kernels' sources (from Python, slowly), "
                    "AOTRITON_DEVICE=record:gfx942 only notes what would be launched"));
}

void list_driver(core::JsonWriter& json, Backend& backend) {
  GpuDriver* const driver = backend.driver();
  json.begin_object().member("driver", backend.name()).member("available", driver != nullptr);
  json.member("reason", backend.reason()).member("library", driver != nullptr ? driver->library().path() : std::string());
  json.key("devices").begin_array();
  if (driver != nullptr) {
    const Result<int> count = driver->device_count();
    for (int i = 0; count.ok() && i < *count; ++i) json.value(cat(backend.name(), ":", i));
  }
  json.end_array().end_object();
}

void list_pretender(core::JsonWriter& json, const char* kind, std::string_view vendors) {
  const std::string path = path_beside(kind);
  const Result<Library> library = open_beside(kind);
  json.begin_object().member("driver", kind).member("available", library.ok());
  json.member("reason", library.status().text()).member("library", path).key("devices").begin_array();
  const std::string simulated = library.ok() ? simulated_targets(*library) + "," : "";
  for (const MachineFacts& facts : kMachines) {
    const bool has = simulated == "," || simulated.find(cat(facts.target, ",")) != simulated.npos;
    if (library.ok() && has && vendors.find(facts.vendor) != vendors.npos) json.value(cat(kind, ":", facts.target));
  }
  json.end_array().end_object();
}

}  // namespace

Result<aotriton_device*> open_device(std::string_view name) {
  if (name.empty()) return device_of_stream(nullptr);
  return open_known(name);
}

Result<aotriton_device*> device_of_stream(aotriton_stream stream) {
  if (const char* name = core::environment(core::Variable::device); *name != '\0') {
    Result<aotriton_device*> device = open_known(name);
    if (device.ok()) return device;
    return Status(device.status().code(), cat("AOTRITON_DEVICE: ", device.status().text()));
  }
  if (hip().driver() != nullptr) return current(hip(), stream);
  if (cuda().driver() != nullptr) return current(cuda(), stream);
  return nothing_here();
}

std::string device_to_json(const aotriton_device& device) {
  const auto* gpu = dynamic_cast<const GpuDriver*>(device.driver);
  core::JsonWriter json;
  json.begin_object()
      .member("name", device.name)
      .member("driver", device.driver != nullptr ? device.driver->name() : "target")
      .member("target", device.machine.target)
      .member("compute_units", device.machine.compute_units)
      .member("warp_size", device.machine.warp_size)
      .member("shared_memory", device.machine.shared_memory)
      .member("ordinal", device.ordinal)
      .member("description", device.machine.description)
      .member("driver_library", gpu != nullptr ? gpu->library().path() : std::string())
      .end_object();
  return json.take();
}

std::string drivers_to_json() {
  core::JsonWriter json;
  json.begin_array();
  list_driver(json, hip());
  list_driver(json, cuda());
  json.begin_object().member("driver", "host").member("available", true).member("reason", "");
  json.member("library", "").key("devices").begin_array().value("host").end_array().end_object();
  list_pretender(json, "sim", "amd");
  list_pretender(json, "record", "amd nvidia");
  json.end_array();
  return json.take();
}

}  // namespace aotriton::drivers
