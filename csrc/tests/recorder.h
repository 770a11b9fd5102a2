// The recording library's functions for tests: its controls, and what a program calls of HIP and CUDA.
#pragma once

#include "core/location.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace aotriton::tests {

// JSON without the spaces after `,` and `:`, so that tests quote it shortly.
inline std::string squeeze(const std::string& json) {
  std::string text;
  for (const char c : json) {
    if (c != ' ' || text.empty() || (text.back() != ',' && text.back() != ':')) text += c;
  }
  return text;
}

class RecordLibrary {
 public:
  RecordLibrary() : handle_(dlopen((core::library_folder() + "/libaotriton_record.so").c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) {
      std::printf("no recording library: %s\n", dlerror());
      std::exit(1);
    }
    reset();
  }

  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }
  std::string launches() const { return text("aotriton_record_take"); }
  std::string calls() const { return text("aotriton_record_calls"); }
  void reset() const { function<void()>("aotriton_record_reset")(); }
  void fail(const char* name, int code, int after = 0) const {
    function<void(const char*, int, int)>("aotriton_record_fail")(name, code, after);
  }

 private:
  std::string text(const char* name) const {
    char* taken = function<char*()>(name)();
    const std::string text = taken;
    function<void(char*)>("aotriton_record_free")(taken);
    return squeeze(text);
  }

  void* handle_;
};

}  // namespace aotriton::tests
