// MessagePack as code objects have it: maps with text keys, arrays, texts, integers, booleans.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

struct Value {
  enum class Kind : std::uint8_t { nothing, boolean, integer, text, array, map } kind = Kind::nothing;
  std::int64_t integer = 0;
  std::string text;
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> entries;

  // The entry of a map; an empty value where there is none.
  const Value& operator[](std::string_view key) const;
};

// Throws std::runtime_error where the bytes are no such value; never reads beyond them.
Value read_msgpack(std::span<const std::uint8_t> bytes);

} // namespace sim
