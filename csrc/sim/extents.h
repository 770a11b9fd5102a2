// Memory that kernels may touch, for the memory check: what hipMalloc gave, and what the program registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace sim {

struct Extent {
  enum class Kind : std::uint8_t { device, host, registered, launch } kind = Kind::device;
  std::uint64_t address = 0, size = 0;

  bool holds(std::uint64_t at, std::uint64_t bytes) const { return at >= address && bytes <= size && at - address <= size - bytes; }
};

class Extents {
 public:
  // False where one begins there already.
  bool add(const Extent& extent);
  // What began there; nothing where none did, or one of another kind.
  std::optional<Extent> remove(std::uint64_t address, Extent::Kind kind);
  // The extent that begins last of those that hold the address.
  std::optional<Extent> find(std::uint64_t address) const;
  // All of them, and those that this thread gave for its next launch, by address.
  std::vector<Extent> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Extent> extents_;
};

// Those of the process.
Extents& known_extents();

// The tensors that the next launch of this thread may touch, beside the known extents.
std::vector<Extent>& launch_extents();

} // namespace sim
