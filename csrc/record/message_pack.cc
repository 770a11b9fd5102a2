#include "record/message_pack.h"

namespace aotriton::record {

Bytes MessagePack::take(std::uint64_t count) {
  if (!ok_ || count > bytes_.size() - position_) {
    fail();
    return {};
  }
  const Bytes taken = bytes_.subspan(position_, count);
  position_ += count;
  return taken;
}

std::uint64_t MessagePack::big_endian(std::size_t count) {
  std::uint64_t number = 0;
  for (const std::uint8_t digit : take(count)) number = number << 8 | digit;
  return number;
}

std::uint64_t MessagePack::length(std::uint8_t fixed, std::uint8_t wide, std::size_t bytes) {
  const std::uint8_t head = byte();
  if ((head & 0xf0) == fixed) return head & 0x0f;
  if (head == wide) return big_endian(bytes);
  if (head == wide + 1) return big_endian(2 * bytes);
  fail();
  return 0;
}

std::string_view MessagePack::text() {
  const std::uint8_t head = byte();
  std::uint64_t count = 0;
  if ((head & 0xe0) == 0xa0) {
    count = head & 0x1f;
  } else if (head >= 0xd9 && head <= 0xdb) {
    count = big_endian(std::size_t{1} << (head - 0xd9));
  } else {
    fail();
  }
  const Bytes letters = take(count);
  return {reinterpret_cast<const char*>(letters.data()), letters.size()};
}

std::uint64_t MessagePack::number() {
  const std::uint8_t head = byte();
  if (head < 0x80) return head;
  if (head >= 0xcc && head <= 0xcf) return big_endian(std::size_t{1} << (head - 0xcc));  // unsigned
  if (head >= 0xd0 && head <= 0xd3) return big_endian(std::size_t{1} << (head - 0xd0));  // signed, here never negative
  fail();
  return 0;
}

void MessagePack::skip() {
  constexpr int kDeepest = 32;
  if (++depth_ > kDeepest) fail();
  const std::uint8_t head = peek();
  if ((head & 0xf0) == 0x80 || head == 0xde || head == 0xdf) {
    map([this](std::string_view) { skip(); });
  } else if ((head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd) {
    array([this] { skip(); });
  } else if ((head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb)) {
    text();
  } else if (head == 0xc0 || head == 0xc2 || head == 0xc3 || head >= 0xe0) {
    byte();  // nil, false, true, a small negative number
  } else if (head == 0xca || head == 0xcb) {
    byte();
    take(head == 0xca ? 4 : 8);  // a real number
  } else {
    number();
  }
  --depth_;
}

}  // namespace aotriton::record
