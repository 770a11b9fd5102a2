// Atomic operations on memory and on LDS: one step that no other wave's can come between.
//
// To add one: a line with its name and a lambda from what is in memory and the data to what shall be there.
#include "sim/halves.h"
#include "sim/memory.h"

#include <bit>

namespace sim {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <std::size_t size>
using Bits = std::conditional_t<size == 8, u64, u32>;

// F: from the old value, the data, and where it has a third parameter more data.
template <typename T, typename F>
u64 update(u64 address, u64 data, u64 data1) {
  using B = Bits<sizeof(T)>;
  B* const place = reinterpret_cast<B*>(address);
  B old = __atomic_load_n(place, __ATOMIC_RELAXED), fresh;
  do {
    const T value = std::bit_cast<T>(old), operand = std::bit_cast<T>(static_cast<B>(data));
    if constexpr (std::is_invocable_v<F, T, T, T>) {
      fresh = std::bit_cast<B>(static_cast<T>(F{}(value, operand, std::bit_cast<T>(static_cast<B>(data1)))));
    } else {
      fresh = std::bit_cast<B>(static_cast<T>(F{}(value, operand)));
    }
  } while (!__atomic_compare_exchange_n(place, &old, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}

u64 value_of(const Wave& wave, unsigned reg, unsigned lane, bool wide) {
  return wave.vgpr[reg][lane] | (wide ? u64{wave.vgpr[reg + 1][lane]} << 32 : 0);
}

void transfer(Wave& wave, const Op& op, const Lanes& lanes) {
  const bool wide = op.access->bytes == 8, two = op.access->beside || op.source[at_data1].kind == Source::Kind::vector;
  const unsigned data = op.source[at_data].reg, data1 = op.access->beside ? data + op.access->bytes / 4u : op.source[at_data1].reg;
  each_lane(lanes.on, [&](unsigned lane) {
    u64 old = 0;
    if ((lanes.valid[0] >> lane & 1) != 0) {
      if (lanes.at[lane] % op.access->bytes != 0) {
        fail_at(op, "lane " + std::to_string(lane) + " has a misaligned address");
      }
      old = op.access->update(lanes.at[lane], value_of(wave, data, lane, wide), two ? value_of(wave, data1, lane, wide) : 0);
    }
    if (op.out_width == 0) return;
    wave.vgpr[op.out][lane] = static_cast<u32>(old);
    if (wide) wave.vgpr[op.out + 1][lane] = static_cast<u32>(old >> 32);
  });
}

template <typename T, typename F>
constexpr Access atomic(std::string_view name, F) {
  return {name, transfer, sizeof(T), true, true, update<T, F>, name.starts_with("atomic_cmpswap")};
}

// Two floats of 16 bits; sums are rounded once, which an addition in single precision doesn't spoil.
template <typename F>
u32 halves(u32 a, u32 b, F add) {
  return add(a & 0xffff, b & 0xffff) | add(a >> 16, b >> 16) << 16;
}

u32 add_half(u32 a, u32 b) { return half_of(half_value(a) + half_value(b)); }

u32 add_brain(u32 a, u32 b) {
  const float sum = std::bit_cast<float>(a << 16) + std::bit_cast<float>(b << 16);
  const u32 bits = std::bit_cast<u32>(sum);
  if (sum != sum) return bits >> 16 | 0x40; // keeps a NaN one
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

constexpr auto swap = [](auto, auto data) { return data; };
constexpr auto add = [](auto old, auto data) { return old + data; };
constexpr auto sub = [](auto old, auto data) { return old - data; };
constexpr auto rsub = [](auto old, auto data) { return data - old; };
constexpr auto least = [](auto old, auto data) { return data < old ? data : old; };
constexpr auto most = [](auto old, auto data) { return data > old ? data : old; };
constexpr auto and_ = [](auto old, auto data) { return old & data; };
constexpr auto or_ = [](auto old, auto data) { return old | data; };
constexpr auto xor_ = [](auto old, auto data) { return old ^ data; };
constexpr auto inc = [](auto old, auto data) { return old >= data ? 0 : old + 1; };
constexpr auto dec = [](auto old, auto data) { return old == 0 || old > data ? data : old - 1; };
constexpr auto add_f16 = [](u32 old, u32 data) { return halves(old, data, add_half); };
constexpr auto add_bf16 = [](u32 old, u32 data) { return halves(old, data, add_brain); };
// Of memory the first data is what to write, the second what to compare with; of LDS the other way about.
constexpr auto compare_second = [](auto old, auto fresh, auto expected) { return old == expected ? fresh : old; };
constexpr auto compare_first = [](auto old, auto expected, auto fresh) { return old == expected ? fresh : old; };
constexpr auto mskor = [](auto old, auto mask, auto bits) { return (old & ~mask) | bits; };
constexpr auto wrap = [](auto old, auto limit, auto more) { return old >= limit ? old - limit : old + more; };
// Each half is exchanged where its data's top bit is set, and that bit doesn't go to memory.
constexpr auto exchange_if = [](u64 old, u64 data) {
  const u64 mask = ((data >> 31 & 1) != 0 ? 0xffffffffull : 0) | (data >> 63 != 0 ? 0xffffffffull << 32 : 0);
  return (old & ~mask) | (data & 0x7fffffff7fffffff & mask);
};

#define MEMORY(name, operation, narrow, wide) atomic<narrow>(name, operation), atomic<wide>(name "_x2", operation)
// Those of LDS have a second name where they return what was there.
#define LDS(name, type, T, operation) atomic<T>("ds_" name "_" type, operation), atomic<T>("ds_" name "_rtn_" type, operation)

constexpr Access table[] = {
    MEMORY("atomic_swap", swap, u32, u64),
    MEMORY("atomic_cmpswap", compare_second, u32, u64),
    MEMORY("atomic_add", add, u32, u64),
    MEMORY("atomic_sub", sub, u32, u64),
    MEMORY("atomic_smin", least, i32, i64),
    MEMORY("atomic_umin", least, u32, u64),
    MEMORY("atomic_smax", most, i32, i64),
    MEMORY("atomic_umax", most, u32, u64),
    MEMORY("atomic_and", and_, u32, u64),
    MEMORY("atomic_or", or_, u32, u64),
    MEMORY("atomic_xor", xor_, u32, u64),
    MEMORY("atomic_inc", inc, u32, u64),
    MEMORY("atomic_dec", dec, u32, u64),
    atomic<float>("atomic_add_f32", add),
    atomic<u32>("atomic_pk_add_f16", add_f16),
    atomic<u32>("atomic_pk_add_bf16", add_bf16),
    atomic<double>("atomic_add_f64", add),
    atomic<double>("atomic_min_f64", least),
    atomic<double>("atomic_max_f64", most),

    LDS("add", "u32", u32, add), LDS("add", "u64", u64, add),
    LDS("sub", "u32", u32, sub), LDS("sub", "u64", u64, sub),
    LDS("rsub", "u32", u32, rsub), LDS("rsub", "u64", u64, rsub),
    LDS("inc", "u32", u32, inc), LDS("inc", "u64", u64, inc),
    LDS("dec", "u32", u32, dec), LDS("dec", "u64", u64, dec),
    LDS("min", "i32", i32, least), LDS("min", "i64", i64, least),
    LDS("max", "i32", i32, most), LDS("max", "i64", i64, most),
    LDS("min", "u32", u32, least), LDS("min", "u64", u64, least),
    LDS("max", "u32", u32, most), LDS("max", "u64", u64, most),
    LDS("and", "b32", u32, and_), LDS("and", "b64", u64, and_),
    LDS("or", "b32", u32, or_), LDS("or", "b64", u64, or_),
    LDS("xor", "b32", u32, xor_), LDS("xor", "b64", u64, xor_),
    LDS("mskor", "b32", u32, mskor), LDS("mskor", "b64", u64, mskor),
    LDS("cmpst", "b32", u32, compare_first), LDS("cmpst", "b64", u64, compare_first),
    LDS("cmpst", "f32", float, compare_first), LDS("cmpst", "f64", double, compare_first),
    LDS("min", "f32", float, least), LDS("min", "f64", double, least),
    LDS("max", "f32", float, most), LDS("max", "f64", double, most),
    LDS("add", "f32", float, add), LDS("add", "f64", double, add),
    LDS("pk_add", "f16", u32, add_f16), LDS("pk_add", "bf16", u32, add_bf16),
    atomic<u32>("ds_wrxchg_rtn_b32", swap), atomic<u64>("ds_wrxchg_rtn_b64", swap),
    atomic<u32>("ds_wrap_rtn_b32", wrap),
    atomic<u64>("ds_condxchg32_rtn_b64", exchange_if),
};

} // namespace

std::span<const Access> atomics() { return table; }

} // namespace sim
