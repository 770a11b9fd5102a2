// HIP's face: what its functions share. Launches run to their end before the call returns, so streams are in order by
// themselves, and there is nothing to wait for.
#pragma once

#include "sim/extents.h"
#include "sim/launch.h"

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#define HIP_API extern "C" __attribute__((visibility("default")))

namespace sim::hip {

// Numbers of hipError_t.
enum Error : int {
  success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, invalid_configuration = 9, invalid_direction = 21,
  no_device = 100, invalid_device = 101, invalid_image = 200, no_binary_for_gpu = 209, file_not_found = 301,
  invalid_handle = 400, not_found = 500, not_ready = 600, illegal_address = 700, launch_timeout = 702, already_registered = 712,
  not_registered = 713, launch_failure = 719, not_supported = 801, unknown = 999,
};

// What is known of an architecture's typical device.
struct Facts {
  Arch arch;
  const char* features; // behind the architecture's name
  const char* product;
  int compute_units, lds, clock, memory_clock, bus_width, l2; // bytes, kHz, bits
};

struct Device {
  const Facts* facts;
  int ordinal;
};

struct LoadedModule;

struct Function {
  LoadedModule* module;
  const Kernel* kernel;
};

struct LoadedModule {
  Module code;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Stream {
  int device;
  unsigned flags;
  int priority;
};

struct Event {
  unsigned flags;
  bool recorded = false;
  std::chrono::steady_clock::time_point at{};
};

// All that the process has; everything here is under `mutex`.
struct State {
  std::mutex mutex;
  std::vector<Device> devices;
  std::map<const void*, std::unique_ptr<LoadedModule>> modules;
  std::set<const void*> functions;
  std::map<const void*, std::unique_ptr<Stream>> streams;
  std::map<const void*, std::unique_ptr<Event>> events;
};

State& state();

// The devices: those that aotriton_sim_configure or AOTRITON_SIM_DEVICES names, else one for each architecture.
const std::vector<Device>& devices(State& all);
// The thread's current device.
int& current_ordinal();

// An error of a call, with what is to be said of it beyond its number.
struct Wrong {
  Error code;
  std::string text;
};
[[noreturn]] inline void wrong(Error code, std::string text = {}) { throw Wrong{code, std::move(text)}; }

// Notes an error for hipGetLastError and aotriton_sim_last_error.
int note(Error code, std::string text);

// The body of a function of the face: any exception becomes an error's number.
template <typename Body>
int call(Body&& body) {
  try {
    body();
    return success;
  } catch (const Wrong& error) {
    return note(error.code, error.text);
  } catch (const std::bad_alloc&) {
    return note(out_of_memory, {});
  } catch (const std::exception& error) {
    return note(unknown, error.what());
  }
}

// The same, with the state locked.
template <typename Body>
int locked(Body&& body) {
  return call([&] {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    body(all);
  });
}

const char* error_name(int error);
const char* error_text(int error);

// Refuses handles that are none: null and the two constants that mean default streams are streams.
void check_stream(State& all, const void* stream);
inline bool is_default(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

// The code object for an architecture in what hipModuleLoadData is given: an ELF file, or a bundle of some. Its length isn't
// known: its own tables say how far it reaches.
std::span<const std::uint8_t> image_for(const void* image, Arch arch);

} // namespace sim::hip
