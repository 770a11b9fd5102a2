// Writes JSON, piece by piece, in the order that it is told. Text that is not UTF-8 is made so.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace aotriton::core {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(double number);  // null where it is not finite
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& null();
  // A value that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  JsonWriter& value(Number number) {
    if constexpr (std::signed_integral<Number>) return value(static_cast<std::int64_t>(number));
    return value(static_cast<std::uint64_t>(number));
  }

  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void quote(std::string_view text);

  std::string text_;
  bool first_ = true;       // nothing stands yet in the innermost object or array
  bool after_key_ = false;  // a value is due, with no comma before it
};

}  // namespace aotriton::core
