// The small interface that every way to run code presents: HIP (and what stands in for it: the simulator, the
// recording library), CUDA, and the host. One Driver object per loaded driver library; devices are ordinals in it.
#pragma once

#include "core/status.h"
#include "drivers/tensor_map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aotriton::drivers {

// What dispatch may know of a device: plain facts, gathered once. Dispatch is a pure function of these.
struct Machine {
  std::string target;       // gfx942, sm_90, host
  std::string description;  // the driver's own name for the device
  int compute_units = 0;
  int warp_size = 0;
  std::int64_t shared_memory = 0;  // the most that one block may have, in bytes
  std::array<std::int64_t, 3> grid_limits{};
  int largest_cluster = 1;  // of blocks
};

// A loaded code object's entry function; null is none.
using Function = void*;

// What a driver is told of a code object.
struct CodeObject {
  const void* image = nullptr;
  std::size_t bytes = 0;
  const char* symbol = "";    // of its entry
  std::uint32_t shared = 0;   // bytes of dynamic shared memory that launches will ask for
  std::string_view label{};   // what errors call it: kernel and functional
};

// Memory that a tensor lies in.
struct Extent {
  const void* address;
  std::size_t bytes;
};

struct Launch {
  Function function = nullptr;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::uint32_t threads = 1;  // of a block, along x
  std::uint32_t shared = 0;   // bytes of dynamic shared memory
  void* const* parameters = nullptr;
  std::size_t count = 0;
  std::uint32_t cluster = 1;  // blocks of a cluster; `grid` counts clusters
  bool dependent = false;     // may start before the kernel before it in the stream has ended
  bool cooperative = false;   // all blocks run at the same time
  std::span<const Extent> tensors{};  // for drivers that want them: all memory that the arguments lead to
};

class Driver {
 public:
  virtual ~Driver() = default;
  // `hip`, `cuda`, `host`, `sim`, `record`.
  virtual const char* name() const = 0;
  // Loads a code object on device `ordinal`, finds its entry, and raises the limits that its launches need raised. Called
  // once per image and device, under the kernel's own lock.
  virtual core::Result<Function> load(int ordinal, const CodeObject& code) = 0;
  // Enqueues a launch. Never allocates, synchronises or locks, unless it fails.
  virtual core::Status launch(int ordinal, const Launch& launch, aotriton_stream stream) = 0;
  // Whether launches are to say where the tensors lie. No launch is kept then: each takes the whole way.
  virtual bool wants_tensors() const { return false; }
  // Builds what code takes for a descriptor. Never allocates, synchronises or locks, unless it fails.
  virtual core::Status encode(int, const TensorMapRequest&, TensorMap&) {
    return core::Status(AOTRITON_UNSUPPORTED, std::string("the driver ") + name() + " has no tensor maps");
  }
  // Frees what load() gave. No launch of it may follow, nor a graph be replayed that holds one.
  virtual void unload(int ordinal, Function function) = 0;
};

}  // namespace aotriton::drivers

// A device as the C API hands it out. `driver` is null for `target:…`, which can be asked but not launched on.
struct aotriton_device {
  std::string name;
  aotriton::drivers::Driver* driver = nullptr;
  int ordinal = 0;
  aotriton::drivers::Machine machine;
};
