// Devices: which there are, and what they say of themselves.
#include "sim/hip.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <unistd.h>

namespace sim::hip {
namespace {

// AMD's data sheets of MI250X (one of its two dies), MI300X and MI355X.
constexpr Facts all_facts[] = {
    {Arch::gfx942, ":sramecc+:xnack-", "MI300X", 304, 65536, 2100000, 1300000, 8192, 4 << 20},
    {Arch::gfx950, ":sramecc+:xnack-", "MI355X", 256, 163840, 2400000, 2000000, 8192, 4 << 20},
    {Arch::gfx90a, ":sramecc+:xnack-", "MI250X", 104, 65536, 1700000, 1600000, 4096, 8 << 20},
};
constexpr int most_devices = 64, wave = 64, most_threads = 1024, threads_of_a_unit = 2048, registers = 65536;
constexpr int most_blocks = 0x7fffffff;

const Facts* facts_of(std::string_view name) {
  for (const Facts& facts : all_facts) {
    if (arch_name(facts.arch) == name) return &facts;
  }
  return nullptr;
}

void add(State& all, const Facts& facts, int count) {
  for (const Device& device : all.devices) count -= device.facts == &facts;
  for (; count > 0 && all.devices.size() < most_devices; --count) all.devices.push_back({&facts, static_cast<int>(all.devices.size())});
}

// `gfx942`, or `gfx942:2,gfx90a`: targets, and how many of each.
void add_named(State& all, std::string_view list) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const std::string_view name = item.substr(0, item.find(':'));
    int count = 1;
    const char* const end = item.data() + item.size();
    if (name.size() < item.size()) {
      const auto [stop, error] = std::from_chars(name.data() + name.size() + 1, end, count);
      if (error != std::errc() || stop != end) count = 0;
    }
    const Facts* facts = facts_of(name);
    if (facts == nullptr || count < 1 || count > most_devices) {
      all.devices.clear();
      wrong(no_device, "AOTRITON_SIM_DEVICES has '" + std::string(item) + "'; it takes targets, as in gfx942 or gfx942:2,gfx90a, of " +
                           "gfx90a, gfx942 and gfx950");
    }
    add(all, *facts, count);
  }
}

std::size_t memory_size() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

const Device& device_at(State& all, int ordinal) {
  const auto& found = devices(all);
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= found.size()) {
    wrong(invalid_device, "there are " + std::to_string(found.size()) + " simulated devices, and no number " + std::to_string(ordinal));
  }
  return found[static_cast<std::size_t>(ordinal)];
}

std::string name_of(const Device& device) {
  return "simulated " + std::string(arch_name(device.facts->arch)) + " (as " + device.facts->product + ")";
}

// hipDeviceProp_t as it is since ROCm 6, and as it was before: where the fields lie that are set; all others are zero.
struct Layout {
  std::size_t size, global, shared, registers, warp, pitch, threads, block_dim, grid_dim, clock, constant, major, minor, alignment,
      units, maps_host, concurrent, memory_clock, bus, l2, unit_threads, unit_shared, name, timer, arch, managed, pageable;
};
constexpr Layout since_6{1472, 288, 296, 304, 308, 312, 320, 324, 336, 348, 352, 360, 364, 368,
                         388,  400, 576, 608, 612, 616, 624, 1416, 1160, 1424, 1428, 652, 672};
constexpr Layout before_6{792, 256, 264, 272, 276, 712, 280, 284, 296, 308, 320, 328, 332, 720,
                          336, 388, 360, 312, 316, 340, 344, 376, 396, 352, 356, 772, 784};

void fill(void* properties, const Device& device, const Layout& at) {
  auto* bytes = static_cast<char*>(properties);
  const Facts& facts = *device.facts;
  std::memset(bytes, 0, at.size);
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(bytes + offset, &value, sizeof value); };
  const auto text = [&](std::size_t offset, const std::string& value) { std::memcpy(bytes + offset, value.c_str(), value.size() + 1); };
  text(0, name_of(device));
  text(at.name, std::string(arch_name(facts.arch)) + facts.features);
  put(at.global, memory_size());
  for (const std::size_t offset : {at.shared, at.unit_shared}) put(offset, static_cast<std::size_t>(facts.lds));
  for (const std::size_t offset : {at.pitch, at.constant}) put(offset, std::size_t{0x7fffffff});
  put(at.alignment, std::size_t{256});
  put(at.registers, registers);
  put(at.warp, wave);
  put(at.threads, most_threads);
  for (std::size_t i = 0; i < 3; ++i) {
    put(at.block_dim + 4 * i, most_threads);
    put(at.grid_dim + 4 * i, most_blocks);
  }
  put(at.clock, facts.clock);
  put(at.memory_clock, facts.memory_clock);
  put(at.bus, facts.bus_width);
  put(at.l2, facts.l2);
  put(at.major, 9);
  put(at.minor, facts.arch == Arch::gfx90a ? 0 : facts.arch == Arch::gfx942 ? 4 : 5);
  put(at.units, facts.compute_units);
  put(at.unit_threads, threads_of_a_unit);
  put(at.timer, 100000);
  put(at.arch, 0x1ffff & ~(1u << 16 | 1u << 14)); // all but surfaces and dynamic parallelism
  for (const std::size_t offset : {at.maps_host, at.concurrent, at.managed, at.pageable}) put(offset, 1);
}

