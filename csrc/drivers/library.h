// A driver's shared library, opened at run time, so that ours loads on machines with no driver.
#pragma once

#include "core/status.h"

#include <span>
#include <string>

namespace aotriton::drivers {

class Library {
 public:
  // The first of `names` that is in the process already (PyTorch may have brought its own), else the first that opens.
  static core::Result<Library> open(std::span<const char* const> names);

  // Null where the library has no such function.
  void* symbol(const char* name) const;
  // The file that was found.
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;  // never closed: drivers don't survive it
  std::string path_;
};

// Fills function pointers from a library and remembers the first that was not there.
class Binder {
 public:
  explicit Binder(const Library& library) : library_(library) {}

  template <typename Function>
  Binder& required(Function*& pointer, const char* name) {
    pointer = reinterpret_cast<Function*>(library_.symbol(name));
    if (pointer == nullptr && missing_ == nullptr) missing_ = name;
    return *this;
  }
  template <typename Function>
  Binder& optional(Function*& pointer, const char* name) {
    pointer = reinterpret_cast<Function*>(library_.symbol(name));
    return *this;
  }
  core::Status status() const;

 private:
  const Library& library_;
  const char* missing_ = nullptr;
};

}  // namespace aotriton::drivers
