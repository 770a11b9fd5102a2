// What the test programs share: checks that say what was found, and a main that runs all cases.
#pragma once

#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace aotriton::tests {

inline int failures = 0;

struct Case {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  std::printf("%s:%d: %s\n", file, line, what.c_str());
  ++failures;
}

template <typename A, typename B>
void equal(const A& found, const B& wanted, const char* what, const char* file, int line) {
  if (found == wanted) return;
  std::ostringstream text;
  text << what << "\n  is      " << found << "\n  wanted  " << wanted;
  fail(file, line, text.str());
}

inline void contains(std::string_view text, std::string_view piece, const char* file, int line) {
  if (text.find(piece) != text.npos) return;
  fail(file, line, "no '" + std::string(piece) + "' in\n  " + std::string(text));
}

inline int run_all() {
  for (const Case& one : cases()) {
    const int before = failures;
    one.body();
    std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", one.name);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace aotriton::tests

#define TEST(name)                                                            \
  static void test_##name();                                                  \
  static const ::aotriton::tests::Register register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) ::aotriton::tests::fail(__FILE__, __LINE__, "not so: " #condition); \
  } while (false)
#define CHECK_EQUAL(found, wanted) ::aotriton::tests::equal((found), (wanted), #found, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, piece) ::aotriton::tests::contains((text), (piece), __FILE__, __LINE__)
