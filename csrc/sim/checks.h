// Checks of what a kernel does with memory, registers and its waits: on for a launch that asks for them. They look at each
// instruction before it runs, in a loop of their own, so they cost nothing when off. The first thing that is wrong ends the
// launch with an error that names both instructions.
#pragma once

#include "sim/extents.h"
#include "sim/memory.h"

namespace sim {

enum Check : std::uint32_t {
  check_memory = 1,     // memory that is neither allocated nor registered
  check_initial = 2,    // LDS and registers that nothing wrote
  check_waits = 4,      // a register or LDS while a load into it is in flight
  check_races = 8,      // LDS that another wave touches, with no barrier between
  check_alignment = 16, // addresses that aren't multiples of what is moved, up to four bytes
  check_code = 32,      // writes to code and to the arguments
  all_checks = 63,
};

// The checks of a list such as `memory,waits`, or `all` or `none`; throws where a name is none.
std::uint32_t checks_of(std::string_view list);

// What counts a memory instruction until it is done.
enum class Counter : std::uint8_t { none, vector, lds, scalar, flat };

// What an instruction touches.
struct Touched {
  struct Span {
    std::uint16_t first; // of vgpr, or a scalar's code
    std::uint8_t width;
    bool scalar, written;
  } spans[6];
  std::uint8_t span_count = 0;
  Counter counter = Counter::none;
  bool waits = false, barrier = false, ends = false, all_lanes = false, into_lds = false;
  std::uint8_t vector_left = 0, lds_left = 0; // of s_waitcnt
};

// What the checks need to know of a launch; its threads share it.
struct CheckPlan {
  std::uint32_t on = 0;
  const Op* first = nullptr;
  std::vector<Touched> touched;  // by the operation's number
  std::vector<Extent> extents;   // by address
  Extent arguments, code;        // may be read
};

CheckPlan plan_checks(const Launch& launch, const std::vector<std::uint8_t>& kernarg);

// The state of one workgroup's checks.
class Checker {
 public:
  explicit Checker(const CheckPlan& plan) : plan_(plan) {}
  void start(std::span<const std::unique_ptr<Wave>> waves);
  void before(const Wave& wave, const Op& op);
  void release(); // those at the barrier go on

 private:
  struct Pending {
    const Op* op;
    const Touched* touched;
    std::uint64_t number;
  };
  // Numbers of a wave's accesses of LDS: given out, done, and ordered for the other waves.
  struct Numbers {
    std::uint64_t issued = 0, done = 0, at_barrier = 0, ordered = 0;
  };
  struct Shadow {
    std::vector<Pending> vector, lds;      // in flight, in their order
    std::uint8_t busy[2][512 + 128] = {};   // how many of either write a register
    std::uint64_t defined[512];            // lanes that were written
    bool defined_scalar[128];
    Numbers numbers[2];                    // of LDS instructions, and of loads into LDS
  };
  struct Touch {
    const Op* op = nullptr;
    std::uint64_t number = 0;
    std::uint8_t wave = 0, bytes = 0;
    bool load = false, atomic = false;     // load: from memory into LDS
  };
  struct Cell { // a dword of LDS
    Touch written, read[2];
    std::uint8_t defined = 0;
  };

  void wait(Shadow& shadow, const Touched& touched);
  void retire(Shadow& shadow, std::vector<Pending>& queue, std::size_t queue_number, std::size_t at);
  void check_registers(const Shadow& shadow, const Op& op, const Touched& touched) const;
  void check_defined(const Wave& wave, const Shadow& shadow, const Op& op, const Touched& touched) const;
  void define(const Wave& wave, Shadow& shadow, const Touched& touched) const;
  void issue(Shadow& shadow, const Op& op, const Touched& touched);
  void look_at_memory(const Wave& wave, const Op& op, const Touched& touched);
  void look_at_global(const Op& op, unsigned lane, std::uint64_t at, unsigned bytes);
  void look_at_lds(const Wave& wave, const Op& op, unsigned lane, std::uint64_t offset, unsigned bytes);
  void loads_into_lds(const Wave& wave, const Op& op, const Lanes& lanes);
  void read_lds(const Wave& wave, const Op& op, Cell& cell, std::uint64_t dword, const Touch& now);
  void write_lds(const Wave& wave, const Op& op, Cell& cell, std::uint64_t dword, const Touch& now, bool same);
  bool ordered(const Touch& touch, unsigned wave) const;
  [[noreturn]] void race(const Op& op, const Wave& wave, const Touch& other, std::uint64_t dword, const char* now,
                         const char* then) const;

  const CheckPlan& plan_;
  std::vector<Shadow> shadows_;
  std::vector<Cell> cells_;
  const Extent* last_ = nullptr;
};

// An error that names an instruction; `of` names another, which may be null.
[[noreturn]] void fail_check(const Op& op, const std::string& what, const Op* of = nullptr, const std::string& then = "");

} // namespace sim
