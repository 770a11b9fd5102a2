#include "core/json.h"

#include "core/text.h"

#include <charconv>
#include <cmath>

namespace aotriton::core {

void JsonWriter::separate() {
  if (!first_ && !after_key_) text_.append(", ");
  first_ = false;
  after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_.push_back(bracket);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_.push_back(bracket);
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_.append(": ");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) { return raw(truth ? "true" : "false"); }

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return raw(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

JsonWriter& JsonWriter::value(std::int64_t number) { return raw(cat(number)); }
JsonWriter& JsonWriter::value(std::uint64_t number) { return raw(cat(number)); }
JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_.append(json);
  return *this;
}

void JsonWriter::quote(std::string_view text) {
  text_.push_back('"');
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      text_.append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      const std::uint8_t code = static_cast<std::uint8_t>(c);
      text_.append("\\u00").append(hex({&code, 1}));
    } else {
      text_.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_.push_back('"');
}

}  // namespace aotriton::core
