#include "sim/extents.h"

#include <algorithm>
#include <mutex>

namespace sim {

bool Extents::add(const Extent& extent) {
  const std::unique_lock lock(mutex_);
  return extents_.emplace(extent.address, extent).second;
}

std::optional<Extent> Extents::remove(std::uint64_t address, Extent::Kind kind) {
  const std::unique_lock lock(mutex_);
  const auto found = extents_.find(address);
  if (found == extents_.end() || found->second.kind != kind) return std::nullopt;
  const Extent extent = found->second;
  extents_.erase(found);
  return extent;
}

std::optional<Extent> Extents::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  for (auto after = extents_.upper_bound(address); after != extents_.begin();) {
    --after;
    if (after->second.holds(address, 1)) return after->second;
    if (after->second.kind != Extent::Kind::registered) break; // only what is registered may hold another
  }
  return std::nullopt;
}

std::vector<Extent> Extents::all() const {
  std::vector<Extent> found = launch_extents();
  const std::shared_lock lock(mutex_);
  for (const auto& [address, extent] : extents_) found.push_back(extent);
  std::sort(found.begin(), found.end(), [](const Extent& a, const Extent& b) { return a.address < b.address; });
  return found;
}

Extents& known_extents() {
  static Extents& extents = *new Extents; // outlives all threads
  return extents;
}

std::vector<Extent>& launch_extents() {
  thread_local std::vector<Extent> extents;
  return extents;
}

} // namespace sim
