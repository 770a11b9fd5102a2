// As much of MessagePack as AMD's kernel metadata takes: a cursor that walks and skips values, in bounds.
#pragma once

#include "record/elf.h"

#include <cstdint>
#include <string_view>

namespace aotriton::record {

class MessagePack {
 public:
  explicit MessagePack(Bytes bytes) : bytes_(bytes) {}

  // False after any value that was cut short or not of the kind asked for; every further read gives nothing.
  bool ok() const { return ok_; }

  // Calls `visit(key)` for each entry of a map; what it doesn't read must be skipped by it.
  template <typename Visit>
  void map(Visit&& visit) {
    for (std::uint64_t left = length(0x80, 0xde, 2); ok_ && left > 0; --left) visit(text());
  }
  template <typename Visit>
  void array(Visit&& visit) {
    for (std::uint64_t left = length(0x90, 0xdc, 2); ok_ && left > 0; --left) visit();
  }
  std::string_view text();
  std::uint64_t number();
  void skip();

 private:
  std::uint8_t byte() { return static_cast<std::uint8_t>(big_endian(1)); }
  std::uint8_t peek() { return position_ < bytes_.size() ? bytes_[position_] : fail(); }
  std::uint8_t fail() {
    ok_ = false;
    return 0xc1;  // the one byte that starts no value
  }
  std::uint64_t big_endian(std::size_t count);
  Bytes take(std::uint64_t count);
  // Entries of a map or array: `fixed` has them in its low four bits, `wide` in the two or four bytes that follow.
  std::uint64_t length(std::uint8_t fixed, std::uint8_t wide, std::size_t bytes);

  Bytes bytes_;
  std::size_t position_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace aotriton::record
