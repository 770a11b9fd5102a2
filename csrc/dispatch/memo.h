// What a thread's last calls came to, so that the same call with other addresses needs no decision again.
//
// A decision is a pure function of the kernel, the device, the options, and all values but addresses; of an address it
// sees whether it is null, and whether it is a multiple of 16 and less. A key is all that, as words. Every front end
// writes its own, and tests for itself what depends on the addresses themselves, such as overlaps. What is found under
// a key was a success with the very same words; anything else takes the whole way, so a key may be refused at any doubt.
//
// What is kept points into its kernel, and stays when that goes. Nobody finds it then: a key begins with the number of a
// kernel that its caller holds, and no other kernel ever gets the number.
#pragma once

#include "dispatch/prepared.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace aotriton::dispatch {

class Key {
 public:
  static constexpr std::size_t kMost = 128;
  // The alignment of an address that a key tells.
  static constexpr std::uintptr_t kAlignment = 16;

  // The first word: which front end's, and which kernel's.
  Key(unsigned front_end, std::uint64_t kernel) { add(kernel << 8 | front_end); }

  void add(std::uint64_t word) {
    if (size_ < kMost) words_[size_++] = word;
    else sound_ = false;
  }
  // All of a view but its address.
  void add(const aotriton_tensor& view) {
    const auto rank = static_cast<std::uint32_t>(view.rank);
    if (rank > AOTRITON_MAX_RANK || size_ + 1 + 2 * rank > kMost) {
      sound_ = false;
      return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    words_[size_++] = std::uint64_t{static_cast<std::uint32_t>(view.dtype)} | std::uint64_t{rank} << 32 |
                      (address % kAlignment) << 40 | std::uint64_t{address != 0} << 48;
    if (rank == 4) {  // nearly always: a copy of known length is two instructions
      copy<4>(view);
    } else {
      for (std::uint32_t i = 0; i < rank; ++i) {
        words_[size_ + i] = static_cast<std::uint64_t>(view.sizes[i]);
        words_[size_ + rank + i] = static_cast<std::uint64_t>(view.strides[i]);
      }
    }
    size_ += 2 * rank;
  }
  // With at least one byte of zero behind it, so that texts that follow each other stay apart.
  void add(std::string_view text) {
    const std::size_t words = text.size() / sizeof(std::uint64_t) + 1;
    if (text.size() > kMost || size_ + words > kMost) {
      sound_ = false;
      return;
    }
    words_[size_ + words - 1] = 0;
    std::memcpy(&words_[size_], text.data(), text.size());
    size_ += words;
  }

  // For what nobody wants to find again.
  void refuse() { sound_ = false; }
  // False: it was refused, or there was no room for it.
  bool sound() const { return sound_; }
  std::size_t size() const { return size_; }
  const std::uint64_t* words() const { return words_.data(); }
  bool is(const std::uint64_t* words, std::size_t size) const {
    return size == size_ && std::memcmp(words, words_.data(), size * sizeof *words) == 0;
  }
  // Spreads keys; that two are the same, it doesn't say.
  std::uint64_t hash() const;

 private:
  template <std::size_t Rank>
  void copy(const aotriton_tensor& view) {
    std::memcpy(&words_[size_], view.sizes, Rank * sizeof *view.sizes);
    std::memcpy(&words_[size_ + Rank], view.strides, Rank * sizeof *view.strides);
  }

  std::array<std::uint64_t, kMost> words_;  // as many as `size_` were written
  std::size_t size_ = 0;
  bool sound_ = true;
};

// A table of fixed size, one for each thread: no allocation, no lock, and nothing to wait for.
class Memo {
 public:
  static Memo& of_this_thread();

  // Null: not seen, or forgotten since.
  const Prepared* find(const Key& key);
  // In the place of another, if need be. A launch with no function is not kept.
  void keep(const Key& key, const Prepared& launch);

  // For tests: without it, every call takes the whole way.
  void use(bool used) { unused_ = !used; }
  bool used() const { return !unused_; }
  // How often something was found.
  std::uint64_t hits() const { return hits_; }

  static constexpr std::size_t kSets = 8, kWays = 4;

 private:
  struct Entry {
    constexpr Entry() {}

    std::uint64_t size = 0;  // of the key
    std::array<std::uint64_t, Key::kMost> words{};
    union {
      char nothing = 0;
      Prepared launch;
    };
  };

  // Hashes of the keys apart from all else, a set's side by side: a look at a set is one at one line of the cache.
  std::array<std::array<std::uint64_t, kWays>, kSets> hashes_{};  // 0: nothing is there
  std::array<std::array<Entry, kWays>, kSets> sets_{};
  std::array<std::uint8_t, kSets> next_{};  // to be replaced, by set
  std::uint64_t hits_ = 0;
  bool unused_ = false;
};

}  // namespace aotriton::dispatch
