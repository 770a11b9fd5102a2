// How kernels are written: a lambda on one lane's values becomes a loop over 64 lanes. Included by lanes_*.cc only.
#pragma once

#include "sim/lane_math.h"
#include "sim/lane_table.h"

#include <tuple>
#include <utility>

namespace sim::SIM_BUILD {

// A bit of a mask operand, and a result with a carry.
struct Bit { u32 set; };
template <typename T>
struct Carry { T value; u32 carry; };

// A half and a brain float: their bits in the low half of a register. As values they are floats.
struct Half {
  u32 bits;
  Half() = default;
  Half(f32 value) : bits(half_bits(value)) {}
  operator f32() const { return float_of_half(bits); }
};
struct Brain {
  u32 bits;
  Brain() = default;
  Brain(f32 value) : bits(brain_bits(value)) {}
  operator f32() const { return std::bit_cast<f32>(bits << 16); }
};
template <typename T>
constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, u32>) return Type::u32;
  else if constexpr (std::is_same_v<T, i32>) return Type::i32;
  else if constexpr (std::is_same_v<T, f32>) return Type::f32;
  else if constexpr (std::is_same_v<T, u64>) return Type::u64;
  else if constexpr (std::is_same_v<T, i64>) return Type::i64;
  else if constexpr (std::is_same_v<T, f64>) return Type::f64;
  else if constexpr (std::is_same_v<T, u16>) return Type::u16;
  else if constexpr (std::is_same_v<T, i16>) return Type::i16;
  else if constexpr (std::is_same_v<T, Half>) return Type::f16;
  else if constexpr (std::is_same_v<T, Brain>) return Type::bf16;
  else if constexpr (std::is_same_v<T, Bit>) return Type::bit;
  else return Type::none;
}

template <typename T>
inline T load(const u32* rows, unsigned lane) {
  if constexpr (std::is_same_v<T, Bit>) return {rows[lane]};
  else if constexpr (is_short<T>) {
    T value;
    value.bits = rows[lane] & 0xffff;
    return value;
  }
  else if constexpr (sizeof(T) == 8) return std::bit_cast<T>(rows[lane] | u64{rows[64 + lane]} << 32);
  else if constexpr (sizeof(T) == 2) return std::bit_cast<T>(static_cast<u16>(rows[lane]));
  else return std::bit_cast<T>(rows[lane]);
}

template <typename T>
inline void store(u32* rows, unsigned lane, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = std::bit_cast<u64>(value);
    rows[lane] = static_cast<u32>(bits);
    rows[64 + lane] = static_cast<u32>(bits >> 32);
  } else if constexpr (is_short<T>) {
    rows[lane] = value.bits;
  } else if constexpr (sizeof(T) == 2) {
    rows[lane] = std::bit_cast<u16>(value);
  } else {
    rows[lane] = std::bit_cast<u32>(value);
  }
}

template <typename T> struct IsCarry : std::false_type {};
template <typename T> struct IsCarry<Carry<T>> : std::true_type { using value_type = T; };

template <typename F, typename Signature>
struct Loop;

template <typename F, typename R, typename... A>
struct Loop<F, R (F::*)(A...) const> {
  template <std::size_t... i>
  static void run(const Rows& rows, std::index_sequence<i...>) {
    u32* const out = rows.out;
    u32* const bits = rows.bits;
    const u32* const in[sizeof...(A) + 1] = {rows.in[i]..., nullptr};
    // A result may lie where a source lies: each lane reads before it writes, and lanes don't touch each other.
#pragma GCC ivdep
    for (unsigned lane = 0; lane < 64; ++lane) {
      const R result = F{}(load<A>(in[i], lane)...);
      if constexpr (std::is_same_v<R, bool>) {
        bits[lane] = result;
      } else if constexpr (IsCarry<R>::value) {
        store(out, lane, result.value);
        bits[lane] = result.carry;
      } else {
        store(out, lane, result);
      }
    }
  }

  static void all(const Rows& rows) { run(rows, std::index_sequence_for<A...>{}); }

  static constexpr LaneEntry entry(std::string_view name) {
    Type out = Type::none;
    if constexpr (IsCarry<R>::value) out = type_of<typename IsCarry<R>::value_type>();
    else out = type_of<R>();
    LaneEntry e{name, &all, out, sizeof...(A), {}, std::is_same_v<R, bool> || IsCarry<R>::value};
    const Type types[] = {type_of<A>()..., Type::none};
    for (std::size_t i = 0; i < sizeof...(A); ++i) e.in[i] = types[i];
    return e;
  }
};

// An entry of a table of kernels, from a name and a lambda without captures.
template <typename F>
constexpr LaneEntry lanes(std::string_view name, F) {
  return Loop<F, decltype(&F::operator())>::entry(name);
}

} // namespace sim::SIM_BUILD
