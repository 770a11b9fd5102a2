// How a function inside the library reports a failure: a code with a text, never an exception across a boundary.
#pragma once

#include <aotriton/aotriton.h>

#include <string>
#include <utility>
#include <variant>

namespace aotriton::core {

// Success, or why not. The text says what was asked, what was found and what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(aotriton_status code, std::string text) : code_(code), text_(std::move(text)) {}

  bool ok() const { return code_ == AOTRITON_SUCCESS; }
  aotriton_status code() const { return code_; }
  const std::string& text() const { return text_; }

 private:
  aotriton_status code_ = AOTRITON_SUCCESS;
  std::string text_;
};

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status failure) : state_(std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

 private:
  std::variant<T, Status> state_;
};

// Keeps the text of a failure for aotriton_last_error() of this thread (clears it on success); gives the code back.
aotriton_status report(const Status& status);
const char* last_error();

}  // namespace aotriton::core
