// Texts out of pieces: messages are put together here, with no locale and no stream.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aotriton::core {

inline void append(std::string& text, std::string_view piece) { text.append(piece); }
inline void append(std::string& text, char piece) { text.push_back(piece); }

template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>)
void append(std::string& text, Number number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
}

// cat("axis ", 3, ": ", name)
template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string text;
  (append(text, pieces), ...);
  return text;
}

// Lower-case hexadecimal digits.
std::string hex(std::span<const std::uint8_t> bytes);

// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD: names out of files may be anything.
std::string utf8(std::string_view text);
// How many bytes the well-formed character at the start of `text` has; 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace aotriton::core