int attribute(const Device& device, int number) {
  const Facts& facts = *device.facts;
  switch (number) {
    case 3: case 8: case 16 + 8: case 65: case 85: return 1; // host memory, concurrency, managed, pageable, one address space
    case 0: case 10: case 11: case 16: case 67: case 68: case 69: case 10011: return 0;
    case 5: return facts.clock;
    case 19: return facts.l2;
    case 23: return 9;
    case 61: return facts.arch == Arch::gfx90a ? 0 : facts.arch == Arch::gfx942 ? 4 : 5;
    case 26: case 27: case 28: case 55: case 56: return most_threads;
    case 29: case 30: case 31: return most_blocks;
    case 57: return threads_of_a_unit;
    case 58: case 83: return 0x7fffffff;
    case 59: return facts.bus_width;
    case 60: return facts.memory_clock;
    case 63: case 10015: return facts.compute_units;
    case 71: case 72: return registers;
    case 74: case 75: case 76: case 10002: return facts.lds;
    case 84: return static_cast<int>(std::min<std::size_t>(memory_size(), 0x7fffffff));
    case 87: return wave;
    case 10000: return 100000;
    default: wrong(invalid_value, "the simulator doesn't know the device attribute " + std::to_string(number));
  }
}

} // namespace

State& state() {
  static State& all = *new State; // outlives all threads
  return all;
}

const std::vector<Device>& devices(State& all) {
  if (!all.devices.empty()) return all.devices;
  if (const char* named = std::getenv("AOTRITON_SIM_DEVICES"); named != nullptr && *named != '\0') {
    add_named(all, named);
  } else {
    for (const Facts& facts : all_facts) add(all, facts, 1);
  }
  return all.devices;
}

int& current_ordinal() {
  thread_local int ordinal = 0;
  return ordinal;
}

} // namespace sim::hip

using namespace sim::hip;

// From now on there are at least so many devices of the target; none of other targets, unless they were asked for.
HIP_API void aotriton_sim_configure(const char* target, int count) {
  locked([&](State& all) {
    if (const Facts* facts = facts_of(target == nullptr ? "" : target)) add(all, *facts, count);
  });
}

// The targets that there can be devices of.
HIP_API const char* aotriton_sim_targets() { return "gfx90a, gfx942, gfx950"; }

HIP_API int hipInit(unsigned) { return locked([](State& all) { devices(all); }); }
HIP_API int hipDriverGetVersion(int* version) { return *version = 60000000, success; }
HIP_API int hipRuntimeGetVersion(int* version) { return *version = 60000000, success; }

HIP_API int hipGetDeviceCount(int* count) {
  *count = 0;
  return locked([&](State& all) { *count = static_cast<int>(devices(all).size()); });
}
HIP_API int hipGetDevice(int* ordinal) { return *ordinal = current_ordinal(), success; }
HIP_API int hipSetDevice(int ordinal) {
  return locked([&](State& all) { current_ordinal() = device_at(all, ordinal).ordinal; });
}
HIP_API int hipDeviceGet(int* device, int ordinal) {
  return locked([&](State& all) { *device = device_at(all, ordinal).ordinal; });
}
HIP_API int hipDeviceGetName(char* name, int bytes, int ordinal) {
  return locked([&](State& all) {
    if (bytes < 1) wrong(invalid_value);
    name[name_of(device_at(all, ordinal)).copy(name, static_cast<std::size_t>(bytes) - 1)] = '\0';
  });
}
HIP_API int hipDeviceTotalMem(std::size_t* bytes, int ordinal) {
  return locked([&](State& all) { device_at(all, ordinal), *bytes = memory_size(); });
}
HIP_API int hipMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  return *total = memory_size(), success;
}
HIP_API int hipDeviceComputeCapability(int* major, int* minor, int ordinal) {
  return locked([&](State& all) { *major = attribute(device_at(all, ordinal), 23), *minor = attribute(device_at(all, ordinal), 61); });
}
HIP_API int hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  return locked([&](State& all) { fill(properties, device_at(all, ordinal), since_6); });
}
HIP_API int hipGetDevicePropertiesR0000(void* properties, int ordinal) {
  return locked([&](State& all) { fill(properties, device_at(all, ordinal), before_6); });
}
HIP_API int hipGetDeviceProperties(void* properties, int ordinal) { return hipGetDevicePropertiesR0000(properties, ordinal); }
HIP_API int hipDeviceGetAttribute(int* value, int number, int ordinal) {
  return locked([&](State& all) { *value = attribute(device_at(all, ordinal), number); });
}
HIP_API int hipDeviceCanAccessPeer(int* can, int, int) { return *can = 1, success; }
HIP_API int hipDeviceEnablePeerAccess(int, unsigned) { return success; }
HIP_API int hipDeviceDisablePeerAccess(int) { return success; }
HIP_API int hipSetDeviceFlags(unsigned) { return success; }
HIP_API int hipDeviceReset() { return success; }
