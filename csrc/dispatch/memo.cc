#include "dispatch/memo.h"

namespace aotriton::dispatch {
namespace {

// Zeros are an empty table: no constructor, no destructor, no test at each use whether it was made.
constinit thread_local Memo memo{};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t Key::hash() const {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  // Another constant at each place, so that equal words at different ones, as of q and k, don't cancel out.
  std::uint64_t sum = 0, place = kStep;
  for (std::size_t i = 0; i + 1 < size_; i += 2, place += kStep) sum += mix(words_[i] ^ place, words_[i + 1] + place);
  if (size_ % 2 != 0) sum += mix(words_[size_ - 1] ^ place, place);
  return mix(sum, kStep) | 1;  // 0 means nothing
}

Memo& Memo::of_this_thread() { return memo; }

const Prepared* Memo::find(const Key& key) {
  if (unused_ || !key.sound()) return nullptr;
  const std::uint64_t hash = key.hash();
  const std::size_t set = hash / 2 % kSets;
  for (std::size_t way = 0; way < kWays; ++way) {
    const Entry& entry = sets_[set][way];
    if (hashes_[set][way] != hash || !key.is(entry.words.data(), entry.size)) continue;
    hits_ += 1;
    return &entry.launch;
  }
  return nullptr;
}

void Memo::keep(const Key& key, const Prepared& launch) {
  if (unused_ || !key.sound() || !launch.ready()) return;
  const std::uint64_t hash = key.hash();
  const std::size_t set = hash / 2 % kSets;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (hashes_[set][way] == hash && key.is(sets_[set][way].words.data(), sets_[set][way].size)) return;
  }
  const std::size_t way = next_[set];
  Entry& entry = sets_[set][way];
  next_[set] = static_cast<std::uint8_t>((way + 1) % kWays);
  hashes_[set][way] = hash;
  entry.size = key.size();
  std::copy_n(key.words(), key.size(), entry.words.begin());
  std::construct_at(&entry.launch, launch);
}

}  // namespace aotriton::dispatch
