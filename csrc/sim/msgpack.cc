#include "sim/msgpack.h"

#include <stdexcept>

namespace sim {
namespace {

constexpr int deepest = 32;

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Value value(int depth) {
    if (depth > deepest) fail("too deep");
    const std::uint8_t tag = static_cast<std::uint8_t>(number(1));
    if (tag < 0x80) return integer(tag);
    if (tag < 0x90) return map(tag & 15u, depth);
    if (tag < 0xa0) return array(tag & 15u, depth);
    if (tag < 0xc0) return text(tag & 31u);
    if (tag >= 0xe0) return integer(static_cast<std::int8_t>(tag));
    switch (tag) {
      case 0xc0: return {};
      case 0xc2: case 0xc3: { Value v = integer(tag & 1); v.kind = Value::Kind::boolean; return v; }
      case 0xc4: case 0xd9: return text(number(1));
      case 0xc5: case 0xda: return text(number(2));
      case 0xc6: case 0xdb: return text(number(4));
      case 0xcc: return integer(static_cast<std::int64_t>(number(1)));
      case 0xcd: return integer(static_cast<std::int64_t>(number(2)));
      case 0xce: return integer(static_cast<std::int64_t>(number(4)));
      case 0xcf: return integer(static_cast<std::int64_t>(number(8)));
      case 0xd0: return integer(static_cast<std::int8_t>(number(1)));
      case 0xd1: return integer(static_cast<std::int16_t>(number(2)));
      case 0xd2: return integer(static_cast<std::int32_t>(number(4)));
      case 0xd3: return integer(static_cast<std::int64_t>(number(8)));
      case 0xdc: return array(number(2), depth);
      case 0xdd: return array(number(4), depth);
      case 0xde: return map(number(2), depth);
      case 0xdf: return map(number(4), depth);
      default: fail("an unknown kind of value");
    }
  }

 private:
  [[noreturn]] static void fail(const char* what) { throw std::runtime_error(std::string("the metadata are damaged: ") + what); }

  std::uint64_t number(unsigned width) {
    if (bytes_.size() < width) fail("they end early");
    std::uint64_t n = 0;
    for (unsigned i = 0; i < width; ++i) n = n << 8 | bytes_[i];
    bytes_ = bytes_.subspan(width);
    return n;
  }

  static Value integer(std::int64_t n) {
    Value v;
    v.kind = Value::Kind::integer;
    v.integer = n;
    return v;
  }

  Value text(std::uint64_t size) {
    if (bytes_.size() < size) fail("they end early");
    Value v;
    v.kind = Value::Kind::text;
    v.text.assign(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return v;
  }

  // Each item takes a byte at least, so a count beyond the bytes is damage, and costs no memory.
  Value array(std::uint64_t count, int depth) {
    if (bytes_.size() < count) fail("they end early");
    Value v;
    v.kind = Value::Kind::array;
    for (std::uint64_t i = 0; i < count; ++i) v.items.push_back(value(depth + 1));
    return v;
  }

  Value map(std::uint64_t count, int depth) {
    if (bytes_.size() / 2 < count) fail("they end early");
    Value v;
    v.kind = Value::Kind::map;
    for (std::uint64_t i = 0; i < count; ++i) {
      Value key = value(depth + 1);
      if (key.kind != Value::Kind::text) fail("a key isn't text");
      v.entries.emplace_back(std::move(key.text), value(depth + 1));
    }
    return v;
  }

  std::span<const std::uint8_t> bytes_;
};

} // namespace

const Value& Value::operator[](std::string_view key) const {
  static const Value none;
  for (const auto& [name, value] : entries) {
    if (name == key) return value;
  }
  return none;
}

Value read_msgpack(std::span<const std::uint8_t> bytes) { return Reader(bytes).value(0); }

} // namespace sim
